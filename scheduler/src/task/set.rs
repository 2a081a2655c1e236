//! Handles of which the finished ones come out first.
//!
//! Each handle waits with a waker of its own, which puts its key into the queue of those that have
//! ended, so a task's end costs the same however many others are waited for.
//!
//! # Invariants
//!
//! * **J1** A handle's key comes into the queue once, after its task became complete. A key that is
//!   taken out may be an old one: of a handle that was let go before its end, when the waker was on
//!   its way already. Then its place is free, or another's; whether *that* task is complete is looked
//!   at, so nothing comes out too early, and its own key finds the place empty later.
//! * **J2** Whoever polled and found the queue empty has its waker in it. A push takes the waker out
//!   under the lock under which it puts the key in.

use std::collections::VecDeque;
use std::fmt;
use std::task::{Context, Poll, Wake, Waker, ready};

use slab::Slab;

use super::state::Join;
use super::{AbortHandle, Id, JoinError, JoinHandle};
use crate::coop;
use crate::primitive::sync::{Arc, Mutex};

/// A set or queue that is empty gives back what room it has beyond this.
const ROOM: usize = 1024;

/// What comes out of a set: a task's id and its output.
pub type Joined<T> = (Id, Result<T, JoinError>);

/// A set of handles.
pub struct HandleSet<T> {
    handles: Slab<JoinHandle<T>>,
    ended: Arc<Ended>,
}

/// The keys of handles whose tasks have ended.
struct Ended(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    keys: VecDeque<usize>,
    waiting: Option<Waker>,
}

/// The waker of one handle.
struct Notice {
    key: usize,
    ended: Arc<Ended>,
}

impl<T> HandleSet<T> {
    /// No handles yet.
    pub fn new() -> Self {
        HandleSet {
            handles: Slab::new(),
            ended: Arc::new(Ended(Mutex::new(Queue::default()))),
        }
    }

    /// How many handles there are.
    pub fn len(&self) -> usize {
        self.handles.len()
    }

    /// Whether there is no handle.
    pub fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// Adds a handle that was not awaited before.
    pub fn insert(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        let place = self.handles.vacant_entry();
        let key = place.key();
        let ended = Arc::clone(&self.ended);
        let notice = Waker::from(Arc::new(Notice { key, ended }));
        if handle.register(&notice) == Join::Complete {
            self.ended.push(key);
        }
        place.insert(handle);
        abort
    }

    /// Takes out a handle whose task has ended, in the order of their ends. `None`: there is no
    /// handle.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Joined<T>>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        let budget = ready!(coop::poll_proceed(cx));
        loop {
            if let Some(joined) = self.try_next() {
                budget.made_progress();
                return Poll::Ready(Some(joined));
            }
            if self.ended.wait(cx.waker()) {
                return Poll::Pending;
            }
        }
    }

    /// As [`poll_next`](HandleSet::poll_next), without waiting.
    pub fn try_next(&mut self) -> Option<Joined<T>> {
        loop {
            let key = self.ended.0.lock().keys.pop_front()?;
            let Some(handle) = self.handles.get_mut(key) else {
                continue;
            };
            let Poll::Ready(output) = handle.take() else {
                continue;
            };
            let id = self.handles.remove(key).id();
            if self.is_empty() {
                self.give_room_back();
            }
            return Some((id, output));
        }
    }

    /// Forgets who polled last: it does not wait any more.
    pub fn forget_waiter(&self) {
        let waker = self.ended.0.lock().waiting.take();
        drop(waker);
    }

    /// After a burst.
    fn give_room_back(&mut self) {
        if self.handles.capacity() > ROOM {
            self.handles = Slab::new();
        }
        let mut queue = self.ended.0.lock();
        if queue.keys.capacity() > ROOM {
            queue.keys.shrink_to(ROOM);
        }
    }

    /// Asks every task to end. The handles stay.
    pub fn abort_all(&self) {
        for (_, handle) in &self.handles {
            handle.abort();
        }
    }

    /// Lets go of every handle: the tasks run on.
    pub fn detach_all(&mut self) {
        self.handles.clear();
        self.give_room_back();
    }
}

impl Ended {
    fn push(&self, key: usize) {
        let waiting = {
            let mut queue = self.0.lock();
            queue.keys.push_back(key);
            queue.waiting.take()
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// Leaves a waker (J2). `false`: there is a key.
    fn wait(&self, waker: &Waker) -> bool {
        let is_known = |queue: &Queue| {
            let known = queue.waiting.as_ref();
            known.is_some_and(|known| known.will_wake(waker))
        };
        // A clone is foreign code, so it is made with no lock held; none is needed if the waker is
        // there already, which it is only while no key is.
        if is_known(&self.0.lock()) {
            return true;
        }
        let fresh = waker.clone();
        let mut queue = self.0.lock();
        if !queue.keys.is_empty() {
            return false;
        }
        let old = queue.waiting.replace(fresh);
        drop(queue);
        drop(old);
        true
    }
}

impl Wake for Notice {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ended.push(self.key);
    }
}

impl<T> Default for HandleSet<T> {
    fn default() -> Self {
        HandleSet::new()
    }
}

impl<T> Drop for HandleSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

impl<T> fmt::Debug for HandleSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandleSet")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

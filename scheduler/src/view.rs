//! Limited views of a pool: tasks of which at most so many are polled at a time.
//!
//! A view has no threads and no queue of a worker. Its tasks are the pool's, in an owner list of
//! their own, and between a wake and the pool's queues stands a *door* with a number of turns: a
//! task that is woken takes one and goes to the pool, or waits in line; at the end of its poll it
//! leaves, and the first in line goes in its place. So tasks run in the order in which they were
//! woken, a task that waits costs its pool nothing, and one that is cancelled holds no turn.
//!
//! A view of a view has a door in front of the other's: a task takes a turn of each, the narrower
//! one first, and gives them up in the same order.
//!
//! # Who gives a turn up
//!
//! A `Runnable` that has gone through the door comes to [`Runnable::run`] once. If that polls, the
//! future around the task's own ([`Passing`]) leaves when the poll ends, also by a panic. If it does
//! not, because the task was aborted or has ended meanwhile, it calls [`Schedule::skipped`]. Only a
//! pool that is closing drops one unrun, and by then its doors are, or will be, closed too.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr;
use std::sync::Weak;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::context;
use crate::pool::{Pool, Shared};
use crate::primitive::sync::atomic::AtomicU64;
use crate::primitive::sync::atomic::Ordering::Relaxed;
use crate::primitive::sync::{Arc, Mutex};
use crate::scope::{Free, Member};
use crate::task::{self, Found, JoinHandle, Keeper, Place, Runnable, Schedule};
use crate::turns::{Entry, Turns};

thread_local! {
    /// The door of the task that is being polled here. Only compared.
    static INSIDE: Cell<*const Door> = const { Cell::new(ptr::null()) };
}

/// A view of a [`Pool`] of whose tasks at most so many are polled at a time.
///
/// It does not keep the pool alive.
pub struct View {
    door: Arc<Door>,
    home: Arc<Keeper>,
    views: Arc<Views>,
}

impl View {
    /// A view of `pool`.
    pub fn new(pool: &Pool, limit: usize) -> View {
        let base = Base::Pool(Arc::downgrade(&pool.shared));
        View::with_base(limit, base, Arc::clone(pool.views()))
    }

    /// A view of this view: its tasks are also counted here.
    #[must_use = "the view itself is not changed"]
    pub fn limited(&self, limit: usize) -> View {
        let base = Base::Door(Arc::clone(&self.door), Arc::clone(&self.home));
        View::with_base(limit, base, Arc::clone(&self.views))
    }

    fn with_base(limit: usize, base: Base, views: Arc<Views>) -> View {
        let turns = Turns::new(limit);
        let door = Arc::new(Door { turns, base });
        let home = Keeper::new(Arc::clone(&door) as Arc<dyn Schedule>, 1);
        views.add(&home);
        View { door, home, views }
    }

    /// Spawns a task into this view. Once the pool is closed, the future is dropped and the handle
    /// is already cancelled.
    pub fn spawn<F>(&self, future: F, place: impl Place) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_as(Free, future, place)
    }

    /// As [`spawn`](View::spawn), for a child of a scope, which refuses it once it is closed.
    pub fn spawn_as<M, F>(&self, member: M, future: F, place: impl Place) -> JoinHandle<M::Value>
    where
        M: Member<F::Output>,
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let passing = Passing {
            future,
            door: Arc::clone(&self.door),
            _home: Arc::clone(&self.home),
        };
        let (handle, task) = task::spawn(member, passing, &self.home, place);
        self.home.count_spawn_outside();
        if self.home.is_closed() || !task.admit::<F::Output, M>() {
            task.cancel();
        } else {
            self.views.spawned.fetch_add(1, Relaxed);
            task.schedule();
        }
        handle
    }

    /// Whether the current thread polls a task of this view.
    pub fn is_current(&self) -> bool {
        INSIDE.get() == Arc::as_ptr(&self.door) && self.door.pool_is_current()
    }

    /// Whether it is a view of `pool`, or of a view of it.
    pub fn is_of(&self, pool: &Pool) -> bool {
        ptr::eq(self.door.pool().as_ptr(), Arc::as_ptr(&pool.shared))
    }

    /// Whether the pool is gone.
    pub fn is_orphaned(&self) -> bool {
        self.door.pool().strong_count() == 0
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("turns", &self.door.turns)
            .field("live_tasks", &self.home.live_tasks())
            .finish_non_exhaustive()
    }
}

/// What a view's tasks go through on their way to the pool.
struct Door {
    turns: Turns<Runnable>,
    base: Base,
}

/// Where a door leads.
enum Base {
    /// Not counted: a view that somebody keeps must not keep a dead runtime's descriptors.
    Pool(Weak<Shared>),
    /// With its home, by which the pool closes it: tasks of this view wait in its line too.
    Door(
        Arc<Door>,
        #[expect(dead_code, reason = "kept alive")] Arc<Keeper>,
    ),
}

impl Door {
    /// The next door on the way to the pool.
    fn outer(&self) -> Option<&Arc<Door>> {
        match &self.base {
            Base::Pool(_) => None,
            Base::Door(outer, _) => Some(outer),
        }
    }

    fn pool(&self) -> &Weak<Shared> {
        let mut door = self;
        loop {
            match &door.base {
                Base::Pool(pool) => return pool,
                Base::Door(outer, _) => door = outer,
            }
        }
    }

    fn pool_is_current(&self) -> bool {
        context::is_worker_of(self.pool().as_ptr().cast())
    }

    /// Takes a turn at this door and all further ones. `None`: it waits at one of them.
    fn enter(&self, mut task: Runnable) -> Option<Runnable> {
        let mut door = self;
        loop {
            match door.turns.enter(task) {
                Entry::Go(entered) => task = entered,
                Entry::Waits => return None,
                Entry::Closed(refused) => {
                    refused.cancel();
                    return None;
                }
            }
            match door.outer() {
                Some(outer) => door = outer,
                None => return Some(task),
            }
        }
    }

    /// Gives the turns up at this door and all further ones, and sends on who waited for them.
    fn leave(&self) {
        let mut door = Some(self);
        while let Some(here) = door {
            let outer = here.outer();
            if let Some(next) = here.turns.leave() {
                let entered = match outer {
                    Some(outer) => outer.enter(next),
                    None => Some(next),
                };
                if let Some(next) = entered {
                    here.push(next);
                }
            }
            door = outer.map(|outer| &**outer);
        }
    }

    /// Puts a task that has all its turns into the pool's queues.
    fn push(&self, task: Runnable) {
        let pool = self.pool();
        if let Some(task) = context::push_onto(pool.as_ptr().cast(), task) {
            match pool.upgrade() {
                Some(pool) => pool.schedule(task),
                None => task.cancel(),
            }
        }
    }
}

impl Schedule for Door {
    fn schedule(self: Arc<Self>, task: Runnable) {
        if let Some(task) = self.enter(task) {
            self.push(task);
        }
    }

    fn reschedule(&self, task: Runnable) -> Option<Runnable> {
        self.enter(task)
    }

    fn skipped(&self) {
        self.leave();
    }

    fn close(&self) {
        for task in self.turns.close() {
            task.cancel();
        }
    }

    fn unhandled_panic(&self) {
        if let Some(pool) = self.pool().upgrade() {
            pool.unhandled_panic();
        }
    }
}

pin_project! {
    /// A task's future, and the turns that its poll gives up at its end.
    struct Passing<F> {
        #[pin]
        future: F,
        door: Arc<Door>,
        // The view's tasks are found through this, also when the view itself is gone.
        _home: Arc<Keeper>,
    }
}

impl<F: Future> Future for Passing<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        /// Leaves, also when the poll panics.
        struct Leave<'a>(&'a Door, *const Door);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                INSIDE.set(self.1);
                self.0.leave();
            }
        }
        let this = self.project();
        let door = Arc::as_ptr(this.door);
        let _leave = Leave(this.door, INSIDE.replace(door));
        this.future.poll(cx)
    }
}

/// The homes of a pool's views: what the pool counts, and cancels at its end.
pub(crate) struct Views {
    list: Mutex<List>,
    /// Tasks that were ever spawned into views.
    spawned: AtomicU64,
}

#[derive(Default)]
struct List {
    homes: Vec<Weak<Keeper>>,
    closed: bool,
}

impl Default for Views {
    fn default() -> Self {
        Views {
            list: Mutex::new(List::default()),
            spawned: AtomicU64::new(0),
        }
    }
}

impl Views {
    fn add(&self, home: &Arc<Keeper>) {
        let mut list = self.list.lock();
        list.homes.retain(|home| home.strong_count() > 0);
        list.homes.push(Arc::downgrade(home));
        if list.closed {
            drop(list);
            home.close();
        }
    }

    /// The views that are in use, by themselves or by their tasks.
    fn homes(&self) -> Vec<Arc<Keeper>> {
        let list = self.list.lock();
        list.homes.iter().filter_map(Weak::upgrade).collect()
    }

    /// Refuses new tasks, also in views that are still to be made.
    pub(crate) fn close(&self) {
        self.list.lock().closed = true;
        for home in self.homes() {
            home.close();
        }
    }

    /// Cancels all tasks, and those that wait in line, one at a time.
    pub(crate) fn wind_up(&self) {
        for home in self.homes() {
            while home.cancel_one() {}
            home.pool().close();
        }
    }

    /// Every task that has waited before.
    pub(crate) fn list(&self, found: &mut Vec<Found>) {
        for home in self.homes() {
            home.list(found);
        }
    }

    /// How many tasks are live.
    pub(crate) fn live_tasks(&self) -> usize {
        self.homes().iter().map(|home| home.live_tasks()).sum()
    }

    /// How many tasks were ever spawned.
    pub(crate) fn spawned_tasks(&self) -> u64 {
        self.spawned.load(Relaxed)
    }
}

impl fmt::Debug for Views {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Views")
            .field("live_tasks", &self.live_tasks())
            .finish_non_exhaustive()
    }
}

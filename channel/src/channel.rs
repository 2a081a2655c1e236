//! A channel for many senders and many receivers, as polls on `std` wakers.
//!
//! Every call here is one short stay under the lock, with all that is foreign before it (the copy
//! of a waker) or behind it (waking, dropping). `state.rs` has the steps and the invariants.
//!
//! **Cancelling**: a future gives its [`Waiting`] back with one of the `cancel_` calls. An item that was
//! not taken comes back with it; a call that it does not answer goes on to the next.
//!
//! # Front and back
//!
//! There are two locks. Items enter at the *back*. A receiver that finds several there moves them to
//! the *front*, a whole ring by one exchange, and from then on receivers take them from there without coming
//! near the lock and the memory that senders write to: on two cores they do not disturb each other. Few items,
//! and all of a rendezvous, are taken from the back, with one lock.
//!
//! * **F1** What is in the front is older than what is in the back.
//! * **F2** The front becomes longer only under both locks, so with the back's lock alone "empty" is certain.
//! * **F3** Who waits for room does so under both locks, unless the front is empty, and says so
//!   with a flag that receivers see with the front's lock alone.
//!
//! **Orderings**: what the locks do not order is a guess, `Relaxed`, that saves a stay under a lock and decides
//! nothing. The counts of the ends are those of an `Arc`: what must be seen at the close is
//! seen through the locks.

use std::collections::VecDeque;
use std::fmt;
use std::task::{Context, Poll, Waker};

use crate::primitive::assert_unlocked;
use crate::primitive::sync::atomic::Ordering::Relaxed;
use crate::primitive::sync::atomic::{AtomicBool, AtomicUsize};
use crate::primitive::sync::{Guard, Lock};
use crate::state::{Attempt, Front, Side, State};
use crate::waiters::{Left, Visitor, Waiting};
use crate::wake::{wake, wake_all};

mod ends;
#[cfg(all(test, loom))]
mod model;
mod single;
#[cfg(all(test, not(loom)))]
mod tests;

/// The capacity of a channel that is never full.
pub const UNBOUNDED: usize = usize::MAX;

/// How many items are moved in one stay under the lock.
const BATCH: usize = 512;

/// The channel is closed: nothing more can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// An item that was not sent, and why.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused<T> {
    /// There is no room now.
    Full(T),
    /// There never will be.
    Closed(T),
}

/// The channel.
pub struct Channel<T> {
    front: Apart<FrontHalf<T>>,
    back: Apart<BackHalf<T>>,
    senders: AtomicUsize,
    receivers: AtomicUsize,
    capacity: usize,
}

/// On cache lines of its own. Two, as processors fetch lines in pairs.
#[repr(align(128))]
struct Apart<V>(V);

struct FrontHalf<T> {
    ring: Lock<VecDeque<T>>,
    front: Front,
}

struct BackHalf<T> {
    state: Lock<State<T>>,
    /// Whether a receiver would have found something a moment ago.
    ready: AtomicBool,
}

impl<T> Channel<T> {
    /// A channel with one sender and one receiver, and room for `capacity` items.
    pub fn new(capacity: usize) -> Self {
        let front = FrontHalf {
            ring: Lock::new(VecDeque::new()),
            front: Front::new(),
        };
        let back = BackHalf {
            state: Lock::new(State::new(capacity)),
            ready: AtomicBool::new(false),
        };
        Channel {
            front: Apart(front),
            back: Apart(back),
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(1),
            capacity,
        }
    }

    fn front(&self) -> &Front {
        &self.front.0.front
    }

    /// Under the back's lock.
    #[inline]
    fn locked<R>(&self, work: impl FnOnce(&mut State<T>, &mut Side<'_, T>) -> R) -> R {
        self.step(None, work)
    }

    /// Under both locks, in their order.
    fn locked_both<R>(&self, work: impl FnOnce(&mut State<T>, &mut Side<'_, T>) -> R) -> R {
        let mut ring = self.front.0.ring.lock();
        self.step(Some(&mut ring), work)
    }

    #[inline]
    fn step<R>(
        &self,
        ring: Option<&mut VecDeque<T>>,
        work: impl FnOnce(&mut State<T>, &mut Side<'_, T>) -> R,
    ) -> R {
        self.step_on(self.back.0.state.lock(), ring, work)
    }

    /// As [`step`](Channel::step), with the back's lock held.
    #[inline]
    fn step_on<R>(
        &self,
        mut state: Guard<'_, State<T>>,
        ring: Option<&mut VecDeque<T>>,
        work: impl FnOnce(&mut State<T>, &mut Side<'_, T>) -> R,
    ) -> R {
        let front = self.front();
        let result = work(&mut state, &mut Side { front, ring });
        state.settle();
        self.back.0.ready.store(state.available() > 0, Relaxed);
        result
    }

    /// Tries until it is done or waits, with what it turns out to need. `likely` says whether it is going to
    /// wait, by the look of it.
    #[inline]
    fn attempt<R>(
        &self,
        cx: &mut Context<'_>,
        likely: bool,
        step: impl FnMut(&mut State<T>, &mut Visitor<'_>, &mut Side<'_, T>) -> Attempt<R>,
    ) -> Poll<R> {
        let mut visitor = Visitor::new(cx.waker());
        if likely {
            visitor.copy();
        }
        self.attempt_on(self.back.0.state.lock(), visitor, step)
    }

    /// As [`attempt`](Channel::attempt), with the back's lock held.
    #[inline]
    fn attempt_on<R>(
        &self,
        state: Guard<'_, State<T>>,
        mut visitor: Visitor<'_>,
        mut step: impl FnMut(&mut State<T>, &mut Visitor<'_>, &mut Side<'_, T>) -> Attempt<R>,
    ) -> Poll<R> {
        let mut attempt = self.step_on(state, None, |state, side| step(state, &mut visitor, side));
        loop {
            match attempt {
                Attempt::Done(result, waker) => {
                    wake(waker);
                    return Poll::Ready(result);
                }
                Attempt::Waits(waker) => {
                    wake(waker);
                    return Poll::Pending;
                }
                Attempt::NeedsCopy => visitor.copy(),
                Attempt::NeedsFront => {}
            }
            attempt = self.locked_both(|state, side| step(state, &mut visitor, side));
        }
    }

    /// Whether a receiver that comes is likely to wait.
    #[inline]
    fn looks_empty(&self) -> bool {
        !self.back.0.ready.load(Relaxed)
    }

    /// Whether a sender that was refused at once is likely to wait.
    #[inline]
    fn looks_full(&self) -> bool {
        self.capacity != UNBOUNDED && self.front().len() == 0
    }

    /// Calls who waits for the front to become shorter.
    #[cold]
    #[inline(never)]
    fn tell_back(&self, ring: Guard<'_, VecDeque<T>>, item: T) -> T {
        let waker = self.locked(|state, side| state.front_is_shorter(side.front));
        drop(ring);
        wake(waker);
        item
    }

    /// Calls who waits for an item.
    #[inline(never)]
    fn tell_receiver(mut state: Guard<'_, State<T>>) {
        let waker = state.receivers.call();
        drop(state);
        wake(waker);
    }

    // Sending.

    /// Sends without waiting.
    ///
    /// # Errors
    ///
    /// [`Refused`], with the item.
    #[inline]
    pub fn try_send(&self, item: T) -> Result<(), Refused<T>> {
        wake(self.locked(|state, side| state.try_send(item, side.front))?);
        Ok(())
    }

    /// Sends what is in `item` where that takes no thought: there is room, as far as can be told at
    /// once. `false`: it takes [`poll_send`](Channel::poll_send).
    #[inline]
    pub fn send_now(&self, item: &mut Option<T>) -> bool {
        let back = &self.back.0;
        let Some(mut state) = back.state.try_lock() else {
            return false;
        };
        let Some(len) = state.put_below_stop(item) else {
            return false;
        };
        if len == 1 {
            back.ready.store(true, Relaxed);
        }
        if state.receivers.waiting() > 0 {
            Self::tell_receiver(state);
        }
        true
    }

    /// Sends what is in `item`, which is empty while a rendezvous waits and after success.
    ///
    /// A channel without capacity is ready once the item has been received.
    ///
    /// # Errors
    ///
    /// [`Closed`]: the item is in `item`.
    #[inline(never)]
    pub fn poll_send(
        &self,
        cx: &mut Context<'_>,
        item: &mut Option<T>,
        place: &mut Waiting,
    ) -> Poll<Result<(), Closed>> {
        let likely = !place.is_some() && self.looks_full();
        if self.capacity == 0 {
            return self.attempt(cx, likely, |state, visitor, _| {
                state.offer(item, place, visitor)
            });
        }
        self.attempt(cx, likely, |state, visitor, side| {
            state.send(item, place, visitor, side)
        })
    }

    /// Stops sending. An item that was offered and not taken comes back into `item`.
    #[cold]
    pub fn cancel_send(&self, item: &mut Option<T>, place: &mut Waiting) {
        if !place.is_some() {
            return;
        }
        if self.capacity == 0 {
            if let Some(left) = self.locked(|state, _| state.offers.remove(place)) {
                *item = left.value;
                drop_waker(left.waker);
            }
            return;
        }
        self.cancel_reserve(place);
    }

    /// Waits for room for one item, and promises it to the caller, who owes a
    /// [`redeem`](Channel::redeem).
    ///
    /// # Errors
    ///
    /// [`Closed`].
    pub fn poll_reserve(
        &self,
        cx: &mut Context<'_>,
        place: &mut Waiting,
    ) -> Poll<Result<(), Closed>> {
        self.attempt(cx, false, |state, visitor, side| {
            state.reserve(place, visitor, side)
        })
    }

    /// Stops waiting for room.
    pub fn cancel_reserve(&self, place: &mut Waiting) {
        self.cancel(place, |state, front, place| {
            let left = state.senders.remove(place)?;
            let next = left.called.then(|| state.call_sender(front)).flatten();
            Some((left, next))
        });
    }

    /// Room for one item, as [`poll_reserve`](Channel::poll_reserve) gives it.
    ///
    /// # Errors
    ///
    /// [`Refused`], with nothing in it.
    pub fn try_reserve(&self) -> Result<(), Refused<()>> {
        self.locked(|state, side| {
            if state.closed {
                return Err(Refused::Closed(()));
            }
            if state.room(side.front) == 0 {
                return Err(Refused::Full(()));
            }
            state.reserved += 1;
            Ok(())
        })
    }

    /// Uses up the room that was promised, for an item or for nothing.
    ///
    /// The item is sent also if the channel has been closed meanwhile, as long as somebody can receive it.
    pub fn redeem(&self, item: Option<T>) {
        let mut wakers = Vec::new();
        let refused = self.locked(|state, side| state.redeem(item, &mut wakers, side.front));
        wake_all(wakers);
        drop_value(refused);
    }

    /// Sends from the front of `items` for as long as there is room: ready when all are sent.
    ///
    /// # Errors
    ///
    /// [`Closed`]: what was not sent is in `items`.
    pub fn poll_send_many(
        &self,
        cx: &mut Context<'_>,
        items: &mut VecDeque<T>,
        place: &mut Waiting,
    ) -> Poll<Result<(), Closed>> {
        let mut wakers = Vec::new();
        loop {
            let all = items.len() <= BATCH;
            let sent = self.attempt(cx, false, |state, visitor, side| {
                state.send_many(items, BATCH, &mut wakers, place, visitor, side)
            });
            wake_all(std::mem::take(&mut wakers));
            match sent {
                Poll::Ready(Ok(())) if !all => {}
                other => return other,
            }
        }
    }

    // Receiving.

    /// Takes an item where that takes no thought: one is in the front, and nobody else is there.
    /// `None`: it takes [`poll_recv`](Channel::poll_recv).
    #[inline]
    pub fn recv_now(&self) -> Option<T> {
        if self.front().len() == 0 {
            return None;
        }
        self.take_from(self.front.0.ring.try_lock()?)
    }

    /// Takes an item from the front, if there is one.
    fn take_from_front(&self) -> Option<T> {
        if self.front().len() == 0 {
            return None;
        }
        self.take_from(self.front.0.ring.lock())
    }

    #[inline]
    fn take_from(&self, mut ring: Guard<'_, VecDeque<T>>) -> Option<T> {
        let front = self.front();
        let item = ring.pop_front()?;
        front.len.store(ring.len(), Relaxed);
        if front.wanted.load(Relaxed) {
            return Some(self.tell_back(ring, item));
        }
        Some(item)
    }

    /// Receives without waiting. `Ok(None)`: nothing is there now.
    ///
    /// # Errors
    ///
    /// [`Closed`]: nothing is there, and nothing will come.
    #[inline]
    pub fn try_recv(&self) -> Result<Option<T>, Closed> {
        if let Some(item) = self.take_from_front() {
            return Ok(Some(item));
        }
        let take = |state: &mut State<T>, side: &mut Side<'_, T>| {
            (state.take(side), state.is_over(side.front))
        };
        let mut taken = self.locked(take);
        if let (Attempt::NeedsFront, _) = taken {
            taken = self.locked_both(take);
        }
        match taken {
            (Attempt::Done(Some(item), waker), _) => {
                wake(waker);
                Ok(Some(item))
            }
            (_, true) => Err(Closed),
            (_, false) => Ok(None),
        }
    }

    /// Receives up to `limit` items, which is not 0, at the end of `buffer`. 0: nothing is there, and nothing will come.
    pub fn poll_recv_many(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<T>,
        limit: usize,
        place: &mut Waiting,
    ) -> Poll<usize> {
        let likely = !place.is_some() && self.looks_empty();
        let before = buffer.len();
        // Room is made before the lock is taken, as far as it can be foreseen.
        buffer.reserve(self.len().min(limit));
        let mut wakers = Vec::new();
        let mut received = self.attempt(cx, likely, |state, visitor, side| {
            let limit = limit.min(BATCH);
            state.receive_many(buffer, limit, &mut wakers, place, visitor, side)
        });
        wake_all(std::mem::take(&mut wakers));
        while received.is_ready() && buffer.len() - before < limit {
            let left = limit - (buffer.len() - before);
            let more = self.locked_both(|state, side| {
                state.take_many(buffer, left.min(BATCH), &mut wakers, side)
            });
            wake_all(std::mem::take(&mut wakers));
            if more == 0 {
                break;
            }
            received = Poll::Ready(buffer.len() - before);
        }
        received
    }

    /// Stops receiving.
    #[cold]
    pub fn cancel_recv(&self, place: &mut Waiting) {
        if place.is_some() {
            self.cancel(place, |state, front, place| {
                let left = state.receivers.remove(place)?;
                let next = left.called.then(|| state.call_receiver(front)).flatten();
                Some((left, next))
            });
        }
    }

    /// Stops waiting, and calls who can go on in its stead.
    fn cancel(
        &self,
        place: &mut Waiting,
        step: impl FnOnce(&mut State<T>, &Front, &mut Waiting) -> Option<(Left<()>, Option<Waker>)>,
    ) {
        if let Some((left, next)) = self.locked(|state, side| step(state, side.front, place)) {
            wake(next);
            drop_waker(left.waker);
        }
    }

    // The end.

    /// Ends the sending. What is in the channel can still be received.
    pub fn close(&self) {
        let mut wakers = Vec::new();
        self.locked(|state, _| state.close(&mut wakers));
        wake_all(wakers);
    }

    /// Waits for the end of the sending.
    pub fn poll_closed(&self, cx: &mut Context<'_>, place: &mut Waiting) -> Poll<()> {
        self.attempt(cx, !place.is_some(), |state, visitor, _| {
            if state.closed {
                state.watchers.leave(place, visitor);
                Attempt::Done((), None)
            } else if state.watchers.wait(place, visitor, || None) {
                Attempt::Waits(None)
            } else {
                Attempt::NeedsCopy
            }
        })
    }

    /// Stops waiting for the end.
    pub fn cancel_closed(&self, place: &mut Waiting) {
        self.cancel(place, |state, _, place| {
            Some((state.watchers.remove(place)?, None))
        });
    }

    /// Whether the sending has ended.
    pub fn is_closed(&self) -> bool {
        self.locked(|state, _| state.closed)
    }

    /// How many items are in it.
    pub fn len(&self) -> usize {
        self.locked(|state, side| state.queue.len() + side.front.len())
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items could be sent now without waiting.
    pub fn room(&self) -> usize {
        if self.capacity == UNBOUNDED {
            return UNBOUNDED;
        }
        self.locked(|state, side| state.look_at_front(side.front))
    }

    /// How many items it has room for when it is empty.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Drops what is foreign.
fn drop_value<V>(value: V) {
    assert_unlocked();
    drop(value);
}

/// Drops a waker, which is foreign.
fn drop_waker(waker: Option<Waker>) {
    drop_value(waker);
}

impl<T> fmt::Debug for Channel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, closed) = (self.len(), self.is_closed());
        let mut debug = f.debug_struct("Channel");
        debug.field("len", &len);
        if self.capacity != UNBOUNDED {
            debug.field("capacity", &self.capacity);
        }
        debug.field("closed", &closed).finish_non_exhaustive()
    }
}

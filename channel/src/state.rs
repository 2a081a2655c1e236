//! What a channel's back lock guards, and every step that is taken under it.
//!
//! # Invariants
//!
//! * **C1** If an item is there and somebody waits for one, then at least as many receivers are
//!   *called* (woken, and still to come and look) as items are there. So each item that comes calls
//!   one, and one that was called and leaves in vain calls the next if an item is there.
//! * **C2** The same for room and those who wait to send.
//! * **C3** A call gives nothing away: an item is in the queue until a receiver takes it, and who
//!   comes first has it. So a future that is called and never polled holds up nobody who comes.
//! * **C4** After the close nobody waits, but receivers while there are permits.
//!
//! # A rendezvous
//!
//! With no capacity the queue stays empty: a sender waits with its item in its entry (an *offer*), and a
//! receiver takes it from there in the poll that returns it. Who cannot wait, `try_send` and
//! permits, may hand over as many items as there are receivers that wait; these items pass
//! through the queue.
//!
//! # The front
//!
//! Some items may be in the channel's *front* (see `channel.rs`), which shrinks without this lock.
//! [`Front`] tells how many there are: never too few under this lock, as it grows only under it.

use std::collections::VecDeque;
use std::mem;
use std::task::Waker;

use crate::channel::{Closed, Refused};
use crate::primitive::sync::atomic::Ordering::Relaxed;
use crate::primitive::sync::atomic::{AtomicBool, AtomicUsize};
use crate::queue::Queue;
use crate::waiters::{Visitor, Waiters, Waiting};

/// The state.
#[derive(Debug)]
pub(crate) struct State<T> {
    pub(crate) queue: Queue<T>,
    /// How many items were in the front when it was last looked at: by now there may be fewer.
    in_front: usize,
    /// How long the queue's last ring may become without another thought: there is room for that, as
    /// far as can be told without looking at the front.
    stop: usize,
    pub(crate) capacity: usize,
    /// Room that is promised to permits.
    pub(crate) reserved: usize,
    pub(crate) closed: bool,
    /// The receivers are gone.
    pub(crate) abandoned: bool,
    pub(crate) receivers: Waiters,
    pub(crate) senders: Waiters,
    pub(crate) offers: Waiters<T>,
    /// Who waits for the close.
    pub(crate) watchers: Waiters,
}

/// How an attempt ended, and whom to wake for it.
pub(crate) enum Attempt<R> {
    Done(R, Option<Waker>),
    Waits(Option<Waker>),
    /// It would wait, but needs a copy of the waker for that.
    NeedsCopy,
    /// It takes the front's lock too.
    NeedsFront,
}

/// How many items are in the front, and whether somebody waits for them to become fewer.
///
/// **Orderings**: both are `Relaxed`. The count is stored under the front's lock and grows only under both
/// locks, so that it is exact under both, and not too low under either. The flag is stored under both.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) len: AtomicUsize,
    pub(crate) wanted: AtomicBool,
}

impl Front {
    pub(crate) fn new() -> Self {
        Front {
            len: AtomicUsize::new(0),
            wanted: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }
}

/// What a step has of the front.
pub(crate) struct Side<'a, T> {
    pub(crate) front: &'a Front,
    /// The items in it, if its lock is held.
    pub(crate) ring: Option<&'a mut VecDeque<T>>,
}

/// From this many items on in the queue they are moved to the front together.
const WORTH_MOVING: usize = 4;

impl<T> State<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        State {
            queue: Queue::new(),
            in_front: 0,
            stop: 0,
            capacity,
            reserved: 0,
            closed: false,
            abandoned: false,
            receivers: Waiters::new(),
            senders: Waiters::new(),
            offers: Waiters::new(),
            watchers: Waiters::new(),
        }
    }

    /// What a receiver would find.
    #[inline]
    pub(crate) fn available(&self) -> usize {
        self.queue.len() + self.offers.waiting()
    }

    /// So many items at least could be sent now without waiting: 0 only if none could.
    #[inline]
    pub(crate) fn room(&mut self, front: &Front) -> usize {
        let room = self.room_beside(self.in_front);
        if room > 0 {
            return room;
        }
        // Looked at only now: it is on a line that the receivers write to.
        self.look_at_front(front)
    }

    /// How many items could be sent now without waiting.
    pub(crate) fn look_at_front(&mut self, front: &Front) -> usize {
        self.in_front = front.len();
        self.room_beside(self.in_front)
    }

    #[inline]
    fn room_beside(&self, in_front: usize) -> usize {
        let limit = match self.capacity {
            0 => self.receivers.registered(),
            limited => limited,
        };
        limit.saturating_sub(self.queue.len() + self.reserved + in_front)
    }

    /// Sends an item where that takes no thought, and says how long the last ring is then. Whoever
    /// waits for an item is still to be called.
    #[inline]
    pub(crate) fn put_below_stop(&mut self, item: &mut Option<T>) -> Option<usize> {
        self.queue.push_below(self.stop, item)
    }

    /// The end of any other step: there may be more room, or less.
    #[inline]
    pub(crate) fn settle(&mut self) {
        // A rendezvous and a closed channel have none to give away.
        let used = self.queue.len() + self.reserved + self.in_front;
        let capacity = if self.closed { 0 } else { self.capacity };
        self.stop = self.queue.stop(capacity.saturating_sub(used));
    }

    /// Gives the ring at the head of the queue in exchange for an empty one.
    pub(crate) fn move_to_front(&mut self, ring: &mut VecDeque<T>, front: &Front) {
        self.queue.swap_ring(ring);
        self.in_front = ring.len();
        front.len.store(ring.len(), Relaxed);
        front.wanted.store(self.senders.waiting() > 0, Relaxed);
    }

    /// The front has become shorter: calls who can go on for it. Under both locks.
    pub(crate) fn front_is_shorter(&mut self, front: &Front) -> Option<Waker> {
        let waker = self.call_sender(front);
        front.wanted.store(self.senders.waiting() > 0, Relaxed);
        waker
    }

    /// One more item is there for somebody.
    #[inline]
    pub(crate) fn put(&mut self, item: T) -> Option<Waker> {
        self.queue.push(item);
        self.receivers.call()
    }

    /// Takes an item, if there is one, and calls who can go on for it.
    #[inline]
    pub(crate) fn take(&mut self, side: &mut Side<'_, T>) -> Attempt<Option<T>> {
        let is_worth_moving = self.queue.len() >= WORTH_MOVING && self.capacity > 0;
        match &mut side.ring {
            Some(ring) => {
                if ring.is_empty() && is_worth_moving {
                    self.move_to_front(ring, side.front);
                }
                if let Some(item) = ring.pop_front() {
                    side.front.len.store(ring.len(), Relaxed);
                    return Attempt::Done(Some(item), self.front_is_shorter(side.front));
                }
            }
            None if is_worth_moving || side.front.len() > 0 => return Attempt::NeedsFront,
            None => {}
        }
        if let Some(item) = self.queue.pop() {
            return Attempt::Done(Some(item), self.call_sender(side.front));
        }
        let offer = if self.closed {
            None
        } else {
            self.offers.serve()
        };
        match offer {
            Some((item, waker)) => Attempt::Done(Some(item), waker),
            None => Attempt::Done(None, None),
        }
    }

    /// Calls one who waits to send, if there is room.
    #[inline]
    pub(crate) fn call_sender(&mut self, front: &Front) -> Option<Waker> {
        if self.senders.waiting() > 0 && self.room(front) > 0 {
            self.senders.call()
        } else {
            None
        }
    }

    /// Calls one who waits to receive, if there is an item.
    pub(crate) fn call_receiver(&mut self, front: &Front) -> Option<Waker> {
        if self.available() + front.len() > 0 {
            self.receivers.call()
        } else {
            None
        }
    }

    pub(crate) fn try_send(&mut self, item: T, front: &Front) -> Result<Option<Waker>, Refused<T>> {
        if self.closed {
            Err(Refused::Closed(item))
        } else if self.room(front) == 0 {
            Err(Refused::Full(item))
        } else {
            Ok(self.put(item))
        }
    }

    #[inline]
    pub(crate) fn send(
        &mut self,
        item: &mut Option<T>,
        place: &mut Waiting,
        visitor: &mut Visitor<'_>,
        side: &mut Side<'_, T>,
    ) -> Attempt<Result<(), Closed>> {
        match self.enter(place, visitor, side) {
            Attempt::Done(Ok(()), _) => {
                let waker = item.take().and_then(|item| self.put(item));
                Attempt::Done(Ok(()), waker)
            }
            other => other,
        }
    }

    /// Room for one item, which is the caller's to use or to promise.
    #[inline]
    fn enter(
        &mut self,
        place: &mut Waiting,
        visitor: &mut Visitor<'_>,
        side: &mut Side<'_, T>,
    ) -> Attempt<Result<(), Closed>> {
        let outcome = if self.closed {
            Err(Closed)
        } else if self.room(side.front) > 0 {
            Ok(())
        } else {
            return self.wait_for_room(place, visitor, side);
        };
        self.senders.leave(place, visitor);
        Attempt::Done(outcome, None)
    }

    fn wait_for_room<R>(
        &mut self,
        place: &mut Waiting,
        visitor: &mut Visitor<'_>,
        side: &mut Side<'_, T>,
    ) -> Attempt<R> {
        let has_front = side.front.len() > 0;
        if has_front && side.ring.is_none() {
            // Only under both locks is it certain that there is no room, and that whoever makes
            // some will see that it is wanted. It will hardly have come meanwhile.
            return if place.is_some() {
                Attempt::NeedsFront
            } else {
                Attempt::NeedsCopy
            };
        }
        if !self.senders.wait(place, visitor, || None) {
            return Attempt::NeedsCopy;
        }
        if has_front {
            side.front.wanted.store(true, Relaxed);
        }
        Attempt::Waits(None)
    }

    pub(crate) fn reserve(
        &mut self,
        place: &mut Waiting,
        visitor: &mut Visitor<'_>,
        side: &mut Side<'_, T>,
    ) -> Attempt<Result<(), Closed>> {
        let attempt = self.enter(place, visitor, side);
        if let Attempt::Done(Ok(()), _) = attempt {
            self.reserved += 1;
        }
        attempt
    }

    /// As [`send`](State::send), for a channel without capacity.
    pub(crate) fn offer(
        &mut self,
        item: &mut Option<T>,
        place: &mut Waiting,
        visitor: &mut Visitor<'_>,
    ) -> Attempt<Result<(), Closed>> {
        if self.offers.was_served(place) {
            self.offers.leave(place, visitor);
            return Attempt::Done(Ok(()), None);
        }
        if self.closed {
            if let Some(back) = self.offers.leave(place, visitor) {
                *item = Some(back);
            }
            return Attempt::Done(Err(Closed), None);
        }
        let is_new = !place.is_some();
        if !self.offers.wait(place, visitor, || item.take()) {
            return Attempt::NeedsCopy;
        }
        let receiver = if is_new { self.receivers.call() } else { None };
        Attempt::Waits(receiver)
    }

    #[inline]
    pub(crate) fn receive(
        &mut self,
        place: &mut Waiting,
        visitor: &mut Visitor<'_>,
        side: &mut Side<'_, T>,
    ) -> Attempt<Option<T>> {
        match self.take(side) {
            Attempt::Done(None, _) => self.wait_for_item(place, visitor, side),
            Attempt::Done(item, waker) => {
                self.receivers.leave(place, visitor);
                Attempt::Done(item, waker)
            }
            other => other,
        }
    }

    /// As [`receive`](State::receive), for one who was called: takes an item if that changes nothing but the
    /// length of the queue.
    #[inline]
    pub(crate) fn take_single(&mut self, place: &mut Waiting, front: &Front) -> Option<T> {
        // `stop` stays as it was: the queue is shorter now, and there is more room. That there is nothing in the
        // front is certain under the back's lock.
        let plain = !self.closed && self.capacity > 0 && front.len() == 0;
        let alone = self.senders.waiting() == 0 && self.queue.len() < WORTH_MOVING;
        if !plain || !alone || !self.receivers.was_called(place) {
            return None;
        }
        let item = self.queue.pop_from_short()?;
        self.receivers.answer(place);
        Some(item)
    }

    /// As [`receive`](State::receive), for one who has not waited yet: waits if nothing is there. Else the copy of
    /// its waker comes back.
    #[inline]
    pub(crate) fn wait_for_first(
        &mut self,
        place: &mut Waiting,
        copy: Waker,
        front: &Front,
    ) -> Result<(), Waker> {
        let plain = !self.closed && self.capacity > 0 && front.len() == 0;
        if !plain || self.queue.len() > 0 {
            return Err(copy);
        }
        *place = self.receivers.enter(copy, None);
        Ok(())
    }

    /// Waits where nothing is there; done where nothing will come.
    fn wait_for_item<R: Default>(
        &mut self,
        place: &mut Waiting,
        visitor: &mut Visitor<'_>,
        side: &mut Side<'_, T>,
    ) -> Attempt<R> {
        if self.is_over(side.front) {
            self.receivers.leave(place, visitor);
            return Attempt::Done(R::default(), None);
        }
        let makes_room = self.capacity == 0 && !place.is_some();
        if !self.receivers.wait(place, visitor, || None) {
            return Attempt::NeedsCopy;
        }
        // In a rendezvous it is the receivers who wait that make room.
        let sender = makes_room.then(|| self.call_sender(side.front));
        Attempt::Waits(sender.flatten())
    }

    /// Takes up to `limit` items to the end of `buffer`, and says how many. Under both locks.
    pub(crate) fn take_many(
        &mut self,
        buffer: &mut Vec<T>,
        limit: usize,
        wakers: &mut Vec<Waker>,
        side: &mut Side<'_, T>,
    ) -> usize {
        for taken in 0..limit {
            match self.take(side) {
                Attempt::Done(Some(item), waker) => {
                    buffer.push(item);
                    wakers.extend(waker);
                }
                _ => return taken,
            }
        }
        limit
    }

    /// Receives up to `limit` items at the end of `buffer`.
    pub(crate) fn receive_many(
        &mut self,
        buffer: &mut Vec<T>,
        limit: usize,
        wakers: &mut Vec<Waker>,
        place: &mut Waiting,
        visitor: &mut Visitor<'_>,
        side: &mut Side<'_, T>,
    ) -> Attempt<usize> {
        if side.ring.is_none() {
            return Attempt::NeedsFront;
        }
        match self.take_many(buffer, limit, wakers, side) {
            0 => self.wait_for_item(place, visitor, side),
            taken => {
                self.receivers.leave(place, visitor);
                Attempt::Done(taken, None)
            }
        }
    }

    /// Sends up to `limit` items from the front of `items`; done when these or all are sent.
    pub(crate) fn send_many(
        &mut self,
        items: &mut VecDeque<T>,
        limit: usize,
        wakers: &mut Vec<Waker>,
        place: &mut Waiting,
        visitor: &mut Visitor<'_>,
        side: &mut Side<'_, T>,
    ) -> Attempt<Result<(), Closed>> {
        let mut sent = 0;
        while !self.closed && sent < limit && self.room(side.front) > 0 {
            let Some(item) = items.pop_front() else {
                break;
            };
            wakers.extend(self.put(item));
            sent += 1;
        }
        if !self.closed && (items.is_empty() || sent == limit) {
            self.senders.leave(place, visitor);
            return Attempt::Done(Ok(()), None);
        }
        self.enter(place, visitor, side)
    }

    /// Whether nothing is there and nothing can come.
    pub(crate) fn is_over(&self, front: &Front) -> bool {
        self.closed && self.reserved == 0 && self.queue.len() == 0 && front.len() == 0
    }

    /// A permit is given back, with an item or without. The item of an abandoned channel is
    /// returned, to be dropped without the lock.
    pub(crate) fn redeem(
        &mut self,
        item: Option<T>,
        wakers: &mut Vec<Waker>,
        front: &Front,
    ) -> Option<T> {
        self.reserved -= 1;
        let item = match item {
            Some(item) if !self.abandoned => {
                wakers.extend(self.put(item));
                None
            }
            refused => {
                wakers.extend(self.call_sender(front));
                refused
            }
        };
        if self.closed && self.reserved == 0 {
            self.receivers.call_all(wakers);
        }
        item
    }

    /// Ends the sending, and calls all who wait, first come first called.
    pub(crate) fn close(&mut self, wakers: &mut Vec<Waker>) {
        self.closed = true;
        self.receivers.call_all(wakers);
        self.senders.call_all(wakers);
        self.offers.call_all(wakers);
        self.watchers.call_all(wakers);
    }

    /// Nobody will receive any more. What is there is returned, to be dropped without a lock. Under
    /// both locks.
    pub(crate) fn abandon(
        &mut self,
        wakers: &mut Vec<Waker>,
        side: &mut Side<'_, T>,
    ) -> (Option<VecDeque<T>>, Queue<T>) {
        self.abandoned = true;
        self.close(wakers);
        side.front.len.store(0, Relaxed);
        let front = side.ring.as_mut().map(|ring| mem::take(*ring));
        (front, mem::replace(&mut self.queue, Queue::new()))
    }
}

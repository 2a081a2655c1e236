//! Who waits: a first-in first-out list whose entries are known by number.
//!
//! A future that waits holds a number, not a place in memory that others point at. So a future
//! that is forgotten leaves an entry behind and nothing dangling, and a future may be moved
//! between its polls.
//!
//! # States of an entry
//!
//! | state | in the list | meaning |
//! |---|---|---|
//! | waiting | yes | has a waker, is still to be called |
//! | called | no | was woken, and has not come yet to look |
//! | free | no | the number may be given to the next |
//!
//! # Invariants
//!
//! * **W1** An entry that is not free belongs to one [`Waiting`], which alone frees it.
//! * **W2** An entry has a waker exactly while it is waiting.
//! * **W3** Who was called and comes in vain goes back to the front: it came before all who wait.

use std::fmt;
use std::mem;
use std::task::Waker;

use crate::primitive::assert_unlocked;

#[cfg(all(test, not(loom)))]
mod tests;

/// No entry.
const NONE: u32 = u32::MAX;

/// Past this capacity an empty list gives its memory back.
const KEEP: usize = 64;

/// A future's place among those who wait; without one until it has to.
///
/// Whoever holds it gives it back to the channel before it is dropped, or leaves an entry there.
#[derive(Debug)]
pub struct Waiting(u32);

impl Waiting {
    /// Not waiting.
    pub const fn new() -> Self {
        Waiting(NONE)
    }

    /// Whether there is a place to give back.
    #[inline]
    pub fn is_some(&self) -> bool {
        self.0 != NONE
    }

    /// The number, if it has one.
    #[inline]
    fn number(&self) -> Option<u32> {
        self.is_some().then_some(self.0)
    }
}

impl Default for Waiting {
    fn default() -> Self {
        Waiting::new()
    }
}

/// Who comes to look, and what wakers have become superfluous. All that is foreign is done outside
/// the lock: the copy is made before, and what is left is dropped after.
pub(crate) struct Visitor<'a> {
    waker: &'a Waker,
    copy: Option<Waker>,
    old: Option<Waker>,
}

impl<'a> Visitor<'a> {
    pub(crate) fn new(waker: &'a Waker) -> Self {
        Visitor::with_copy(waker, None)
    }

    /// With the copy that waiting takes, if it has been made.
    pub(crate) fn with_copy(waker: &'a Waker, copy: Option<Waker>) -> Self {
        Visitor {
            waker,
            copy,
            old: None,
        }
    }

    /// Makes the copy that waiting takes.
    #[inline]
    pub(crate) fn copy(&mut self) {
        assert_unlocked();
        self.copy = Some(self.waker.clone());
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Free,
    Waiting,
    Called,
}

struct Entry<V> {
    waker: Option<Waker>,
    /// What it brings along, until somebody takes it.
    value: Option<V>,
    place: Place,
    before: u32,
    /// The next in the list, or the next free one.
    after: u32,
}

/// The list.
pub(crate) struct Waiters<V = ()> {
    entries: Vec<Entry<V>>,
    first: u32,
    last: u32,
    free: u32,
    waiting: u32,
    taken: u32,
}

/// What an entry was when it left.
#[derive(Debug)]
pub(crate) struct Left<V> {
    /// It was called and has not answered: the call is for another.
    pub(crate) called: bool,
    /// To be dropped without a lock.
    pub(crate) waker: Option<Waker>,
    /// What it brought along, unless that was taken.
    pub(crate) value: Option<V>,
}

impl<V> Waiters<V> {
    pub(crate) fn new() -> Self {
        Waiters {
            entries: Vec::new(),
            first: NONE,
            last: NONE,
            free: NONE,
            waiting: 0,
            taken: 0,
        }
    }

    /// How many wait or were called.
    #[inline]
    pub(crate) fn registered(&self) -> usize {
        self.taken as usize
    }

    /// How many wait.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting as usize
    }

    /// Makes `place` wait. `false`: it takes a copy of the waker.
    #[must_use = "without a waker nobody is called"]
    pub(crate) fn wait(
        &mut self,
        place: &mut Waiting,
        visitor: &mut Visitor<'_>,
        value: impl FnOnce() -> Option<V>,
    ) -> bool {
        if let Some(number) = place.number()
            && self.entries[number as usize].place == Place::Waiting
        {
            let entry = &mut self.entries[number as usize];
            let same = entry.waker.as_ref();
            let same = same.is_some_and(|old| old.will_wake(visitor.waker));
            if !same && visitor.copy.is_some() {
                visitor.old = mem::replace(&mut entry.waker, visitor.copy.take());
                return true;
            }
            return same;
        }
        let Some(copy) = visitor.copy.take() else {
            return false;
        };
        if let Some(number) = place.number() {
            self.entries[number as usize].waker = Some(copy);
            self.link_first(number);
        } else {
            *place = self.enter(copy, value());
        }
        true
    }

    /// Whether the entry of `place` was called.
    #[inline]
    pub(crate) fn was_called(&self, place: &Waiting) -> bool {
        let entry = self.entries.get(place.0 as usize);
        entry.is_some_and(|entry| entry.place == Place::Called)
    }

    /// As [`leave`](Waiters::leave), of one who was called and brought nothing along.
    #[inline]
    pub(crate) fn answer(&mut self, place: &mut Waiting) {
        if let Some(number) = place.number() {
            *place = Waiting::new();
            self.release(number);
        }
    }

    /// Whether what the entry brought along has been taken.
    pub(crate) fn was_served(&self, place: &Waiting) -> bool {
        place
            .number()
            .is_some_and(|number| self.entries[number as usize].value.is_none())
    }

    /// Calls the one who has waited longest: whoever gets the waker must wake it.
    #[inline]
    pub(crate) fn call(&mut self) -> Option<Waker> {
        if self.waiting == 0 {
            return None;
        }
        self.call_first()
    }

    /// Apart, so that the way of an item that nobody waits for is short.
    #[inline(never)]
    fn call_first(&mut self) -> Option<Waker> {
        let entry = &mut self.entries[self.first as usize];
        entry.place = Place::Called;
        let waker = entry.waker.take();
        self.first = entry.after;
        match self.entries.get_mut(self.first as usize) {
            Some(next) => next.before = NONE,
            None => self.last = NONE,
        }
        self.waiting -= 1;
        waker
    }

    /// As [`call`](Waiters::call), and takes what it brought along.
    pub(crate) fn serve(&mut self) -> Option<(V, Option<Waker>)> {
        let first = self.entries.get_mut(self.first as usize)?;
        let value = first.value.take()?;
        Some((value, self.call()))
    }

    /// Calls all who wait, in order.
    pub(crate) fn call_all(&mut self, wakers: &mut Vec<Waker>) {
        while let Some(waker) = self.call() {
            wakers.push(waker);
        }
    }

    /// Frees the entry of `place`, if it has one, and gives back what it brought along, unless that
    /// was taken.
    #[inline]
    pub(crate) fn leave(&mut self, place: &mut Waiting, visitor: &mut Visitor<'_>) -> Option<V> {
        let number = place.number()?;
        if self.entries[number as usize].place == Place::Waiting {
            visitor.old = self.withdraw(number);
        }
        place.0 = NONE;
        self.release(number)
    }

    /// Takes who waits out of the list, uncalled.
    #[inline(never)]
    fn withdraw(&mut self, number: u32) -> Option<Waker> {
        self.unlink(number);
        self.entries[number as usize].waker.take()
    }

    /// Frees an entry that is not in the list, and gives back what it brought along.
    fn release(&mut self, number: u32) -> Option<V> {
        let entry = &mut self.entries[number as usize];
        entry.place = Place::Free;
        entry.after = mem::replace(&mut self.free, number);
        let value = entry.value.take();
        self.taken -= 1;
        if self.taken == 0 && self.entries.capacity() > KEEP {
            self.entries = Vec::new();
            self.free = NONE;
        }
        value
    }

    /// As [`leave`](Waiters::leave), by whoever will not come to look again.
    pub(crate) fn remove(&mut self, place: &mut Waiting) -> Option<Left<V>> {
        let number = place.number()?;
        let called = self.entries[number as usize].place == Place::Called;
        let waker = if called { None } else { self.withdraw(number) };
        place.0 = NONE;
        Some(Left {
            called,
            waker,
            value: self.release(number),
        })
    }

    /// Makes a future wait that has no place yet: the place that it gets.
    pub(crate) fn enter(&mut self, waker: Waker, value: Option<V>) -> Waiting {
        if self.free == NONE {
            self.free = self.add_entry();
        }
        let number = self.free;
        let entry = &mut self.entries[number as usize];
        self.free = entry.after;
        entry.waker = Some(waker);
        entry.value = value;
        self.taken += 1;
        self.link_last(number);
        Waiting(number)
    }

    /// One more entry, which is free.
    #[cold]
    #[inline(never)]
    fn add_entry(&mut self) -> u32 {
        let number = u32::try_from(self.entries.len());
        self.entries.push(Entry {
            waker: None,
            value: None,
            place: Place::Free,
            before: NONE,
            after: NONE,
        });
        number
            .ok()
            .filter(|&number| number != NONE)
            .expect("fewer than 2^32 futures wait")
    }

    fn link_last(&mut self, number: u32) {
        let last = mem::replace(&mut self.last, number);
        let entry = &mut self.entries[number as usize];
        entry.place = Place::Waiting;
        (entry.before, entry.after) = (last, NONE);
        match self.entries.get_mut(last as usize) {
            Some(last) => last.after = number,
            None => self.first = number,
        }
        self.waiting += 1;
    }

    fn link_first(&mut self, number: u32) {
        let first = mem::replace(&mut self.first, number);
        let entry = &mut self.entries[number as usize];
        entry.place = Place::Waiting;
        (entry.before, entry.after) = (NONE, first);
        match self.entries.get_mut(first as usize) {
            Some(first) => first.before = number,
            None => self.last = number,
        }
        self.waiting += 1;
    }

    fn unlink(&mut self, number: u32) {
        let entry = &self.entries[number as usize];
        let (before, after) = (entry.before, entry.after);
        match self.entries.get_mut(before as usize) {
            Some(before) => before.after = after,
            None => self.first = after,
        }
        match self.entries.get_mut(after as usize) {
            Some(after) => after.before = before,
            None => self.last = before,
        }
        self.waiting -= 1;
    }
}

impl<V> fmt::Debug for Waiters<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiters")
            .field("waiting", &self.waiting)
            .field("registered", &self.taken)
            .finish_non_exhaustive()
    }
}

//! Turns: at most so many items are on their way at a time, the others wait in line.
//!
//! A limited view gives one to each of its tasks that is in a queue of the pool or is being polled.
//! An item that finds no turn is kept here, first in first out; whoever gives a turn up gets the
//! item that has it next, and sends it on. So a turn is never idle beside an item that waits, and
//! never belongs to one that is gone: it goes with the item, not with who made it.
//!
//! # Invariants
//!
//! * **V1** No more than `limit` turns are taken.
//! * **V2** An item waits only while all turns are taken.
//! * **V3** Nothing waits once it is closed.
//!
//! Each holds whenever the lock is free, and every step is one locked section.

use std::collections::VecDeque;
use std::fmt;

use crate::primitive::sync::Mutex;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

/// A number of turns and the items that wait for one.
pub(crate) struct Turns<T> {
    limit: usize,
    state: Mutex<State<T>>,
}

struct State<T> {
    taken: usize,
    waiting: VecDeque<T>,
    closed: bool,
}

/// What became of an item that wants a turn.
#[must_use = "an item that was not kept must be sent on, or ended"]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry<T> {
    /// It has a turn: send it on, and see that [`Turns::leave`] is called for it.
    Go(T),
    /// It waits, and will come out of somebody's [`Turns::leave`].
    Waits,
    /// There are no turns any more.
    Closed(T),
}

impl<T> Turns<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Turns {
            limit,
            state: Mutex::new(State {
                taken: 0,
                waiting: VecDeque::new(),
                closed: false,
            }),
        }
    }

    /// Takes a turn for `item`, or keeps it until it has one.
    pub(crate) fn enter(&self, item: T) -> Entry<T> {
        let mut state = self.state.lock();
        if state.closed {
            return Entry::Closed(item);
        }
        if state.taken < self.limit {
            state.taken += 1;
            return Entry::Go(item);
        }
        state.waiting.push_back(item);
        Entry::Waits
    }

    /// Gives a turn up. The item that is answered has it now.
    #[must_use = "the next item must be sent on"]
    pub(crate) fn leave(&self) -> Option<T> {
        let mut state = self.state.lock();
        let next = state.waiting.pop_front();
        if next.is_none() {
            state.taken -= 1;
            // What a burst has left behind is given back.
            if state.waiting.capacity() > KEPT_CAPACITY {
                state.waiting = VecDeque::new();
            }
        }
        next
    }

    /// Ends it: nothing waits any more, and what waited is the caller's.
    pub(crate) fn close(&self) -> VecDeque<T> {
        let mut state = self.state.lock();
        state.closed = true;
        std::mem::take(&mut state.waiting)
    }
}

/// Room for so many items stays when the line is empty.
const KEPT_CAPACITY: usize = 1024;

impl<T> fmt::Debug for Turns<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("Turns")
            .field("limit", &self.limit)
            .field("taken", &state.taken)
            .field("waiting", &state.waiting.len())
            .field("closed", &state.closed)
            .finish()
    }
}

//! A first-in first-out queue that gives its memory back.
//!
//! One ring serves as long as it is short. Past that the queue is a chain of rings of [`CHUNK`]
//! items, or of more while it is very long: it grows without moving what is in it, so that nobody
//! who waits for the lock waits for a million items to be copied, and what a burst took is freed as
//! the burst is received.

use std::collections::VecDeque;
use std::fmt;
use std::mem;

#[cfg(all(test, not(loom)))]
mod tests;

/// How long the first ring may become. A power of two, as `VecDeque` doubles.
const CHUNK: usize = 1024;

/// How long a ring may be in a burst: asking for memory often costs more than the items.
const MOST: usize = 8 * CHUNK;

/// The queue.
pub(crate) struct Queue<T> {
    /// Where items enter.
    back: VecDeque<T>,
    /// The rings in front of it, all full once. Items leave from the first one.
    rest: VecDeque<VecDeque<T>>,
    /// How many items are in these.
    in_rest: usize,
    /// One empty ring, so that a queue at the seam of two does not allocate for each item.
    spare: Option<VecDeque<T>>,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Queue {
            back: VecDeque::new(),
            rest: VecDeque::new(),
            in_rest: 0,
            spare: None,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.back.len() + self.in_rest
    }

    /// How long the last ring may become until [`push_below`](Queue::push_below) has to ask again,
    /// if so many more items have room.
    #[inline]
    pub(crate) fn stop(&self, room: usize) -> usize {
        let stop = self.back.len().saturating_add(room);
        stop.min(self.back.capacity())
    }

    /// Adds the item to the last ring, if that is shorter than `stop`, and says how long it is then.
    #[inline]
    pub(crate) fn push_below(&mut self, stop: usize, item: &mut Option<T>) -> Option<usize> {
        if self.back.len() >= stop {
            return None;
        }
        self.back.push_back(item.take()?);
        Some(self.back.len())
    }

    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        if self.back.len() == self.back.capacity() {
            self.make_room();
        }
        self.back.push_back(item);
    }

    /// The ring is full: begins another one, unless it may grow.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if self.back.len() < CHUNK {
            return self.back.reserve(1);
        }
        let ring = self.spare.take().unwrap_or_else(|| {
            let much = (self.len() / 4).next_power_of_two();
            VecDeque::with_capacity(much.clamp(CHUNK, MOST))
        });
        self.in_rest += self.back.len();
        self.rest.push_back(mem::replace(&mut self.back, ring));
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.in_rest > 0 {
            return self.pop_from_rest();
        }
        let item = self.back.pop_front();
        if self.back.is_empty() {
            forget_burst(&mut self.back);
        }
        item
    }

    /// As [`pop`](Queue::pop), from a queue that never was long.
    #[inline]
    pub(crate) fn pop_from_short(&mut self) -> Option<T> {
        if self.in_rest > 0 || self.back.capacity() > CHUNK {
            return None;
        }
        self.back.pop_front()
    }

    #[inline(never)]
    fn pop_from_rest(&mut self) -> Option<T> {
        let first = self.rest.front_mut()?;
        let item = first.pop_front();
        self.in_rest -= 1;
        if first.is_empty() {
            let empty = self.next_ring();
            self.keep(empty);
        }
        item
    }

    /// Takes the first of the rings, of which there is one.
    fn next_ring(&mut self) -> VecDeque<T> {
        let ring = self.rest.pop_front().unwrap_or_default();
        if self.rest.is_empty() {
            // The list of rings has done its duty; a long one is not kept.
            self.rest = VecDeque::new();
        }
        ring
    }

    /// Gives the ring at the head in exchange for an empty one.
    pub(crate) fn swap_ring(&mut self, ring: &mut VecDeque<T>) {
        debug_assert!(ring.is_empty());
        if self.in_rest == 0 {
            forget_burst(ring);
            mem::swap(&mut self.back, ring);
        } else {
            let first = self.next_ring();
            self.in_rest -= first.len();
            let empty = mem::replace(ring, first);
            self.keep(empty);
        }
    }

    fn keep(&mut self, empty: VecDeque<T>) {
        if empty.capacity() <= CHUNK {
            self.spare = Some(empty);
        }
    }
}

/// Frees the memory of an empty ring that was made for a burst.
fn forget_burst<T>(empty: &mut VecDeque<T>) {
    if empty.capacity() > CHUNK && size_of::<T>() > 0 {
        *empty = VecDeque::new();
    }
}

impl<T> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

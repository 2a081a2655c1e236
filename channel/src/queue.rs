//! A first-in first-out queue that gives its memory back.
//!
//! One ring serves as long as it is short. Past that the queue is a chain of rings of [`CHUNK`]
//! items: it grows without moving what is in it, so that nobody who waits for the lock waits for a
//! million items to be copied, and what a burst took is freed as the burst is received.

use std::collections::VecDeque;
use std::fmt;
use std::mem;

#[cfg(all(test, not(loom)))]
mod tests;

/// How long a ring may become. A power of two, as `VecDeque` doubles.
const CHUNK: usize = 1024;

/// The queue.
pub(crate) struct Queue<T> {
    /// Where items enter.
    back: VecDeque<T>,
    /// The rings in front of it, all full once. Items leave from the first one.
    rest: VecDeque<VecDeque<T>>,
    /// One empty ring, so that a queue at the seam of two does not allocate for each item.
    spare: Option<VecDeque<T>>,
    len: usize,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Queue {
            back: VecDeque::new(),
            rest: VecDeque::new(),
            spare: None,
            len: 0,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        self.len += 1;
        if self.back.len() >= CHUNK {
            self.begin_ring();
        }
        self.back.push_back(item);
    }

    #[cold]
    fn begin_ring(&mut self) {
        let ring = self.spare.take();
        let ring = ring.unwrap_or_else(|| VecDeque::with_capacity(CHUNK));
        self.rest.push_back(mem::replace(&mut self.back, ring));
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let item = if self.rest.is_empty() {
            self.back.pop_front()?
        } else {
            self.pop_from_rest()?
        };
        self.len -= 1;
        Some(item)
    }

    fn pop_from_rest(&mut self) -> Option<T> {
        let first = self.rest.front_mut()?;
        let item = first.pop_front();
        if first.is_empty() {
            let empty = self.next_ring();
            self.spare = Some(empty);
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
        if self.rest.is_empty() {
            mem::swap(&mut self.back, ring);
        } else {
            let first = self.next_ring();
            self.spare = Some(mem::replace(ring, first));
        }
        self.len -= ring.len();
    }
}

impl<T> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

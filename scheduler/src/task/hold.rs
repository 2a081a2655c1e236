//! How long a pool's [`Home`](super::Home) lives: until the pool is done with it and the memory of
//! every task that names it is gone. A waker or a handle may be years behind its pool.
//!
//! Counting each task up and down in one shared word would make every spawn and every end a contended
//! read-modify-write. So the count is spread. Births, and deaths on the pool's own workers, are
//! counted in books with one writer each, which cost a load and a store. Only a task that is freed
//! by another thread touches the shared word.
//!
//! # Invariants
//!
//! * **H1** Until [`settle`](Holds::settle) the word is at least [`BIAS`] minus the deaths outside, so
//!   it is far from 0 and nothing is freed.
//! * **H2** `settle` is called once, when no thread can write to a book any more. What the books say
//!   by then takes the place of the bias: the word becomes the number of tasks still in memory.
//!
//! # Orderings
//!
//! As in `Arc`: each release publishes what its thread did, and whoever brings the word to 0
//! acquires all of it before the memory goes. The books' last values reach `settle` through the
//! count of those who may write to them.

use crate::primitive::sync::atomic::AtomicUsize;
use crate::primitive::sync::atomic::Ordering::{AcqRel, Acquire, Release};

#[cfg(all(test, loom))]
mod model;

/// More tasks than fit into memory.
const BIAS: usize = usize::MAX / 2 + 1;

/// The shared word.
pub(super) struct Holds(AtomicUsize);

impl Holds {
    pub(super) fn new() -> Self {
        Holds(AtomicUsize::new(BIAS))
    }

    /// A task was freed by a thread that has no book. `true`: free the home, nobody else will.
    #[must_use = "the last hold frees the home"]
    pub(super) fn release(&self) -> bool {
        if self.0.fetch_sub(1, Release) != 1 {
            return false;
        }
        // ORDERING: Acquire, the end of the chain, as in `State::ref_dec`.
        self.0.load(Acquire);
        true
    }

    /// The pool is done. `alive` is what the books say: births less deaths. `true` as for
    /// [`release`](Holds::release).
    #[must_use = "the last hold frees the home"]
    pub(super) fn settle(&self, alive: usize) -> bool {
        let change = alive.wrapping_sub(BIAS);
        self.0.fetch_add(change, AcqRel).wrapping_add(change) == 0
    }
}

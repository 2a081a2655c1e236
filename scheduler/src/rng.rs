//! A small generator for scheduling choices: xorshift64* (Vigna, 2014). Not for secrets.
//!
//! A worker has some, all made from the runtime's seed: one for where it steals, one for the choices
//! of the futures that it polls ([`random_below`]), and one for the order of tasks if that is to be
//! random. They are apart because how often a worker looks for work depends on the moment, while what
//! futures draw depends on them alone: so a seeded run on one thread makes the same choices again.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

use crate::context;

#[cfg(test)]
mod tests;

/// The generator of one thread.
#[derive(Debug)]
pub(crate) struct Rng(Cell<u64>);

thread_local! {
    /// For threads that are no workers.
    static OUTSIDE: Rng = Rng::new(RandomState::new().hash_one(0));
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        // The state must not be 0; an odd multiplier spreads small seeds.
        Rng(Cell::new(
            seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
        ))
    }

    /// The generators of a worker: for stealing, for what it polls, and for its tasks' order.
    pub(crate) fn set(seed: u64) -> [Self; 3] {
        [0, 0x5DEE_CE66_D1CE_4E5B, 0xB504_F333_F9DE_6484].map(|apart| Rng::new(seed ^ apart))
    }

    /// A number below `limit`, which is not 0.
    #[inline]
    pub(crate) fn below(&self, limit: usize) -> usize {
        let mut x = self.0.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.0.set(x);
        let high = x.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        ((high * limit as u64) >> 32) as usize
    }
}

/// A random number below `limit`, for a choice that the polled future leaves to the runtime.
///
/// On a worker, the thread of a current-thread `block_on` included, it follows from the runtime's
/// seed and from what was drawn there before; on any other thread it is different in each process.
///
/// # Panics
///
/// If `limit` is 0.
#[inline]
#[track_caller]
pub fn random_below(limit: u32) -> u32 {
    assert!(limit > 0, "there is no number below 0");
    let below = |rng: &Rng| rng.below(limit as usize) as u32;
    context::with_worker(|worker| match worker {
        Some(worker) => below(worker.choices()),
        None => OUTSIDE.with(below),
    })
}

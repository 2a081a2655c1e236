//! Choices that look like chance and come from a seed: xorshift, a generator a task.

use std::time::Duration;

/// A generator. Each task has its own, made by [`child`](Chance::child), so that what one task
/// chooses does not depend on how the others are scheduled.
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        // Seeds that differ in one bit must not give like sequences, and zero would stay zero.
        let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Chance((mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) | 1)
    }

    pub(crate) fn child(&mut self) -> Chance {
        Chance::new(self.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From zero up to `end`, which is not reached.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 32) as usize % end
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub(crate) fn micros(&mut self, end: usize) -> Duration {
        Duration::from_micros(self.below(end) as u64)
    }
}

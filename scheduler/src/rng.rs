//! A small generator for scheduling choices: xorshift64* (Vigna, 2014). Not for secrets.

use std::cell::Cell;

/// The generator of one thread.
#[derive(Debug)]
pub(crate) struct Rng(Cell<u64>);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        // The state must not be 0; an odd multiplier spreads small seeds.
        Rng(Cell::new(
            seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
        ))
    }

    /// A number below `limit`, which is not 0.
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

//! Where a task is listed: the shard, and the number there, in one word of the header.
//!
//! With 64 bits, an address has room for a number: the upper 16 bits are the same for all that a program has, and
//! a [`Shard`] begins on a multiple of its alignment. A number that does not fit is [`FAR`], and the list looks it up.

use std::ptr;

use super::owner::Shard;
use crate::primitive::sync::atomic::AtomicPtr;
use crate::primitive::sync::atomic::Ordering::Relaxed;

/// Upper bits of an address that are 0.
const UPPER: u32 = if cfg!(target_pointer_width = "64") {
    16
} else {
    0
};

/// Lower bits that are 0.
const LOWER: u32 = align_of::<Shard>().trailing_zeros();

const NUMBER: usize = (1 << (UPPER + LOWER)) - 1;

/// This number and all above it. (Few in tests, as eight million tasks are too many.)
pub(crate) const FAR: usize = if cfg!(test) { 600 } else { NUMBER };

/// See the module.
///
/// ORDERING: Relaxed. It changes once, while `RUNNING` is held, to a shard of the same home; who must know which
/// one, or the number, has `RUNNING` after that.
pub(super) struct Spot(AtomicPtr<Shard>);

impl Spot {
    pub(super) fn new(shard: &Shard) -> Spot {
        Spot(AtomicPtr::new(word(shard, 0)))
    }

    /// Whether it can tell this shard.
    pub(super) fn can_be(shard: &Shard) -> bool {
        ptr::from_ref(shard).addr().leading_zeros() >= UPPER
    }

    pub(super) fn set(&self, shard: &Shard, number: usize) {
        self.0.store(word(shard, number), Relaxed);
    }

    #[inline]
    pub(super) fn shard(&self) -> *const Shard {
        let word = self.0.load(Relaxed);
        word.map_addr(|word| (word & !NUMBER) >> UPPER)
    }

    /// At most [`FAR`].
    #[inline]
    pub(super) fn number(&self) -> usize {
        self.0.load(Relaxed).addr() & NUMBER
    }
}

fn word(shard: &Shard, number: usize) -> *mut Shard {
    let shard = ptr::from_ref(shard).cast_mut();
    shard.map_addr(|address| address << UPPER | number.min(FAR))
}

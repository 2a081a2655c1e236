//! A store whose elements never move and are never freed while it lives.
//!
//! Events name their source by index, and a thread that delivers them must find the source without
//! a lock while others grow the store. So elements live in chunks, each about a quarter of the size of all
//! before it, which are made once and stay: a lookup is one load of a chunk's address.
//!
//! **Bounds**: memory grows with the greatest number of sources that were alive at once, of which it has
//! room for a quarter more at most (for 16 if there are few), and is given back with the reactor.

use crate::primitive::sync::OnceLock;

#[cfg(all(test, not(loom)))]
mod tests;

/// Size of the first four chunks together, as a power of two. The next four are twice as large, and so on.
const FIRST: u32 = 6;
/// With this many chunks, all indices of 32 bits but the last few are covered.
const CHUNKS: usize = 4 * 26;

/// How many elements a store can have.
pub(crate) const CAPACITY: u32 = u32::MAX - (1 << FIRST) + 1;

/// The store.
pub(crate) struct Slab<T> {
    chunks: [OnceLock<Box<[T]>>; CHUNKS],
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Slab {
            chunks: [const { OnceLock::new() }; CHUNKS],
        }
    }

    /// The element at `index`, if its chunk has been made.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        let (chunk, offset) = locate(index)?;
        self.chunks[chunk].get()?.get(offset)
    }

    /// The element at `index`, whose chunk is made if need be, each element for its own index.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`CAPACITY`].
    pub(crate) fn get_or_make(&self, index: u32, make: impl Fn(u32) -> T) -> &T {
        let (chunk, offset) = locate(index).expect("the index is below the capacity");
        let size = 1_u32 << (FIRST - 2 + chunk as u32 / 4);
        let start = index - offset as u32;
        let chunk =
            self.chunks[chunk].get_or_init(|| (0..size).map(|at| make(start + at)).collect());
        &chunk[offset]
    }
}

/// Which chunk an index is in, and where: the four chunks from `4 * n` on hold the 2^(n+6) indices from 2^(n+6) - 64.
#[inline]
fn locate(index: u32) -> Option<(usize, usize)> {
    let shifted = index.checked_add(1 << FIRST)?;
    let top = shifted.ilog2();
    // The two bits behind the first one tell which of the four it is, and the rest where in it.
    let quarter = shifted >> (top - 2) & 3;
    let chunk = 4 * (top - FIRST) + quarter;
    let offset = shifted & ((1 << (top - 2)) - 1);
    Some((chunk as usize, offset as usize))
}

//! When queued tasks were queued: a table beside the tasks, so that a task has no byte for what is measured on
//! request only.
//!
//! A task's place is found by its id. One word holds when the task was queued and the other bits of its id: a
//! task that was queued later and has the same place takes it over, and the wait of the earlier one is
//! then not measured. Tasks that were spawned one after another have places beside each other, so none is lost
//! while fewer than [`PLACES`] of them wait; of more, the last ones to be queued are measured.
//!
//! # Orderings
//!
//! Relaxed: a stamp is written before its task is queued, and looked at by who took the task out of the
//! queue, which orders the two. A word that somebody else has written says so by its id.

use crate::primitive::sync::atomic::AtomicU64;
use crate::primitive::sync::atomic::Ordering::Relaxed;

#[cfg(test)]
mod tests;

/// Half a megabyte, of which the pages that are not used are not there.
const PLACES: usize = 1 << 16;

/// The bits of the time: nanoseconds, which come round again after 73 minutes.
const TIME: u32 = 42;

const TIMES: u64 = (1 << TIME) - 1;

/// See the module.
pub(crate) struct Stamps(Box<[AtomicU64]>);

impl Stamps {
    pub(crate) fn new() -> Self {
        Stamps((0..PLACES).map(|_| AtomicU64::new(0)).collect())
    }

    fn place(&self, id: u64) -> &AtomicU64 {
        &self.0[id as usize % PLACES]
    }

    /// The bits of `id` that its place does not tell.
    fn tag(id: u64) -> u64 {
        (id / PLACES as u64) << TIME
    }

    /// Notes that the task `id` is about to be queued at `now`.
    #[inline]
    pub(crate) fn put(&self, id: u64, now: u64) {
        // Never 0, which is an empty place.
        let word = Self::tag(id) | (now & TIMES) | 1;
        self.place(id).store(word, Relaxed);
    }

    /// For how long the task `id` was queued, if its stamp is still there.
    #[inline]
    pub(crate) fn waited(&self, id: u64, now: u64) -> Option<u64> {
        let word = self.place(id).load(Relaxed);
        if word == 0 || word & !TIMES != Self::tag(id) {
            return None;
        }
        let waited = now.wrapping_sub(word) & TIMES;
        // The lowest bit may have made the stamp a nanosecond late.
        Some(if waited > TIMES / 2 { 0 } else { waited })
    }
}

//! When queued tasks were queued: a table beside the tasks, so that a task has no byte for what is measured on
//! request only.
//!
//! A task's place is found by its id. One word holds when the task was queued and the other bits of its id: a
//! task that was queued later and has the same place takes it over, and the wait of the earlier one is
//! then not measured. Tasks that were spawned one after another have places beside each other, so none is lost
//! while no more of them wait than there are places; of more, the last ones to be queued are measured.
//!
//! # Orderings
//!
//! Relaxed: a stamp is written before its task is queued, and looked at by who took the task out of the
//! queue, which orders the two. A word that somebody else has written says so by its id.

use crate::primitive::sync::atomic::AtomicU64;
use crate::primitive::sync::atomic::Ordering::Relaxed;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

/// The bits of the time: ticks of a clock, which come round again after an hour if there are five in a nanosecond.
const TIME: u32 = 44;

const TIMES: u64 = (1 << TIME) - 1;

/// See the module.
pub(crate) struct Stamps<const PLACES: usize = { 1 << 16 }>(Box<[AtomicU64]>);

impl<const PLACES: usize> Stamps<PLACES> {
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
        // The lowest bit may have made the stamp a tick late.
        Some(if waited > TIMES / 2 { 0 } else { waited })
    }
}

//! Counters of one worker: written by that worker alone, read by anybody.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

#[cfg(all(test, not(loom)))]
mod tests;

/// A count with one writer: a load and a store, no read-modify-write.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        self.0
            .store(self.0.load(Relaxed).wrapping_add(more), Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What one worker counts.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) polls: Counter,
    pub(crate) steals: Counter,
    pub(crate) parks: Counter,
    pub(crate) harvested: Counter,
    /// Tasks that it has put into the injector.
    pub(crate) overflow: Counter,
    /// Tasks that were taken from it and put there. Written by the guard.
    pub(crate) rescued: Counter,
    /// Nanoseconds in polls, as far as samples tell.
    pub(crate) busy: Counter,
    /// Written by the guard.
    pub(crate) stalls: Counter,
}

/// One worker's counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// Task polls.
    pub polls: u64,
    /// How often it took tasks from another worker.
    pub steals: u64,
    /// How often it went to sleep.
    pub parks: u64,
    /// Tasks that it made runnable by polling IO while busy.
    pub harvested: u64,
    /// Tasks that have left it for the injector, where every worker finds them. A local queue has no limit here,
    /// so it never runs over by its length: a worker gives away what it has when it blocks in
    /// [`block_in_place`](crate::block_in_place) and when a spare's service ends; what IO makes runnable
    /// goes there while long polls wait in the local queue; and the guard puts there what only a worker that is
    /// stuck in a poll would run. What a dump puts there while it looks through the queues is not counted.
    pub overflow: u64,
    /// How long it has polled tasks altogether, estimated from one poll in two to 127.
    pub busy: Duration,
    /// Polls that lasted longer than the stall threshold.
    pub stalls: u64,
}

impl Stats {
    pub(crate) fn read(&self) -> WorkerMetrics {
        WorkerMetrics {
            polls: self.polls.get(),
            steals: self.steals.get(),
            parks: self.parks.get(),
            harvested: self.harvested.get(),
            overflow: self.overflow.get().wrapping_add(self.rescued.get()),
            busy: Duration::from_nanos(self.busy.get()),
            stalls: self.stalls.get(),
        }
    }
}

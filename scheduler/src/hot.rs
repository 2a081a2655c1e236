//! The tasks that keep a worker busy: a small table of heavy hitters, fed by the polls that are timed anyway.
//!
//! A task has one place in it, by its id. Two that share one wear each other down, and the one with more time
//! stays. One thread writes, any may read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::task::Id;

#[cfg(test)]
mod tests;

const PLACES: usize = 64;

/// See the module.
pub(crate) struct Hot([Place; PLACES]);

#[derive(Default)]
struct Place {
    /// 0: empty.
    id: AtomicU64,
    nanos: AtomicU64,
}

impl Default for Hot {
    fn default() -> Self {
        Hot(std::array::from_fn(|_| Place::default()))
    }
}

impl Hot {
    /// Adds `nanos` to the account of a task.
    pub(crate) fn record(&self, task: Id, nanos: u64) {
        let id = task.number();
        let place = &self.0[id as usize % PLACES];
        let before = place.nanos.load(Relaxed);
        if place.id.load(Relaxed) == id {
            place.nanos.store(before.saturating_add(nanos), Relaxed);
        } else if before > nanos {
            place.nanos.store(before - nanos, Relaxed);
        } else {
            // In this order, so that a reader at the worst gives the newcomer nothing.
            place.nanos.store(0, Relaxed);
            place.id.store(id, Relaxed);
            place.nanos.store(nanos, Relaxed);
        }
    }

    /// The tasks and their times.
    pub(crate) fn read(&self) -> impl Iterator<Item = (Id, Duration)> {
        self.0.iter().filter_map(|place| {
            let id = Id::from_number(place.id.load(Relaxed))?;
            Some((id, Duration::from_nanos(place.nanos.load(Relaxed))))
        })
    }
}

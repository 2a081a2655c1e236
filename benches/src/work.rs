//! The workloads: one question a file, each written once for every peer that can run it.
//!
//! A workload starts its runtime, times the interesting part from inside, and returns [`Measured`]. Its
//! sum is compared with what the size says it must be, so that a runtime which loses or doubles work
//! fails its bench instead of winning it.

use std::time::{Duration, Instant};

pub mod blocked;
pub mod chained_spawn;
pub mod crowd;
pub mod echo;
pub mod fan_in;
pub mod files;
pub mod handover;
pub mod idle;
pub mod memory;
pub mod mixed;
pub mod pingpong;
pub mod skynet;
pub mod sleep;
pub mod spawn_join;
pub mod timer_cancel;
pub mod timer_mass;
pub mod wake;
pub mod yields;

/// What a workload found.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The time that the measured part took.
    pub elapsed: Duration,
    /// A figure for each row of the bench, in the order of its rows.
    pub values: Vec<f64>,
    /// The checksum.
    pub sum: u64,
}

impl Measured {
    /// Time for each of `count` equal items, in nanoseconds.
    pub(crate) fn each(count: u64, started: Instant, sum: u64) -> Measured {
        let elapsed = started.elapsed();
        let each = elapsed.as_secs_f64() * 1e9 / count.max(1) as f64;
        Measured {
            elapsed,
            values: vec![each],
            sum,
        }
    }

    /// Figures that are no time an item.
    pub(crate) fn figures(values: Vec<f64>, started: Instant, sum: u64) -> Measured {
        Measured {
            elapsed: started.elapsed(),
            values,
            sum,
        }
    }
}

/// The sum of the first `count` integers: what most workloads add up.
pub(crate) fn sum_below(count: u64) -> u64 {
    count * count.saturating_sub(1) / 2
}

//! How late does a short sleep end?
//!
//! One task sleeps for 100 µs many times in a row on an otherwise idle runtime. A sleep that ends early
//! is a wrong result.

use std::thread;
use std::time::{Duration, Instant};

use super::Measured;
use crate::peers::Exec;
use crate::stats;
use crate::sys;

const LENGTH: Duration = Duration::from_micros(100);

/// `count` sleeps. Figure: the median overshoot in microseconds. The sum counts those not early.
pub fn run<E: Exec>(count: u64) -> Measured {
    let task = async move {
        let started = Instant::now();
        let mut overshoots = Overshoots::default();
        for _ in 0..count {
            let before = Instant::now();
            E::sleep(LENGTH).await;
            overshoots.add(before);
        }
        overshoots.measured(started)
    };
    E::block_on(async move { E::spawn(task).await })
}

/// The same on a plain thread in the kernel: how near to the truth anybody could come.
pub(crate) fn kernel(count: u64) -> Measured {
    // Where it is refused, the row shows the kernel's habit instead of its best.
    let _ = sys::sleep_exactly();
    let started = Instant::now();
    let mut overshoots = Overshoots::default();
    for _ in 0..count {
        let before = Instant::now();
        thread::sleep(LENGTH);
        overshoots.add(before);
    }
    overshoots.measured(started)
}

/// How late the sleeps ended.
#[derive(Default)]
pub(crate) struct Overshoots {
    micros: Vec<f64>,
}

impl Overshoots {
    /// Counts the sleep that began at `before` and ends now.
    pub(crate) fn add(&mut self, before: Instant) {
        if let Some(late) = before.elapsed().checked_sub(LENGTH) {
            self.micros.push(late.as_secs_f64() * 1e6);
        }
    }

    /// The figures of a run that began at `started`.
    pub(crate) fn measured(&self, started: Instant) -> Measured {
        let figures = vec![stats::median(&self.micros)];
        Measured::figures(figures, started, self.micros.len() as u64)
    }
}

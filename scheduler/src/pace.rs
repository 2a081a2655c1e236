//! How often a worker that always has tasks of its own looks for tasks from other threads, and what
//! it knows of how long its polls take.
//!
//! A task from outside should not wait longer than [`PATIENCE_NS`] behind a queue that never
//! empties. How many polls that is depends on the polls, so the interval follows their mean: one
//! poll in an interval is timed, and an eighth of its time goes into the mean. Between samples a
//! turn costs one decrement.

use std::cell::Cell;

#[cfg(test)]
mod tests;

/// How long polls of a queue that never empties may keep a task from outside waiting.
const PATIENCE_NS: u64 = 200_000;

/// The least and the most polls between two looks.
const BOUNDS: (u64, u64) = (2, 127);

/// What a poll is thought to take before any was measured: long, so that the first tasks spread.
const FIRST_GUESS_NS: u64 = 100_000;

/// One worker's pace.
pub(crate) struct Pace {
    fixed: bool,
    interval: Cell<u32>,
    /// Turns until the next look.
    left: Cell<u32>,
    /// The next poll is a sample.
    sampling: Cell<bool>,
    mean_ns: Cell<u64>,
}

impl Pace {
    /// Looks once in `interval` polls, or as often as the polls' length asks for.
    pub(crate) fn new(interval: Option<u32>) -> Self {
        Pace {
            fixed: interval.is_some(),
            interval: Cell::new(interval.unwrap_or_else(|| interval_for(FIRST_GUESS_NS))),
            left: Cell::new(0),
            sampling: Cell::new(false),
            mean_ns: Cell::new(FIRST_GUESS_NS),
        }
    }

    /// Counts a turn. `true`: it is time to look.
    #[inline]
    pub(crate) fn turn(&self) -> bool {
        if self.skip() {
            return false;
        }
        let left = self.interval.get() - 1;
        self.left.set(left);
        // With no turn between two looks, what comes from outside is all there is to time.
        self.sampling.set(left == 0);
        true
    }

    /// Counts a turn, unless it is time to look.
    #[inline]
    pub(crate) fn skip(&self) -> bool {
        let left = self.left.get();
        if left > 0 {
            self.left.set(left - 1);
            // The last one before the look: the one after it may be a task from outside, and it is the
            // others whose length counts.
            self.sampling.set(left == 1);
        }
        left > 0
    }

    /// Whether the poll that begins is to be timed.
    #[inline]
    pub(crate) fn samples(&self) -> bool {
        self.sampling.replace(false)
    }

    /// How many polls the next sample stands for.
    pub(crate) fn interval(&self) -> u32 {
        self.interval.get()
    }

    /// Takes a poll's time into the mean: an eighth new, seven eighths old.
    pub(crate) fn record(&self, took_ns: u64) {
        let mean = self.mean_ns.get();
        let mean = mean - mean / 8 + took_ns / 8;
        self.mean_ns.set(mean);
        if !self.fixed {
            self.interval.set(interval_for(mean));
        }
    }

    /// The mean poll time, as far as it is known.
    #[inline]
    pub(crate) fn mean_ns(&self) -> u64 {
        self.mean_ns.get()
    }
}

fn interval_for(mean_ns: u64) -> u32 {
    let (least, most) = BOUNDS;
    (PATIENCE_NS / mean_ns.max(1)).clamp(least, most) as u32
}

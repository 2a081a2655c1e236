//! Whether a worker's queue is worth another worker's wake-up.
//!
//! A wake-up costs both sides tens of microseconds, and a queue of short polls is empty before the
//! other worker has come. So what the queue takes, its length times the mean poll time, is held
//! against [`WORTH_NS`].
//!
//! Where the CPUs are contended a woken worker costs more and brings less: there is no idle CPU
//! that it could come to, so it takes one from somebody, often from whoever sends this process
//! its work, and each task that it steals moves to cold caches. A sign of that is that the kernel
//! takes this worker off its CPU although it could run (an involuntary context switch, see
//! getrusage(2)). For [`CONTENDED`] after one, a queue must be worth [`WORTH_CONTENDED_NS`] if it is
//! what events have woken or came in a batch. One that grows by spawns and wakes is shared as before: the guard's ticks
//! preempt a worker, too, where the pool itself has all the CPUs, and then it shall have them.
//!
//! The sign is looked for once in [`LOOK`] at most, and only where a poll is timed anyway. So a
//! worker that has little to do may take the CPUs to be contended for a hundred polls more.

use std::cell::Cell;
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// A queue that takes its worker this long is worth a wake-up: three times what one costs.
const WORTH_NS: u64 = 50_000;

/// The same while the CPUs are contended.
const WORTH_CONTENDED_NS: u64 = 250_000;

/// How long the CPUs are taken to be contended after this worker was taken off its own.
const CONTENDED: Duration = Duration::from_millis(50);

/// How much time there is at least between two looks.
const LOOK: Duration = Duration::from_millis(1);

/// What one worker knows of what its queue must be worth.
pub(crate) struct Sharing {
    preemptions: Option<fn() -> u64>,
    seen: Cell<Option<Seen>>,
    preempted: Cell<Option<Instant>>,
    worth_ns: Cell<u64>,
}

/// The count, and when it was read.
#[derive(Clone, Copy)]
struct Seen {
    count: u64,
    at: Instant,
}

impl Sharing {
    /// `preemptions` says how often the calling thread was taken off its CPU; without it the CPUs
    /// are never taken to be contended.
    pub(crate) fn new(preemptions: Option<fn() -> u64>) -> Self {
        Sharing {
            preemptions,
            seen: Cell::new(None),
            preempted: Cell::new(None),
            worth_ns: Cell::new(WORTH_NS),
        }
    }

    /// Whether a queue that takes its worker so long is worth a wake-up.
    #[inline]
    pub(crate) fn is_worth(queue_ns: u64) -> bool {
        queue_ns >= WORTH_NS
    }

    /// The same of a queue to which events, or a batch from outside, have just added.
    #[inline]
    pub(crate) fn is_worth_after_events(&self, queue_ns: u64) -> bool {
        queue_ns >= self.worth_ns.get()
    }

    /// Looks, now and then, whether the CPUs are contended. `now` was read a moment ago.
    pub(crate) fn look(&self, now: Instant) {
        let Some(preemptions) = self.preemptions else {
            return;
        };
        let since = |then: Instant| now.saturating_duration_since(then);
        let seen = self.seen.get();
        if seen.is_some_and(|seen| since(seen.at) < LOOK) {
            return;
        }
        let count = preemptions();
        self.seen.set(Some(Seen { count, at: now }));
        // A count from long ago says little of now. (One of another thread, which this worker was
        // on before, says nothing; it does no harm for so short a time.)
        if seen.is_some_and(|seen| seen.count != count && since(seen.at) < CONTENDED) {
            self.preempted.set(Some(now));
        }
        let contended = self.preempted.get().is_some_and(|at| since(at) < CONTENDED);
        self.worth_ns.set(if contended {
            WORTH_CONTENDED_NS
        } else {
            WORTH_NS
        });
    }
}

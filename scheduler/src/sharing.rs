//! Whether a worker's queue is worth another worker's wake-up, and whether two are worth more than one.
//!
//! A wake-up costs both sides tens of microseconds, and a queue of short polls is empty before the
//! other worker has come. So what the queue takes, its length times the mean poll time, is held
//! against [`WORTH_NS`].
//!
//! Where the CPUs are contended a woken worker costs more and brings less: there is no idle CPU
//! that it could come to, so it takes one from somebody, often from whoever sends this process
//! its work, waits for it a good part of a time slice, and each task that it steals moves to cold caches. Two workers
//! that share one CPU serve no more than one that has it, and the one serves each client sooner. So two things
//! change for a worker that finds its CPUs contended:
//!
//! * A queue must be worth [`WORTH_CONTENDED_NS`] if it is what events have woken or came in a batch. One
//!   that grows by spawns and wakes is shared as before: the guard's ticks preempt a worker, too, where the
//!   pool itself has all the CPUs, and then it shall have them.
//! * If the guard allows it (`guard/standing.rs`: not where polls are long, or where one worker serves less than several), the
//!   worker *stands back* when it runs dry while another one is active: it sleeps without polling for events, which the
//!   other one will do (`parking.rs`). Then a queue must be worth [`WORTH_ALONE_NS`], of the one that serves to wake another one, and
//!   of any to keep this one from standing back.
//!
//! The signs are the kernel's. It has taken this worker off its CPU although it could run (an involuntary context switch,
//! see getrusage(2)), and of the time that the worker could have run it has waited for a CPU the part
//! [`CONTENDED_FROM`] at least (see `proc_pid_schedstat`(5)). That holds for [`CONTENDED`], and goes on while
//! preempted workers wait for [`CONTENDED_STILL`]. One worker alone, which is what standing back makes of two, may not wait at all:
//! so it also holds for as long as the guard lets workers stand back.
//!
//! The signs are looked for once in [`LOOK`] at most, and only where a poll is timed anyway. So a
//! worker that has little to do may take the CPUs to be contended for a hundred polls more.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::kernel::{CpuTime, cpu_time};

#[cfg(test)]
mod tests;

/// A queue that takes its worker this long is worth a wake-up: three times what one costs.
const WORTH_NS: u64 = 50_000;

/// The same while the CPUs are contended.
const WORTH_CONTENDED_NS: u64 = 250_000;

/// The same while workers stand back from one another: a woken one may wait as long for a CPU.
const WORTH_ALONE_NS: u64 = 1_000_000;

/// How long the CPUs are taken to be contended after the last sign of it.
const CONTENDED: Duration = Duration::from_millis(50);

/// One part in so many of its time is what a worker waits for a CPU where the CPUs are contended.
const CONTENDED_FROM: u32 = 8;

/// The same where they were a moment ago.
const CONTENDED_STILL: u32 = 32;

/// How much time there is at least between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// What one worker knows of the CPUs that it runs on.
pub(crate) struct Sharing {
    asks: Option<Asks>,
    seen: Cell<Option<Seen>>,
    time: Cell<CpuTime>,
    sign: Cell<Option<Instant>>,
    contended: Cell<bool>,
}

/// What the kernel is asked about the calling thread.
#[derive(Clone, Copy)]
pub(crate) struct Asks {
    /// How often it was taken off its CPU.
    pub(crate) preemptions: fn() -> u64,
    /// How long it has run, and waited.
    pub(crate) cpu_time: fn() -> CpuTime,
}

impl Asks {
    pub(crate) fn new(preemptions: fn() -> u64) -> Self {
        Asks {
            preemptions,
            cpu_time,
        }
    }
}

/// The count, and when it was read.
#[derive(Clone, Copy)]
struct Seen {
    count: u64,
    at: Instant,
}

impl Sharing {
    /// Without `asks` the CPUs are never taken to be contended.
    pub(crate) fn new(asks: Option<Asks>) -> Self {
        Sharing {
            asks,
            seen: Cell::new(None),
            time: Cell::default(),
            sign: Cell::new(None),
            contended: Cell::new(false),
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
        let worth = if self.contended.get() {
            WORTH_CONTENDED_NS
        } else {
            WORTH_NS
        };
        queue_ns >= worth
    }

    /// The same while workers stand back from one another.
    #[inline]
    pub(crate) fn is_worth_alone(queue_ns: u64) -> bool {
        queue_ns >= WORTH_ALONE_NS
    }

    /// Whether the CPUs were contended at the last look.
    pub(crate) fn saw_contention(&self) -> bool {
        self.contended.get()
    }

    /// Looks, now and then, whether the CPUs are contended. `now` was read a moment ago. Where workers `may_stand_back`
    /// from one another, what was contended stays so.
    pub(crate) fn look(&self, now: Instant, may_stand_back: bool) {
        let Some(asks) = self.asks else {
            return;
        };
        let since = |then: Instant| now.saturating_duration_since(then);
        let seen = self.seen.get();
        if seen.is_some_and(|seen| since(seen.at) < LOOK) {
            return;
        }
        let count = (asks.preemptions)();
        self.seen.set(Some(Seen { count, at: now }));
        // A count from long ago says little of now. (One of another thread, which this worker was
        // on before, says nothing; it does no harm for so short a time.)
        let preempted = seen.is_some_and(|seen| seen.count != count && since(seen.at) < CONTENDED);
        if seen.is_none() {
            self.time.set((asks.cpu_time)());
        } else if preempted && self.has_waited((asks.cpu_time)()) {
            self.sign.set(Some(now));
        }
        let still = may_stand_back && self.contended.get();
        self.contended.set(still || self.had_sign(now));
    }

    fn had_sign(&self, now: Instant) -> bool {
        let sign = self.sign.get();
        sign.is_some_and(|at| now.saturating_duration_since(at) < CONTENDED)
    }

    /// Whether waiting was a good part of the time since this was asked last.
    fn has_waited(&self, now: CpuTime) -> bool {
        if now == CpuTime::default() {
            // The kernel did not tell, for lack of a file descriptor perhaps: what it told last still counts.
            return false;
        }
        let before = self.time.replace(now);
        let ran = now.ran.saturating_sub(before.ran);
        let waited = now.waited.saturating_sub(before.waited);
        let parts = if self.contended.get() {
            CONTENDED_STILL
        } else {
            CONTENDED_FROM
        };
        waited > Duration::ZERO && waited.saturating_mul(parts) >= ran + waited
    }
}

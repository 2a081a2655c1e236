//! The clock that decides whether a deadline has passed.
//!
//! Timers never read the time themselves. They ask the clock of the reactor they belong to, which
//! is either the machine's monotonic clock or one that a test (or a paused runtime) moves by hand.

use std::fmt;
use std::time::{Duration, Instant};

use crate::deadline::Deadline;
use crate::primitive::sync::atomic::AtomicU64;
use crate::primitive::sync::atomic::Ordering::Relaxed;
use crate::primitive::sync::{Arc, OnceLock};
use crate::sys;

#[cfg(all(test, not(loom)))]
mod tests;

/// How far the coarse clock may lag behind the exact one: more than a tick of the slowest usual
/// kernel (10 ms). Should it ever lag more, an expired timer waits for the alarm, which is exact.
const COARSE_LAG: Duration = Duration::from_millis(16);

/// A source of the present time. Copies of one share their time.
#[derive(Clone)]
pub struct Clock(Kind);

#[derive(Clone)]
enum Kind {
    Monotonic,
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// The machine's monotonic clock.
    pub fn monotonic() -> Clock {
        Clock(Kind::Monotonic)
    }

    /// A clock that stands at `start` until it is moved by [`advance_to`](Clock::advance_to).
    pub fn manual(start: Deadline) -> Clock {
        Clock(Kind::Manual(Arc::new(AtomicU64::new(start.as_nanos()))))
    }

    /// The present.
    #[inline]
    pub fn now(&self) -> Deadline {
        match &self.0 {
            Kind::Monotonic => Deadline::now(),
            // ORDERING: Relaxed. The value stands for itself; nothing is published with it.
            Kind::Manual(now) => Deadline::from_nanos(now.load(Relaxed)),
        }
    }

    /// The point that lies `duration` after now.
    #[inline]
    pub fn after(&self, duration: Duration) -> Deadline {
        self.now().saturating_add(duration)
    }

    /// Whether `deadline` has passed.
    ///
    /// A deadline further away than a kernel tick is told by the coarse clock, which is cheap;
    /// only a near one needs an exact reading.
    #[inline]
    pub fn has_passed(&self, deadline: Deadline) -> bool {
        if let Kind::Monotonic = self.0 {
            let coarse = base().deadline_at(sys::monotonic_coarse_ns());
            if deadline > coarse.saturating_add(COARSE_LAG) {
                return false;
            }
            if deadline <= coarse {
                return true;
            }
        }
        deadline <= self.now()
    }

    /// Moves a manual clock forward to `now`; it never goes back.
    ///
    /// Timers do not fire by themselves then: see `Reactor::fire_timers`.
    ///
    /// # Panics
    ///
    /// If this is not a manual clock.
    #[track_caller]
    pub fn advance_to(&self, now: Deadline) {
        let Kind::Manual(current) = &self.0 else {
            panic!("only a manual clock can be moved");
        };
        // ORDERING: Relaxed, as in `now`.
        current.fetch_max(now.as_nanos(), Relaxed);
    }

    /// Whether it is moved by hand.
    pub fn is_manual(&self) -> bool {
        matches!(self.0, Kind::Manual(_))
    }

    /// What a kernel timer on this clock is to be set to for `deadline`, in nanoseconds.
    pub(crate) fn kernel_ns(&self, deadline: Deadline) -> u64 {
        match self.0 {
            Kind::Monotonic => deadline.as_nanos().saturating_add(base().monotonic_ns),
            Kind::Manual(_) => deadline.as_nanos(),
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Monotonic => f.write_str("Clock::Monotonic"),
            Kind::Manual(_) => write!(f, "Clock::Manual({:?})", self.now()),
        }
    }
}

/// Where the scale of deadlines begins, on std's clock and on the kernel's.
pub(crate) struct Base {
    pub(crate) instant: Instant,
    /// Never less than the true reading at `instant`, so that what is computed from it errs
    /// towards late.
    monotonic_ns: u64,
}

impl Base {
    /// The point at which the kernel's monotonic clock reads `monotonic_ns`.
    #[inline]
    fn deadline_at(&self, monotonic_ns: u64) -> Deadline {
        Deadline::from_nanos(monotonic_ns.saturating_sub(self.monotonic_ns))
    }
}

/// The process's base, taken at the first use.
#[inline]
pub(crate) fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(take_base)
}

/// Reads both clocks in one go; of a few attempts the least disturbed one counts.
#[cold]
fn take_base() -> Base {
    let attempt = |_| {
        let instant = Instant::now();
        let monotonic_ns = sys::monotonic_ns();
        (instant.elapsed(), instant, monotonic_ns)
    };
    let (_, instant, monotonic_ns) = (0..5)
        .map(attempt)
        .min()
        .expect("five attempts have a least one");
    Base {
        instant,
        monotonic_ns,
    }
}

//! A point in time on the timers' own scale.
//!
//! One type, made in one place, with saturating arithmetic only: a duration too long to add gives
//! [`Deadline::NEVER`], an instant before the scale begins gives zero, which has always passed.
//! So no caller can overflow, and no large value can be taken for a small one.

use std::fmt;
use std::time::{Duration, Instant};

use crate::clock::base;
use crate::sys::monotonic_ns;

#[cfg(all(test, not(loom)))]
mod tests;

/// A point in time: nanoseconds since a base that the process takes once.
///
/// It covers 584 years. The last value, [`NEVER`](Deadline::NEVER), is never reached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline(u64);

impl Deadline {
    /// No deadline at all.
    pub const NEVER: Deadline = Deadline(u64::MAX);

    /// A deadline that has always passed.
    pub const ZERO: Deadline = Deadline(0);

    /// The present, by the monotonic clock. Asked of the kernel, as std's instants are, but without a
    /// conversion on the way.
    #[inline]
    pub fn now() -> Deadline {
        base().monotonic(monotonic_ns())
    }

    /// The point that lies `duration` after now.
    #[inline]
    pub fn after(duration: Duration) -> Deadline {
        Deadline::now().saturating_add(duration)
    }

    /// The point that `instant` names.
    #[inline]
    pub fn from_instant(instant: Instant) -> Deadline {
        Deadline::ZERO.saturating_add(instant.saturating_duration_since(base().instant))
    }

    /// The point `nanos` nanoseconds after the base.
    pub const fn from_nanos(nanos: u64) -> Deadline {
        Deadline(nanos)
    }

    /// Nanoseconds since the base.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whether this is [`NEVER`](Deadline::NEVER).
    pub const fn is_never(self) -> bool {
        self.0 == u64::MAX
    }

    /// The point `duration` later, or [`NEVER`](Deadline::NEVER) if that is out of range.
    #[inline]
    #[must_use = "the deadline itself is not moved"]
    pub fn saturating_add(self, duration: Duration) -> Deadline {
        let nanos = duration
            .as_secs()
            .checked_mul(1_000_000_000)
            .and_then(|nanos| nanos.checked_add(u64::from(duration.subsec_nanos())))
            .unwrap_or(u64::MAX);
        Deadline(self.0.saturating_add(nanos))
    }

    /// How long after `earlier` this is; zero if it is not.
    pub const fn saturating_duration_since(self, earlier: Deadline) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl From<Instant> for Deadline {
    fn from(instant: Instant) -> Deadline {
        Deadline::from_instant(instant)
    }
}

impl From<Deadline> for Instant {
    /// [`Deadline::NEVER`] becomes an instant some 584 years ahead, which turns back into it.
    fn from(deadline: Deadline) -> Instant {
        base()
            .instant
            .checked_add(Duration::from_nanos(deadline.0))
            .expect("an instant counts seconds in 64 bits, which is far more than 584 years")
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() {
            return f.write_str("Deadline(never)");
        }
        write!(f, "Deadline({:?})", Duration::from_nanos(self.0))
    }
}

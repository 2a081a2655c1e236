//! A point in time whose arithmetic cannot overflow.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::{self, Duration};

use rt_reactor::Deadline;

use crate::context;

#[cfg(test)]
mod tests;

/// A point in time, of the clock that the timers follow: that of the
/// [current runtime](crate::runtime::Builder::clock), which may be [paused](super::pause), and outside
/// a runtime the monotonic one.
///
/// It has the methods of [`std::time::Instant`], to and from which it converts. Its arithmetic
/// saturates instead of panicking: what is too far in the future never comes, what is too far in
/// the past has always passed, and the time from a later point to an earlier one is zero. It
/// reaches from 146 years before the process's start to 438 years after it, in nanoseconds.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use rt::time::Instant;
///
/// let start = Instant::now();
/// let deadline = start + Duration::from_secs(5);
/// assert_eq!(deadline - start, Duration::from_secs(5));
/// assert_eq!(start - deadline, Duration::ZERO);
/// assert!(start + Duration::MAX > deadline);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    /// Nanoseconds on a scale on which the reactor's deadlines begin at [`ORIGIN`]; `u64::MAX` is
    /// never.
    nanos: u64,
}

/// Where the scale of deadlines begins. Deadlines before it have all passed, so they need no
/// values; instants do, since a program may ask how long ago one was.
const ORIGIN: u64 = 1 << 62;

/// What never comes.
const NEVER: Instant = Instant { nanos: u64::MAX };

/// The last one that could come.
pub(super) const LAST: Instant = Instant {
    nanos: u64::MAX - 1,
};

/// [`ORIGIN`] by the standard library's clock.
fn begin() -> time::Instant {
    time::Instant::from(Deadline::ZERO)
}

impl Instant {
    /// The present, by the clock of the current runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::time::Instant;
    ///
    /// let earlier = Instant::now();
    /// assert!(Instant::now() >= earlier);
    /// ```
    pub fn now() -> Instant {
        Instant::from_deadline(context::now())
    }

    /// An instant of the standard library, whose clock is the monotonic one.
    ///
    /// On a runtime whose clock counts suspensions it comes as much later as the machine has been
    /// suspended until now, so that it lies as far in the future or past as before.
    ///
    /// # Examples
    ///
    /// ```
    /// let instant = std::time::Instant::now();
    /// assert_eq!(rt::time::Instant::from_std(instant).into_std(), instant);
    /// ```
    pub fn from_std(instant: time::Instant) -> Instant {
        let (origin, begin) = (Instant { nanos: ORIGIN }, begin());
        let moved = match instant.checked_duration_since(begin) {
            Some(after) => origin + after,
            None => origin - begin.duration_since(instant),
        };
        moved + context::suspended()
    }

    /// The same instant for the standard library, the other way round.
    ///
    /// # Examples
    ///
    /// ```
    /// let instant = rt::time::Instant::now();
    /// assert!(instant.into_std() <= std::time::Instant::now());
    /// ```
    #[expect(
        clippy::missing_panics_doc,
        reason = "it cannot panic: see the message"
    )]
    pub fn into_std(self) -> time::Instant {
        let nanos = (self - context::suspended()).nanos;
        let moved = match nanos.checked_sub(ORIGIN) {
            Some(after) => begin().checked_add(Duration::from_nanos(after)),
            None => begin().checked_sub(Duration::from_nanos(ORIGIN - nanos)),
        };
        moved.expect("std counts the seconds in 64 signed bits, far more than this scale has")
    }

    pub(crate) fn from_deadline(deadline: Deadline) -> Instant {
        Instant {
            nanos: deadline.as_nanos().saturating_add(ORIGIN),
        }
    }

    /// The instant of a deadline that is given in nanoseconds.
    pub(crate) fn from_nanos(nanos: u64) -> Instant {
        Instant::from_deadline(Deadline::from_nanos(nanos))
    }

    pub(crate) fn to_deadline(self) -> Deadline {
        match self {
            NEVER => Deadline::NEVER,
            _ => Deadline::from_nanos(self.nanos.saturating_sub(ORIGIN)),
        }
    }

    /// How long ago this was; zero if it is still to come.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rt::time::Instant;
    ///
    /// let future = Instant::now() + Duration::from_secs(60);
    /// assert_eq!(future.elapsed(), Duration::ZERO);
    /// ```
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    /// How long after `earlier` this is; zero if it is not after it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rt::time::Instant;
    ///
    /// let start = Instant::now();
    /// let end = start + Duration::from_millis(7);
    /// assert_eq!(end.duration_since(start), Duration::from_millis(7));
    /// ```
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }

    /// The same as [`duration_since`](Self::duration_since).
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }

    /// How long after `earlier` this is, or `None` if it is before it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rt::time::Instant;
    ///
    /// let start = Instant::now();
    /// let end = start + Duration::from_millis(7);
    /// assert_eq!(start.checked_duration_since(end), None);
    /// ```
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        let nanos = self.nanos.checked_sub(earlier.nanos)?;
        Some(Duration::from_nanos(nanos))
    }

    /// The point `duration` later, or `None` if it is out of range.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rt::time::Instant;
    ///
    /// assert!(Instant::now().checked_add(Duration::from_secs(1)).is_some());
    /// assert!(Instant::now().checked_add(Duration::MAX).is_none());
    /// ```
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        let nanos = self.nanos.checked_add(whole_nanos(duration)?)?;
        Some(Instant { nanos }).filter(|sum| *sum != NEVER)
    }

    /// The point `duration` earlier, or `None` if it is out of range.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rt::time::Instant;
    ///
    /// assert!(Instant::now().checked_sub(Duration::from_secs(3600)).is_some());
    /// assert!(Instant::now().checked_sub(Duration::MAX).is_none());
    /// ```
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        let nanos = self.nanos.checked_sub(whole_nanos(duration)?)?;
        Some(Instant { nanos })
    }
}

fn whole_nanos(duration: Duration) -> Option<u64> {
    u64::try_from(duration.as_nanos()).ok()
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        self.checked_add(duration).unwrap_or(NEVER)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, duration: Duration) -> Instant {
        self.checked_sub(duration).unwrap_or(Instant { nanos: 0 })
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}

impl From<time::Instant> for Instant {
    fn from(instant: time::Instant) -> Instant {
        Instant::from_std(instant)
    }
}

impl From<Instant> for time::Instant {
    fn from(instant: Instant) -> time::Instant {
        instant.into_std()
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == NEVER {
            return f.write_str("Instant(never)");
        }
        match self.nanos.checked_sub(ORIGIN) {
            Some(after) => write!(f, "Instant(+{:?})", Duration::from_nanos(after)),
            None => write!(
                f,
                "Instant(-{:?})",
                Duration::from_nanos(ORIGIN - self.nanos)
            ),
        }
    }
}

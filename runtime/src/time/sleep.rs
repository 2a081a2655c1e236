//! A future that is ready at a deadline.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use rt_reactor::{Deadline, Timer};
use rt_scheduler::{Waits, noted};

use super::Instant;
use crate::context;

#[cfg(test)]
mod tests;

/// Waits until `duration` has passed.
///
/// It never ends early. A zero duration is ready at the first poll, and [`Duration::MAX`] never.
/// The time runs from this call, not from the first poll. If the call is made outside a runtime, what passes before the
/// first poll is measured by the monotonic clock.
///
/// # Panics
///
/// Polling it outside a runtime panics, unless it has elapsed. Making one works anywhere.
///
/// # Cancel safety
///
/// Dropping it takes it off the timer wheel. Nothing is lost but the time that has passed: in a
/// loop with `select!`, keep one `Sleep` and poll it by reference.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let start = rt::time::Instant::now();
/// rt::time::sleep(Duration::from_millis(5)).await;
/// assert!(start.elapsed() >= Duration::from_millis(5));
/// # }
/// ```
pub fn sleep(duration: Duration) -> Sleep {
    let (now, place) = match context::try_now() {
        Ok(now) => (now, Place::None),
        Err(_) => (Deadline::now(), Place::Outside),
    };
    Sleep {
        timer: Timer::new((Instant::from_deadline(now) + duration).to_deadline()),
        place,
    }
}

/// Where a timer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Made outside a runtime, to last for so long by the monotonic clock; in no wheel.
    Outside,
    /// In no wheel since its deadline was set.
    None,
    /// In a wheel.
    Wheel,
}

/// Waits until `deadline`.
///
/// A deadline in the past is ready at the first poll.
///
/// # Panics
///
/// Polling it outside a runtime panics, unless it has elapsed. Making one works anywhere.
///
/// # Cancel safety
///
/// Dropping it takes it off the timer wheel. A new one for the same deadline carries on where this
/// one stopped.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use rt::time::{Instant, sleep_until};
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let deadline = Instant::now() + Duration::from_millis(5);
/// sleep_until(deadline).await;
/// assert!(Instant::now() >= deadline);
/// # }
/// ```
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep {
        timer: Timer::new(deadline.to_deadline()),
        place: Place::None,
    }
}

pin_project! {
    /// Future of [`sleep`] and [`sleep_until`].
    ///
    /// It can be made anywhere, outside a runtime too, sent to other threads, and moved until it
    /// is first polled. [`reset`](Sleep::reset) gives it a new deadline in place.
    ///
    /// # Examples
    ///
    /// One `Sleep` as a watchdog that is fed again and again:
    ///
    /// ```
    /// use std::pin::pin;
    /// use std::time::Duration;
    /// use rt::time::{Instant, sleep};
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let mut watchdog = pin!(sleep(Duration::from_millis(2)));
    /// for _ in 0..3 {
    ///     watchdog.as_mut().reset(Instant::now() + Duration::from_millis(2));
    ///     assert!(!watchdog.is_elapsed());
    /// }
    /// watchdog.as_mut().await;
    /// assert!(watchdog.is_elapsed());
    /// # }
    /// ```
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Sleep {
        #[pin]
        timer: Timer,
        place: Place,
    }
}

impl Sleep {
    /// The instant at which it is ready.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rt::time::{Instant, sleep_until};
    ///
    /// let deadline = Instant::now() + Duration::from_secs(60);
    /// assert_eq!(sleep_until(deadline).deadline(), deadline);
    /// ```
    pub fn deadline(&self) -> Instant {
        Instant::from_deadline(self.due())
    }

    /// Whether the deadline has passed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rt::time::sleep;
    ///
    /// assert!(sleep(Duration::ZERO).is_elapsed());
    /// assert!(!sleep(Duration::MAX).is_elapsed());
    /// ```
    pub fn is_elapsed(&self) -> bool {
        self.timer.is_elapsed() || self.deadline() <= Instant::now()
    }

    /// Gives it a new deadline, earlier or later, whether it has elapsed or not.
    ///
    /// The task that waits for it is woken at the new deadline only. See [`Sleep`] for an example.
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.project();
        // One that waits keeps its place on the wheel; one that has fired has left it.
        if this.timer.is_elapsed() || (*this.place == Place::Outside && context::is_current()) {
            *this.place = Place::None;
        }
        this.timer.reset(deadline.to_deadline());
    }

    /// The deadline by the clock of the current runtime.
    fn due(&self) -> Deadline {
        let deadline = self.timer.deadline();
        if self.place == Place::Outside {
            return deadline.saturating_add(context::ahead());
        }
        deadline
    }
}

/// What a dump tells of who waits for `deadline`.
fn waits_until(deadline: Deadline) -> Waits {
    Waits::Timer(if deadline.is_never() {
        u64::MAX
    } else {
        deadline.as_nanos().div_ceil(1_000_000)
    })
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Not subject to the budget: a deadline that has passed is always told.
        if self.place != Place::Wheel && !context::is_current() && self.is_elapsed() {
            // No wheel is needed, and so no runtime.
            return Poll::Ready(());
        }
        let due = self.due();
        // The timer itself knows it from here on.
        let mut this = self.project();
        if *this.place == Place::Outside {
            this.timer.as_mut().reset(due);
        }
        *this.place = Place::Wheel;
        // It looks at the time, if it is in no wheel yet.
        let poll = this
            .timer
            .poll_or_end(cx, context::wheel, context::ends_here);
        noted(poll, || waits_until(due))
    }
}

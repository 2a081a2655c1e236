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
/// The time runs from this call, not from the first poll.
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
    sleep_until(Instant::now() + duration)
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
        placed: false,
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
        // Whether the timer has been given to a wheel since its deadline was set.
        placed: bool,
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
        Instant::from_deadline(self.timer.deadline())
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
        *this.placed &= !this.timer.is_elapsed();
        this.timer.reset(deadline.to_deadline());
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
        if !self.placed && !context::is_current() && self.is_elapsed() {
            // No wheel is needed, and so no runtime.
            return Poll::Ready(());
        }
        let this = self.project();
        *this.placed = true;
        // It looks at the time, if it is in no wheel yet.
        let deadline = this.timer.deadline();
        noted(this.timer.poll(cx, context::wheel), || {
            waits_until(deadline)
        })
    }
}

//! Ticks at a fixed distance.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::{Instant, Sleep, sleep, sleep_until};

#[cfg(test)]
mod tests;

/// A tick that comes later than this has been missed for [`MissedTickBehavior::Delay`]: the next one
/// is a whole period away from now. Less is the usual delay of a thread, and does not add up.
const LATE: Duration = Duration::from_millis(5);

/// Ticks at once, and then every `period`.
///
/// See [`Interval`].
///
/// # Panics
///
/// If `period` is zero. Waiting for a tick panics outside a runtime; making an interval works anywhere.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use rt::time::interval;
///
/// # #[rt::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let mut interval = interval(Duration::from_secs(1));
/// let start = interval.tick().await;
/// interval.tick().await;
/// let third = interval.tick().await;
/// assert_eq!(third - start, Duration::from_secs(2));
/// # }
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    with_first(sleep(Duration::ZERO), period)
}

/// Ticks at `start`, and then every `period`.
///
/// See [`Interval`].
///
/// # Panics
///
/// As [`interval`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use rt::time::{Instant, interval_at};
///
/// # #[rt::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let start = Instant::now() + Duration::from_millis(500);
/// let mut interval = interval_at(start, Duration::from_secs(1));
/// assert_eq!(interval.tick().await, start);
/// # }
/// ```
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    with_first(sleep_until(start), period)
}

#[track_caller]
fn with_first(first: Sleep, period: Duration) -> Interval {
    assert!(
        !period.is_zero(),
        "the period of an interval must not be zero"
    );
    Interval {
        sleep: Box::pin(first),
        period,
        missed_tick_behavior: MissedTickBehavior::default(),
    }
}

/// Ticks at a fixed distance: of [`interval`] and [`interval_at`].
///
/// The time between two ticks includes what is done in between, unlike with a `sleep` in a loop, and
/// a tick's delay does not shift the ones after it. Whoever comes so late that ticks have been missed
/// gets one of them at once; what becomes of the others is for the [`MissedTickBehavior`] to say. By
/// default they are skipped, so that there is never more than one tick at once.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use rt::time::{self, Instant, MissedTickBehavior, interval};
///
/// # #[rt::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let second = Duration::from_secs(1);
/// let mut interval = interval(second);
/// assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Skip);
/// let start = interval.tick().await;
/// // Something keeps us. The ticks at 1 s, 2 s and 3 s are missed.
/// time::advance(second * 3 + second / 2).await;
/// interval.tick().await;
/// assert_eq!(start.elapsed(), second * 7 / 2, "the one tick that is late comes at once");
/// interval.tick().await;
/// assert_eq!(start.elapsed(), second * 4, "and the next one when it is due");
/// # }
/// ```
#[derive(Debug)]
pub struct Interval {
    /// Its deadline is the next tick.
    sleep: Pin<Box<Sleep>>,
    period: Duration,
    missed_tick_behavior: MissedTickBehavior,
}

/// What becomes of ticks that are missed because nobody has asked for them in time.
///
/// # Examples
///
/// With a period of 10, and a task that comes back for its second tick only at 35:
///
/// ```text
/// due       10   20   30   40   50   60
/// Burst                      | 35 35 35 40   50   60
/// Skip                       | 35       40   50   60
/// Delay                      | 35            45   55
/// ```
///
/// ```
/// use std::time::Duration;
/// use rt::time::{MissedTickBehavior, interval};
///
/// let mut interval = interval(Duration::from_millis(10));
/// interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MissedTickBehavior {
    /// They come at once, one after the other, until all have come: as many ticks as periods, but
    /// after a stall a storm of them.
    Burst,
    /// The late one comes at once, and the ones after it follow at a period's distance from it.
    Delay,
    /// The late one comes at once, and the next one when it would have come anyway; those in between
    /// do not.
    #[default]
    Skip,
}

impl MissedTickBehavior {
    /// The tick after the one that was due at `due` and came at `now`.
    fn next(self, due: Instant, now: Instant, period: Duration) -> Instant {
        let late = now.duration_since(due);
        match self {
            MissedTickBehavior::Burst => due + period,
            MissedTickBehavior::Delay if late < period.min(LATE) => due + period,
            MissedTickBehavior::Delay => now + period,
            MissedTickBehavior::Skip if late < period => due + period,
            MissedTickBehavior::Skip => now + period.saturating_sub(remainder(late, period)),
        }
    }
}

/// What is left of `duration` after as many whole periods as there are in it.
fn remainder(duration: Duration, period: Duration) -> Duration {
    let nanos = duration.as_nanos() % period.as_nanos();
    Duration::new(
        (nanos / 1_000_000_000) as u64,
        (nanos % 1_000_000_000) as u32,
    )
}

impl Interval {
    /// Waits for the next tick, and gives the time at which it was due.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a tick that was waited for and not given comes with the next call.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rt::time::interval;
    ///
    /// # #[rt::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let mut interval = interval(Duration::from_millis(20));
    /// for _ in 0..3 {
    ///     interval.tick().await;
    ///     println!("tick");
    /// }
    /// # }
    /// ```
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// The same to be polled: gives the time at which the tick was due, once it has passed. Until
    /// then the task of the last poll is woken when it does.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use std::future::poll_fn;
    /// use rt::time::interval;
    ///
    /// # #[rt::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let mut interval = interval(Duration::from_secs(1));
    /// let start = poll_fn(|cx| interval.poll_tick(cx)).await;
    /// assert_eq!(poll_fn(|cx| interval.poll_tick(cx)).await, start + interval.period());
    /// # }
    /// ```
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(self.sleep.as_mut().poll(cx));
        let (due, now) = (self.sleep.deadline(), Instant::now());
        let next = self.missed_tick_behavior.next(due, now, self.period);
        self.sleep.as_mut().reset(next);
        Poll::Ready(due)
    }

    /// The next tick comes a period after now.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rt::time::{self, interval};
    ///
    /// # #[rt::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let second = Duration::from_secs(1);
    /// let mut interval = interval(second);
    /// let start = interval.tick().await;
    /// time::sleep(second / 2).await;
    /// interval.reset();
    /// assert_eq!(interval.tick().await, start + second * 3 / 2);
    /// # }
    /// ```
    pub fn reset(&mut self) {
        self.reset_after(self.period);
    }

    /// The next tick comes at once, and the ones after it follow at a period's distance.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rt::time::interval;
    ///
    /// # #[rt::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let mut interval = interval(Duration::from_secs(1));
    /// let start = interval.tick().await;
    /// interval.reset_immediately();
    /// assert_eq!(interval.tick().await, start);
    /// # }
    /// ```
    pub fn reset_immediately(&mut self) {
        self.reset_after(Duration::ZERO);
    }

    /// The next tick comes after `after`, and the ones after it follow at a period's distance.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rt::time::interval;
    ///
    /// # #[rt::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let mut interval = interval(Duration::from_secs(1));
    /// let start = interval.tick().await;
    /// interval.reset_after(Duration::from_secs(5));
    /// assert_eq!(interval.tick().await, start + Duration::from_secs(5));
    /// assert_eq!(interval.tick().await, start + Duration::from_secs(6));
    /// # }
    /// ```
    pub fn reset_after(&mut self, after: Duration) {
        self.reset_at(Instant::now() + after);
    }

    /// The next tick comes at `deadline`, and the ones after it follow at a period's distance.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rt::time::{Instant, interval};
    ///
    /// # #[rt::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let mut interval = interval(Duration::from_secs(1));
    /// let deadline = Instant::now() + Duration::from_secs(30);
    /// interval.reset_at(deadline);
    /// assert_eq!(interval.tick().await, deadline);
    /// # }
    /// ```
    pub fn reset_at(&mut self, deadline: Instant) {
        self.sleep.as_mut().reset(deadline);
    }

    /// What becomes of missed ticks.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed_tick_behavior
    }

    /// Sets what becomes of missed ticks.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed_tick_behavior = behavior;
    }

    /// The time between two ticks.
    pub fn period(&self) -> Duration {
        self.period
    }
}

//! When the next tick is due, for each way to be late.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{Instant, Interval, MissedTickBehavior, interval, interval_at};

const MS: Duration = Duration::from_millis(1);

/// The ticks after one that was due at 100 ms and came `late`, in microseconds after it was due.
fn next(behavior: MissedTickBehavior, late: u64, period: Duration) -> Duration {
    let due = Instant::now() + 100 * MS;
    behavior.next(due, due + Duration::from_micros(late), period) - due
}

#[test]
fn a_tick_in_time_does_not_shift_the_next() {
    for behavior in [
        MissedTickBehavior::Burst,
        MissedTickBehavior::Delay,
        MissedTickBehavior::Skip,
    ] {
        for late in [0, 1, 999, 4_999] {
            assert_eq!(next(behavior, late, 10 * MS), 10 * MS);
        }
    }
}

#[test]
fn a_late_tick_is_followed_as_its_behaviour_says() {
    let micros = Duration::from_micros;
    let burst = |late| next(MissedTickBehavior::Burst, late, 10 * MS);
    let delay = |late| next(MissedTickBehavior::Delay, late, 10 * MS);
    let skip = |late| next(MissedTickBehavior::Skip, late, 10 * MS);
    assert_eq!([5_000, 10_000, 35_000].map(burst), [10 * MS; 3]);
    assert_eq!(
        [5_000, 10_000, 35_000].map(delay),
        [15_000, 20_000, 45_000].map(micros)
    );
    assert_eq!(
        [5_000, 9_999, 10_000, 10_001, 35_000, 40_000].map(skip),
        [10, 10, 20, 20, 40, 50].map(|ms| ms * MS)
    );
}

#[test]
fn a_short_period_gives_one_tick_at_once_too() {
    let period = Duration::from_micros(10);
    for late in [10, 11, 25, 3_000, 1_000_000] {
        for behavior in [MissedTickBehavior::Delay, MissedTickBehavior::Skip] {
            assert!(next(behavior, late, period) > Duration::from_micros(late));
        }
    }
}

#[test]
fn the_longest_times_overflow_nothing() {
    let now = Instant::now();
    let nanosecond = Duration::from_nanos(1);
    for behavior in [
        MissedTickBehavior::Burst,
        MissedTickBehavior::Delay,
        MissedTickBehavior::Skip,
    ] {
        for due in [now - Duration::MAX, now] {
            for period in [nanosecond, Duration::MAX] {
                assert!(behavior.next(due, now, period) > due);
            }
        }
        let end = now + Duration::MAX;
        assert_eq!(behavior.next(now - Duration::MAX, now, Duration::MAX), end);
    }
}

#[test]
fn an_interval_may_be_made_anywhere_and_goes_anywhere() {
    fn goes_anywhere<T: Send + Sync + Unpin + 'static>(value: T) -> T {
        value
    }
    let mut interval = goes_anywhere(interval(Duration::MAX));
    assert_eq!(interval.period(), Duration::MAX);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(interval.poll_tick(&mut cx).is_ready(), "needs no runtime");
    interval.reset_immediately();
    assert!(interval.poll_tick(&mut cx).is_ready());
    let at = Instant::now() - MS;
    interval.reset_at(at);
    assert_eq!(interval.poll_tick(&mut cx), Poll::Ready(at));
}

#[test]
#[should_panic = "must not be zero"]
fn a_period_of_no_time_is_refused() {
    let _: Interval = interval_at(Instant::now(), Duration::ZERO);
}

#[test]
fn dropping_a_tick_loses_none() {
    let runtime = crate::Runtime::builder()
        .current_thread()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut interval = interval(MS);
        let start = interval.tick().await;
        for _ in 0..3 {
            let tick = pin!(interval.tick());
            assert!(crate::time::timeout(MS / 4, tick).await.is_err());
        }
        assert_eq!(interval.tick().await, start + MS);
    });
}

//! Ticks: at their time, one at a time, and what becomes of those that are missed.

use std::time::Duration;

use rt::time::{
    Instant, Interval, MissedTickBehavior, advance, interval, interval_at, sleep, timeout,
};
use rt_tests::{Flavour, everywhere, until_yielding, with};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_hours(1);

/// When, in milliseconds after `start`, the next ticks come.
async fn ticks<const N: usize>(interval: &mut Interval, start: Instant) -> [u128; N] {
    let mut times = [0; N];
    for time in &mut times {
        interval.tick().await;
        *time = start.elapsed().as_millis();
    }
    times
}

#[rt::test(start_paused = true)]
async fn ticks_come_at_once_and_then_at_a_fixed_distance() {
    let start = Instant::now();
    let mut interval = interval(10 * MS);
    assert_eq!(ticks(&mut interval, start).await, [0, 10, 20]);
    sleep(3 * MS).await;
    assert_eq!(ticks(&mut interval, start).await, [30, 40]);
    let mut interval = interval_at(Instant::now() + 5 * MS, HOUR);
    assert_eq!(interval.tick().await, start + 45 * MS);
    assert_eq!(interval.tick().await, start + 45 * MS + HOUR);
}

#[rt::test(start_paused = true)]
async fn missed_ticks_are_skipped_delayed_or_come_in_a_burst() {
    let expected = [
        (MissedTickBehavior::Skip, [35, 40, 50, 60, 70]),
        (MissedTickBehavior::Delay, [35, 45, 55, 65, 75]),
        (MissedTickBehavior::Burst, [35, 35, 35, 40, 50]),
    ];
    for (behavior, times) in expected {
        let mut interval = interval(10 * MS);
        interval.set_missed_tick_behavior(behavior);
        assert_eq!(interval.missed_tick_behavior(), behavior);
        let start = interval.tick().await;
        advance(35 * MS).await;
        assert_eq!(ticks(&mut interval, start).await, times, "{behavior:?}");
    }
}

#[rt::test(start_paused = true)]
async fn a_tick_says_when_it_was_due() {
    let mut interval = interval(10 * MS);
    let start = interval.tick().await;
    advance(35 * MS).await;
    assert_eq!(interval.tick().await, start + 10 * MS);
    assert_eq!(interval.tick().await, start + 40 * MS);
}

#[rt::test(start_paused = true)]
async fn an_interval_can_be_set_anew() {
    let mut interval = interval(10 * MS);
    let start = interval.tick().await;
    sleep(4 * MS).await;
    interval.reset();
    assert_eq!(ticks(&mut interval, start).await, [14, 24]);
    interval.reset_after(3 * MS);
    assert_eq!(ticks(&mut interval, start).await, [27, 37]);
    interval.reset_immediately();
    assert_eq!(ticks(&mut interval, start).await, [37, 47]);
    interval.reset_at(start + 50 * MS);
    assert_eq!(ticks(&mut interval, start).await, [50, 60]);
    interval.reset_at(start);
    assert_eq!(ticks(&mut interval, start).await, [60, 70]);
    assert_eq!(interval.period(), 10 * MS);
}

#[rt::test(start_paused = true)]
async fn the_longest_periods_never_tick_again() {
    let mut interval = interval(Duration::MAX);
    interval.tick().await;
    assert!(timeout(HOUR, interval.tick()).await.is_err());
    interval.reset();
    assert!(timeout(HOUR, interval.tick()).await.is_err());
    interval.reset_after(Duration::MAX);
    assert!(timeout(HOUR, interval.tick()).await.is_err());
}

#[test]
fn no_tick_is_early_and_each_comes() {
    everywhere(|runtime| {
        let ticking = async {
            let mut interval = interval(MS / 4);
            let start = interval.tick().await;
            for _ in 0..40 {
                let due = interval.tick().await;
                assert!(due > start && Instant::now() >= due);
                assert_eq!((due - start).as_micros() % 250, 0, "on the grid");
            }
        };
        runtime.block_on(runtime.spawn(ticking)).unwrap();
    });
}

/// A process that was held up gets one tick at once, whatever it has missed, and not a burst.
#[test]
fn after_a_stall_one_tick_comes_at_once() {
    with(Flavour::Workers(1), |runtime| {
        let ticking = async {
            for behavior in [MissedTickBehavior::Skip, MissedTickBehavior::Delay] {
                let mut interval = interval(2 * MS);
                interval.set_missed_tick_behavior(behavior);
                let start = interval.tick().await;
                until_yielding(|| start.elapsed() >= 21 * MS).await;
                let late = Instant::now();
                assert_eq!(interval.tick().await, start + 2 * MS);
                let next = interval.tick().await;
                assert!(next > late, "a second tick that was missed");
            }
        };
        runtime.block_on(runtime.spawn(ticking)).unwrap();
    });
}

//! Sleeping: never early, wherever and however it is made, polled and reset.

use std::fmt::Debug;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{Sleep, sleep, sleep_until};
use crate::context;
use crate::time::{Instant, timeout};

const SHORT: Duration = Duration::from_millis(3);
const LONG: Duration = Duration::from_hours(1);

fn poll_once(sleep: Pin<&mut Sleep>) -> Poll<()> {
    sleep.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn it_may_go_anywhere() {
    fn check<T: Send + Sync + Debug + 'static>() {}
    check::<Sleep>();
}

#[rt_macros::test(crate = "crate")]
async fn it_is_never_early() {
    for nanos in [0, 1, 999, 1_000, 1_001, 500_000, 1_000_000, 5_300_000] {
        let duration = Duration::from_nanos(nanos);
        let start = std::time::Instant::now();
        sleep(duration).await;
        assert!(start.elapsed() >= duration, "{duration:?}");
    }
}

#[test]
fn what_has_elapsed_is_ready_without_a_runtime() {
    let now = Instant::now();
    for elapsed in [
        sleep(Duration::ZERO),
        sleep_until(now),
        sleep_until(now - LONG),
    ] {
        assert!(elapsed.is_elapsed());
        assert_eq!(poll_once(pin!(elapsed)), Poll::Ready(()));
    }
}

#[test]
#[should_panic(expected = "no `rt` runtime in this thread")]
fn waiting_needs_a_runtime() {
    let _ = poll_once(pin!(sleep(LONG)));
}

#[rt_macros::test(crate = "crate")]
async fn every_duration_is_accepted() {
    let longest = [
        Duration::MAX,
        Duration::from_secs(u64::MAX),
        Duration::from_nanos(u64::MAX),
        Duration::from_millis(u64::MAX),
        LONG * 24 * 365 * 100,
    ];
    for duration in longest {
        let mut sleep = pin!(sleep(duration));
        assert_eq!(poll_once(sleep.as_mut()), Poll::Pending, "{duration:?}");
        assert!(!sleep.is_elapsed());
    }
}

#[rt_macros::test(crate = "crate")]
async fn it_can_be_made_elsewhere_and_polled_here() {
    let made = std::thread::spawn(|| sleep(SHORT)).join().unwrap();
    let deadline = made.deadline();
    made.await;
    assert!(Instant::now() >= deadline);
}

#[rt_macros::test(crate = "crate")]
async fn reset_moves_the_deadline_both_ways() {
    let mut sleep = pin!(sleep(LONG));
    assert_eq!(poll_once(sleep.as_mut()), Poll::Pending);

    // Earlier, while it is on the wheel.
    let soon = Instant::now() + SHORT;
    sleep.as_mut().reset(soon);
    assert_eq!(sleep.deadline(), soon);
    sleep.as_mut().await;
    assert!(Instant::now() >= soon && sleep.is_elapsed());

    // Later, after it has elapsed.
    sleep.as_mut().reset(Instant::now() + LONG);
    assert!(!sleep.is_elapsed());
    assert_eq!(poll_once(sleep.as_mut()), Poll::Pending);

    // Into the past.
    sleep.as_mut().reset(Instant::now());
    assert_eq!(poll_once(sleep.as_mut()), Poll::Ready(()));
    assert_eq!(
        poll_once(sleep.as_mut()),
        Poll::Ready(()),
        "and it stays so"
    );
}

#[rt_macros::test(crate = "crate")]
async fn dropping_it_takes_it_off_the_wheel() {
    let reactor = context::reactor();
    let before = reactor.live_timers();
    let mut waiting: Vec<_> = (0..100).map(|_| Box::pin(sleep(LONG))).collect();
    for sleep in &mut waiting {
        assert_eq!(poll_once(sleep.as_mut()), Poll::Pending);
    }
    assert_eq!(reactor.live_timers(), before + 100);
    drop(waiting);
    assert_eq!(reactor.live_timers(), before);
}

#[rt_macros::test(crate = "crate")]
async fn a_reset_wakes_the_task_that_waits() {
    // The timeout polls the sleep once. Only the reset, from inside, makes it end in time.
    let mut inner = Box::pin(sleep(LONG));
    let mut steps = 0;
    let done = std::future::poll_fn(|cx| {
        steps += 1;
        let polled = inner.as_mut().poll(cx);
        if steps == 1 {
            assert_eq!(polled, Poll::Pending);
            inner.as_mut().reset(Instant::now() + SHORT);
        }
        if polled.is_ready() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    timeout(LONG, done).await.unwrap();
}

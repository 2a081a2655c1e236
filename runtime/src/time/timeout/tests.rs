//! Who wins when, and what the loser leaves behind.

use std::future::{pending, poll_fn, ready};
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{timeout, timeout_at};
use crate::context;
use crate::time::Instant;

const SHORT: Duration = Duration::from_millis(3);

#[test]
fn a_future_that_is_ready_wins_even_after_the_deadline() {
    let mut late = pin!(timeout_at(Instant::now() - SHORT, ready(1)));
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(late.as_mut().poll(&mut cx), Poll::Ready(Ok(1)));
}

#[test]
fn an_expired_deadline_beats_a_future_that_waits() {
    let mut late = pin!(timeout(Duration::ZERO, pending::<()>()));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(late.as_mut().poll(&mut cx), Poll::Ready(Err(_))));
}

#[rt_macros::test(crate = "crate")]
async fn a_future_that_wakes_itself_for_ever_is_ended() {
    let restless = poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::<()>::Pending
    });
    let start = Instant::now();
    timeout(SHORT, restless).await.unwrap_err();
    assert!(start.elapsed() >= SHORT);
}

#[rt_macros::test(crate = "crate")]
async fn a_future_that_spends_its_budget_for_ever_is_ended() {
    let greedy = async {
        loop {
            poll_fn(rt_scheduler::coop::poll_proceed)
                .await
                .made_progress();
        }
    };
    timeout::<_>(SHORT, greedy).await.unwrap_err();
}

#[rt_macros::test(crate = "crate")]
async fn the_timer_is_gone_with_the_timeout() {
    let reactor = context::reactor();
    let before = reactor.live_timers();
    {
        let mut waiting = pin!(timeout(Duration::from_hours(1), pending::<()>()));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut cx).is_pending());
        assert_eq!(reactor.live_timers(), before + 1);
    }
    assert_eq!(reactor.live_timers(), before);
}

#[test]
fn the_error_turns_into_an_io_error() {
    let mut late = pin!(timeout(Duration::ZERO, pending::<()>()));
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Err(elapsed)) = late.as_mut().poll(&mut cx) else {
        panic!("the time is over");
    };
    assert_eq!(elapsed.to_string(), "the time is over");
    let error = io::Error::from(elapsed);
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

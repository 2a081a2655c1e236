//! A timer in the hands of its owner: polled, reset, dropped, moved, and raced with the reactor.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use super::Timer;
use crate::drive::watchdog;
use crate::probe::Probe;
use crate::wheel::Wheel;
use crate::{Clock, Deadline, Events, Reactor, Wait};

fn at(nanos: u64) -> Deadline {
    Deadline::from_nanos(nanos)
}

/// A reactor of two wheels on a clock that stands at 1000.
fn manual() -> (Arc<Reactor>, Clock) {
    let clock = Clock::manual(at(1_000));
    let reactor = Reactor::with_clock(2, clock.clone()).unwrap();
    (reactor, clock)
}

fn poll(timer: Pin<&mut Timer>, probe: &Probe, wheel: &Arc<Wheel>) -> Poll<()> {
    let waker = probe.waker();
    timer.poll(&mut Context::from_waker(&waker), || Arc::clone(wheel))
}

fn fire_at(reactor: &Reactor, now: Deadline) -> usize {
    reactor.clock().advance_to(now);
    reactor.fire_timers()
}

#[test]
fn it_wakes_once_at_its_deadline_and_stays_ready() {
    let (reactor, _) = manual();
    let probe = Probe::new();
    let mut timer = pin!(Timer::new(at(5_000)));
    assert_eq!(reactor.live_timers(), 0);
    assert!(poll(timer.as_mut(), &probe, reactor.wheel(0)).is_pending());
    assert_eq!(
        (reactor.live_timers(), reactor.next_deadline()),
        (1, at(5_000))
    );
    assert_eq!(fire_at(&reactor, at(4_999)), 0);
    assert!(!timer.is_elapsed());
    assert_eq!(fire_at(&reactor, at(5_000)), 1);
    assert!(timer.is_elapsed());
    assert_eq!((probe.wakes(), probe.wakers()), (1, 0));
    for _ in 0..2 {
        assert!(poll(timer.as_mut(), &probe, reactor.wheel(0)).is_ready());
    }
    assert_eq!((reactor.live_timers(), reactor.timers_fired()), (0, 1));
}

#[test]
fn a_timer_that_has_passed_is_ready_before_the_reactor_knows() {
    let (reactor, clock) = manual();
    let probe = Probe::new();
    let mut timer = pin!(Timer::new(at(5_000)));
    assert!(poll(timer.as_mut(), &probe, reactor.wheel(0)).is_pending());
    clock.advance_to(at(6_000));
    assert!(poll(timer.as_mut(), &probe, reactor.wheel(0)).is_ready());
    assert_eq!(
        (reactor.live_timers(), probe.wakers(), probe.wakes()),
        (0, 0, 0)
    );
    assert_eq!(reactor.fire_timers(), 0);
}

#[test]
fn a_wheel_is_asked_for_only_when_it_is_needed() {
    let (reactor, _) = manual();
    let probe = Probe::new();
    let mut timer = pin!(Timer::new(at(5_000)));
    assert!(poll(timer.as_mut(), &probe, reactor.wheel(0)).is_pending());
    let waker = probe.waker();
    let mut cx = Context::from_waker(&waker);
    assert!(timer.as_mut().poll(&mut cx, || unreachable!()).is_pending());
    fire_at(&reactor, at(5_000));
    assert!(timer.as_mut().poll(&mut cx, || unreachable!()).is_ready());
}

#[test]
fn the_last_waker_is_the_one_that_counts() {
    let (reactor, _) = manual();
    let (old, new) = (Probe::new(), Probe::new());
    let mut timer = pin!(Timer::new(at(5_000)));
    for probe in [&old, &old, &new, &new] {
        assert!(poll(timer.as_mut(), probe, reactor.wheel(0)).is_pending());
    }
    assert_eq!((old.wakers(), new.wakers()), (0, 1));
    fire_at(&reactor, at(5_000));
    assert_eq!((old.wakes(), new.wakes()), (0, 1));
}

#[test]
fn a_reset_moves_the_wake_without_another_poll() {
    let (reactor, _) = manual();
    let probe = Probe::new();
    let mut timer = pin!(Timer::new(at(5_000)));
    assert!(poll(timer.as_mut(), &probe, reactor.wheel(0)).is_pending());
    timer.as_mut().reset(at(9_000));
    assert_eq!(timer.deadline(), at(9_000));
    assert_eq!(fire_at(&reactor, at(6_000)), 0);
    assert_eq!(reactor.next_deadline(), at(9_000));
    timer.as_mut().reset(at(7_000));
    assert_eq!(reactor.next_deadline(), at(7_000));
    assert_eq!(fire_at(&reactor, at(7_000)), 1);
    assert!(timer.is_elapsed());
}

#[test]
fn a_reset_to_the_past_wakes_at_once() {
    let (reactor, _) = manual();
    let probe = Probe::new();
    let mut timer = pin!(Timer::new(at(5_000)));
    assert!(poll(timer.as_mut(), &probe, reactor.wheel(0)).is_pending());
    timer.as_mut().reset(at(1_000));
    assert_eq!(
        (probe.wakes(), probe.wakers(), reactor.live_timers()),
        (1, 0, 0)
    );
    assert!(poll(timer.as_mut(), &probe, reactor.wheel(0)).is_ready());
}

#[test]
fn a_timer_that_has_fired_can_be_used_again_in_another_wheel() {
    let (reactor, _) = manual();
    let probe = Probe::new();
    let mut timer = pin!(Timer::new(at(5_000)));
    assert!(poll(timer.as_mut(), &probe, reactor.wheel(0)).is_pending());
    fire_at(&reactor, at(5_000));
    timer.as_mut().reset(at(8_000));
    assert!(!timer.is_elapsed());
    assert!(poll(timer.as_mut(), &probe, reactor.wheel(1)).is_pending());
    assert_eq!((reactor.wheel(0).live(), reactor.wheel(1).live()), (0, 1));
    assert_eq!(fire_at(&reactor, at(8_000)), 1);
    assert!(timer.is_elapsed());
}

#[test]
fn a_reset_before_the_first_poll_is_only_a_note() {
    let (reactor, _) = manual();
    let probe = Probe::new();
    let mut timer = pin!(Timer::new(Deadline::NEVER));
    timer.as_mut().reset(at(10));
    assert!(poll(timer.as_mut(), &probe, reactor.wheel(0)).is_ready());
    assert!(reactor.next_deadline().is_never());
}

#[test]
fn dropping_it_takes_the_waker_along() {
    let (reactor, _) = manual();
    let probe = Probe::new();
    let mut timer = Box::pin(Timer::new(at(5_000)));
    assert!(poll(timer.as_mut(), &probe, reactor.wheel(0)).is_pending());
    assert_eq!(probe.wakers(), 1);
    drop(timer);
    assert_eq!((probe.wakers(), reactor.live_timers()), (0, 0));
    assert_eq!(fire_at(&reactor, at(9_000)), 0);
}

#[test]
fn a_wheel_lives_as_long_as_a_timer_is_in_it() {
    let (reactor, _) = manual();
    let probe = Probe::new();
    let mut timer = pin!(Timer::new(at(5_000)));
    assert!(poll(timer.as_mut(), &probe, reactor.wheel(0)).is_pending());
    drop(reactor);
    timer.as_mut().reset(at(6_000));
    assert_eq!(probe.wakers(), 1);
}

#[test]
fn a_waker_that_panics_leaves_the_wheel_whole() {
    let (reactor, _) = manual();
    let bad = Probe::with(|| panic!("this panic is part of the test"));
    let good = Probe::new();
    let probes = [&bad, &good];
    let mut timers: Vec<_> = (0..200).map(|_| Box::pin(Timer::new(at(5_000)))).collect();
    for (number, timer) in timers.iter_mut().enumerate() {
        let probe = probes[number % 2];
        assert!(poll(timer.as_mut(), probe, reactor.wheel(0)).is_pending());
    }
    assert_eq!(fire_at(&reactor, at(5_000)), 200);
    assert_eq!((good.wakes(), bad.wakes()), (100, 100));
    assert_eq!((good.wakers(), bad.wakers()), (0, 0));
}

#[test]
fn it_is_small_and_goes_to_any_thread() {
    fn check<T: Send + Sync + std::fmt::Debug + 'static>() {}
    check::<Timer>();
    assert!(size_of::<Timer>() <= 56);
    assert!(format!("{:?}", Timer::new(Deadline::NEVER)).contains("never"));
}

/// Timers that are polled, reset and dropped on two threads around the very moment at which a
/// third fires them: each that is waited for wakes, and nothing is left.
#[test]
fn owners_and_the_reactor_may_meet_at_any_moment() {
    let _watchdog = watchdog();
    let reactor = Reactor::new(2).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let driver = {
        let (reactor, done) = (Arc::clone(&reactor), Arc::clone(&done));
        thread::spawn(move || {
            let mut events = Events::with_capacity(8);
            while !done.load(Ordering::Relaxed) {
                reactor.poll(&mut events, Wait::Forever).unwrap();
                reactor.dispatch(&mut events);
            }
        })
    };
    let owners: Vec<_> = (0..2)
        .map(|wheel| {
            let reactor = Arc::clone(&reactor);
            thread::spawn(move || own(&reactor, wheel))
        })
        .collect();
    for owner in owners {
        owner.join().unwrap();
    }
    done.store(true, Ordering::Relaxed);
    reactor.kick();
    driver.join().unwrap();
    assert_eq!(reactor.live_timers(), 0);
}

fn own(reactor: &Reactor, wheel: usize) {
    let (home, away) = (reactor.wheel(wheel), reactor.wheel(1 - wheel));
    let owner = thread::current();
    let probe = Probe::with(move || owner.unpark());
    for round in 0..3_000_u64 {
        let soon = |round: u64| Deadline::after(Duration::from_nanos(500 * (round % 90)));
        let mut timer = Box::pin(Timer::new(soon(round)));
        let _ = poll(timer.as_mut(), &probe, home);
        match round % 4 {
            0 => continue,
            1 => timer.as_mut().reset(soon(round + 31)),
            2 => timer.as_mut().reset(Deadline::now()),
            _ => {}
        }
        while !timer.is_elapsed() && poll(timer.as_mut(), &probe, away).is_pending() {
            thread::park();
        }
        assert!(timer.deadline() <= Deadline::now());
    }
}

#[test]
fn a_shutdown_wakes_whoever_waits_and_tells_them_why() {
    let (reactor, clock) = manual();
    let wheel = reactor.wheel(0);
    let probe = Probe::new();
    let mut waiting = [at(u64::MAX), at(5_000)].map(|deadline| Box::pin(Timer::new(deadline)));
    for timer in &mut waiting {
        assert!(poll(timer.as_mut(), &probe, wheel).is_pending());
    }
    reactor.shutdown();
    assert_eq!((probe.wakes(), reactor.live_timers()), (2, 0));
    let mut late = Box::pin(Timer::new(at(5_000)));
    for timer in waiting.iter_mut().chain([&mut late]) {
        let polled = catch_unwind(AssertUnwindSafe(|| poll(timer.as_mut(), &probe, wheel)));
        assert!(polled.is_err(), "it would wait for ever");
    }
    clock.advance_to(at(6_000));
    assert!(
        poll(late.as_mut(), &probe, wheel).is_ready(),
        "its time has come all the same"
    );
}

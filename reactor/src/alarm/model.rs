//! Every interleaving of timers that are made with alarms that go off.

use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use loom::thread;

use super::Alarm;
use crate::clock::{Basis, Clock};
use crate::deadline::Deadline;
use crate::primitive::sync::Arc;
use crate::probe::Probe;
use crate::sys::TimerFd;
use crate::timer::Timer;
use crate::timers::Timers;

fn at(nanos: u64) -> Deadline {
    Deadline::from_nanos(nanos)
}

fn timers(wheels: usize) -> Arc<Timers> {
    let timer = TimerFd::new(Basis::Hand).unwrap();
    Arc::new(Timers::new(
        wheels,
        Some(timer),
        Clock::manual(Deadline::ZERO),
    ))
}

/// Makes a timer and waits for it.
fn insert(timers: &Timers, wheel: usize, deadline: Deadline) -> (Pin<Box<Timer>>, Probe) {
    let probe = Probe::new();
    let waker = probe.waker();
    let mut timer = Box::pin(Timer::new(deadline));
    let wheel = Arc::clone(&timers.wheels()[wheel]);
    let polled = timer
        .as_mut()
        .poll(&mut Context::from_waker(&waker), || wheel);
    assert!(polled.is_pending());
    (timer, probe)
}

/// A1: the alarm is early enough for `deadline`, and the kernel has been told.
fn check(alarm: &Alarm, deadline: Deadline) {
    assert!(alarm.armed() <= deadline, "the alarm is late");
    let kernel = alarm.timer.as_ref().unwrap().at_ns();
    assert_eq!(
        kernel,
        alarm.armed().as_nanos(),
        "the kernel waits for something else"
    );
}

/// A timer is made while the alarm has gone off for an earlier one.
#[test]
fn a_timer_made_while_others_fire_is_armed_for() {
    loom::model(|| {
        let timers = timers(1);
        let first = insert(&timers, 0, at(10_000));
        timers.alarm().clock().advance_to(at(20_000));
        let fire = {
            let timers = Arc::clone(&timers);
            thread::spawn(move || timers.fire(&mut Vec::new()))
        };
        let _second = insert(&timers, 0, at(30_000));
        assert_eq!(fire.join().unwrap(), 1);
        assert_eq!(first.1.wakes(), 1);
        check(timers.alarm(), at(30_000));
    });
}

/// The same in another wheel than the one that fires, with two alarms at once.
#[test]
fn a_timer_made_in_another_wheel_during_two_fires_is_armed_for() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let timers = timers(2);
        let _first = insert(&timers, 0, at(10_000));
        timers.alarm().clock().advance_to(at(20_000));
        let fires = [(); 2].map(|()| {
            let timers = Arc::clone(&timers);
            thread::spawn(move || timers.fire(&mut Vec::new()))
        });
        let _second = insert(&timers, 1, at(30_000));
        let woken: usize = fires.map(|fire| fire.join().unwrap()).iter().sum();
        assert_eq!(woken, 1);
        check(timers.alarm(), at(30_000));
    });
}

/// A leader that has armed the alarm sleeps in the kernel, while a timer with an earlier deadline is
/// made: the kernel wakes the leader for it, though nobody else does.
#[test]
fn a_leader_that_goes_to_sleep_wakes_for_an_earlier_timer() {
    loom::model(|| {
        let timers = timers(2);
        let _late = insert(&timers, 0, at(90_000));
        timers.alarm().clock().advance_to(at(20_000));
        let leader = {
            let timers = Arc::clone(&timers);
            // An alarm that went off for nothing; then it blocks.
            thread::spawn(move || timers.fire(&mut Vec::new()))
        };
        let (early, probe) = insert(&timers, 1, at(30_000));
        assert_eq!(leader.join().unwrap(), 0);
        // All is quiet, and the kernel does what it was told last.
        let kernel = timers.alarm().timer.as_ref().unwrap().at_ns();
        timers.alarm().clock().advance_to(at(kernel));
        assert_eq!(timers.fire(&mut Vec::new()), 1, "the leader slept past it");
        assert!(early.is_elapsed());
        assert_eq!((probe.wakes(), kernel), (1, 30_000));
    });
}

/// A timer is made while a paused clock is let go: the kernel is told, by the one or the other.
#[test]
fn a_timer_made_as_the_clock_is_resumed_is_armed_for() {
    loom::model(|| {
        let clock = Clock::monotonic().pausable();
        assert!(clock.pause());
        // Far enough ahead that a model's threads never see it pass.
        let deadline = clock.after(Duration::from_hours(24 * 365));
        let timer = TimerFd::new(Basis::Monotonic).unwrap();
        let timers = Arc::new(Timers::new(1, Some(timer), clock.clone()));
        let resume = {
            let (timers, clock) = (Arc::clone(&timers), clock.clone());
            thread::spawn(move || {
                assert!(clock.resume());
                timers.fire(&mut Vec::new())
            })
        };
        let _timer = insert(&timers, 0, deadline);
        assert_eq!(resume.join().unwrap(), 0);
        assert_eq!(timers.alarm().armed(), deadline);
        let kernel = timers.alarm().timer.as_ref().unwrap().at_ns();
        assert_eq!(
            Some(kernel),
            clock.kernel_ns(deadline),
            "the kernel was not told"
        );
    });
}

/// Two timers are made at once: the earlier one decides.
#[test]
fn of_two_timers_made_at_once_the_earlier_is_armed_for() {
    loom::model(|| {
        let timers = timers(2);
        let other = {
            let timers = Arc::clone(&timers);
            thread::spawn(move || insert(&timers, 0, at(30_000)))
        };
        let _mine = insert(&timers, 1, at(25_000));
        let _theirs = other.join().unwrap();
        check(timers.alarm(), at(25_000));
    });
}

/// A timer is moved to an earlier deadline while the alarm has gone off.
#[test]
fn a_timer_moved_while_others_fire_is_armed_for() {
    loom::model(|| {
        let timers = timers(1);
        let _first = insert(&timers, 0, at(10_000));
        let mut moved = insert(&timers, 0, at(90_000));
        timers.alarm().clock().advance_to(at(20_000));
        let fire = {
            let timers = Arc::clone(&timers);
            thread::spawn(move || timers.fire(&mut Vec::new()))
        };
        moved.0.as_mut().reset(at(40_000));
        fire.join().unwrap();
        check(timers.alarm(), at(40_000));
    });
}

//! Timers by a clock that is paused, moved from deadline to deadline, and let go again.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::drive::watchdog;
use crate::probe::Probe;
use crate::timer::Timer;
use crate::{Events, Reactor, Wait};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// A reactor on a paused clock, with two wheels.
fn paused(clock: Clock) -> (Arc<Reactor>, Events) {
    let clock = clock.pausable();
    assert!(clock.pause());
    let reactor = Reactor::with_clock(2, clock).unwrap();
    (reactor, Events::with_capacity(8))
}

/// Makes a timer in a wheel and waits for it.
fn insert(reactor: &Reactor, wheel: usize, deadline: Deadline) -> (Pin<Box<Timer>>, Probe) {
    let probe = Probe::new();
    let waker = probe.waker();
    let mut timer = Box::pin(Timer::new(deadline));
    let wheel = Arc::clone(reactor.wheel(wheel));
    let mut cx = Context::from_waker(&waker);
    assert!(timer.as_mut().poll(&mut cx, || wheel).is_pending());
    (timer, probe)
}

#[test]
fn a_paused_clock_jumps_from_one_deadline_to_the_next() {
    let (reactor, mut events) = paused(Clock::monotonic());
    let start = reactor.clock().now();
    let after = |nanos| start.saturating_add(Duration::from_nanos(nanos));
    // In one wheel tick, in both wheels, and a year apart.
    let deadlines = [1, 2, 3, 5_000, 31_536_000_000_000_000].map(after);
    let timers: Vec<_> = (0..)
        .zip(deadlines)
        .map(|(number, deadline)| insert(&reactor, number % 2, deadline))
        .collect();
    for (deadline, (timer, probe)) in deadlines.into_iter().zip(&timers) {
        assert!(!timer.is_elapsed());
        assert!(reactor.jump(&mut events));
        assert_eq!(reactor.clock().now(), deadline);
        assert_eq!(reactor.dispatch(&mut events), 1);
        assert_eq!((probe.wakes(), timer.is_elapsed()), (1, true));
    }
    assert!(!reactor.jump(&mut events), "nobody waits any more");
    assert_eq!(reactor.dispatch(&mut events), 0);
}

#[test]
fn it_does_not_jump_for_whoever_is_gone_nor_for_what_never_comes() {
    let (reactor, mut events) = paused(Clock::monotonic());
    let start = reactor.clock().now();
    drop(insert(&reactor, 0, reactor.clock().after(HOUR)));
    assert!(
        !reactor.next_deadline().is_never(),
        "the alarm is not asked"
    );
    assert!(!reactor.jump(&mut events));
    // More of them than a look at a crowded slot takes in.
    let nevers: Vec<_> = (0..200)
        .map(|_| insert(&reactor, 0, Deadline::NEVER))
        .collect();
    assert!(!reactor.jump(&mut events));
    assert_eq!(reactor.clock().now(), start);
    drop(nevers);
}

#[test]
fn a_clock_that_runs_does_not_jump() {
    let reactor = Reactor::with_clock(1, Clock::monotonic().pausable()).unwrap();
    let mut events = Events::with_capacity(8);
    let (timer, _) = insert(&reactor, 0, reactor.clock().after(HOUR));
    assert!(!reactor.jump(&mut events));
    assert!(!reactor.resume(), "it runs already");
    assert!(!timer.is_elapsed());
}

#[test]
fn the_kernel_takes_over_when_a_paused_clock_is_resumed() {
    for clock in [Clock::monotonic(), Clock::boottime()] {
        let _watchdog = watchdog();
        let (reactor, mut events) = paused(clock);
        let soon = reactor.clock().after(Duration::from_millis(2));
        let (timer, probe) = insert(&reactor, 0, soon);
        reactor.clock().advance_to(soon);
        assert_eq!(reactor.fire_timers(), 1);
        assert!(timer.is_elapsed());

        // By real time this one is due before the one above was.
        let soon = reactor.clock().after(Duration::from_millis(2));
        let (timer, again) = insert(&reactor, 1, soon);
        assert_eq!(reactor.poll(&mut events, Wait::Now).unwrap(), 0);
        assert!(reactor.resume());
        while !timer.is_elapsed() {
            reactor.poll(&mut events, Wait::Forever).unwrap();
            reactor.dispatch(&mut events);
        }
        assert!(reactor.clock().now() >= soon, "never early");
        assert_eq!((probe.wakes(), again.wakes()), (1, 1));
    }
}

#[test]
fn timers_on_each_clock_of_the_kernel_fire() {
    for clock in [Clock::monotonic(), Clock::boottime()] {
        let _watchdog = watchdog();
        let reactor = Reactor::with_clock(1, clock).unwrap();
        let mut events = Events::with_capacity(8);
        for micros in [1, 100, 2_000] {
            let deadline = reactor.clock().after(Duration::from_micros(micros));
            let timer = Timer::new(deadline);
            let (probe, mut timer) = (Probe::new(), Box::pin(timer));
            let waker = probe.waker();
            let mut cx = Context::from_waker(&waker);
            while timer
                .as_mut()
                .poll(&mut cx, || Arc::clone(reactor.wheel(0)))
                .is_pending()
            {
                reactor.poll(&mut events, Wait::Forever).unwrap();
                reactor.dispatch(&mut events);
            }
            assert!(reactor.clock().now() >= deadline, "never early");
        }
    }
}

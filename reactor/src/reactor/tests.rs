//! Whole rounds against the real kernel: kicks, timers, shutdown, several threads.

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use super::{Events, Reactor, Wait};
use crate::drive::{Drive, poll_once, watchdog};
use crate::interest::{Direction, Interest};
use crate::probe::Probe;
use crate::timers::REST;
use crate::{Clock, Deadline, Timer};

fn sleep(drive: &mut Drive, duration: Duration) {
    let wheel = Arc::clone(drive.reactor.wheel(0));
    let mut timer = pin!(Timer::new(Deadline::after(duration)));
    drive.until(|cx| timer.as_mut().poll(cx, || Arc::clone(&wheel)));
}

#[test]
fn every_kick_ends_a_wait_and_none_is_an_event() {
    let _watchdog = watchdog();
    let reactor = Reactor::new(1).unwrap();
    let mut events = Events::with_capacity(4);
    for _ in 0..100 {
        reactor.kick();
        assert_eq!(reactor.poll(&mut events, Wait::Forever).unwrap(), 0);
        assert_eq!(reactor.dispatch(&mut events), 0);
    }
    let poller = Arc::clone(&reactor);
    let poller = thread::spawn(move || poller.poll(&mut events, Wait::Forever).unwrap());
    reactor.kick();
    assert_eq!(poller.join().unwrap(), 0);
    assert_eq!((reactor.polls(), reactor.events()), (101, 0));
}

#[test]
fn a_poll_that_need_not_wait_does_not() {
    let reactor = Reactor::new(1).unwrap();
    let mut events = Events::with_capacity(0);
    assert_eq!(reactor.poll(&mut events, Wait::Now).unwrap(), 0);
}

#[test]
fn a_timer_is_never_early() {
    let mut drive = Drive::new();
    for micros in [0, 1, 10, 100, 1_000, 10_000] {
        let duration = Duration::from_micros(micros);
        let start = Instant::now();
        sleep(&mut drive, duration);
        assert!(start.elapsed() >= duration);
    }
    assert_eq!(drive.reactor.live_timers(), 0);
}

#[test]
fn a_passed_deadline_never_reaches_the_kernel() {
    let drive = Drive::new();
    let probe = Probe::new();
    for deadline in [Deadline::ZERO, Deadline::from_nanos(1), Deadline::now()] {
        let mut timer = pin!(Timer::new(deadline));
        let waker = probe.waker();
        let mut cx = Context::from_waker(&waker);
        let wheel = drive.reactor.wheel(0);
        let polled = timer.as_mut().poll(&mut cx, || Arc::clone(wheel));
        assert!(polled.is_ready());
    }
    assert!(drive.reactor.next_deadline().is_never());
    assert_eq!(drive.reactor.timers_fired(), 0);
}

#[test]
fn an_earlier_timer_ends_a_wait_that_is_under_way() {
    let _watchdog = watchdog();
    let reactor = Reactor::new(2).unwrap();
    let probe = Probe::new();
    let waker = probe.waker();
    let mut cx = Context::from_waker(&waker);
    let mut late = pin!(Timer::new(Deadline::after(Duration::from_hours(1))));
    let first = Arc::clone(reactor.wheel(0));
    assert!(late.as_mut().poll(&mut cx, || first).is_pending());

    let poller = {
        let reactor = Arc::clone(&reactor);
        thread::spawn(move || {
            let mut events = Events::with_capacity(4);
            let polled = reactor.poll(&mut events, Wait::Forever).unwrap();
            (polled, reactor.dispatch(&mut events))
        })
    };
    let mut early = pin!(Timer::new(Deadline::after(Duration::from_millis(100))));
    let second = Arc::clone(reactor.wheel(1));
    assert!(early.as_mut().poll(&mut cx, || second).is_pending());
    assert_eq!(poller.join().unwrap(), (1, 1));
    assert!(early.is_elapsed() && !late.is_elapsed());
    assert_eq!(reactor.next_deadline(), late.deadline());
}

#[test]
fn thousands_of_timers_fire_once_each() {
    let mut drive = Drive::new();
    let probe = Probe::new();
    let waker = probe.waker();
    let mut cx = Context::from_waker(&waker);
    let start = Deadline::now();
    let mut timers: Vec<_> = (0..5_000_u64)
        .map(|number| {
            let micros = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 50_000;
            Box::pin(Timer::new(
                start.saturating_add(Duration::from_micros(micros)),
            ))
        })
        .collect();
    let mut waiting = 0;
    for (number, timer) in timers.iter_mut().enumerate() {
        let wheel = drive.reactor.wheel(number % 2);
        if timer
            .as_mut()
            .poll(&mut cx, || Arc::clone(wheel))
            .is_pending()
        {
            waiting += 1;
        }
    }
    while probe.wakes() < waiting {
        drive.turn();
        let now = Deadline::now();
        assert!(
            timers
                .iter()
                .all(|timer| !timer.is_elapsed() || timer.deadline() <= now)
        );
    }
    assert!(timers.iter().all(|timer| timer.is_elapsed()));
    assert_eq!(drive.reactor.timers_fired(), waiting as u64);
    assert_eq!(drive.reactor.live_timers(), 0);
    assert!(drive.reactor.next_deadline().is_never());
}

/// Polls a timer in the first wheel once.
fn start(reactor: &Reactor, timer: Pin<&mut Timer>, probe: &Probe) -> Poll<()> {
    let wheel = reactor.wheel(0);
    let waker = probe.waker();
    timer.poll(&mut Context::from_waker(&waker), || Arc::clone(wheel))
}

#[test]
fn a_timer_shortly_behind_others_waits_for_the_next_alarm() {
    let mut seen = false;
    // On a machine that is slow at the moment, both are due at once, or one is before it begins: then its alarm
    // is left behind.
    while !seen {
        let (mut drive, probe) = (Drive::new(), Probe::new());
        let first = Deadline::after(Duration::from_millis(2));
        let behind = first.saturating_add(REST / 2);
        let mut timers = [first, behind].map(|deadline| Box::pin(Timer::new(deadline)));
        let pending = timers
            .each_mut()
            .map(|timer| start(&drive.reactor, timer.as_mut(), &probe).is_pending());
        if pending != [true; 2] {
            continue;
        }
        assert_eq!(drive.reactor.next_deadline(), first);
        drive.turn();
        seen = probe.wakes() == 1;
        if seen {
            let next = drive.reactor.next_deadline();
            assert!(next >= first.saturating_add(REST) && next <= Deadline::after(REST));
        }
        while probe.wakes() < 2 {
            drive.turn();
        }
    }
}

#[test]
fn a_timer_that_no_other_precedes_closely_has_an_alarm_of_its_own() {
    let mut drive = Drive::new();
    let probe = Probe::new();
    let [mut first, mut far] = [Duration::from_millis(2), Duration::from_mins(1)]
        .map(|duration| Box::pin(Timer::new(Deadline::after(duration))));
    assert!(start(&drive.reactor, far.as_mut(), &probe).is_pending());
    let _ = start(&drive.reactor, first.as_mut(), &probe);
    while !first.is_elapsed() {
        drive.turn();
    }
    assert_eq!(drive.reactor.next_deadline(), far.deadline());
    // And so has one that is made only now, however short.
    let mut short = pin!(Timer::new(Deadline::after(REST / 2)));
    if start(&drive.reactor, short.as_mut(), &probe).is_pending() {
        assert_eq!(drive.reactor.next_deadline(), short.deadline());
    }
}

#[test]
fn a_cancelled_timer_costs_one_empty_alarm() {
    let mut drive = Drive::new();
    let probe = Probe::new();
    let waker = probe.waker();
    let mut cx = Context::from_waker(&waker);
    let wheel = Arc::clone(drive.reactor.wheel(0));
    let mut timer = Box::pin(Timer::new(Deadline::after(Duration::from_millis(2))));
    if timer.as_mut().poll(&mut cx, || wheel).is_ready() {
        return;
    }
    drop(timer);
    assert_eq!(drive.turn(), 0);
    assert!(drive.reactor.next_deadline().is_never());
    assert_eq!(probe.wakes(), 0);
}

#[test]
fn shutting_down_ends_every_wait_for_a_source() {
    let mut drive = Drive::new();
    let (near, _far) = UnixStream::pair().unwrap();
    let source = drive.reactor.register(near.as_fd()).unwrap();
    drive.turn();
    let (slot, list) = (Probe::new(), Probe::new());
    let waker = slot.waker();
    let mut cx = Context::from_waker(&waker);
    let mut readable = pin!(source.ready(Interest::READABLE));
    assert!(source.poll_ready(&mut cx, Direction::Read).is_pending());
    assert!(poll_once(readable.as_mut(), &list).is_pending());

    drive.reactor.shutdown();
    assert_eq!((slot.wakes(), list.wakes()), (1, 1));
    let Poll::Ready(Err(error)) = poll_once(readable, &list) else {
        panic!("the wait goes on");
    };
    assert_eq!(error.to_string(), "runtime is shutting down");
    let polled = source.poll_ready(&mut cx, Direction::Write);
    assert!(matches!(polled, Poll::Ready(Err(_))));
    let (other, _) = UnixStream::pair().unwrap();
    assert!(drive.reactor.register(other.as_fd()).is_err());
    assert_eq!(drive.reactor.live_sources(), 1);
}

#[test]
fn two_threads_may_dispatch_at_once() {
    let _watchdog = watchdog();
    let reactor = Reactor::new(1).unwrap();
    let pairs: Vec<_> = (0..64).map(|_| UnixStream::pair().unwrap()).collect();
    let sources: Vec<_> = pairs
        .iter()
        .map(|(near, _)| reactor.register(near.as_fd()).unwrap())
        .collect();
    let mut first = Events::with_capacity(256);
    assert_eq!(reactor.poll(&mut first, Wait::Forever).unwrap(), 64);
    reactor.dispatch(&mut first);

    let probe = Probe::new();
    let mut waiting: Vec<_> = sources
        .iter()
        .map(|source| Box::pin(source.ready(Interest::READABLE)))
        .collect();
    for future in &mut waiting {
        assert!(poll_once(future.as_mut(), &probe).is_pending());
    }
    let mut second = Events::with_capacity(256);
    for (_, far) in &pairs {
        (&*far).write_all(b"x").unwrap();
    }
    reactor.poll(&mut first, Wait::Now).unwrap();
    for (_, far) in &pairs {
        (&*far).write_all(b"x").unwrap();
    }
    reactor.poll(&mut second, Wait::Now).unwrap();
    let woken: usize = thread::scope(|scope| {
        let threads =
            [&mut first, &mut second].map(|events| scope.spawn(|| reactor.dispatch(events)));
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    });
    assert_eq!((woken, probe.wakes()), (64, 64));
    for future in &mut waiting {
        assert!(poll_once(future.as_mut(), &probe).is_ready());
    }
}

#[test]
fn a_manual_clock_fires_without_the_kernel() {
    let clock = Clock::manual(Deadline::from_nanos(1_000));
    let reactor = Reactor::with_clock(1, clock.clone()).unwrap();
    let probe = Probe::new();
    let waker = probe.waker();
    let mut cx = Context::from_waker(&waker);
    let mut timer = pin!(Timer::new(clock.after(Duration::from_hours(24 * 365))));
    let wheel = Arc::clone(reactor.wheel(0));
    assert!(timer.as_mut().poll(&mut cx, || wheel).is_pending());
    assert_eq!(reactor.next_deadline(), timer.deadline());
    assert_eq!(reactor.fire_timers(), 0);
    reactor.clock().advance_to(reactor.next_deadline());
    assert_eq!(reactor.fire_timers(), 1);
    assert!(timer.is_elapsed());
}

#[test]
fn a_crowd_in_one_wheel_tick_does_not_stop_a_manual_clock() {
    let clock = Clock::manual(Deadline::from_nanos(1 << 20));
    let reactor = Reactor::with_clock(1, clock.clone()).unwrap();
    let probe = Probe::new();
    let waker = probe.waker();
    let mut cx = Context::from_waker(&waker);
    let mut timers: Vec<_> = (0..500_u64)
        .map(|number| {
            Box::pin(Timer::new(
                clock.after(Duration::from_nanos(9_500 + number % 3)),
            ))
        })
        .collect();
    for timer in &mut timers {
        let wheel = Arc::clone(reactor.wheel(0));
        assert!(timer.as_mut().poll(&mut cx, || wheel).is_pending());
    }
    let mut steps = 0;
    while !reactor.next_deadline().is_never() {
        clock.advance_to(reactor.next_deadline());
        reactor.fire_timers();
        steps += 1;
        assert!(steps < 10, "it makes no progress");
    }
    assert_eq!(probe.wakes(), 500);
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn there_are_only_so_many_wheels() {
    let reactor = Reactor::new(3).unwrap();
    assert_eq!(reactor.wheels(), 3);
    reactor.wheel(3);
}

//! The timer wheel beside a sorted map: who is woken when the time moves is exactly who is due.
//!
//! The input is a start and then steps of eleven bytes: what to do, with which timer, and a distance, whose
//! magnitude has a byte of its own.

#![no_main]

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Wake, Waker};

use libfuzzer_sys::fuzz_target;
use rt_reactor::{Clock, Deadline, Reactor, Timer};

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        assert!(!self.0.swap(true, Relaxed), "woken twice");
    }
}

/// A timer that waits, and whether it was woken.
struct Waiting {
    timer: Pin<Box<Timer>>,
    woken: Arc<Flag>,
}

struct Wheel {
    reactor: Arc<Reactor>,
    waiting: BTreeMap<u8, Waiting>,
}

fuzz_target!(|input: &[u8]| {
    let Some((start, steps)) = input.split_first_chunk::<8>() else {
        return;
    };
    // Far enough from the end of time for the steps to have some.
    let start = Deadline::from_nanos(u64::from_le_bytes(*start) >> 1);
    let clock = Clock::manual(start);
    let mut wheel = Wheel {
        reactor: Reactor::with_clock(1, clock).expect("descriptors for a reactor"),
        waiting: BTreeMap::new(),
    };
    for step in steps.chunks_exact(11) {
        let number = u64::from_le_bytes(step[3..].try_into().expect("eight bytes"));
        let distance = number.checked_shr(u32::from(step[2] % 64)).unwrap_or(0);
        wheel.step(step[0], step[1], distance);
    }
});

impl Wheel {
    fn now(&self) -> Deadline {
        self.reactor.clock().now()
    }

    fn step(&mut self, what: u8, which: u8, distance: u64) {
        let deadline = Deadline::from_nanos(self.now().as_nanos().saturating_add(distance));
        match what % 4 {
            0 => self.insert(which, deadline),
            1 => drop(self.waiting.remove(&which)),
            2 => self.reset(which, deadline),
            _ => self.advance(deadline),
        }
        assert_eq!(self.reactor.live_timers(), self.waiting.len());
        let earliest = self
            .waiting
            .values()
            .map(|waiting| waiting.timer.deadline());
        let earliest = earliest.min().unwrap_or(Deadline::NEVER);
        assert!(
            self.reactor.next_deadline() <= earliest,
            "the alarm is late"
        );
    }

    fn insert(&mut self, which: u8, deadline: Deadline) {
        let mut waiting = Waiting {
            timer: Box::pin(Timer::new(deadline)),
            woken: Arc::default(),
        };
        let waker = Waker::from(Arc::clone(&waiting.woken));
        let cx = &mut Context::from_waker(&waker);
        let place = || Arc::clone(self.reactor.wheel(0));
        let polled = waiting.timer.as_mut().poll(cx, place);
        assert_eq!(polled.is_ready(), deadline <= self.now());
        self.waiting.remove(&which);
        if polled.is_pending() {
            self.waiting.insert(which, waiting);
        }
    }

    fn reset(&mut self, which: u8, deadline: Deadline) {
        let now = self.now();
        let Some(waiting) = self.waiting.get_mut(&which) else {
            return;
        };
        waiting.timer.as_mut().reset(deadline);
        let is_due = deadline <= now;
        assert_eq!(waiting.timer.is_elapsed(), is_due);
        assert_eq!(waiting.woken.0.load(Relaxed), is_due);
        if is_due {
            self.waiting.remove(&which);
        }
    }

    fn advance(&mut self, now: Deadline) {
        // The clock has no time behind the last one that is not "never".
        let now = now.min(Deadline::from_nanos(u64::MAX - 1));
        self.reactor.clock().advance_to(now);
        let woken = self.reactor.fire_timers();
        let before = self.waiting.len();
        self.waiting.retain(|_, waiting| {
            let is_due = waiting.timer.deadline() <= now;
            assert_eq!(waiting.woken.0.load(Relaxed), is_due);
            assert_eq!(waiting.timer.is_elapsed(), is_due);
            !is_due
        });
        assert_eq!(before - self.waiting.len(), woken);
    }
}

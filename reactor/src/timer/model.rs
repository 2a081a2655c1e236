//! Every interleaving of a timer's owner with a thread that fires it.

use std::pin::Pin;
use std::task::{Context, Poll};

use loom::thread;

use super::Timer;
use crate::clock::{Basis, Clock};
use crate::deadline::Deadline;
use crate::primitive::sync::Arc;
use crate::probe::Probe;
use crate::sys::TimerFd;
use crate::timers::Timers;

/// What the clock reads when the timer is fired.
const NOW: Deadline = Deadline::from_nanos(20_000);
const LATER: Deadline = Deadline::from_nanos(30_000);

/// Two wheels, and a timer in the first that will be due when the clock is [`moved`](Set::expire).
struct Set {
    timers: Arc<Timers>,
    timer: Pin<Box<Timer>>,
    probe: Probe,
}

impl Set {
    fn new() -> Set {
        let clock = Clock::manual(Deadline::ZERO);
        let timers = Timers::new(2, Some(TimerFd::new(Basis::Hand).unwrap()), clock);
        let mut set = Set {
            timers: Arc::new(timers),
            timer: Box::pin(Timer::new(Deadline::from_nanos(10_000))),
            probe: Probe::new(),
        };
        assert!(set.poll(0).is_pending());
        set
    }

    fn poll(&mut self, wheel: usize) -> Poll<()> {
        poll(self.timer.as_mut(), &self.timers, wheel, &self.probe)
    }

    /// Fires at [`NOW`] without moving the clock, so that the owner still takes the timer for one
    /// that waits: the reactor is ahead.
    fn fire(&self) -> thread::JoinHandle<usize> {
        let timers = Arc::clone(&self.timers);
        thread::spawn(move || timers.wheels()[0].fire(NOW, &mut Vec::new()).woken)
    }

    fn live(&self) -> usize {
        self.timers.wheels().iter().map(|wheel| wheel.live()).sum()
    }
}

fn poll(timer: Pin<&mut Timer>, timers: &Timers, wheel: usize, probe: &Probe) -> Poll<()> {
    let waker = probe.waker();
    let wheel = Arc::clone(&timers.wheels()[wheel]);
    timer.poll(&mut Context::from_waker(&waker), || wheel)
}

/// Dropped as it fires: it is taken out once, and its waker is gone.
#[test]
fn a_drop_as_it_fires_leaves_nothing() {
    loom::model(|| {
        let set = Set::new();
        let fire = set.fire();
        let Set {
            timers,
            timer,
            probe,
        } = set;
        drop(timer);
        let woken = fire.join().unwrap();
        assert_eq!((probe.wakes(), probe.wakers()), (woken, 0));
        assert_eq!(timers.wheels()[0].live(), 0);
    });
}

/// An owner that sees it fired has it for itself, and may put it into another wheel at once.
#[test]
fn a_timer_seen_fired_is_its_owners() {
    loom::model(|| {
        let mut set = Set::new();
        let fire = set.fire();
        if set.timer.is_elapsed() {
            set.timer.as_mut().reset(LATER);
            assert!(set.poll(1).is_pending());
            assert_eq!(set.timers.wheels()[1].live(), 1);
        }
        fire.join().unwrap();
        assert_eq!(set.probe.wakes(), 1);
    });
}

/// Moved to later as it fires: its task is woken, or it waits for the new deadline, armed for.
#[test]
fn a_reset_as_it_fires_wakes_or_waits() {
    loom::model(|| {
        let mut set = Set::new();
        let fire = set.fire();
        set.timer.as_mut().reset(LATER);
        let woken = fire.join().unwrap();
        assert!(!set.timer.is_elapsed(), "it is not yet the time");
        assert_eq!(set.probe.wakes(), woken);
        assert_eq!(set.live(), 1 - woken, "it waits unless it has woken");
        assert!(set.poll(1).is_pending());
        assert_eq!(set.live(), 1);
        assert!(set.timers.alarm().armed() <= LATER);
    });
}

/// Moved to the past as it fires: its task is woken once, and it is ready.
#[test]
fn a_reset_to_the_past_as_it_fires_wakes_once() {
    loom::model(|| {
        let mut set = Set::new();
        let fire = set.fire();
        set.timer.as_mut().reset(Deadline::ZERO);
        fire.join().unwrap();
        assert_eq!((set.probe.wakes(), set.probe.wakers()), (1, 0));
        assert!(set.poll(0).is_ready());
    });
}

/// Polled with another waker as it fires: the poll is ready, or the new waker is woken.
#[test]
fn a_poll_as_it_fires_is_ready_or_wakes_the_new_waker() {
    loom::model(|| {
        let mut set = Set::new();
        let fire = set.fire();
        let new = Probe::new();
        let polled = poll(set.timer.as_mut(), &set.timers, 1, &new);
        assert_eq!(fire.join().unwrap(), 1);
        assert!(polled.is_ready() || new.wakes() == 1, "the wake-up is lost");
        assert_eq!(new.wakers() + set.probe.wakers(), 0);
    });
}

/// Polled after its time as it fires: it is ready, once taken out.
#[test]
fn a_late_poll_as_it_fires_is_ready() {
    loom::model(|| {
        let mut set = Set::new();
        set.timers.alarm().clock().advance_to(NOW);
        let fire = set.fire();
        assert!(set.poll(1).is_ready());
        let woken = fire.join().unwrap();
        assert_eq!((set.probe.wakes(), set.probe.wakers()), (woken, 0));
        assert_eq!(set.live(), 0);
    });
}

/// Two threads fire at once: it is fired once.
#[test]
fn two_fires_at_once_wake_once() {
    loom::model(|| {
        let set = Set::new();
        let other = set.fire();
        let mine = set.timers.wheels()[0].fire(NOW, &mut Vec::new()).woken;
        assert_eq!(other.join().unwrap() + mine, 1);
        assert_eq!((set.probe.wakes(), set.live()), (1, 0));
    });
}

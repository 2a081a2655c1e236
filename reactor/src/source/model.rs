//! Every interleaving of a task that waits for a source with an event of it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use loom::thread;

use super::Source;
use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::interest::{Direction, Interest};
use crate::primitive::sync::Arc;
use crate::probe::Probe;
use crate::reactor::Reactor;
use crate::readiness::READABLE;
use crate::sys::some_fd;
use crate::wake::wake_all;

fn source() -> (Arc<Reactor>, Arc<Source>) {
    let reactor = Reactor::with_clock(1, Clock::manual(Deadline::ZERO)).unwrap();
    let source = reactor.register(some_fd()).unwrap();
    (reactor, Arc::new(source))
}

/// Delivers an event, as a dispatch does.
fn deliver(source: &Source) -> usize {
    let mut wakers = Vec::new();
    let registry = source.reactor.registry();
    registry.deliver(source.entry().token(), READABLE, &mut wakers);
    wake_all(&mut wakers)
}

fn poll<F: Future>(future: Pin<&mut F>, probe: &Probe) -> Poll<F::Output> {
    let waker = probe.waker();
    future.poll(&mut Context::from_waker(&waker))
}

/// `poll_ready` sees the event, or the event finds its waker.
#[test]
fn a_slot_waits_or_sees() {
    loom::model(|| {
        let (_reactor, source) = source();
        let probe = Probe::new();
        let event = {
            let source = Arc::clone(&source);
            thread::spawn(move || deliver(&source))
        };
        let waker = probe.waker();
        let polled = source.poll_ready(&mut Context::from_waker(&waker), Direction::Read);
        event.join().unwrap();
        assert!(
            polled.is_ready() || probe.wakes() == 1,
            "the wake-up is lost"
        );
    });
}

/// Of two futures that wait, in two threads, each sees the event or is woken.
#[test]
fn each_of_two_futures_waits_or_sees() {
    loom::model(|| {
        let (_reactor, source) = source();
        let waits_or_sees = |source: Arc<Source>| {
            move || {
                let probe = Probe::new();
                let mut future = Box::pin(source.ready(Interest::READABLE));
                let ready = poll(future.as_mut(), &probe).is_ready();
                // Leaked: the waiter stays, as if the task went on waiting.
                std::mem::forget(future);
                (ready, probe)
            }
        };
        let first = thread::spawn(waits_or_sees(Arc::clone(&source)));
        let event = {
            let source = Arc::clone(&source);
            thread::spawn(move || deliver(&source))
        };
        let second = waits_or_sees(Arc::clone(&source))();
        event.join().unwrap();
        for (ready, probe) in [first.join().unwrap(), second] {
            assert!(ready || probe.wakes() == 1, "the wake-up is lost");
        }
    });
}

/// A future that is dropped while the event comes leaves no waker, and the one beside it is woken.
#[test]
fn a_dropped_future_leaves_nothing_and_takes_nothing() {
    loom::model(|| {
        let (_reactor, source) = source();
        let (gone, stays) = (Probe::new(), Probe::new());
        let mut dropped = Box::pin(source.ready(Interest::READABLE));
        let mut kept = Box::pin(source.ready(Interest::READABLE));
        assert!(poll(dropped.as_mut(), &gone).is_pending());
        assert!(poll(kept.as_mut(), &stays).is_pending());
        let event = {
            let source = Arc::clone(&source);
            thread::spawn(move || deliver(&source))
        };
        drop(dropped);
        event.join().unwrap();
        assert_eq!((gone.wakers(), stays.wakes()), (0, 1));
        assert!(poll(kept.as_mut(), &stays).is_ready());
    });
}

/// Polling again with another waker while the event comes: it is seen, or the new waker is woken.
#[test]
fn a_future_that_changes_its_waker_is_woken_by_the_new_one() {
    loom::model(|| {
        let (_reactor, source) = source();
        let (old, new) = (Probe::new(), Probe::new());
        let mut future = Box::pin(source.ready(Interest::READABLE));
        assert!(poll(future.as_mut(), &old).is_pending());
        let event = {
            let source = Arc::clone(&source);
            thread::spawn(move || deliver(&source))
        };
        let polled = poll(future.as_mut(), &new);
        event.join().unwrap();
        assert!(polled.is_ready() || new.wakes() == 1, "the wake-up is lost");
    });
}

/// Polling again with the same waker while the event comes: it is seen, or the waker is woken; and a future
/// that has seen it goes without the lock.
#[test]
fn a_future_that_is_polled_again_waits_on_or_sees() {
    loom::model(|| {
        let (_reactor, source) = source();
        let probe = Probe::new();
        let mut future = Box::pin(source.ready(Interest::READABLE));
        let waker = probe.waker();
        let mut cx = Context::from_waker(&waker);
        assert!(future.as_mut().poll(&mut cx).is_pending());
        let event = {
            let source = Arc::clone(&source);
            thread::spawn(move || deliver(&source))
        };
        let ready = future.as_mut().poll(&mut cx).is_ready();
        if ready {
            drop(future);
        }
        event.join().unwrap();
        assert!(ready || probe.wakes() == 1, "the wake-up is lost");
    });
}

/// A shutdown ends a wait that begins at the same moment.
#[test]
fn a_shutdown_ends_a_wait_that_begins() {
    loom::model(|| {
        let (reactor, source) = source();
        let probe = Probe::new();
        let end = thread::spawn(move || reactor.shutdown());
        let waker = probe.waker();
        let mut cx = Context::from_waker(&waker);
        let polled = source.poll_ready(&mut cx, Direction::Read);
        end.join().unwrap();
        assert!(polled.is_ready() || probe.wakes() == 1, "the wait goes on");
        let polled = source.poll_ready(&mut cx, Direction::Read);
        assert!(matches!(polled, Poll::Ready(Err(_))));
    });
}

/// A shutdown and a registration at once: either the registration is refused, or its waits end.
#[test]
fn a_shutdown_refuses_a_registration_or_ends_its_waits() {
    loom::model(|| {
        let (reactor, _first) = source();
        let end = {
            let reactor = Arc::clone(&reactor);
            thread::spawn(move || reactor.shutdown())
        };
        let registered = reactor.register(some_fd());
        end.join().unwrap();
        if let Ok(source) = registered {
            let probe = Probe::new();
            let waker = probe.waker();
            let polled = source.poll_ready(&mut Context::from_waker(&waker), Direction::Read);
            assert!(matches!(polled, Poll::Ready(Err(_))));
        }
    });
}

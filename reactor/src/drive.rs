//! For tests: a reactor that the test's own thread turns, under a watchdog.

use std::future::Future;
use std::pin::Pin;
use std::process;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use crate::probe::Probe;
use crate::{Events, Reactor, Wait};

/// A reactor, and one thread's events.
pub(crate) struct Drive {
    pub(crate) reactor: Arc<Reactor>,
    events: Events,
    _watchdog: Sender<()>,
}

impl Drive {
    pub(crate) fn new() -> Drive {
        let reactor = Reactor::new(2).expect("there are descriptors left");
        Drive {
            reactor,
            events: Events::with_capacity(64),
            _watchdog: watchdog(),
        }
    }

    /// Polls until there is an event, and dispatches; how many were woken.
    pub(crate) fn turn(&mut self) -> usize {
        self.reactor
            .poll(&mut self.events, Wait::Forever)
            .expect("a poll does not fail");
        self.reactor.dispatch(&mut self.events)
    }

    /// Polls without waiting, and dispatches; how many events there were.
    pub(crate) fn glance(&mut self) -> usize {
        let events = self
            .reactor
            .poll(&mut self.events, Wait::Now)
            .expect("a poll does not fail");
        self.reactor.dispatch(&mut self.events);
        events
    }

    /// Turns until `poll` is ready, and polls only after a wake-up.
    pub(crate) fn until<T>(&mut self, mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
        let probe = Probe::new();
        let waker = probe.waker();
        let mut cx = Context::from_waker(&waker);
        loop {
            let before = probe.wakes();
            if let Poll::Ready(value) = poll(&mut cx) {
                return value;
            }
            while probe.wakes() == before {
                self.turn();
            }
        }
    }

    pub(crate) fn block_on<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = Box::pin(future);
        self.until(|cx| future.as_mut().poll(cx))
    }
}

/// Polls a future once, with a waker of the probe.
pub(crate) fn poll_once<F: Future>(future: Pin<&mut F>, probe: &Probe) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(&probe.waker()))
}

/// Ends the process if the test has not ended, and with it the sender, after a generous time.
pub(crate) fn watchdog() -> Sender<()> {
    let (sender, receiver) = channel();
    let test = thread::current().name().unwrap_or("a test").to_owned();
    thread::spawn(move || {
        if receiver.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{test} hangs");
            process::abort();
        }
    });
    sender
}

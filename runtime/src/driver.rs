//! The reactor as the scheduler's driver.

use std::sync::Arc;

use parking_lot::Mutex;
use rt_reactor::{Events, Reactor};
use rt_scheduler::{Driver, Wait};

/// Events that one poll takes at most. What does not fit comes with the next poll.
const EVENTS: usize = 1024;

/// The reactor, with an event buffer for each thread that may poll it.
pub(crate) struct ReactorDriver {
    reactor: Arc<Reactor>,
    /// A buffer is used by its own thread only; the lock is there to say so, and never contended.
    buffers: Box<[Mutex<Option<Events>>]>,
}

impl ReactorDriver {
    pub(crate) fn new(reactor: Arc<Reactor>, threads: usize) -> Self {
        let buffers = (0..threads).map(|_| Mutex::new(None)).collect();
        ReactorDriver { reactor, buffers }
    }
}

impl Driver for ReactorDriver {
    fn poll(&self, buffer: usize, wait: Wait) -> usize {
        let mut events = self.buffers[buffer].lock();
        let events = events.get_or_insert_with(|| Events::with_capacity(EVENTS));
        let wait = match wait {
            Wait::Now => rt_reactor::Wait::Now,
            Wait::For(limit) => rt_reactor::Wait::For(limit),
            Wait::Forever => rt_reactor::Wait::Forever,
        };
        // The set is the reactor's own and outlives this call, so no documented error is left.
        self.reactor
            .poll(events, wait)
            .expect("epoll_wait on the reactor's own set")
    }

    fn dispatch(&self, buffer: usize) -> usize {
        // Taken out of the lock: the wakers that run now are foreign code.
        let Some(mut events) = self.buffers[buffer].lock().take() else {
            return 0;
        };
        let woken = self.reactor.dispatch(&mut events);
        *self.buffers[buffer].lock() = Some(events);
        woken
    }

    fn kick(&self) {
        self.reactor.kick();
    }
}

//! The reactor as the scheduler's driver.
//!
//! # While the clock is paused
//!
//! A worker that has run dry asks whether anything else can run, *then* looks at the kernel once,
//! without waiting, and if that has nothing either, moves the clock to the next deadline. In this
//! order: whatever ran before the question has kicked by the time of the look, if it had something for
//! the worker. As long as something can run, and also while nobody waits for the time, the worker
//! sleeps in short naps, so that nobody has to tell it when that changes.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rt_reactor::{Events, Reactor};
use rt_scheduler::record::{self, Kind};
use rt_scheduler::{Driver, Pool, Wait, worker_index};

use crate::handle::Inner;
use crate::quiet;

/// Events that a worker takes at a time. The others wait in the kernel, at no cost and in the order
/// in which they came: a task that is woken long before its turn is out of the caches when that comes.
const BATCH: usize = 32;

/// Events that the reactor thread takes at a time, for workers that sleep or are all busy.
const GUARDS_BATCH: usize = 1024;

/// How long a worker naps while the clock is paused and cannot move.
const NAP: Duration = Duration::from_millis(1);

/// The reactor, with an event buffer for each thread that may poll it.
pub(crate) struct ReactorDriver {
    reactor: Arc<Reactor>,
    /// A buffer is used by its own thread only; the lock is there to say so, and never contended.
    buffers: Box<[Mutex<Option<Events>>]>,
    /// The runtime, once it is whole.
    home: Arc<OnceLock<Weak<Inner>>>,
}

impl ReactorDriver {
    pub(crate) fn new(
        reactor: Arc<Reactor>,
        threads: usize,
        home: Arc<OnceLock<Weak<Inner>>>,
    ) -> Self {
        let buffers = (0..threads).map(|_| Mutex::new(None)).collect();
        ReactorDriver {
            reactor,
            buffers,
            home,
        }
    }

    fn wait(&self, events: &mut Events, wait: rt_reactor::Wait) -> usize {
        // The set is the reactor's own and outlives this call, so the one error that is left is a
        // fork. On a current-thread runtime it is the caller of `block_on` that hears of it.
        match self.reactor.poll(events, wait) {
            Ok(events) => events,
            Err(error) => panic!("{error}"),
        }
    }

    /// For a worker that has run dry while the clock stands still.
    fn wait_paused(&self, events: &mut Events) -> usize {
        let inner = self.home.get().and_then(Weak::upgrade);
        let quiet = inner.is_some_and(|inner| quiet::is_quiet(&inner));
        let polled = self.wait(events, rt_reactor::Wait::Now);
        if polled > 0 || events.were_kicked() {
            return polled;
        }
        if quiet && self.reactor.jump(events) {
            return 1;
        }
        self.wait(events, rt_reactor::Wait::For(NAP))
    }
}

impl Driver for ReactorDriver {
    fn poll(&self, buffer: usize, wait: Wait) -> usize {
        let is_guards = buffer + 1 == self.buffers.len();
        let batch = if is_guards { GUARDS_BATCH } else { BATCH };
        let mut events = self.buffers[buffer].lock();
        let events = events.get_or_insert_with(|| Events::with_capacity(batch));
        let _slice = (wait != Wait::Now).then(|| {
            let leads = worker_index().is_some();
            record::slice(if leads { Kind::Lead } else { Kind::Watch })
        });
        match wait {
            Wait::Now => self.wait(events, rt_reactor::Wait::Now),
            _ if self.reactor.clock().is_paused() => self.wait_paused(events),
            Wait::For(limit) => self.wait(events, rt_reactor::Wait::For(limit)),
            Wait::Forever => self.wait(events, rt_reactor::Wait::Forever),
        }
    }

    fn dispatch(&self, buffer: usize) -> usize {
        // Taken out of the lock: the wakers that run now are foreign code.
        let Some(mut events) = self.buffers[buffer].lock().take() else {
            return 0;
        };
        let slice = record::slice(Kind::Dispatch);
        let woken = self.reactor.dispatch(&mut events);
        drop(slice);
        *self.buffers[buffer].lock() = Some(events);
        woken
    }

    fn tick(&self, awake: usize) {
        if let Some(inner) = self.home.get().and_then(Weak::upgrade) {
            let computing = inner.cpu.started().map_or(0, Pool::awake);
            #[cfg(feature = "rayon")]
            let computing = computing + inner.rayon.computing();
            inner.preemption.want(awake + computing);
        }
    }

    fn kick(&self) {
        self.reactor.kick();
    }
}

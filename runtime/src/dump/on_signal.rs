//! A dump at each signal, to standard error.
//!
//! A thread of its own waits for the signal, with an epoll set of its own: it has to work when everything else
//! of the runtime stands still, and a handler could do none of this.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;

use rt_reactor::{Events, Reactor, Source, Wait};

use crate::handle::Inner;
use crate::signal::unix::SignalKind;
use crate::sys::signal::Listening;

use super::Dump;

/// Ends the thread when it is dropped.
#[derive(Debug)]
pub(crate) struct OnSignal {
    reactor: Arc<Reactor>,
    over: Arc<AtomicBool>,
}

impl OnSignal {
    /// Begins to listen, and starts the thread. `home` leads to the runtime, once that is whole.
    pub(crate) fn start(
        kind: SignalKind,
        name: &str,
        home: Arc<OnceLock<Weak<Inner>>>,
    ) -> io::Result<OnSignal> {
        let (listening, edges) = Listening::new(kind.as_raw_value())?;
        let reactor = Reactor::new(1)?;
        let source = reactor.register(edges.as_fd())?;
        let over = Arc::new(AtomicBool::new(false));
        let watch = Watch {
            reactor: Arc::clone(&reactor),
            over: Arc::clone(&over),
            listening,
            _source: source,
            _edges: edges,
            home,
        };
        let builder = thread::Builder::new().name(format!("{name}-dump"));
        builder.spawn(move || watch.run())?;
        Ok(OnSignal { reactor, over })
    }

    /// Lets the thread end; it is not waited for, since standard error may take its time.
    pub(crate) fn close(&self) {
        // ORDERING: Relaxed: the kick and the wait that it ends are system calls on one eventfd.
        self.over.store(true, Relaxed);
        self.reactor.kick();
    }
}

impl Drop for OnSignal {
    fn drop(&mut self) {
        self.close();
    }
}

/// What the thread has. The fields go in this order: out of the epoll set first, closed after.
struct Watch {
    _source: Source,
    _edges: OwnedFd,
    listening: Listening,
    reactor: Arc<Reactor>,
    over: Arc<AtomicBool>,
    home: Arc<OnceLock<Weak<Inner>>>,
}

impl Watch {
    fn run(mut self) {
        let mut events = Events::with_capacity(2);
        while !self.over.load(Relaxed) {
            // A forked child has no such thread, and no other error is left.
            if self.reactor.poll(&mut events, Wait::Forever).is_err() {
                return;
            }
            if self.listening.take()
                && let Some(inner) = self.home.get().and_then(Weak::upgrade)
            {
                write(&Dump::take(&inner));
            }
        }
    }
}

/// One write, so that lines of other threads do not come between.
fn write(dump: &Dump) {
    let text = dump.to_string();
    // Nobody is there to be told that standard error is gone.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

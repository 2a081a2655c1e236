//! The end of a child, awaited or not.
//!
//! # States
//!
//! **running** → (the kernel says that it has ended, and it is waited for) → **reaped**. A child whose
//! `Exit` is dropped while it runs becomes an *orphan*: its waker in the reactor is one that reaps it, and
//! holds all that is needed for that. When the reactor ends before the child, a thread is left to wait for
//! it, as nobody else would.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};
use std::thread;

use parking_lot::Mutex;
use rt_reactor::{Direction, Interest, Reactor, Source};

use crate::sys::process::pidfd_open;

/// A thread that only waits needs little.
const STACK: usize = 64 << 10;

/// A child and its end.
pub(super) enum Exit {
    Running(Option<Running>),
    Reaped(ExitStatus),
}

/// A child that has not been waited for.
pub(super) struct Running {
    child: Child,
    source: Source,
    pidfd: OwnedFd,
}

impl Exit {
    /// Watches a child that has just been started. If it cannot be watched, it is killed.
    pub(super) fn watch(mut child: Child, reactor: &Arc<Reactor>) -> io::Result<Exit> {
        let watched = pidfd_open(child.id()).and_then(|pidfd| {
            let source = reactor.register(pidfd.as_fd())?;
            Ok((source, pidfd))
        });
        match watched {
            Ok((source, pidfd)) => Ok(Exit::Running(Some(Running {
                child,
                source,
                pidfd,
            }))),
            Err(error) => {
                // A killed process ends at once, as far as waiting for it goes.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    pub(super) fn id(&self) -> Option<u32> {
        match self {
            Exit::Running(Some(running)) => Some(running.child.id()),
            _ => None,
        }
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        match self {
            Exit::Running(Some(running)) => running.child.kill(),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the process has ended, and been waited for",
            )),
        }
    }

    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let found = match self {
            Exit::Reaped(status) => return Ok(Some(*status)),
            Exit::Running(running) => running_of(running).child.try_wait()?,
        };
        Ok(found.inspect(|status| self.reaped(*status)))
    }

    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let status = match self {
            Exit::Reaped(status) => return Poll::Ready(Ok(*status)),
            Exit::Running(running) => ready!(running_of(running).poll_wait(cx))?,
        };
        self.reaped(status);
        Poll::Ready(Ok(status))
    }

    fn reaped(&mut self, status: ExitStatus) {
        if let Exit::Running(running) = self
            && let Some(running) = running.take()
        {
            drop(running.let_go());
        }
        *self = Exit::Reaped(status);
    }
}

fn running_of(running: &mut Option<Running>) -> &mut Running {
    running
        .as_mut()
        .expect("it is taken only to become `Reaped`, or by the drop")
}

impl Running {
    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        loop {
            // First the event, then the look, so that no end goes unnoticed in between.
            let seen = self.source.now(Interest::READABLE);
            if let Some(status) = self.child.try_wait()? {
                return Poll::Ready(Ok(status));
            }
            self.source.clear_would_block(seen, Direction::Read);
            ready!(self.source.poll_ready(cx, Direction::Read))?;
        }
    }

    /// The child has been waited for.
    fn let_go(self) -> Child {
        // An error leaves a retired entry behind, which no event can reach.
        let _ = self.source.deregister(self.pidfd.as_fd());
        self.child
    }
}

impl Drop for Exit {
    fn drop(&mut self) {
        if let Exit::Running(running) = self
            && let Some(running) = running.take()
        {
            Arc::new(Orphan(Mutex::new(Some(running)))).reap();
        }
    }
}

/// A child that nobody waits for any more. It is kept by its waker in the reactor.
struct Orphan(Mutex<Option<Running>>);

impl Orphan {
    fn reap(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let mut place = self.0.lock();
        let Some(mut running) = place.take() else {
            return;
        };
        match running.poll_wait(&mut Context::from_waker(&waker)) {
            Poll::Pending => *place = Some(running),
            Poll::Ready(Ok(_)) => drop(running.let_go()),
            // The reactor has ended.
            Poll::Ready(Err(_)) => wait_on_a_thread(running.let_go()),
        }
    }
}

impl Wake for Orphan {
    fn wake(self: Arc<Self>) {
        self.reap();
    }
}

/// Leaves a child to a thread of its own. The process may end before that does.
fn wait_on_a_thread(mut child: Child) {
    // It may have ended already, or never be told of.
    if !matches!(child.try_wait(), Ok(None)) {
        return;
    }
    let builder = thread::Builder::new().name("rt-orphan".to_owned());
    // Without a thread it stays a zombie until this process ends.
    let _ = builder.stack_size(STACK).spawn(move || child.wait());
}

impl fmt::Debug for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Reaped(status) => f.debug_tuple("Reaped").field(status).finish(),
            Exit::Running(_) => f.debug_tuple("Running").field(&self.id()).finish(),
        }
    }
}

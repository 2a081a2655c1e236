//! A source: one registered file, as the tasks that use it see it.

#![expect(
    unsafe_code,
    reason = "a waiting future pins its waiter for the list, and a source knows where its entry is"
)]

use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use crate::interest::{Direction, Interest, Ready};
use crate::primitive::sync::Arc;
use crate::reactor::Reactor;
use crate::registry::{Entry, Token};
use crate::waiters::Waiter;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

/// The registration of a file with a reactor. It does not own the file.
///
/// A source tells when a call on the file is worth trying. The pattern is always the same: **try
/// the call; if it would block, [`clear_would_block`](Source::clear_would_block) what was seen
/// before the call, wait, and try again.** The order matters: a [`Ready`] taken *before* the call
/// knows which events the call has seen, so that clearing it cannot take away a newer one.
///
/// Call [`deregister`](Source::deregister) before the file is closed. A source that is only
/// dropped frees its entry too, and events of the file reach nobody from then on; but if another
/// descriptor of the same file stays open, the kernel goes on making them.
pub struct Source {
    reactor: Arc<Reactor>,
    /// In the reactor's registry, where entries stay in their place for as long as it lives.
    entry: NonNull<Entry>,
}

// SAFETY: a source is a counted reference to its reactor and a shared one to an entry of it.
unsafe impl Send for Source {}
// SAFETY: as above; entries are shared between threads by the registry itself.
unsafe impl Sync for Source {}

impl Source {
    pub(crate) fn new(reactor: Arc<Reactor>, token: Token) -> Source {
        let entry = NonNull::from(reactor.registry().entry(token));
        Source { reactor, entry }
    }

    #[inline]
    fn entry(&self) -> &Entry {
        // SAFETY: `reactor` keeps the registry alive, which neither moves nor frees an entry.
        unsafe { self.entry.as_ref() }
    }

    /// The reactor that watches the file.
    pub fn reactor(&self) -> &Arc<Reactor> {
        &self.reactor
    }

    /// Ready when a call in this direction is worth trying; otherwise the task will be woken.
    ///
    /// There is one place for a waker in each direction, and the last caller's counts. Tasks that
    /// share a direction use [`ready`](Source::ready).
    ///
    /// # Errors
    ///
    /// If the reactor has been shut down.
    #[inline]
    pub fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<Ready>> {
        self.entry().poll_ready(cx, direction)
    }

    /// Waits until a call in any direction of `interest` is worth trying. Any number of tasks may
    /// wait at once; an event wakes all whom it concerns, in the order in which they came.
    ///
    /// # Errors
    ///
    /// The future gives an error if the reactor has been shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future takes its waiter and its waker out, and loses nothing: readiness stays
    /// with the source until a call has found that there is none.
    pub fn ready(&self, interest: Interest) -> Readiness<'_> {
        Readiness {
            source: self,
            waiter: Waiter::new(interest),
            _pinned: PhantomPinned,
        }
    }

    /// What the file is known to be ready for, of `interest`; possibly nothing.
    pub fn now(&self, interest: Interest) -> Ready {
        self.entry().word.ready(interest)
    }

    /// After a *short* transfer, one that moved some bytes but fewer than asked for: there is no
    /// more for now. Spares the call that would block.
    ///
    /// Nothing happens if an event came since `ready` was taken. That the stream is closed is not
    /// forgotten: the bytes and the end behind them may have come in one event, and there will be
    /// no other.
    ///
    /// Nor does anything happen once urgent data has come to a stream: a read stops at its mark.
    ///
    /// Sound for files where a short transfer proves that there was no more, such as TCP streams
    /// and pipes. It does not for datagrams, nor for Unix streams that carry descriptors.
    pub fn clear(&self, ready: Ready, direction: Direction) {
        self.entry().word.clear(ready, direction);
    }

    /// After a call that would have blocked: whatever `ready` said about this direction is over,
    /// being closed included.
    ///
    /// Nothing happens if an event came since `ready` was taken. A stream that is over in both
    /// directions by an error stays closed.
    pub fn clear_would_block(&self, ready: Ready, direction: Direction) {
        self.entry().word.clear_would_block(ready, direction);
    }

    /// Ends the registration. To be called before `fd`, the file that was registered, is closed.
    ///
    /// # Errors
    ///
    /// If the kernel does not know the registration, for example because `fd` is another file.
    /// The source is gone nonetheless.
    pub fn deregister(self, fd: BorrowedFd<'_>) -> io::Result<()> {
        // The kernel first, so that no new event is made for an entry that is given back; that
        // happens in the drop.
        self.reactor.unwatch(fd)
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.reactor.registry().release(self.entry().token());
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = Interest::READABLE | Interest::WRITABLE;
        f.debug_struct("Source")
            .field("token", &self.entry().token())
            .field("ready", &self.now(all))
            .finish_non_exhaustive()
    }
}

/// The future of [`Source::ready`].
#[must_use = "futures do nothing unless polled"]
pub struct Readiness<'a> {
    source: &'a Source,
    waiter: Waiter,
    _pinned: PhantomPinned,
}

impl Future for Readiness<'_> {
    type Output = io::Result<Ready>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // What has taken the waiter out was an event, and mostly that is seen at once, without the lock.
        if !self.waiter.may_wait()
            && let Some(found) = self.look()
        {
            return Poll::Ready(found);
        }
        self.wait(cx)
    }
}

impl Readiness<'_> {
    #[inline]
    fn look(&self) -> Option<io::Result<Ready>> {
        self.source.entry().word.check(self.waiter.interest())
    }

    fn wait(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        let this = self.into_ref().get_ref();
        let (waiters, waiter) = (&this.source.entry().waiters, &this.waiter);
        // SAFETY: the waiter is used with this source only.
        if waiter.may_wait() && unsafe { waiters.waits(waiter, cx.waker()) } {
            return Poll::Pending;
        }
        let waker = cx.waker().clone();
        // SAFETY: the future is pinned, borrows one source for its whole life, and withdraws the
        // waiter when it is dropped.
        let found = unsafe { waiters.wait_in_list(waiter, waker, || this.look()) };
        found.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Readiness<'_> {
    fn drop(&mut self) {
        if self.waiter.may_wait() {
            // SAFETY: the waiter has been used with this source only.
            unsafe { self.source.entry().waiters.withdraw(&self.waiter) };
        }
    }
}

impl fmt::Debug for Readiness<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness")
            .field("source", self.source)
            .field("interest", &self.waiter.interest())
            .finish_non_exhaustive()
    }
}

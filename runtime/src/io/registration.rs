//! A file descriptor with its place in the reactor, and the one loop that all I/O goes through:
//! try, and wait only when the kernel says that it would block.
//!
//! Every socket type is a [`Registration`] and the calls that differ. What they share is here:
//!
//! * An operation is tried as long as the direction is thought ready. `WouldBlock` clears the
//!   readiness that was seen before the attempt, and no newer one, then waits for the next event.
//! * A new descriptor is thought ready before its first event has come, so that a request that came
//!   with its connection is read at once. This *assumption* falls with the first attempt that finds
//!   an end; from then on only events count. Whoever waits for readiness itself waits for an event.
//! * A short transfer (some bytes, but fewer than asked for) means that the kernel's buffer is now
//!   empty or full, so it clears the readiness at once and spares the call that would find
//!   `WouldBlock`.
//! * Any other error is returned as it came, and the readiness is kept: `accept` out of file
//!   descriptors succeeds as soon as one is free, with no event in between.
//! * Every completed operation takes one unit of the task's budget.
//!
//! There are two ways to wait. The `poll_` methods keep one waker a direction, the last caller's,
//! as the poll-based traits of the ecosystem expect. The async methods may be waited on by any number of
//! tasks.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use rt_reactor::{Direction, Interest, Reactor, Readiness, Ready, Source};
use rt_scheduler::coop::poll_proceed;
use rt_scheduler::{Waits, noted};

use crate::context;

#[cfg(test)]
mod tests;

/// An owner of a descriptor, registered with the reactor for as long as this lives.
pub(crate) struct Registration<T: AsFd> {
    /// Both are `Some` until `into_inner` or `drop` takes them apart, in this order: out of epoll
    /// first, closed after, so that no event can reach the next owner of the number.
    parts: Option<Parts<T>>,
}

pub(super) struct Parts<T> {
    source: Source,
    inner: T,
    /// The directions that are thought ready without an event, as bits. It only ever loses bits, and
    /// a lost one is made up for by the event that every registration of a ready file causes.
    assumed: AtomicU8,
}

const fn bit(direction: Direction) -> u8 {
    match direction {
        Direction::Read => 1,
        Direction::Write => 2,
    }
}

impl<T: AsFd> Parts<T> {
    /// What a dump tells of who waits for `interest`.
    fn waits(&self, interest: Interest) -> Waits {
        let fd = self.inner.as_fd().as_raw_fd();
        if interest.is_readable() {
            Waits::Read(fd)
        } else {
            Waits::Write(fd)
        }
    }

    /// Waits for an event in the direction's slot, and notes it.
    #[inline]
    fn poll_event(&self, cx: &mut Context<'_>, direction: Direction) -> Poll<io::Result<Ready>> {
        let event = self.source.poll_ready(cx, direction);
        noted(event, || self.waits(direction.into()))
    }
}

impl<T> Parts<T> {
    /// What `direction` is thought ready for, without waiting.
    fn now(&self, direction: Direction) -> Option<Ready> {
        let ready = self.source.now(direction.into());
        // ORDERING: Relaxed. The bit is a guess that the attempt puts right.
        let assumed = self.assumed.load(Relaxed) & bit(direction) != 0;
        (assumed || !ready.is_empty()).then_some(ready)
    }

    /// After a transfer that reached the end of what there was.
    fn clear(&self, ready: Ready, direction: Direction) {
        self.assume_no_more(direction);
        self.source.clear(ready, direction);
    }

    /// After a call that would have blocked.
    fn clear_would_block(&self, ready: Ready, direction: Direction) {
        self.assume_no_more(direction);
        self.source.clear_would_block(ready, direction);
    }

    /// One attempt. `None`: it would have blocked, and `ready` is cleared.
    #[inline]
    fn attempt<R>(
        &self,
        ready: Ready,
        direction: Direction,
        mut op: impl FnMut(&T) -> io::Result<R>,
    ) -> Option<io::Result<R>> {
        loop {
            match op(&self.inner) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.clear_would_block(ready, direction);
                    return None;
                }
                result => return Some(result),
            }
        }
    }

    #[inline]
    pub(super) fn attempt_transfer(
        &self,
        ready: Ready,
        direction: Direction,
        len: usize,
        op: impl FnMut(&T) -> io::Result<usize>,
    ) -> Option<io::Result<usize>> {
        let result = self.attempt(ready, direction, op);
        // Zero is the end of the stream, which stays readable.
        if matches!(result, Some(Ok(moved)) if 0 < moved && moved < len) {
            self.clear(ready, direction);
        }
        result
    }

    fn assume_no_more(&self, direction: Direction) {
        // The load spares most calls the locked instruction.
        if self.assumed.load(Relaxed) & bit(direction) != 0 {
            self.assumed.fetch_and(!bit(direction), Relaxed);
        }
    }
}

const WHOLE: &str = "only `into_inner` and `drop` take the parts, and nothing comes after them";

impl<T: AsFd> Registration<T> {
    /// Registers with the reactor of the current runtime. The descriptor must be non-blocking.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub(crate) fn new(inner: T) -> io::Result<Self> {
        Self::with_reactor(inner, &context::reactor())
    }

    /// As [`new`](Self::new), but outside a runtime it fails instead of panicking.
    pub(crate) fn try_new(inner: T) -> io::Result<Self> {
        match context::try_reactor() {
            Some(reactor) => Self::with_reactor(inner, &reactor),
            None => Err(io::Error::other("no `rt` runtime in this thread")),
        }
    }

    fn with_reactor(inner: T, reactor: &Arc<Reactor>) -> io::Result<Self> {
        Self::or_give_back(inner, reactor).map_err(|(_, error)| error)
    }

    /// As [`new`](Self::new), but a descriptor that cannot be registered comes back.
    #[track_caller]
    pub(crate) fn new_or_give_back(inner: T) -> Result<Self, (T, io::Error)> {
        Self::or_give_back(inner, &context::reactor())
    }

    fn or_give_back(inner: T, reactor: &Arc<Reactor>) -> Result<Self, (T, io::Error)> {
        let source = match reactor.register(inner.as_fd()) {
            Ok(source) => source,
            Err(error) => return Err((inner, error)),
        };
        Ok(Registration {
            parts: Some(Parts {
                source,
                inner,
                assumed: AtomicU8::new(bit(Direction::Read) | bit(Direction::Write)),
            }),
        })
    }

    fn parts(&self) -> &Parts<T> {
        self.parts.as_ref().expect(WHOLE)
    }

    /// The owner of the descriptor.
    pub(crate) fn inner(&self) -> &T {
        &self.parts().inner
    }

    pub(crate) fn inner_mut(&mut self) -> &mut T {
        &mut self.parts.as_mut().expect(WHOLE).inner
    }

    /// After a call of the user's own that would have blocked, in each direction of `interest`.
    pub(crate) fn clear_would_block(&self, ready: Ready, interest: Interest) {
        for direction in directions(interest).into_iter().flatten() {
            self.parts().clear_would_block(ready, direction);
        }
    }

    /// Leaves the reactor and gives the descriptor back, still open and non-blocking.
    pub(crate) fn into_inner(mut self) -> io::Result<T> {
        let Parts { source, inner, .. } = self.take();
        source.deregister(inner.as_fd())?;
        Ok(inner)
    }

    /// As [`into_inner`](Self::into_inner). An error leaves a retired entry behind, which no event
    /// can reach.
    pub(crate) fn into_inner_always(mut self) -> T {
        let Parts { source, inner, .. } = self.take();
        let _ = source.deregister(inner.as_fd());
        inner
    }

    fn take(&mut self) -> Parts<T> {
        self.parts.take().expect(WHOLE)
    }

    /// Runs `op` until it does something other than block, keeping the caller's waker for the
    /// next event of `direction` if it blocks.
    pub(crate) fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut op: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_until(cx, direction, |parts, ready| {
            parts.attempt(ready, direction, &mut op)
        })
    }

    /// As [`poll_io`](Self::poll_io), for an operation that moves at most `len` bytes.
    pub(crate) fn poll_transfer(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        len: usize,
        mut op: impl FnMut(&T) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.poll_until(cx, direction, |parts, ready| {
            parts.attempt_transfer(ready, direction, len, &mut op)
        })
    }

    fn poll_until<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut attempt: impl FnMut(&Parts<T>, Ready) -> Option<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        let coop = ready!(poll_proceed(cx));
        let parts = self.parts();
        loop {
            let ready = match parts.now(direction) {
                Some(ready) => ready,
                None => ready!(parts.poll_event(cx, direction))?,
            };
            if let Some(result) = attempt(parts, ready) {
                coop.made_progress();
                return Poll::Ready(result);
            }
        }
    }

    /// Waits until the direction is ready, without doing anything.
    pub(crate) fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<Ready>> {
        let coop = ready!(poll_proceed(cx));
        let ready = ready!(self.parts().poll_event(cx, direction))?;
        coop.made_progress();
        Poll::Ready(Ok(ready))
    }

    /// Waits for an event, and notes it. Any number of tasks may wait here.
    #[inline]
    fn event(&self, interest: Interest) -> Event<'_, T> {
        let parts = self.parts();
        Event {
            parts,
            interest,
            readiness: parts.source.ready(interest),
        }
    }

    /// Runs `op` until it does something other than block. Any number of tasks may wait here.
    ///
    /// Cancel safe: `op` runs and completes within one poll.
    pub(crate) fn io<R>(
        &self,
        direction: Direction,
        mut op: impl FnMut(&T) -> io::Result<R>,
    ) -> impl Future<Output = io::Result<R>> {
        self.until(direction, move |parts, direction, ready| {
            Tried::once(parts.attempt(ready, direction, &mut op))
        })
    }

    /// As [`io`](Self::io), for an operation that moves at most `len` bytes.
    #[inline]
    pub(crate) fn transfer(
        &self,
        direction: Direction,
        len: usize,
        mut op: impl FnMut(&T) -> io::Result<usize>,
    ) -> impl Future<Output = io::Result<usize>> {
        self.until(direction, move |parts, direction, ready| {
            Tried::once(parts.attempt_transfer(ready, direction, len, &mut op))
        })
    }

    /// Makes attempts until one is the last.
    #[inline]
    pub(super) fn until<R, F>(&self, direction: Direction, attempt: F) -> Until<'_, T, F>
    where
        F: FnMut(&Parts<T>, Direction, Ready) -> Tried<R>,
    {
        Until {
            parts: self.parts(),
            direction,
            attempt,
            readiness: None,
        }
    }

    /// Waits until any of `interest` is ready. Any number of tasks may wait here.
    pub(crate) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        let ready = self.event(interest).await?;
        poll_fn(poll_proceed).await.made_progress();
        Ok(ready)
    }

    /// Runs `op` once if `direction` is thought ready; it never waits.
    pub(crate) fn try_op<R>(
        &self,
        direction: Direction,
        op: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        let parts = self.parts();
        parts
            .now(direction)
            .and_then(|ready| parts.attempt(ready, direction, op))
            .unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
    }

    /// Runs `op`, which moves at most `len` bytes, once if `direction` is thought ready; it never waits.
    pub(crate) fn try_transfer(
        &self,
        direction: Direction,
        len: usize,
        op: impl FnMut(&T) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let parts = self.parts();
        parts
            .now(direction)
            .and_then(|ready| parts.attempt_transfer(ready, direction, len, op))
            .unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
    }

    /// Runs the user's `op` once if any of `interest` is thought ready. If it says `WouldBlock`, all
    /// of the interest is taken to be not ready.
    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        op: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let seen = self.seen(interest)?;
        self.judge(interest, seen, op())
    }

    /// As [`try_io`](Self::try_io), for an operation that changes the owner of the descriptor.
    pub(crate) fn try_io_mut<R>(
        &mut self,
        interest: Interest,
        op: impl FnOnce(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        let seen = self.seen(interest)?;
        let result = op(self.inner_mut());
        self.judge(interest, seen, result)
    }

    /// What each direction is thought ready for; an error if it is none of `interest`.
    fn seen(&self, interest: Interest) -> io::Result<[Option<Ready>; 2]> {
        let now =
            |direction: Option<_>| direction.and_then(|direction| self.parts().now(direction));
        match directions(interest).map(now) {
            [None, None] => Err(io::ErrorKind::WouldBlock.into()),
            seen => Ok(seen),
        }
    }

    /// Clears what was seen if the operation that followed would have blocked.
    fn judge<R>(
        &self,
        interest: Interest,
        seen: [Option<Ready>; 2],
        result: io::Result<R>,
    ) -> io::Result<R> {
        if matches!(&result, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            for (direction, ready) in directions(interest).into_iter().zip(seen) {
                if let (Some(direction), Some(ready)) = (direction, ready) {
                    self.parts().clear_would_block(ready, direction);
                }
            }
        }
        result
    }

    /// Runs the user's `op` until it says something other than `WouldBlock`, waiting for any of
    /// `interest` in between. Any number of tasks may wait here.
    pub(crate) async fn async_io<R>(
        &self,
        interest: Interest,
        mut op: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            let coop = poll_fn(poll_proceed).await;
            match self.try_io(interest, &mut op) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => drop(coop),
                result => {
                    coop.made_progress();
                    return result;
                }
            }
            self.event(interest).await?;
        }
    }

    /// Takes back what was assumed: after `connect`, a stream is writable only once the kernel says
    /// so.
    pub(crate) fn expect_event(&self, direction: Direction) {
        self.parts().assume_no_more(direction);
    }
}

pin_project! {
    /// Waits for an event, and notes it.
    struct Event<'a, T> {
        parts: &'a Parts<T>,
        interest: Interest,
        #[pin]
        readiness: Readiness<'a>,
    }
}

impl<T: AsFd> Future for Event<'_, T> {
    type Output = io::Result<Ready>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        noted(this.readiness.poll(cx), || this.parts.waits(*this.interest))
    }
}

/// What has come of an attempt.
pub(super) enum Tried<R> {
    /// It was the last one.
    Done(io::Result<R>),
    /// It has moved some, and there is more to do.
    Part,
    /// It would have blocked.
    Blocked,
}

impl<R> Tried<R> {
    /// For an operation that is done once it does something other than block.
    #[inline]
    fn once(result: Option<io::Result<R>>) -> Self {
        result.map_or(Tried::Blocked, Tried::Done)
    }
}

pin_project! {
    /// Makes attempts until one is the last. Written by hand, as each connection that waits has one of these:
    /// the compiler's own would be twice as large.
    pub(super) struct Until<'a, T, F> {
        parts: &'a Parts<T>,
        direction: Direction,
        attempt: F,
        // There while it waits.
        #[pin]
        readiness: Option<Readiness<'a>>,
    }
}

impl<T, F, R> Future for Until<'_, T, F>
where
    T: AsFd,
    F: FnMut(&Parts<T>, Direction, Ready) -> Tried<R>,
{
    type Output = io::Result<R>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let (parts, direction) = (*this.parts, *this.direction);
        loop {
            let ready = if let Some(readiness) = this.readiness.as_mut().as_pin_mut() {
                let event = readiness.poll(cx);
                let ready = ready!(noted(event, || parts.waits(direction.into())))?;
                this.readiness.set(None);
                ready
            } else if let Some(ready) = parts.now(direction) {
                ready
            } else {
                let readiness = parts.source.ready(direction.into());
                this.readiness.set(Some(readiness));
                continue;
            };
            // The unit of budget is asked for after the wait, so that it belongs to this poll.
            let coop = ready!(poll_proceed(cx));
            match (this.attempt)(parts, direction, ready) {
                Tried::Done(result) => {
                    coop.made_progress();
                    return Poll::Ready(result);
                }
                Tried::Part => coop.made_progress(),
                Tried::Blocked => {}
            }
        }
    }
}

fn directions(interest: Interest) -> [Option<Direction>; 2] {
    [
        interest.is_readable().then_some(Direction::Read),
        interest.is_writable().then_some(Direction::Write),
    ]
}

impl<T: AsFd> AsFd for Registration<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner().as_fd()
    }
}

impl<T: AsFd> Drop for Registration<T> {
    fn drop(&mut self) {
        if let Some(Parts { source, inner, .. }) = self.parts.take() {
            // An error leaves a retired entry, which no event can reach; closing removes it too.
            let _ = source.deregister(inner.as_fd());
        }
    }
}

impl<T: AsFd + fmt::Debug> fmt::Debug for Registration<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner().fmt(f)
    }
}

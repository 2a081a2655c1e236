//! Reading and writing at a file's own position, as a stream.
//!
//! The position is the kernel's, so that clones of a file share it. A file has one operation under way
//! at a time. It is polled by whoever uses the file next, which need not be who began it: a read that is
//! given up leaves its bytes in the buffer for the next one; a write is taken over at once, into the
//! buffer, and its error waits for the next call.
//!
//! # States
//!
//! **idle** → (a call that cannot be done at once) → **busy**, with an operation → (it is polled to its
//! end) → **idle**. What a read brought lies in `left`, and is given out before anything else is done.

use std::fmt;
use std::future::Future;
use std::io::{self, Seek, SeekFrom};
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};

use parking_lot::Mutex;
use rt_scheduler::coop::poll_proceed;

use super::engine::{self, Shared};
use crate::contain::contain;
use crate::sys::file::{CHUNK, Destination, Room};

/// What a file's stream has at one moment.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    state: State,
    /// Bytes that a read has brought and nobody has taken yet: the kernel's position is behind them.
    left: Left,
    /// The error of a write that was taken over.
    failed: Option<io::Error>,
    /// Where a seek that has been started is to go.
    target: Option<SeekFrom>,
}

#[derive(Debug, Default)]
struct Left {
    buf: Vec<u8>,
    taken: usize,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    Busy(Operation),
}

/// What an operation comes to.
enum Ended {
    Read(io::Result<usize>, Vec<u8>),
    Written(io::Result<()>, Vec<u8>),
}

/// An operation, and those who wait for its end.
struct Operation {
    future: Pin<Box<dyn Future<Output = Ended> + Send>>,
    waiters: Arc<Waiters>,
}

/// Several tasks may wait: a file can be synced through a shared reference.
#[derive(Default)]
struct Waiters(Mutex<Vec<Waker>>);

impl Wake for Waiters {
    fn wake(self: Arc<Self>) {
        let wakers = mem::take(&mut *self.0.lock());
        for waker in wakers {
            contain(|| waker.wake());
        }
    }
}

impl Operation {
    fn new(future: impl Future<Output = Ended> + Send + 'static) -> Operation {
        Operation {
            future: Box::pin(future),
            waiters: Arc::default(),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        let waker = cx.waker().clone();
        {
            let mut waiters = self.waiters.0.lock();
            if !waiters.iter().any(|waiter| waiter.will_wake(&waker)) {
                waiters.push(waker);
            }
        }
        let waker = Waker::from(Arc::clone(&self.waiters));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

impl Left {
    fn bytes(&self) -> &[u8] {
        &self.buf[self.taken..]
    }

    fn take(&mut self, buf: &mut Destination<'_>) -> usize {
        let taken = buf.copy_from(self.bytes());
        self.taken += taken;
        if self.bytes().is_empty() {
            self.taken = 0;
            self.buf.clear();
        }
        taken
    }

    fn forget(&mut self) -> usize {
        let left = self.bytes().len();
        self.taken = 0;
        self.buf.clear();
        left
    }
}

impl Cursor {
    /// Waits for the operation that is under way, if there is one.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let State::Busy(operation) = &mut self.state else {
            return Poll::Ready(Ok(()));
        };
        let ended = ready!(operation.poll(cx));
        self.state = State::Idle;
        Poll::Ready(match ended {
            Ended::Read(result, buf) => {
                self.left = Left { buf, taken: 0 };
                result.map(drop)
            }
            Ended::Written(result, buf) => {
                self.left = Left { buf, taken: 0 };
                self.left.forget();
                self.failed = self.failed.take().or(result.err());
                Ok(())
            }
        })
    }

    /// As [`poll_idle`](Cursor::poll_idle), for those to whom a failed read means nothing.
    fn poll_any_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_idle(cx).map(drop)
    }

    /// Begins an operation and polls it, so that it is under way. It may end at once.
    fn begin(
        &mut self,
        cx: &mut Context<'_>,
        operation: impl Future<Output = Ended> + Send + 'static,
    ) -> Poll<io::Result<()>> {
        self.state = State::Busy(Operation::new(operation));
        self.poll_idle(cx)
    }

    /// Whether nothing is under way, and nothing left to give out or to tell.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle) && self.left.bytes().is_empty() && self.failed.is_none()
    }

    pub(super) fn poll_read(
        &mut self,
        file: &Shared,
        max: usize,
        cx: &mut Context<'_>,
        mut buf: Destination<'_>,
    ) -> Poll<io::Result<usize>> {
        if buf.len() == 0 {
            return Poll::Ready(Ok(0));
        }
        let coop = ready!(poll_proceed(cx));
        ready!(self.poll_idle(cx))?;
        if self.left.bytes().is_empty() {
            if let Some(result) = file.read_now(|file| buf.read_now(file)) {
                coop.made_progress();
                return Poll::Ready(result);
            }
            let mut room = mem::take(&mut self.left.buf);
            let len = buf.len().min(max).min(CHUNK);
            room.reserve_exact(len);
            room.shrink_to(len);
            let file = Arc::clone(&file.file);
            ready!(self.begin(cx, read_all_there_is(file, room)))?;
        }
        coop.made_progress();
        Poll::Ready(Ok(self.left.take(&mut buf)))
    }

    pub(super) fn poll_write(
        &mut self,
        file: &Shared,
        max: usize,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let coop = ready!(poll_proceed(cx));
        ready!(self.poll_any_idle(cx));
        self.take_error()?;
        self.step_back(file)?;
        if let Some(result) = file.write_now(bytes, None) {
            coop.made_progress();
            return Poll::Ready(result);
        }
        let taken = bytes.len().min(max);
        let mut buf = mem::take(&mut self.left.buf);
        buf.extend_from_slice(&bytes[..taken]);
        let file = Arc::clone(&file.file);
        coop.made_progress();
        // Taken over: what is left to know of it is told to a later call.
        if self.begin(cx, write_all(file, buf)).is_ready() {
            self.take_error()?;
        }
        Poll::Ready(Ok(taken))
    }

    /// Waits until nothing is under way, and tells what has gone wrong since this was last told.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_any_idle(cx));
        Poll::Ready(self.take_error())
    }

    fn take_error(&mut self) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Takes the position back to what has been given out, before something else happens there.
    pub(super) fn step_back(&mut self, file: &Shared) -> io::Result<()> {
        match self.left.forget() {
            0 => Ok(()),
            left => (&*file.file)
                .seek(SeekFrom::Current(-(left.cast_signed() as i64)))
                .map(drop),
        }
    }

    pub(super) fn start_seek(&mut self, target: SeekFrom) {
        self.target = Some(target);
    }

    /// Carries out the seek that was started, if one was, and tells the position.
    pub(super) fn poll_seek(
        &mut self,
        file: &Shared,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<u64>> {
        ready!(self.poll_any_idle(cx));
        let target = self.target.take().unwrap_or(SeekFrom::Current(0));
        // Moving within a file asks the disk for nothing.
        Poll::Ready(
            self.step_back(file)
                .and_then(|()| (&*file.file).seek(target)),
        )
    }
}

async fn read_all_there_is(file: Arc<std::fs::File>, buf: Vec<u8>) -> Ended {
    let (result, room) = engine::read(&file, Room::new(buf), None).await;
    Ended::Read(result, room.into_inner())
}

async fn write_all(file: Arc<std::fs::File>, buf: Vec<u8>) -> Ended {
    let (mut buf, mut written) = (buf, 0);
    while written < buf.len() {
        let result;
        (result, buf) = engine::write(&file, buf, written, None).await;
        match result {
            Ok(0) => return Ended::Written(Err(io::ErrorKind::WriteZero.into()), buf),
            Ok(more) => written += more,
            Err(error) => return Ended::Written(Err(error), buf),
        }
    }
    Ended::Written(Ok(()), buf)
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation").finish_non_exhaustive()
    }
}

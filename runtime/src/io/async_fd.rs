//! Any descriptor that epoll can watch, with the operations of its owner.

use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::task::{Context, Poll};

use rt_reactor::Direction;

use super::{Interest, Registration};

pub use self::guard::{AsyncFdReadyGuard, AsyncFdReadyMutGuard, TryIoError};

mod guard;
#[cfg(test)]
mod tests;

/// A descriptor of any kind that epoll can watch, and tasks that wait for it: a device, a socket of
/// another library, an `inotify` or `eventfd`.
///
/// It is taken over from whoever made it, by value, by reference or in an `Arc`. Waiting gives a
/// *guard*, which knows what was seen; the operation is then tried through the guard
/// ([`try_io`](AsyncFdReadyGuard::try_io)), so that a descriptor which turns out not to be ready is
/// waited for again, and no event that came meanwhile is lost. [`async_io`](Self::async_io) does both
/// in a loop.
///
/// The descriptor must be non-blocking: nothing here makes it so. Any number of tasks may wait, in
/// both directions. Urgent data makes it readable.
///
/// Regular files and directories are refused with [`Unsupported`](io::ErrorKind::Unsupported): they
/// never block in the way that epoll reports.
///
/// # Examples
///
/// ```
/// use std::io::{self, Read, Write};
/// use std::os::unix::net::UnixStream;
///
/// use rt::io::AsyncFd;
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> io::Result<()> {
/// let (near, mut far) = UnixStream::pair()?;
/// near.set_nonblocking(true)?;
/// let near = AsyncFd::new(near)?;
///
/// far.write_all(b"hello")?;
/// let mut buf = [0; 64];
/// let len = loop {
///     let mut guard = near.readable().await?;
///     match guard.try_io(|near| near.get_ref().read(&mut buf)) {
///         Ok(result) => break result?,
///         Err(_would_block) => {}
///     }
/// };
/// assert_eq!(&buf[..len], b"hello");
/// # Ok(())
/// # }
/// ```
pub struct AsyncFd<T: AsFd> {
    io: Registration<T>,
    interest: Interest,
}

const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

impl<T: AsFd> AsyncFd<T> {
    /// Takes over a descriptor, for both directions.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](io::ErrorKind::Unsupported) if epoll cannot watch this kind of file;
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if this runtime watches it already; else the
    /// error of `epoll_ctl`. `inner` is dropped then; [`try_new`](Self::try_new) gives it back.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::ErrorKind;
    ///
    /// use rt::io::AsyncFd;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let file = std::fs::File::open("/proc/self/exe")?;
    /// assert_eq!(AsyncFd::new(file).unwrap_err().kind(), ErrorKind::Unsupported);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn new(inner: T) -> io::Result<AsyncFd<T>> {
        Self::with_interest(inner, BOTH)
    }

    /// As [`new`](Self::new), for one direction alone. To wait for the other one is an error then.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn with_interest(inner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
        Ok(AsyncFd {
            io: Registration::new(inner)?,
            interest,
        })
    }

    /// As [`new`](Self::new), but a descriptor that is refused comes back in the error.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::io::AsyncFd;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let file = std::fs::File::open("/proc/self/exe")?;
    /// let (file, error) = AsyncFd::try_new(file).unwrap_err().into_parts();
    /// assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
    /// assert!(file.metadata()?.is_file());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn try_new(inner: T) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        Self::try_with_interest(inner, BOTH)
    }

    /// As [`with_interest`](Self::with_interest), but a descriptor that is refused comes back in the
    /// error.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn try_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        match Registration::new_or_give_back(inner) {
            Ok(io) => Ok(AsyncFd { io, interest }),
            Err((inner, error)) => Err(AsyncFdRegisterError { inner, error }),
        }
    }

    /// The owner of the descriptor.
    pub fn get_ref(&self) -> &T {
        self.io.inner()
    }

    /// The owner of the descriptor. It must not be exchanged for one of another file: that one would
    /// not be watched.
    pub fn get_mut(&mut self) -> &mut T {
        self.io.inner_mut()
    }

    /// Leaves the runtime and gives the owner of the descriptor back.
    pub fn into_inner(self) -> T {
        self.io.into_inner_always()
    }

    /// Waits until a call in any direction of `interest` is worth trying.
    ///
    /// # Errors
    ///
    /// Fails if the runtime shuts down, or with [`InvalidInput`](io::ErrorKind::InvalidInput) if it
    /// was not registered for that direction.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::io::{AsyncFd, Interest};
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let (near, _far) = std::os::unix::net::UnixStream::pair()?;
    /// let near = AsyncFd::new(near)?;
    /// let guard = near.ready(Interest::READABLE | Interest::WRITABLE).await?;
    /// assert!(guard.ready().is_writable());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn ready(&self, interest: Interest) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.check(interest)?;
        let ready = self.io.ready(interest).await?;
        Ok(AsyncFdReadyGuard::new(self, ready, interest))
    }

    /// As [`ready`](Self::ready), with a guard that gives the owner out for changes.
    ///
    /// # Errors
    ///
    /// As [`ready`](Self::ready).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn ready_mut(
        &mut self,
        interest: Interest,
    ) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        self.check(interest)?;
        let ready = self.io.ready(interest).await?;
        Ok(AsyncFdReadyMutGuard::new(self, ready, interest))
    }

    /// Waits until a read is worth trying.
    ///
    /// # Errors
    ///
    /// As [`ready`](Self::ready).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn readable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::READABLE).await
    }

    /// As [`readable`](Self::readable), with a guard that gives the owner out for changes.
    ///
    /// # Errors
    ///
    /// As [`ready`](Self::ready).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn readable_mut(&mut self) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        self.ready_mut(Interest::READABLE).await
    }

    /// Waits until a write is worth trying.
    ///
    /// # Errors
    ///
    /// As [`ready`](Self::ready).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn writable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::WRITABLE).await
    }

    /// As [`writable`](Self::writable), with a guard that gives the owner out for changes.
    ///
    /// # Errors
    ///
    /// As [`ready`](Self::ready).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn writable_mut(&mut self) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        self.ready_mut(Interest::WRITABLE).await
    }

    /// As [`readable`](Self::readable). One waker is kept for reading, the last caller's.
    ///
    /// # Errors
    ///
    /// As [`ready`](Self::ready).
    pub fn poll_read_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        self.poll_ready(cx, Direction::Read)
    }

    /// As [`writable`](Self::writable). One waker is kept for writing, the last caller's.
    ///
    /// # Errors
    ///
    /// As [`ready`](Self::ready).
    pub fn poll_write_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        self.poll_ready(cx, Direction::Write)
    }

    fn poll_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let interest = direction.into();
        self.check(interest)?;
        let ready = self.io.poll_ready(cx, direction);
        ready.map_ok(|ready| AsyncFdReadyGuard::new(self, ready, interest))
    }

    /// As [`readable_mut`](Self::readable_mut). One waker is kept for reading, the last caller's.
    ///
    /// # Errors
    ///
    /// As [`ready`](Self::ready).
    pub fn poll_read_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        self.poll_ready_mut(cx, Direction::Read)
    }

    /// As [`writable_mut`](Self::writable_mut). One waker is kept for writing, the last caller's.
    ///
    /// # Errors
    ///
    /// As [`ready`](Self::ready).
    pub fn poll_write_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        self.poll_ready_mut(cx, Direction::Write)
    }

    fn poll_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let interest = direction.into();
        self.check(interest)?;
        let ready = self.io.poll_ready(cx, direction);
        ready.map_ok(|ready| AsyncFdReadyMutGuard::new(self, ready, interest))
    }

    /// Runs `op` until it does something other than say [`WouldBlock`](io::ErrorKind::WouldBlock),
    /// waiting in between. It must say so only if a call on this descriptor did.
    ///
    /// # Errors
    ///
    /// What `op` returns, or as [`ready`](Self::ready).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe if `op` is: it is run as a whole, within one poll.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// use std::os::unix::net::UnixStream;
    ///
    /// use rt::io::{AsyncFd, Interest};
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let (near, mut far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// let near = AsyncFd::new(near)?;
    /// far.write_all(b"hello")?;
    /// let mut buf = [0; 64];
    /// let read = near.async_io(Interest::READABLE, |mut near| near.read(&mut buf));
    /// assert_eq!(read.await?, 5);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut op: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.check(interest)?;
        self.io.async_io(interest, || op(self.get_ref())).await
    }

    /// As [`async_io`](Self::async_io), with an operation that changes the owner.
    ///
    /// # Errors
    ///
    /// As [`async_io`](Self::async_io).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe if `op` is: it is run as a whole, within one poll.
    pub async fn async_io_mut<R>(
        &mut self,
        interest: Interest,
        mut op: impl FnMut(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            let mut guard = self.ready_mut(interest).await?;
            match guard.try_io(|fd| op(fd.get_mut())) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return result,
                Err(_would_block) => {}
            }
        }
    }

    /// Runs `op` if the descriptor is thought ready for `interest`, and never waits. It must say
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) only if a call on this descriptor did.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the descriptor is not ready; else what `op`
    /// returns.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        op: impl FnOnce(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.check(interest)?;
        self.io.try_io(interest, || op(self.get_ref()))
    }

    /// As [`try_io`](Self::try_io), with an operation that changes the owner.
    ///
    /// # Errors
    ///
    /// As [`try_io`](Self::try_io).
    pub fn try_io_mut<R>(
        &mut self,
        interest: Interest,
        op: impl FnOnce(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.check(interest)?;
        self.io.try_io_mut(interest, op)
    }

    fn check(&self, interest: Interest) -> io::Result<()> {
        if interest.add(self.interest) != self.interest {
            let message = "the descriptor was not registered for that direction";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(())
    }
}

impl<T: AsFd> AsFd for AsyncFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl<T: AsFd> AsRawFd for AsyncFd<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_fd().as_raw_fd()
    }
}

impl<T: AsFd + fmt::Debug> fmt::Debug for AsyncFd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFd")
            .field("inner", self.get_ref())
            .field("interest", &self.interest)
            .finish_non_exhaustive()
    }
}

/// The error of [`AsyncFd::try_new`], with the descriptor that was refused.
pub struct AsyncFdRegisterError<T> {
    inner: T,
    error: io::Error,
}

impl<T> AsyncFdRegisterError<T> {
    /// The owner of the descriptor, and why it was refused.
    pub fn into_parts(self) -> (T, io::Error) {
        (self.inner, self.error)
    }
}

impl<T> fmt::Display for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> fmt::Debug for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> Error for AsyncFdRegisterError<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

impl<T> From<AsyncFdRegisterError<T>> for io::Error {
    fn from(error: AsyncFdRegisterError<T>) -> io::Error {
        error.error
    }
}

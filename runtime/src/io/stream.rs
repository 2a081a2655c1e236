//! Reading and writing a byte stream, once for every kind of stream socket.
//!
//! These are the native methods that the public types pass on. Buffers are never zeroed: what the
//! kernel wrote is what was initialised.

use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::ops::Deref;
use std::os::fd::AsFd;
use std::task::{Context, Poll};

use rt_reactor::Direction::{Read as Reading, Write as Writing};
use socket2::SockRef;

use super::Registration;

/// As many slices as Linux takes in one call (`UIO_MAXIOV`); with more it fails.
const MAX_SLICES: usize = 1024;

impl<T: AsFd> Registration<T> {
    pub(crate) fn poll_read_uninit(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.poll_transfer(cx, Reading, buf.len(), |fd| SockRef::from(fd).recv(buf))
    }

    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.poll_transfer(cx, Writing, buf.len(), |fd| send(fd, buf))
    }

    pub(crate) fn poll_write_vectored(
        &self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let bufs = first(bufs);
        let len = total(bufs);
        if len == 0 {
            return Poll::Ready(Ok(0));
        }
        self.poll_transfer(cx, Writing, len, |fd| send_vectored(fd, bufs))
    }

    pub(crate) async fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        self.transfer(Reading, buf.len(), |fd| recv(fd, buf)).await
    }

    pub(crate) async fn read_exact(&self, buf: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buf.len() {
            match self.read(&mut buf[filled..]).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                moved => filled += moved,
            }
        }
        Ok(filled)
    }

    pub(crate) async fn write(&self, buf: &[u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        self.transfer(Writing, buf.len(), |fd| send(fd, buf)).await
    }

    pub(crate) async fn write_all(&self, buf: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while written < buf.len() {
            match self.write(&buf[written..]).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                moved => written += moved,
            }
        }
        Ok(())
    }

    pub(crate) fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.try_transfer(Reading, buf.len(), |fd| recv(fd, buf))
    }

    pub(crate) fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let bufs = first_mut(bufs);
        let len = total(bufs);
        self.try_transfer(Reading, len, |fd| recv_vectored(fd, bufs))
    }

    pub(crate) fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.try_transfer(Writing, buf.len(), |fd| send(fd, buf))
    }

    pub(crate) fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let bufs = first(bufs);
        self.try_transfer(Writing, total(bufs), |fd| send_vectored(fd, bufs))
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        SockRef::from(self.inner()).shutdown(how)
    }

    /// Ends the writing side, for the traits. A peer that is gone already has seen the end.
    pub(crate) fn shutdown_write(&self) -> io::Result<()> {
        match self.shutdown(Shutdown::Write) {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            result => result,
        }
    }
}

/// The slices that one call takes. With more the call would fail; and a transfer that is short of
/// the rest, which was never offered, would be mistaken for an empty or full buffer.
fn first<'a, 'b>(bufs: &'a [IoSlice<'b>]) -> &'a [IoSlice<'b>] {
    &bufs[..bufs.len().min(MAX_SLICES)]
}

pub(super) fn first_mut<'a, 'b>(bufs: &'a mut [IoSliceMut<'b>]) -> &'a mut [IoSliceMut<'b>] {
    let count = bufs.len().min(MAX_SLICES);
    &mut bufs[..count]
}

pub(super) fn total(bufs: &[impl Deref<Target = [u8]>]) -> usize {
    // Slices to write may overlap, so that the sum of their lengths may pass the address space.
    bufs.iter()
        .fold(0, |sum: usize, buf| sum.saturating_add(buf.len()))
}

pub(super) fn recv(fd: &impl AsFd, buf: &mut [u8]) -> io::Result<usize> {
    (&*SockRef::from(fd)).read(buf)
}

pub(super) fn recv_vectored(fd: &impl AsFd, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    (&*SockRef::from(fd)).read_vectored(bufs)
}

fn send(fd: &impl AsFd, buf: &[u8]) -> io::Result<usize> {
    // A peer that is gone is an error, not a signal, also in a process that does not ignore SIGPIPE.
    SockRef::from(fd).send_with_flags(buf, libc::MSG_NOSIGNAL)
}

fn send_vectored(fd: &impl AsFd, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
    SockRef::from(fd).send_vectored_with_flags(bufs, libc::MSG_NOSIGNAL)
}

//! Reading and writing bytes, once for every kind of file that they flow through: connections and
//! pipes.
//!
//! These are the native methods that the public types pass on (`methods.rs` has their documentation).
//! Buffers are never zeroed: what the kernel wrote is what was initialised.

use std::fs::File;
use std::future::Future;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpStream};
use std::ops::Deref;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use rt_reactor::Direction::{Read as Reading, Write as Writing};
use rt_reactor::socket;
use socket2::SockRef;

use super::Registration;
use super::registration::Tried;

/// As many slices as Linux takes in one call (`UIO_MAXIOV`); with more it fails.
const MAX_SLICES: usize = 1024;

/// A file that bytes flow through, and the calls that move them. None of them blocks, since the
/// descriptor does not.
pub(crate) trait Bytes: AsFd {
    /// Whether a read of fewer bytes than there was room for proves that there are no more. It
    /// spares the call that would find so.
    const SHORT_READ_IS_ALL: bool;

    fn read_uninit(&self, buf: &mut [MaybeUninit<u8>]) -> io::Result<usize>;
    fn read(&self, buf: &mut [u8]) -> io::Result<usize>;
    fn read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize>;
    fn write(&self, buf: &[u8]) -> io::Result<usize>;
    fn write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize>;
    /// Ends the writing direction, where that is something else than closing the file.
    fn end_write(&self) -> io::Result<()>;
}

macro_rules! implement_socket {
    ($($socket:ty: $short_read_is_all:literal,)*) => {$(
        impl Bytes for $socket {
            const SHORT_READ_IS_ALL: bool = $short_read_is_all;

            fn read_uninit(&self, buf: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
                socket::recv_uninit(self.as_fd(), buf)
            }

            fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
                socket::recv(self.as_fd(), buf)
            }

            fn read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                (&*SockRef::from(self)).read_vectored(bufs)
            }

            fn write(&self, buf: &[u8]) -> io::Result<usize> {
                socket::send(self.as_fd(), buf)
            }

            // As with `send`, a peer that is gone is an error, not a signal.
            fn write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                SockRef::from(self).send_vectored_with_flags(bufs, libc::MSG_NOSIGNAL)
            }

            fn end_write(&self) -> io::Result<()> {
                match SockRef::from(self).shutdown(Shutdown::Write) {
                    // A peer that is gone already has seen the end.
                    Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
                    result => result,
                }
            }
        }
    )*};
}

implement_socket! {
    TcpStream: true,
    // A read stops where descriptors or credentials came with the bytes, though more have come.
    UnixStream: false,
}

/// A pipe.
impl Bytes for File {
    // One in packet mode gives a packet at a time.
    const SHORT_READ_IS_ALL: bool = false;

    fn read_uninit(&self, buf: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        rt_reactor::pipe::read(self.as_fd(), buf)
    }

    fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        Read::read(&mut &*self, buf)
    }

    fn read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        Read::read_vectored(&mut &*self, bufs)
    }

    fn write(&self, buf: &[u8]) -> io::Result<usize> {
        Write::write(&mut &*self, buf)
    }

    fn write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        Write::write_vectored(&mut &*self, bufs)
    }

    fn end_write(&self) -> io::Result<()> {
        // The reader sees the end once every writer is closed.
        Ok(())
    }
}

impl<T: Bytes> Registration<T> {
    /// What a read of `len` bytes counts as: see [`Bytes::SHORT_READ_IS_ALL`].
    pub(super) const fn read_len(len: usize) -> usize {
        if T::SHORT_READ_IS_ALL { len } else { 0 }
    }

    pub(crate) fn poll_read_uninit(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let len = Self::read_len(buf.len());
        self.poll_transfer(cx, Reading, len, |file| file.read_uninit(buf))
    }

    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.poll_transfer(cx, Writing, buf.len(), |file| file.write(buf))
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
        self.poll_transfer(cx, Writing, len, |file| file.write_vectored(bufs))
    }

    #[inline]
    pub(crate) fn read(&self, buf: &mut [u8]) -> impl Future<Output = io::Result<usize>> {
        let (some, len) = (!buf.is_empty(), Self::read_len(buf.len()));
        Bytewise::new(
            some,
            self.transfer(Reading, len, move |file| file.read(buf)),
        )
    }

    pub(crate) fn read_vectored(
        &self,
        bufs: &mut [IoSliceMut<'_>],
    ) -> impl Future<Output = io::Result<usize>> {
        let bufs = first_mut(bufs);
        let (some, len) = (total(bufs) > 0, Self::read_len(total(bufs)));
        Bytewise::new(
            some,
            self.transfer(Reading, len, move |file| file.read_vectored(bufs)),
        )
    }

    pub(crate) fn read_exact(&self, buf: &mut [u8]) -> impl Future<Output = io::Result<usize>> {
        let (some, mut filled) = (!buf.is_empty(), 0);
        let read = self.until(Reading, move |parts, direction, ready| {
            let rest = &mut buf[filled..];
            let len = Self::read_len(rest.len());
            match parts.attempt_transfer(ready, direction, len, |file| file.read(rest)) {
                None => return Tried::Blocked,
                Some(Err(error)) => return Tried::Done(Err(error)),
                Some(Ok(0)) => return Tried::Done(Err(io::ErrorKind::UnexpectedEof.into())),
                Some(Ok(moved)) => filled += moved,
            }
            if filled < buf.len() {
                Tried::Part
            } else {
                Tried::Done(Ok(filled))
            }
        });
        Bytewise::new(some, read)
    }

    #[inline]
    pub(crate) fn write(&self, buf: &[u8]) -> impl Future<Output = io::Result<usize>> {
        let write = self.transfer(Writing, buf.len(), move |file| file.write(buf));
        Bytewise::new(!buf.is_empty(), write)
    }

    pub(crate) fn write_vectored(
        &self,
        bufs: &[IoSlice<'_>],
    ) -> impl Future<Output = io::Result<usize>> {
        let bufs = first(bufs);
        let len = total(bufs);
        let write = self.transfer(Writing, len, move |file| file.write_vectored(bufs));
        Bytewise::new(len > 0, write)
    }

    #[inline]
    pub(crate) fn write_all(&self, buf: &[u8]) -> impl Future<Output = io::Result<()>> {
        let mut rest = buf;
        let write = self.until(Writing, move |parts, direction, ready| {
            match parts.attempt_transfer(ready, direction, rest.len(), |file| file.write(rest)) {
                None => return Tried::Blocked,
                Some(Err(error)) => return Tried::Done(Err(error)),
                Some(Ok(0)) => return Tried::Done(Err(io::ErrorKind::WriteZero.into())),
                Some(Ok(moved)) => rest = &rest[moved..],
            }
            if rest.is_empty() {
                Tried::Done(Ok(()))
            } else {
                Tried::Part
            }
        });
        Bytewise::new(!buf.is_empty(), write)
    }

    pub(crate) fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        let len = Self::read_len(buf.len());
        self.try_transfer(Reading, len, |file| file.read(buf))
    }

    pub(crate) fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let bufs = first_mut(bufs);
        let len = Self::read_len(total(bufs));
        self.try_transfer(Reading, len, |file| file.read_vectored(bufs))
    }

    pub(crate) fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.try_transfer(Writing, buf.len(), |file| file.write(buf))
    }

    pub(crate) fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let bufs = first(bufs);
        self.try_transfer(Writing, total(bufs), |file| file.write_vectored(bufs))
    }

    /// Ends the writing side, for the traits.
    pub(crate) fn end_write(&self) -> io::Result<()> {
        self.inner().end_write()
    }
}

pin_project! {
    /// Moves bytes; if there is none to move, that is done at once.
    struct Bytewise<F> {
        #[pin]
        transfer: Option<F>,
    }
}

impl<F> Bytewise<F> {
    #[inline]
    fn new(some: bool, transfer: F) -> Self {
        Bytewise {
            transfer: some.then_some(transfer),
        }
    }
}

impl<F, R> Future for Bytewise<F>
where
    F: Future<Output = io::Result<R>>,
    R: Default,
{
    type Output = io::Result<R>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().transfer.as_pin_mut() {
            Some(transfer) => transfer.poll(cx),
            None => Poll::Ready(Ok(R::default())),
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

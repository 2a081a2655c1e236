//! The traits of `futures_io` over the native methods, on each type and on references to it.
//!
//! Their buffers are initialised, so that reading has a native form of its own here.

use std::io::{self, IoSlice, IoSliceMut};
use std::net;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll};

use ::futures_io::{AsyncRead, AsyncWrite};
use rt_reactor::Direction;

use super::Registration;
use super::stream::{first_mut, recv, recv_vectored, total};
use crate::net::TcpStream;
use crate::net::tcp::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};

impl<T: AsFd> Registration<T> {
    fn poll_read(&self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.poll_transfer(cx, Direction::Read, buf.len(), |fd| recv(fd, buf))
    }

    fn poll_read_vectored(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        let bufs = first_mut(bufs);
        let len = total(bufs);
        if len == 0 {
            return Poll::Ready(Ok(0));
        }
        self.poll_transfer(cx, Direction::Read, len, |fd| recv_vectored(fd, bufs))
    }
}

/// Leads to the stream whose bytes a type reads or writes.
trait Shared {
    fn io(&self) -> &Registration<net::TcpStream>;
}

impl Shared for TcpStream {
    fn io(&self) -> &Registration<net::TcpStream> {
        self.registration()
    }
}

impl<T: Shared + ?Sized> Shared for &T {
    fn io(&self) -> &Registration<net::TcpStream> {
        (**self).io()
    }
}

macro_rules! implement_shared {
    ($($half:ty),*) => {$(
        impl Shared for $half {
            fn io(&self) -> &Registration<net::TcpStream> {
                AsRef::<TcpStream>::as_ref(self).registration()
            }
        }
    )*};
}

macro_rules! implement_read {
    ($($type:ty),*) => {$(
        impl AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                self.io().poll_read(cx, buf)
            }

            fn poll_read_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                self.io().poll_read_vectored(cx, bufs)
            }
        }
    )*};
}

macro_rules! implement_write {
    ($($type:ty),*) => {$(
        impl AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.io().poll_write(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.io().poll_write_vectored(cx, bufs)
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                // A socket keeps nothing back in this process.
                Poll::Ready(Ok(()))
            }

            fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.io().shutdown_write())
            }
        }
    )*};
}

implement_shared!(ReadHalf<'_>, WriteHalf<'_>, OwnedReadHalf, OwnedWriteHalf);
implement_read!(TcpStream, &TcpStream);
implement_read!(ReadHalf<'_>, &ReadHalf<'_>, OwnedReadHalf, &OwnedReadHalf);
implement_write!(TcpStream, &TcpStream);
implement_write!(
    WriteHalf<'_>,
    &WriteHalf<'_>,
    OwnedWriteHalf,
    &OwnedWriteHalf
);

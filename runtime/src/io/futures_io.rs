//! The traits of `futures_io` over the native methods, on each type and on references to it.
//!
//! Their buffers are initialised, so that reading has a native form of its own here.

use std::io::{self, IoSlice, IoSliceMut};
use std::pin::Pin;
use std::task::{Context, Poll};

use ::futures_io::{AsyncRead, AsyncWrite};
use rt_reactor::Direction;

use super::Registration;
use super::stream::{Bytes, first_mut, total};
use crate::net::unix::pipe;
use crate::net::{TcpStream, UnixStream, tcp, unix};
use crate::process::{ChildStderr, ChildStdin, ChildStdout};

impl<T: Bytes> Registration<T> {
    fn poll_read(&self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let len = Self::read_len(buf.len());
        self.poll_transfer(cx, Direction::Read, len, |file| file.read(buf))
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
        let len = Self::read_len(len);
        self.poll_transfer(cx, Direction::Read, len, |file| file.read_vectored(bufs))
    }
}

macro_rules! implement_read {
    ($($type:ty),* $(,)?) => {$(
        impl AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                self.registration().poll_read(cx, buf)
            }

            fn poll_read_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                self.registration().poll_read_vectored(cx, bufs)
            }
        }
    )*};
}

macro_rules! implement_write {
    ($($type:ty),* $(,)?) => {$(
        impl AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.registration().poll_write(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.registration().poll_write_vectored(cx, bufs)
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                // Nothing is kept back in this process.
                Poll::Ready(Ok(()))
            }

            fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.registration().end_write())
            }
        }
    )*};
}

implement_read!(TcpStream, &TcpStream, UnixStream, &UnixStream);
implement_read!(tcp::ReadHalf<'_>, &tcp::ReadHalf<'_>);
implement_read!(tcp::OwnedReadHalf, &tcp::OwnedReadHalf);
implement_read!(unix::ReadHalf<'_>, &unix::ReadHalf<'_>);
implement_read!(unix::OwnedReadHalf, &unix::OwnedReadHalf);
implement_read!(pipe::Receiver, &pipe::Receiver);
implement_read!(ChildStdout, &ChildStdout, ChildStderr, &ChildStderr);

implement_write!(TcpStream, &TcpStream, UnixStream, &UnixStream);
implement_write!(tcp::WriteHalf<'_>, &tcp::WriteHalf<'_>);
implement_write!(tcp::OwnedWriteHalf, &tcp::OwnedWriteHalf);
implement_write!(unix::WriteHalf<'_>, &unix::WriteHalf<'_>);
implement_write!(unix::OwnedWriteHalf, &unix::OwnedWriteHalf);
implement_write!(pipe::Sender, &pipe::Sender);
implement_write!(ChildStdin, &ChildStdin);

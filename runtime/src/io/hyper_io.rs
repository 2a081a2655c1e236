//! The traits of `hyper::rt` over the native methods.
//!
//! They are on the types themselves, so that hyper reads into its own buffers without a wrapper in
//! between, and an upgraded connection downcasts to the type that it came from.

#![expect(unsafe_code, reason = "hyper's cursor gives out uninitialised memory")]

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};

use crate::net::{TcpStream, UnixStream, tcp, unix};

macro_rules! implement_read {
    ($($type:ty),* $(,)?) => {$(
        impl Read for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                mut buf: ReadBufCursor<'_>,
            ) -> Poll<io::Result<()>> {
                // SAFETY: a native read only writes initialised bytes, so that nothing that was
                // initialised before becomes uninitialised.
                let unfilled = unsafe { buf.as_mut() };
                let filled = ready!(self.poll_read_uninit(cx, unfilled))?;
                // SAFETY: the native read has initialised this many bytes at the start.
                unsafe { buf.advance(filled) };
                Poll::Ready(Ok(()))
            }
        }
    )*};
}

macro_rules! implement_write {
    ($($type:ty),* $(,)?) => {$(
        impl Write for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                Self::poll_write(&self, cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                Self::poll_write_vectored(&self, cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                // Nothing is kept back in this process.
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<io::Result<()>> {
                Self::poll_shutdown(&self, cx)
            }
        }
    )*};
}

implement_read!(TcpStream, tcp::OwnedReadHalf);
implement_read!(UnixStream, unix::OwnedReadHalf);
implement_write!(TcpStream, tcp::OwnedWriteHalf);
implement_write!(UnixStream, unix::OwnedWriteHalf);

//! The traits of `tokio::io` over the native methods, and what that crate builds on them.

#![expect(unsafe_code, reason = "`ReadBuf` gives out its uninitialised part")]

pub use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite,
    AsyncWriteExt, BufReader, BufStream, BufWriter, Chain, DuplexStream, Empty, Error, ErrorKind,
    Join, Lines, ReadBuf, ReadHalf, Repeat, Result, SeekFrom, SimplexStream, Sink, Split, Take,
    WriteHalf, copy, copy_bidirectional, copy_bidirectional_with_sizes, copy_buf, duplex, empty,
    join, repeat, simplex, sink, split,
};

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BufMut;

use crate::net::unix::pipe;
use crate::net::{TcpStream, UnixStream, tcp, unix};
use crate::process::{ChildStderr, ChildStdin, ChildStdout};

mod sockets;

/// Reads into the unfilled part of `buf` with a native read, which says how much it wrote, and gives
/// on what else it says.
pub(crate) fn fill<R>(
    buf: &mut ReadBuf<'_>,
    read: impl FnOnce(&mut [MaybeUninit<u8>]) -> Poll<io::Result<(usize, R)>>,
) -> Poll<io::Result<R>> {
    // SAFETY: a native read only writes initialised bytes, so that nothing in the unfilled part
    // that was initialised before becomes uninitialised.
    let unfilled = unsafe { buf.unfilled_mut() };
    let (filled, rest) = ready!(read(unfilled))?;
    // SAFETY: the native read has initialised this many bytes at the start of the unfilled part.
    unsafe { buf.assume_init(filled) };
    buf.advance(filled);
    Poll::Ready(Ok(rest))
}

/// Reads into the free part of `buf` with a native read, which says how much it wrote, and gives on
/// what it says.
fn put<B: BufMut, R>(
    buf: &mut B,
    read: impl FnOnce(&mut [MaybeUninit<u8>]) -> io::Result<(usize, R)>,
) -> io::Result<(usize, R)> {
    // SAFETY: a native read only writes initialised bytes.
    let free = unsafe { buf.chunk_mut().as_uninit_slice_mut() };
    let (len, rest) = read(free)?;
    // SAFETY: the native read has initialised this many bytes at the start of the free part.
    unsafe { buf.advance_mut(len) };
    Ok((len, rest))
}

/// A native read that says nothing but how much it wrote.
fn plain(read: Poll<io::Result<usize>>) -> Poll<io::Result<(usize, ())>> {
    read.map_ok(|len| (len, ()))
}

macro_rules! implement_read {
    ($($type:ty),* $(,)?) => {$(
        impl AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                fill(buf, |unfilled| plain(self.poll_read_uninit(cx, unfilled)))
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

implement_read!(TcpStream, tcp::ReadHalf<'_>, tcp::OwnedReadHalf);
implement_read!(UnixStream, unix::ReadHalf<'_>, unix::OwnedReadHalf);
implement_read!(pipe::Receiver, ChildStdout, ChildStderr);
implement_write!(TcpStream, tcp::WriteHalf<'_>, tcp::OwnedWriteHalf);
implement_write!(UnixStream, unix::WriteHalf<'_>, unix::OwnedWriteHalf);
implement_write!(pipe::Sender, ChildStdin);

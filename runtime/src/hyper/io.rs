//! tokio's I/O traits over hyper's, for what comes out of an upgrade, and hyper's over tokio's, for what
//! goes into a connection.

#![expect(unsafe_code, reason = "both sides give out uninitialised memory")]

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Gives a `hyper::rt::{Read, Write}` tokio's I/O traits, and what has tokio's those of hyper.
///
/// The first is for `hyper::upgrade::Upgraded`, so that a websocket or any other protocol can go on where
/// HTTP has ended; the second for HTTP over a stream of `tokio-rustls`. The I/O types of `rt` have both kinds
/// of traits and need no such cover.
///
/// # Examples
///
/// ```
/// use rt::hyper::Io;
///
/// let (near, _far) = rt::io::duplex(1024);
/// fn for_hyper(_: impl hyper::rt::Read + hyper::rt::Write) {}
/// for_hyper(Io::new(near));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Io<T>(T);

impl<T> Io<T> {
    /// Covers `io`.
    pub fn new(io: T) -> Self {
        Io(io)
    }

    /// What is covered.
    pub fn get_ref(&self) -> &T {
        &self.0
    }

    /// What is covered.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }

    /// Takes the cover off.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T: Read + Unpin> AsyncRead for Io<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: hyper's cursor never makes initialised bytes uninitialised.
        let mut inner = hyper::rt::ReadBuf::uninit(unsafe { buf.unfilled_mut() });
        ready!(Pin::new(&mut self.0).poll_read(cx, inner.unfilled()))?;
        let filled = inner.filled().len();
        // SAFETY: that many bytes at the start have been filled, and so initialised.
        unsafe { buf.assume_init(filled) };
        buf.advance(filled);
        Poll::Ready(Ok(()))
    }
}

impl<T: Write + Unpin> AsyncWrite for Io<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl<T: AsyncRead + Unpin> Read for Io<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: tokio's buffer never makes initialised bytes uninitialised.
        let mut inner = ReadBuf::uninit(unsafe { buf.as_mut() });
        ready!(Pin::new(&mut self.0).poll_read(cx, &mut inner))?;
        let filled = inner.filled().len();
        // SAFETY: that many bytes at the start have been filled.
        unsafe { buf.advance(filled) };
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> Write for Io<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

//! The native methods of a connection: reading, writing, readiness, and their poll forms.
//!
//! They pass on to the [`Registration`](crate::io::Registration), which every stream socket shares;
//! what stands here is their documentation.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::task::{Context, Poll};

use rt_reactor::Direction;

use super::{TcpStream, with_a_pair};
use crate::io::{Interest, Ready};

/// Reading and writing.
impl TcpStream {
    /// Reads some bytes: as many as are there, at least one, at most the buffer's length.
    ///
    /// Returns how many. Zero means that the peer has ended its direction, or that the buffer is empty.
    ///
    /// # Errors
    ///
    /// Passes on the error of `recv`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped before it is ready, nothing was read.
    ///
    #[doc = with_a_pair!(
        "client.write_all(b\"hello\").await?;"
        "let mut buf = [0; 64];"
        "let read = server.read(&mut buf).await?;"
        "assert_eq!(&buf[..read], &b\"hello\"[..read]);"
    )]
    pub async fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.registration().read(buf).await
    }

    /// Reads until the buffer is full, and returns its length.
    ///
    /// # Errors
    ///
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the peer ends its direction before that; else
    /// the error of `recv`. Either way the start of the buffer holds what was read.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: bytes that were read already are in the buffer and not in the socket.
    ///
    #[doc = with_a_pair!(
        "client.write_all(b\"hello\").await?;"
        "let mut greeting = [0; 5];"
        "server.read_exact(&mut greeting).await?;"
        "assert_eq!(&greeting, b\"hello\");"
    )]
    pub async fn read_exact(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.registration().read_exact(buf).await
    }

    /// Reads some bytes without taking them out of the socket.
    ///
    /// Returns how many. Zero means that the peer has ended its direction, or that the buffer is empty.
    ///
    /// # Errors
    ///
    /// Passes on the error of `recv`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    ///
    #[doc = with_a_pair!(
        "client.write_all(b\"hello\").await?;"
        "let mut buf = [0; 1];"
        "assert_eq!(server.peek(&mut buf).await?, 1);"
        "assert_eq!(server.read(&mut buf).await?, 1);"
        "assert_eq!(&buf, b\"h\");"
    )]
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        // Peeking takes nothing out, so that a short peek does not mean that nothing is left.
        self.registration()
            .io(Direction::Read, |stream| stream.peek(buf))
            .await
    }

    /// Writes some bytes: as many as there is room for, at least one.
    ///
    /// Returns how many.
    ///
    /// # Errors
    ///
    /// Passes on the error of `send`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped before it is ready, nothing was written.
    ///
    #[doc = with_a_pair!(
        "assert_eq!(client.write(b\"hello\").await?, 5);"
    )]
    pub async fn write(&self, buf: &[u8]) -> io::Result<usize> {
        self.registration().write(buf).await
    }

    /// Writes all of the buffer.
    ///
    /// # Errors
    ///
    /// Passes on the error of `send`. A part of the buffer may have been written.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: a part of the buffer may have been written, and nothing tells how much.
    ///
    #[doc = with_a_pair!(
        "client.write_all(b\"hello\").await?;"
    )]
    pub async fn write_all(&self, buf: &[u8]) -> io::Result<()> {
        self.registration().write_all(buf).await
    }

    /// Ends one direction of the connection, or both.
    ///
    /// After `Shutdown::Write` the peer reads the end of the stream, behind all that was written.
    ///
    /// The method of the same name in `AsyncWriteExt`, which takes no argument and is awaited, is
    /// hidden by this one; on a half from [`split`](Self::split) or
    /// [`into_split`](Self::into_split) it can be called as usual.
    ///
    /// # Errors
    ///
    /// [`NotConnected`](io::ErrorKind::NotConnected) if the connection has ended already.
    ///
    #[doc = with_a_pair!(
        "use std::net::Shutdown;"
        ""
        "client.shutdown(Shutdown::Write)?;"
        "assert_eq!(server.read(&mut [0; 8]).await?, 0);"
    )]
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.registration().shutdown(how)
    }
}

/// Readiness.
impl TcpStream {
    /// Waits until the stream is ready for any of `interest`.
    ///
    /// Readiness is a hint: the operation that follows may still say that it would block. Any
    /// number of tasks may wait. The readiness lasts until an operation finds otherwise, so loop
    /// with the `try_` methods.
    ///
    /// # Errors
    ///
    /// Fails if the runtime shuts down.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    ///
    #[doc = with_a_pair!(
        "use rt::io::Interest;"
        ""
        "let ready = client.ready(Interest::READABLE | Interest::WRITABLE).await?;"
        "assert!(ready.is_writable());"
    )]
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.registration().ready(interest).await.map(Ready::from)
    }

    /// Waits until there may be something to read, the end of the stream included.
    ///
    /// As [`ready`](Self::ready) with [`Interest::READABLE`].
    ///
    /// # Errors
    ///
    /// Fails if the runtime shuts down.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    ///
    #[doc = with_a_pair!(
        "use std::io::ErrorKind;"
        ""
        "client.write_all(b\"hello\").await?;"
        "let mut buf = [0; 64];"
        "let read = loop {"
        "    server.readable().await?;"
        "    match server.try_read(&mut buf) {"
        "        Err(error) if error.kind() == ErrorKind::WouldBlock => {}"
        "        result => break result?,"
        "    }"
        "};"
        "assert_eq!(read, 5);"
    )]
    pub async fn readable(&self) -> io::Result<()> {
        self.registration()
            .ready(Interest::READABLE)
            .await
            .map(drop)
    }

    /// Waits until there may be room to write.
    ///
    /// As [`ready`](Self::ready) with [`Interest::WRITABLE`].
    ///
    /// # Errors
    ///
    /// Fails if the runtime shuts down.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    ///
    #[doc = with_a_pair!(
        "client.writable().await?;"
        "assert_eq!(client.try_write(b\"hello\")?, 5);"
    )]
    pub async fn writable(&self) -> io::Result<()> {
        self.registration()
            .ready(Interest::WRITABLE)
            .await
            .map(drop)
    }

    /// Reads if there is something to read, and never waits.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is not; else the error of `recv`.
    ///
    #[doc = with_a_pair!(
        "let nothing = server.try_read(&mut [0; 8]);"
        "assert_eq!(nothing.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);"
    )]
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.registration().try_read(buf)
    }

    /// As [`try_read`](Self::try_read), into several buffers, one after another.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is nothing; else the error of `recvmsg`.
    ///
    #[doc = with_a_pair!(
        "use std::io::IoSliceMut;"
        ""
        "client.write_all(b\"hello\").await?;"
        "server.readable().await?;"
        "let (mut first, mut rest) = ([0; 1], [0; 4]);"
        "let mut bufs = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut rest)];"
        "assert_eq!(server.try_read_vectored(&mut bufs)?, 5);"
        "assert_eq!((&first, &rest), (b\"h\", b\"ello\"));"
    )]
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.registration().try_read_vectored(bufs)
    }

    /// Writes if there is room, and never waits. Returns how many bytes there was room for.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none; else the error of `send`.
    ///
    #[doc = with_a_pair!(
        "client.writable().await?;"
        "assert_eq!(client.try_write(b\"hello\")?, 5);"
    )]
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.registration().try_write(buf)
    }

    /// As [`try_write`](Self::try_write), from several buffers, one after another.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room; else the error of `sendmsg`.
    ///
    #[doc = with_a_pair!(
        "use std::io::IoSlice;"
        ""
        "client.writable().await?;"
        "let bufs = [IoSlice::new(b\"hel\"), IoSlice::new(b\"lo\")];"
        "assert_eq!(client.try_write_vectored(&bufs)?, 5);"
    )]
    pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.registration().try_write_vectored(bufs)
    }

    /// Runs an operation of the caller's own if the stream is thought ready for it.
    ///
    /// When the operation says [`WouldBlock`](io::ErrorKind::WouldBlock), the stream is no longer
    /// thought ready, so it must say so only if a call on this very socket did.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the stream is not ready; else what `op` returns.
    ///
    #[doc = with_a_pair!(
        "use rt::io::Interest;"
        "use socket2::SockRef;"
        ""
        "client.writable().await?;"
        "let urgent = client.try_io(Interest::WRITABLE, || {"
        "    SockRef::from(&client).send_out_of_band(b\"!\")"
        "})?;"
        "assert_eq!(urgent, 1);"
    )]
    pub fn try_io<R>(
        &self,
        interest: Interest,
        op: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        self.registration().try_io(interest, op)
    }
}

/// The poll methods, on which the traits of other crates stand.
///
/// Each direction keeps one waker, the last caller's. The async methods are for several tasks.
impl TcpStream {
    /// Reads some bytes into memory that need not be initialised, and returns how many.
    ///
    /// That many bytes at the start of `buf` are initialised then; none is made uninitialised.
    ///
    /// # Errors
    ///
    /// Passes on the error of `recv`.
    ///
    #[doc = with_a_pair!(
        "use std::future::poll_fn;"
        "use std::mem::MaybeUninit;"
        ""
        "client.write_all(b\"hello\").await?;"
        "let mut buf = [MaybeUninit::uninit(); 64];"
        "let read = poll_fn(|cx| server.poll_read_uninit(cx, &mut buf)).await?;"
        "assert_eq!(read, 5);"
    )]
    pub fn poll_read_uninit(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        self.registration().poll_read_uninit(cx, buf)
    }

    /// Writes some bytes, and returns how many.
    ///
    /// # Errors
    ///
    /// Passes on the error of `send`.
    ///
    #[doc = with_a_pair!(
        "use std::future::poll_fn;"
        ""
        "let written = poll_fn(|cx| client.poll_write(cx, b\"hello\")).await?;"
        "assert_eq!(written, 5);"
    )]
    pub fn poll_write(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.registration().poll_write(cx, buf)
    }

    /// Writes some bytes from several buffers, one after another, and returns how many.
    ///
    /// # Errors
    ///
    /// Passes on the error of `sendmsg`.
    pub fn poll_write_vectored(
        &self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.registration().poll_write_vectored(cx, bufs)
    }

    /// Ends the writing direction. It never waits: what was written is the kernel's to send.
    ///
    /// # Errors
    ///
    /// Passes on the error of `shutdown`; a connection that has ended already is none.
    pub fn poll_shutdown(&self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.registration().shutdown_write())
    }

    /// Waits until there may be something to read. See [`readable`](Self::readable).
    ///
    /// # Errors
    ///
    /// Fails if the runtime shuts down.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration().poll_ready(cx, Direction::Read)
    }

    /// Waits until there may be room to write. See [`writable`](Self::writable).
    ///
    /// # Errors
    ///
    /// Fails if the runtime shuts down.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration().poll_ready(cx, Direction::Write)
    }
}

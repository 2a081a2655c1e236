//! The two directions of a stream, apart.
//!
//! Both kinds of half pass on to the stream they share, which takes `&self` for everything. They
//! exist for the traits that want `&mut self` for each direction, and to say who does what.

use std::error::Error;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::{TcpStream, with_a_pair};
use crate::io::{Interest, Ready};

/// The reading direction of a stream, borrowed: see [`TcpStream::split`].
///
#[doc = with_a_pair!(
    "let (reader, _writer) = client.split();"
    "server.write_all(b\"hello\").await?;"
    "let mut greeting = [0; 5];"
    "reader.read_exact(&mut greeting).await?;"
)]
#[derive(Debug)]
pub struct ReadHalf<'a> {
    stream: &'a TcpStream,
}

/// The writing direction of a stream, borrowed: see [`TcpStream::split`].
///
#[doc = with_a_pair!(
    "let (_reader, writer) = client.split();"
    "writer.write_all(b\"hello\").await?;"
)]
#[derive(Debug)]
pub struct WriteHalf<'a> {
    stream: &'a TcpStream,
}

/// The reading direction of a stream, owned: see [`TcpStream::into_split`].
///
#[doc = with_a_pair!(
    "let (reader, _writer) = client.into_split();"
    "server.write_all(b\"hello\").await?;"
    "let task = rt::spawn(async move {"
    "    let mut greeting = [0; 5];"
    "    reader.read_exact(&mut greeting).await"
    "});"
    "assert_eq!(task.await.unwrap()?, 5);"
)]
#[derive(Debug)]
pub struct OwnedReadHalf {
    stream: Arc<TcpStream>,
}

/// The writing direction of a stream, owned: see [`TcpStream::into_split`].
///
/// Dropping it ends the direction, so that the peer reads the end of the stream. To keep it open,
/// [`forget`](Self::forget) it.
///
#[doc = with_a_pair!(
    "let (_reader, writer) = client.into_split();"
    "drop(writer);"
    "assert_eq!(server.read(&mut [0; 8]).await?, 0);"
)]
#[derive(Debug)]
pub struct OwnedWriteHalf {
    stream: Arc<TcpStream>,
    ends_on_drop: bool,
}

impl<'a> ReadHalf<'a> {
    pub(super) fn new(stream: &'a TcpStream) -> Self {
        ReadHalf { stream }
    }

    fn stream(&self) -> &TcpStream {
        self.stream
    }
}

impl<'a> WriteHalf<'a> {
    pub(super) fn new(stream: &'a TcpStream) -> Self {
        WriteHalf { stream }
    }

    fn stream(&self) -> &TcpStream {
        self.stream
    }
}

pub(super) fn split_owned(stream: TcpStream) -> (OwnedReadHalf, OwnedWriteHalf) {
    let stream = Arc::new(stream);
    let reader = OwnedReadHalf {
        stream: Arc::clone(&stream),
    };
    let writer = OwnedWriteHalf {
        stream,
        ends_on_drop: true,
    };
    (reader, writer)
}

fn reunite(reader: OwnedReadHalf, mut writer: OwnedWriteHalf) -> Result<TcpStream, ReuniteError> {
    if !Arc::ptr_eq(&reader.stream, &writer.stream) {
        return Err(ReuniteError(reader, writer));
    }
    writer.ends_on_drop = false;
    drop(writer);
    Ok(Arc::into_inner(reader.stream).expect("a stream is shared by its two halves only"))
}

impl OwnedReadHalf {
    fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Joins two halves of one stream.
    ///
    /// # Errors
    ///
    /// [`ReuniteError`], which holds both, if they are of different streams.
    ///
    #[doc = with_a_pair!(
        "let (reader, writer) = client.into_split();"
        "let client = reader.reunite(writer).unwrap();"
        "client.write_all(b\"hello\").await?;"
    )]
    pub fn reunite(self, other: OwnedWriteHalf) -> Result<TcpStream, ReuniteError> {
        reunite(self, other)
    }
}

impl OwnedWriteHalf {
    fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Joins two halves of one stream.
    ///
    /// # Errors
    ///
    /// [`ReuniteError`], which holds both, if they are of different streams.
    pub fn reunite(self, other: OwnedReadHalf) -> Result<TcpStream, ReuniteError> {
        reunite(other, self)
    }

    /// Drops this half without ending the direction, which then lasts as long as the other half.
    ///
    #[doc = with_a_pair!(
        "use std::io::ErrorKind;"
        ""
        "let (_reader, writer) = client.into_split();"
        "writer.forget();"
        "let nothing = server.try_read(&mut [0; 8]);"
        "assert_eq!(nothing.unwrap_err().kind(), ErrorKind::WouldBlock);"
    )]
    pub fn forget(mut self) {
        self.ends_on_drop = false;
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        if self.ends_on_drop {
            // It fails if the connection is over, and then there is nothing to end.
            let _ = self.stream.registration().shutdown_write();
        }
    }
}

/// What both kinds of half have.
macro_rules! half {
    ($($type:ty),*) => {$(
        impl $type {
            /// This end's address. See [`TcpStream::local_addr`].
            ///
            /// # Errors
            ///
            /// Passes on the error of `getsockname`.
            pub fn local_addr(&self) -> io::Result<SocketAddr> {
                self.stream().local_addr()
            }

            /// The other end's address. See [`TcpStream::peer_addr`].
            ///
            /// # Errors
            ///
            /// Passes on the error of `getpeername`.
            pub fn peer_addr(&self) -> io::Result<SocketAddr> {
                self.stream().peer_addr()
            }

            /// Waits until the stream is ready for any of `interest`. See [`TcpStream::ready`].
            ///
            /// # Errors
            ///
            /// Fails if the runtime shuts down.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                self.stream().ready(interest).await
            }
        }

        impl AsRef<TcpStream> for $type {
            fn as_ref(&self) -> &TcpStream {
                self.stream()
            }
        }
    )*};
}

macro_rules! read_half {
    ($($type:ty),*) => {$(
        impl $type {
            /// Reads some bytes. See [`TcpStream::read`].
            ///
            /// # Errors
            ///
            /// Passes on the error of `recv`.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was read.
            pub async fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.stream().read(buf).await
            }

            /// Reads until the buffer is full. See [`TcpStream::read_exact`].
            ///
            /// # Errors
            ///
            /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the peer ends its direction before
            /// that; else the error of `recv`.
            ///
            /// # Cancel safety
            ///
            /// Not cancel safe: bytes that were read already are in the buffer.
            pub async fn read_exact(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.stream().read_exact(buf).await
            }

            /// Reads some bytes without taking them out of the socket. See [`TcpStream::peek`].
            ///
            /// # Errors
            ///
            /// Passes on the error of `recv`.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe.
            pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.stream().peek(buf).await
            }

            /// Waits until there may be something to read. See [`TcpStream::readable`].
            ///
            /// # Errors
            ///
            /// Fails if the runtime shuts down.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe.
            pub async fn readable(&self) -> io::Result<()> {
                self.stream().readable().await
            }

            /// Reads if there is something to read, and never waits. See [`TcpStream::try_read`].
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is not; else the error of `recv`.
            pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.stream().try_read(buf)
            }

            /// Reads into several buffers. See [`TcpStream::try_read_vectored`].
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is nothing; else the error of
            /// `recvmsg`.
            pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                self.stream().try_read_vectored(bufs)
            }

            /// Reads into memory that need not be initialised. See
            /// [`TcpStream::poll_read_uninit`].
            ///
            /// # Errors
            ///
            /// Passes on the error of `recv`.
            pub fn poll_read_uninit(
                &self,
                cx: &mut Context<'_>,
                buf: &mut [MaybeUninit<u8>],
            ) -> Poll<io::Result<usize>> {
                self.stream().poll_read_uninit(cx, buf)
            }
        }
    )*};
}

macro_rules! write_half {
    ($($type:ty),*) => {$(
        impl $type {
            /// Writes some bytes. See [`TcpStream::write`].
            ///
            /// # Errors
            ///
            /// Passes on the error of `send`.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was written.
            pub async fn write(&self, buf: &[u8]) -> io::Result<usize> {
                self.stream().write(buf).await
            }

            /// Writes all of the buffer. See [`TcpStream::write_all`].
            ///
            /// # Errors
            ///
            /// Passes on the error of `send`. A part of the buffer may have been written.
            ///
            /// # Cancel safety
            ///
            /// Not cancel safe: a part of the buffer may have been written.
            pub async fn write_all(&self, buf: &[u8]) -> io::Result<()> {
                self.stream().write_all(buf).await
            }

            /// Waits until there may be room to write. See [`TcpStream::writable`].
            ///
            /// # Errors
            ///
            /// Fails if the runtime shuts down.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe.
            pub async fn writable(&self) -> io::Result<()> {
                self.stream().writable().await
            }

            /// Writes if there is room, and never waits. See [`TcpStream::try_write`].
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none; else the error of `send`.
            pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                self.stream().try_write(buf)
            }

            /// Writes from several buffers. See [`TcpStream::try_write_vectored`].
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room; else the error of
            /// `sendmsg`.
            pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                self.stream().try_write_vectored(bufs)
            }

            /// Writes some bytes. See [`TcpStream::poll_write`].
            ///
            /// # Errors
            ///
            /// Passes on the error of `send`.
            pub fn poll_write(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                self.stream().poll_write(cx, buf)
            }

            /// Writes from several buffers. See [`TcpStream::poll_write_vectored`].
            ///
            /// # Errors
            ///
            /// Passes on the error of `sendmsg`.
            pub fn poll_write_vectored(
                &self,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.stream().poll_write_vectored(cx, bufs)
            }

            /// Ends the direction. See [`TcpStream::poll_shutdown`].
            ///
            /// # Errors
            ///
            /// Passes on the error of `shutdown`.
            pub fn poll_shutdown(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.stream().poll_shutdown(cx)
            }
        }
    )*};
}

half!(ReadHalf<'_>, WriteHalf<'_>, OwnedReadHalf, OwnedWriteHalf);
read_half!(ReadHalf<'_>, OwnedReadHalf);
write_half!(WriteHalf<'_>, OwnedWriteHalf);

/// The error of [`OwnedReadHalf::reunite`]: two halves of different streams, given back.
#[derive(Debug)]
pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

impl fmt::Display for ReuniteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the two halves are of different streams")
    }
}

impl Error for ReuniteError {}

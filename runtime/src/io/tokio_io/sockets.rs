//! The methods that take `ReadBuf` or `BufMut`, as the sockets of tokio have them: thin covers over
//! the native ones.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::task::{Context, Poll};

use bytes::BufMut;
use rt_reactor::Direction;
use socket2::{SockAddr, SockRef};

use super::{ReadBuf, fill, plain, put};
use crate::io::Registration;
use crate::io::stream::Bytes;
use crate::net::unix::pipe;
use crate::net::{TcpStream, UdpSocket, UnixDatagram, UnixStream, tcp, unix};

impl<T: AsFd> Registration<T> {
    fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<usize>> {
        fill(buf, |unfilled| {
            self.poll_io(cx, Direction::Read, |fd| SockRef::from(fd).peek(unfilled))
                .map_ok(|len| (len, len))
        })
    }

    fn poll_peek_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SockAddr>> {
        fill(buf, |unfilled| {
            self.poll_io(cx, Direction::Read, |fd| {
                SockRef::from(fd).peek_from(unfilled)
            })
        })
    }

    fn try_recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.try_op(Direction::Read, |fd| recv_buf(fd, buf))
    }

    async fn recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io(Direction::Read, |fd| recv_buf(fd, buf)).await
    }

    fn try_recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SockAddr)> {
        self.try_op(Direction::Read, |fd| recv_buf_from(fd, buf))
    }

    async fn recv_buf_from<B: BufMut>(&self, buf: &mut B) -> io::Result<(usize, SockAddr)> {
        self.io(Direction::Read, |fd| recv_buf_from(fd, buf)).await
    }
}

impl<T: Bytes> Registration<T> {
    fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.try_op(Direction::Read, |file| {
            let read = put(buf, |free| Ok((file.read_uninit(free)?, ())));
            read.map(|(len, ())| len)
        })
    }
}

fn recv_buf<B: BufMut>(fd: &impl AsFd, buf: &mut B) -> io::Result<usize> {
    let received = put(buf, |free| Ok((SockRef::from(fd).recv(free)?, ())));
    received.map(|(len, ())| len)
}

fn recv_buf_from<B: BufMut>(fd: &impl AsFd, buf: &mut B) -> io::Result<(usize, SockAddr)> {
    put(buf, |free| SockRef::from(fd).recv_from(free))
}

macro_rules! peeking {
    ($($type:ty),*) => {$(
        #[cfg_attr(docsrs, doc(cfg(feature = "tokio-io")))]
        impl $type {
            /// Reads some bytes without taking them out of the socket, and says how many. One waker
            /// is kept for reading, the last caller's.
            ///
            /// # Errors
            ///
            /// Passes on the error of `recv`.
            pub fn poll_peek(
                &self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<usize>> {
                self.registration().poll_peek(cx, buf)
            }
        }
    )*};
}

macro_rules! reading {
    ($($type:ty),*) => {$(
        #[cfg_attr(docsrs, doc(cfg(feature = "tokio-io")))]
        impl $type {
            /// As [`try_read`](Self::try_read), to the end of a buffer of the `bytes` crate, which need
            /// not be initialised.
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is nothing; else the kernel's error.
            pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
                self.registration().try_read_buf(buf)
            }
        }
    )*};
}

macro_rules! receiving {
    ($type:ty, $address:ty, $convert:path) => {
        /// Receiving into the buffers of `tokio::io` and of the `bytes` crate, which need not be
        /// initialised.
        #[cfg_attr(docsrs, doc(cfg(feature = "tokio-io")))]
        impl $type {
            /// Receives a message. One waker is kept for receiving, the last caller's.
            ///
            /// # Errors
            ///
            /// As [`recv`](Self::recv).
            pub fn poll_recv(
                &self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                fill(buf, |unfilled| plain(self.poll_recv_uninit(cx, unfilled)))
            }

            /// Receives a message, and tells who sent it. One waker is kept for receiving, the last
            /// caller's.
            ///
            /// # Errors
            ///
            /// As [`recv_from`](Self::recv_from).
            pub fn poll_recv_from(
                &self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<$address>> {
                fill(buf, |unfilled| self.poll_recv_from_uninit(cx, unfilled))
            }

            /// As [`try_recv`](Self::try_recv), to the end of a buffer.
            ///
            /// # Errors
            ///
            /// As [`try_recv`](Self::try_recv).
            pub fn try_recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
                self.registration().try_recv_buf(buf)
            }

            /// As [`recv`](Self::recv), to the end of a buffer.
            ///
            /// # Errors
            ///
            /// As [`recv`](Self::recv).
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was received.
            pub async fn recv_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
                self.registration().recv_buf(buf).await
            }

            /// As [`try_recv_from`](Self::try_recv_from), to the end of a buffer.
            ///
            /// # Errors
            ///
            /// As [`try_recv_from`](Self::try_recv_from).
            pub fn try_recv_buf_from<B: BufMut>(
                &self,
                buf: &mut B,
            ) -> io::Result<(usize, $address)> {
                let (len, source) = self.registration().try_recv_buf_from(buf)?;
                Ok((len, $convert(&source)?))
            }

            /// As [`recv_from`](Self::recv_from), to the end of a buffer.
            ///
            /// # Errors
            ///
            /// As [`recv_from`](Self::recv_from).
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was received.
            pub async fn recv_buf_from<B: BufMut>(
                &self,
                buf: &mut B,
            ) -> io::Result<(usize, $address)> {
                let (len, source) = self.registration().recv_buf_from(buf).await?;
                Ok((len, $convert(&source)?))
            }
        }
    };
}

#[cfg_attr(docsrs, doc(cfg(feature = "tokio-io")))]
impl UdpSocket {
    /// Receives the next datagram and leaves it in the socket. One waker is kept for receiving, the
    /// last caller's.
    ///
    /// # Errors
    ///
    /// Passes on the error of `recv`.
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.registration().poll_peek(cx, buf).map_ok(drop)
    }

    /// As [`poll_peek`](Self::poll_peek), and tells who sent it.
    ///
    /// # Errors
    ///
    /// Passes on the error of `recvfrom`.
    pub fn poll_peek_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let source = self.registration().poll_peek_from(cx, buf);
        source.map(|source| crate::net::udp::ip_address(&source?))
    }

    /// Who sent the next datagram, which stays in the socket. One waker is kept for receiving, the
    /// last caller's.
    ///
    /// # Errors
    ///
    /// Passes on the error of `recvfrom`.
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.poll_peek_from(cx, &mut ReadBuf::new(&mut []))
    }
}

peeking!(TcpStream, tcp::ReadHalf<'_>, tcp::OwnedReadHalf);
peeking!(UnixStream, unix::ReadHalf<'_>, unix::OwnedReadHalf);
reading!(TcpStream, tcp::ReadHalf<'_>, tcp::OwnedReadHalf);
reading!(UnixStream, unix::ReadHalf<'_>, unix::OwnedReadHalf);
reading!(pipe::Receiver);
receiving!(UdpSocket, SocketAddr, crate::net::udp::ip_address);
receiving!(UnixDatagram, unix::SocketAddr, unix::unix_address);

//! UDP.

use std::io;
use std::mem::MaybeUninit;
use std::net::{self, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use rt_reactor::Direction;
use rt_reactor::socket::Message;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::RecvMsg;
use super::addr::{self, ToSocketAddrs};
use super::message::message_methods;
use crate::io::Registration;
use crate::io::methods::{descriptor_impls, ready_method, try_io_methods};

mod batch;
mod options;
#[cfg(test)]
mod tests;

/// An example that begins with two sockets that are connected to each other, `near` and `far`.
macro_rules! with_sockets {
    ([$($setup:literal)*] $($line:literal)*) => {
        concat!(
            "# Examples\n\n",
            "```\n",
            "# use rt::net::UdpSocket;\n",
            "# #[rt::main(flavor = \"current_thread\")]\n",
            "# async fn main() -> std::io::Result<()> {\n",
            "# let near = UdpSocket::bind(\"127.0.0.1:0\").await?;\n",
            "# let far = UdpSocket::bind(\"127.0.0.1:0\").await?;\n",
            $($setup, "\n",)*
            $($line, "\n",)*
            "# Ok(())\n",
            "# }\n",
            "```",
        )
    };
}

/// An example that begins with two sockets that are connected to each other, `near` and `far`.
macro_rules! with_connected {
    ($($line:literal)*) => {
        with_sockets!(
            [
                "# near.connect(far.local_addr()?).await?;"
                "# far.connect(near.local_addr()?).await?;"
                "// `near` and `far` are connected to each other."
            ]
            $($line)*
        )
    };
}

/// The same, under the name that the example of readiness uses.
macro_rules! with_writer {
    ($($line:literal)*) => {
        with_sockets!(["# let writer = near; drop(far);"] $($line)*)
    };
}

/// An example that begins with two bound sockets, `near` and `far`.
macro_rules! with_bound {
    ($($line:literal)*) => {
        with_sockets!(["// `near` and `far` are bound, and connected to nobody."] $($line)*)
    };
}

/// A UDP socket.
///
/// It sends to anybody with [`send_to`](Self::send_to) and receives from anybody with
/// [`recv_from`](Self::recv_from), or, once it is [connected](Self::connect), talks to one peer with
/// [`send`](Self::send) and [`recv`](Self::recv). Its methods take `&self`, so that any number of
/// tasks may share it through an `Arc`.
///
/// A datagram that is longer than the buffer is cut; [`recv_msg`](Self::recv_msg) tells so.
///
#[doc = with_bound!(
    "near.send_to(b\"hello\", far.local_addr()?).await?;"
    "let mut buf = [0; 1500];"
    "let (len, from) = far.recv_from(&mut buf).await?;"
    "assert_eq!((&buf[..len], from), (&b\"hello\"[..], near.local_addr()?));"
)]
pub struct UdpSocket {
    io: Registration<net::UdpSocket>,
}

impl UdpSocket {
    pub(crate) fn registration(&self) -> &Registration<net::UdpSocket> {
        &self.io
    }

    /// Makes a socket with an address of its own.
    ///
    /// Port 0 lets the kernel choose one; [`local_addr`](Self::local_addr) tells it. If the name has
    /// several addresses, the first that works is taken.
    ///
    /// # Errors
    ///
    /// Fails if the name cannot be resolved, or with the error of its last address.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what it opened.
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::net::UdpSocket;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let socket = UdpSocket::bind("127.0.0.1:0").await?;
    /// assert_ne!(socket.local_addr()?.port(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<UdpSocket> {
        let resolution = addr::resolve(&addr)?;
        addr::try_each(resolution, async |addr| Self::bind_to(addr)).await
    }

    fn bind_to(addr: SocketAddr) -> io::Result<UdpSocket> {
        let kind = Type::DGRAM.nonblocking().cloexec();
        let socket = Socket::new_raw(Domain::for_address(addr), kind, Some(Protocol::UDP))?;
        socket.bind(&addr.into())?;
        Self::from_nonblocking(socket.into())
    }

    /// Chooses the peer, to whom [`send`](Self::send) sends, and from whom alone datagrams are
    /// received from now on. It can be called again.
    ///
    /// If the name has several addresses, the first that works is taken; nothing is sent.
    ///
    /// # Errors
    ///
    /// Fails if the name cannot be resolved, or with the error of its last address.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped before it is ready, the peer is the same as before.
    ///
    #[doc = with_bound!(
        "near.connect(far.local_addr()?).await?;"
        "assert_eq!(near.send(b\"hello\").await?, 5);"
    )]
    pub async fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        let resolution = addr::resolve(&addr)?;
        addr::try_each(resolution, async |addr| self.std().connect(addr)).await
    }

    /// This socket's address.
    ///
    /// # Errors
    ///
    /// Passes on the error of `getsockname`.
    ///
    #[doc = with_bound!("assert!(near.local_addr()?.ip().is_loopback());")]
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.std().local_addr()
    }

    /// The address that the socket is connected to.
    ///
    /// # Errors
    ///
    /// [`NotConnected`](io::ErrorKind::NotConnected) if it is to none.
    ///
    #[doc = with_connected!("assert_eq!(near.peer_addr()?, far.local_addr()?);")]
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.std().peer_addr()
    }

    fn std(&self) -> &net::UdpSocket {
        self.io.inner()
    }
}

/// Datagrams from and to anybody.
impl UdpSocket {
    /// Sends a datagram to an address, and says how many bytes it had.
    ///
    /// If a name has several addresses, the first is taken.
    ///
    /// # Errors
    ///
    /// Fails if the name cannot be resolved, or with the error of `sendto`: among them that the
    /// datagram is too long, and what the network has reported about an earlier one.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped before it is ready, nothing was sent.
    ///
    #[doc = with_bound!("assert_eq!(near.send_to(b\"hello\", far.local_addr()?).await?, 5);")]
    pub async fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], addr: A) -> io::Result<usize> {
        let mut addresses = addr::resolve(&addr)?.addresses().await?;
        let target = addresses.next().ok_or_else(addr::no_address)?;
        self.io
            .io(Direction::Write, |socket| socket.send_to(buf, target))
            .await
    }

    /// Sends a datagram if there is room, and never waits.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none; else the error of `sendto`.
    ///
    #[doc = with_bound!(
        "near.writable().await?;"
        "assert_eq!(near.try_send_to(b\"hello\", far.local_addr()?)?, 5);"
    )]
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        self.io
            .try_op(Direction::Write, |socket| socket.send_to(buf, target))
    }

    /// Sends a datagram, or keeps the caller's waker until there is room. One waker is kept for
    /// sending, the last caller's.
    ///
    /// # Errors
    ///
    /// Passes on the error of `sendto`.
    ///
    #[doc = with_bound!(
        "let target = far.local_addr()?;"
        "let sent = std::future::poll_fn(|cx| near.poll_send_to(cx, b\"hello\", target)).await?;"
        "assert_eq!(sent, 5);"
    )]
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.io
            .poll_io(cx, Direction::Write, |socket| socket.send_to(buf, target))
    }

    /// Receives a datagram, and says how many bytes are in the buffer and who sent them. If it is
    /// longer, the rest is lost; [`recv_msg`](Self::recv_msg) tells so.
    ///
    /// # Errors
    ///
    /// Passes on the error of `recvfrom`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped before it is ready, nothing was received.
    ///
    #[doc = with_bound!(
        "near.send_to(b\"hello\", far.local_addr()?).await?;"
        "let (len, from) = far.recv_from(&mut [0; 64]).await?;"
        "assert_eq!((len, from), (5, near.local_addr()?));"
    )]
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io
            .io(Direction::Read, |socket| socket.recv_from(buf))
            .await
    }

    /// Receives a datagram if there is one, and never waits.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none; else the error of `recvfrom`.
    ///
    #[doc = with_bound!(
        "near.send_to(b\"hello\", far.local_addr()?).await?;"
        "far.readable().await?;"
        "assert_eq!(far.try_recv_from(&mut [0; 64])?.0, 5);"
    )]
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io
            .try_op(Direction::Read, |socket| socket.recv_from(buf))
    }

    /// Receives a datagram into memory that need not be initialised, or keeps the caller's waker
    /// until there is one. One waker is kept for receiving, the last caller's.
    ///
    /// As many bytes at the start of `buf` are initialised as it says.
    ///
    /// # Errors
    ///
    /// Passes on the error of `recvfrom`.
    ///
    #[doc = with_bound!(
        "near.send_to(b\"hello\", far.local_addr()?).await?;"
        "let mut buf = [std::mem::MaybeUninit::uninit(); 64];"
        "let received = std::future::poll_fn(|cx| far.poll_recv_from_uninit(cx, &mut buf));"
        "assert_eq!(received.await?, (5, near.local_addr()?));"
    )]
    pub fn poll_recv_from_uninit(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let received = self.io.poll_recv_from_uninit(cx, buf);
        received.map(|received| {
            let (len, source) = received?;
            Ok((len, ip_address(&source)?))
        })
    }

    /// Receives a datagram, and tells all about it: also whether it was longer than the buffer.
    ///
    /// # Errors
    ///
    /// Passes on the error of `recvmsg`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped before it is ready, nothing was received.
    ///
    #[doc = with_bound!(
        "near.send_to(b\"too long\", far.local_addr()?).await?;"
        "let message = far.recv_msg(&mut [0; 3]).await?;"
        "assert!(message.truncated);"
        "assert_eq!(message.source, near.local_addr()?);"
    )]
    pub async fn recv_msg(&self, buf: &mut [u8]) -> io::Result<RecvMsg> {
        told(&self.io.recv_msg(buf).await?)
    }

    /// As [`recv_msg`](Self::recv_msg), if there is a datagram, and never waits.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none; else the error of `recvmsg`.
    ///
    #[doc = with_bound!(
        "near.send_to(b\"hello\", far.local_addr()?).await?;"
        "far.readable().await?;"
        "assert!(!far.try_recv_msg(&mut [0; 64])?.truncated);"
    )]
    pub fn try_recv_msg(&self, buf: &mut [u8]) -> io::Result<RecvMsg> {
        told(&self.io.try_recv_msg(buf)?)
    }

    /// Receives the next datagram and leaves it in the socket.
    ///
    /// # Errors
    ///
    /// Passes on the error of `recvfrom`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    ///
    #[doc = with_bound!(
        "near.send_to(b\"hello\", far.local_addr()?).await?;"
        "let (len, from) = far.peek_from(&mut [0; 64]).await?;"
        "assert_eq!((len, from), (5, near.local_addr()?));"
        "assert_eq!(far.try_recv_from(&mut [0; 64])?, (len, from));"
    )]
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io
            .io(Direction::Read, |socket| socket.peek_from(buf))
            .await
    }

    /// As [`peek_from`](Self::peek_from), if there is a datagram, and never waits.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none; else the error of `recvfrom`.
    ///
    #[doc = with_bound!(
        "near.send_to(b\"hello\", far.local_addr()?).await?;"
        "far.readable().await?;"
        "assert_eq!(far.try_peek_from(&mut [0; 64])?.0, 5);"
    )]
    pub fn try_peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io
            .try_op(Direction::Read, |socket| socket.peek_from(buf))
    }

    /// Who sent the next datagram, which stays in the socket.
    ///
    /// # Errors
    ///
    /// Passes on the error of `recvfrom`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    ///
    #[doc = with_bound!(
        "near.send_to(b\"hello\", far.local_addr()?).await?;"
        "assert_eq!(far.peek_sender().await?, near.local_addr()?);"
    )]
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        Ok(self.peek_from(&mut []).await?.1)
    }

    /// As [`peek_sender`](Self::peek_sender), if there is a datagram, and never waits.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none; else the error of `recvfrom`.
    ///
    #[doc = with_bound!(
        "near.send_to(b\"hello\", far.local_addr()?).await?;"
        "far.readable().await?;"
        "assert_eq!(far.try_peek_sender()?, near.local_addr()?);"
    )]
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        Ok(self.try_peek_from(&mut [])?.1)
    }
}

/// For protocols that bring their own system calls, such as QUIC: with these, [`try_io`](Self::try_io)
/// and the descriptor they need nothing else.
impl UdpSocket {
    /// Waits until there may be a datagram. One waker is kept, the last caller's.
    ///
    /// # Errors
    ///
    /// Fails if the runtime shuts down.
    ///
    #[doc = with_bound!(
        "near.send_to(b\"hello\", far.local_addr()?).await?;"
        "std::future::poll_fn(|cx| far.poll_readable(cx)).await?;"
    )]
    pub fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_recv_ready(cx)
    }

    /// As [`writable`](Self::writable), with a future that owns its share of the socket. Any number of
    /// them may wait, each for itself.
    ///
    /// # Errors
    ///
    /// Fails if the runtime shuts down.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    ///
    #[doc = with_bound!(
        "use std::sync::Arc;"
        ""
        "let near = Arc::new(near);"
        "let writable = rt::spawn(Arc::clone(&near).writable_owned());"
        "writable.await.unwrap()?;"
    )]
    pub async fn writable_owned(self: Arc<Self>) -> io::Result<()> {
        self.writable().await
    }
}

fn told(message: &Message) -> io::Result<RecvMsg> {
    let source = message.source.as_ip().ok_or_else(no_ip)?;
    Ok(RecvMsg::new(message, source))
}

pub(crate) fn ip_address(address: &SockAddr) -> io::Result<SocketAddr> {
    address.as_socket().ok_or_else(no_ip)
}

fn no_ip() -> io::Error {
    io::Error::other("the sender has no IP address")
}

descriptor_impls!(
    UdpSocket,
    net::UdpSocket,
    "std::net::UdpSocket::bind(\"127.0.0.1:0\")?"
);
message_methods!(UdpSocket, with_connected);
ready_method!(UdpSocket, with_writer);
try_io_methods!(UdpSocket);

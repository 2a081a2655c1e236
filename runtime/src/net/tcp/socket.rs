//! A TCP socket before it is a listener or a stream: where its options are set.

use std::fmt;
use std::io;
use std::net::{self, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

use super::{TcpListener, TcpStream, connect};
use crate::net::options::{buffer_options, device_options, options};

/// A TCP socket that is neither connected nor listens yet.
///
/// [`TcpStream::connect`] and [`TcpListener::bind`] make sockets with the usual options. This one is
/// for other options, for binding a connection's own address, and for the length of a listener's
/// queue.
///
/// # Examples
///
/// ```
/// use rt::net::{TcpSocket, TcpStream};
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let socket = TcpSocket::new_v4()?;
/// socket.set_reuseaddr(true)?;
/// socket.bind("127.0.0.1:0".parse().unwrap())?;
/// let listener = socket.listen(1024)?;
///
/// let socket = TcpSocket::new_v4()?;
/// socket.set_nodelay(true)?;
/// let stream: TcpStream = socket.connect(listener.local_addr()?).await?;
/// assert!(stream.nodelay()?);
/// # Ok(())
/// # }
/// ```
pub struct TcpSocket {
    socket: Socket,
}

impl TcpSocket {
    /// A socket for IPv4.
    ///
    /// # Errors
    ///
    /// Fails if the process or the system is out of descriptors.
    ///
    /// # Examples
    ///
    /// ```
    /// let socket = rt::net::TcpSocket::new_v4()?;
    /// socket.bind("127.0.0.1:0".parse().unwrap())?;
    /// assert!(socket.local_addr()?.is_ipv4());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new_v4() -> io::Result<TcpSocket> {
        Self::new(Domain::IPV4)
    }

    /// A socket for IPv6, and for IPv4 too unless [`only_v6`](Self::set_only_v6) is set.
    ///
    /// # Errors
    ///
    /// Fails if the system has no IPv6, or is out of descriptors.
    pub fn new_v6() -> io::Result<TcpSocket> {
        Self::new(Domain::IPV6)
    }

    fn new(domain: Domain) -> io::Result<TcpSocket> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new_raw(domain, kind, Some(Protocol::TCP))?;
        Ok(TcpSocket { socket })
    }

    /// Takes over a socket of the standard library, which is not connected whatever its type says,
    /// for those who set options in a way that is not here.
    ///
    /// It is made non-blocking when it connects or listens.
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::net::TcpSocket;
    /// use socket2::{Domain, Socket, Type};
    ///
    /// let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    /// socket.set_keepalive(true)?;
    /// let socket = TcpSocket::from_std_stream(socket.into());
    /// assert!(socket.keepalive()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn from_std_stream(stream: net::TcpStream) -> TcpSocket {
        TcpSocket {
            socket: stream.into(),
        }
    }

    /// Gives the socket an address of its own.
    ///
    /// # Errors
    ///
    /// Passes on the error of `bind`.
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        self.socket.bind(&addr.into())
    }

    /// Connects.
    ///
    /// # Errors
    ///
    /// Passes on the error of `connect`, or fails if the socket cannot be registered.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the socket.
    pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {
        self.socket.set_nonblocking(true)?;
        connect::socket(self.socket, addr).await
    }

    /// As [`connect`](Self::connect), for at most so long.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over; else as
    /// [`connect`](Self::connect).
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the socket.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use rt::net::{TcpListener, TcpSocket};
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let socket = TcpSocket::new_v4()?;
    /// let limit = Duration::from_secs(10);
    /// socket.connect_timeout(listener.local_addr()?, limit).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect_timeout(self, addr: SocketAddr, limit: Duration) -> io::Result<TcpStream> {
        connect::within(limit, self.connect(addr)).await
    }

    /// Listens, with a queue for so many connections that wait to be accepted. The kernel takes the
    /// lesser of `backlog` and its `net.core.somaxconn`.
    ///
    /// # Errors
    ///
    /// Passes on the error of `listen`, or fails if the socket cannot be registered.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        self.socket.set_nonblocking(true)?;
        self.socket
            .listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        TcpListener::from_nonblocking(self.socket.into())
    }

    /// The socket's own address.
    ///
    /// # Errors
    ///
    /// Passes on the error of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let addr = self.socket.local_addr()?.as_socket();
        addr.ok_or_else(|| io::Error::other("the socket has no IP address"))
    }

    /// The error that the socket keeps (`SO_ERROR`), which is cleared.
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be read.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket.take_error()
    }

    /// Makes closing reset the connection (`SO_LINGER` of zero).
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be set.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.set_linger(Some(Duration::ZERO))
    }

    /// Turns keep-alive probes on: the first after `idle` without traffic, then one each `interval`,
    /// and after `retries` without an answer the connection is broken.
    ///
    /// # Errors
    ///
    /// Fails if one of the options cannot be set.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let socket = rt::net::TcpSocket::new_v4()?;
    /// socket.set_keepalive_times(Duration::from_secs(60), Duration::from_secs(10), 3)?;
    /// assert!(socket.keepalive()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_keepalive_times(
        &self,
        idle: Duration,
        interval: Duration,
        retries: u32,
    ) -> io::Result<()> {
        let times = TcpKeepalive::new().with_time(idle);
        let times = times.with_interval(interval).with_retries(retries);
        self.socket.set_tcp_keepalive(&times)
    }
}

options! { TcpSocket, "# let socket = TcpSocket::new_v4()?;":
    /// Whether an address can be bound though old connections of it linger (`SO_REUSEADDR`).
    reuseaddr, set_reuseaddr: bool = true => reuse_address, set_reuse_address;
    /// Whether several sockets can listen at one address and share its connections
    /// (`SO_REUSEPORT`).
    reuseport, set_reuseport: bool = true => reuse_port, set_reuse_port;
    /// Whether the connection is probed while nothing flows (`SO_KEEPALIVE`).
    keepalive, set_keepalive: bool = true => keepalive, set_keepalive;
    /// Whether small writes are sent at once (`TCP_NODELAY`).
    nodelay, set_nodelay: bool = true => tcp_nodelay, set_tcp_nodelay;
    /// How long closing takes to send what is left (`SO_LINGER`). See [`TcpStream::linger`].
    linger, set_linger: Option<Duration> = Some(std::time::Duration::from_secs(1)) => linger, set_linger;
    /// How many hops a packet may take (`IP_TTL`).
    ttl, set_ttl: u32 = 7 => ttl_v4, set_ttl_v4;
    /// The type of service of IPv4 packets (`IP_TOS`).
    tos_v4, set_tos_v4: u32 = 16 => tos_v4, set_tos_v4;
    /// How long sent data may stay unacknowledged before the connection is broken
    /// (`TCP_USER_TIMEOUT`).
    user_timeout, set_user_timeout: Option<Duration> = Some(std::time::Duration::from_secs(9)) => tcp_user_timeout, set_tcp_user_timeout;
    /// Whether the address need not be one of this machine (`IP_FREEBIND`).
    freebind_v4, set_freebind_v4: bool = true => freebind_v4, set_freebind_v4;
}

options! { TcpSocket, "# let socket = TcpSocket::new_v6()?;":
    /// Whether an IPv6 socket keeps out IPv4 (`IPV6_V6ONLY`).
    only_v6, set_only_v6: bool = true => only_v6, set_only_v6;
    /// The traffic class of IPv6 packets (`IPV6_TCLASS`).
    tclass_v6, set_tclass_v6: u32 = 16 => tclass_v6, set_tclass_v6;
}

buffer_options!(TcpSocket);
device_options!(TcpSocket);

impl From<OwnedFd> for TcpSocket {
    /// Takes over a socket. It is made non-blocking when it connects or listens.
    fn from(fd: OwnedFd) -> TcpSocket {
        TcpSocket { socket: fd.into() }
    }
}

impl From<TcpSocket> for OwnedFd {
    fn from(socket: TcpSocket) -> OwnedFd {
        socket.socket.into()
    }
}

impl AsFd for TcpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for TcpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl fmt::Debug for TcpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpSocket")
            .field("addr", &self.local_addr().ok())
            .field("fd", &self.as_raw_fd())
            .finish()
    }
}

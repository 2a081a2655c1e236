//! A socket that accepts connections.

use std::fmt;
use std::io;
use std::net::{self, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::task::{Context, Poll};

use rt_reactor::Direction;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::TcpStream;
use crate::io::Registration;
use crate::net::addr::{self, ToSocketAddrs};

/// As many connections as wait to be accepted. The kernel takes the lesser of this and its
/// `net.core.somaxconn`.
const BACKLOG: i32 = 1024;

/// A TCP socket that listens for connections.
///
/// Any number of tasks may accept from one listener.
///
/// # Examples
///
/// An echo server:
///
/// ```no_run
/// use rt::net::TcpListener;
///
/// # #[rt::main]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:7000").await?;
/// loop {
///     let (mut stream, _) = listener.accept().await?;
///     rt::spawn(async move {
///         let (mut reader, mut writer) = stream.split();
///         rt::io::copy(&mut reader, &mut writer).await
///     });
/// }
/// # }
/// ```
pub struct TcpListener {
    io: Registration<net::TcpListener>,
}

impl TcpListener {
    /// Listens at an address.
    ///
    /// Port 0 lets the kernel choose one; [`local_addr`](Self::local_addr) tells it. As in `std`,
    /// `SO_REUSEADDR` is set, so that a restarted server need not wait for old connections to fade. If
    /// the name has several addresses, the first that works is taken.
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
    /// use rt::net::TcpListener;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let listener = TcpListener::bind(("localhost", 0)).await?;
    /// assert_ne!(listener.local_addr()?.port(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<TcpListener> {
        let resolution = addr::resolve(&addr)?;
        addr::try_each(resolution, async |addr| Self::bind_to(addr)).await
    }

    fn bind_to(addr: SocketAddr) -> io::Result<TcpListener> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new_raw(Domain::for_address(addr), kind, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.bind(&addr.into())?;
        socket.listen(BACKLOG)?;
        Ok(TcpListener {
            io: Registration::new(socket.into())?,
        })
    }

    /// Accepts a connection.
    ///
    /// Connections that broke before they were accepted are passed over.
    ///
    /// # Errors
    ///
    /// Fails if the process or the system is out of file descriptors or memory. The connection stays
    /// in the queue and the listener stays usable: the next call succeeds as soon as there is
    /// room, so wait a little, or close something, before it.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no connection is lost.
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::net::{TcpListener, TcpStream};
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let client = TcpStream::connect(listener.local_addr()?).await?;
    /// let (_server, peer) = listener.accept().await?;
    /// assert_eq!(peer, client.local_addr()?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        registered(self.io.io(Direction::Read, accept).await?)
    }

    /// Accepts a connection, or keeps the caller's waker for the next one.
    ///
    /// Only the last caller's waker is kept. Several tasks wait with [`accept`](Self::accept).
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        self.io
            .poll_io(cx, Direction::Read, accept)
            .map(|accepted| registered(accepted?))
    }

    /// Takes over a listener of the standard library, and makes it non-blocking.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be made non-blocking or be registered with epoll.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    /// let address = listener.local_addr()?;
    /// let listener = rt::net::TcpListener::from_std(listener)?;
    /// assert_eq!(listener.local_addr()?, address);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn from_std(listener: net::TcpListener) -> io::Result<TcpListener> {
        listener.set_nonblocking(true)?;
        Ok(TcpListener {
            io: Registration::new(listener)?,
        })
    }

    /// Leaves the runtime and gives back a listener of the standard library.
    ///
    /// It is still non-blocking: call its `set_nonblocking(false)` to block on it.
    ///
    /// # Errors
    ///
    /// Fails, closing the socket, if it cannot be taken out of epoll.
    pub fn into_std(self) -> io::Result<net::TcpListener> {
        self.io.into_inner()
    }

    /// The address that it listens at.
    ///
    /// # Errors
    ///
    /// Passes on the error of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.inner().local_addr()
    }

    /// The error that the socket keeps (`SO_ERROR`), which is cleared.
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be read.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.inner().take_error()
    }

    /// How many hops a packet may take (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be read.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.inner().ttl()
    }

    /// Sets how many hops a packet may take (`IP_TTL`). Accepted connections inherit it.
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be set.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.inner().set_ttl(ttl)
    }
}

/// Accepts one connection, non-blocking and closed on `exec` from birth.
fn accept(listener: &net::TcpListener) -> io::Result<(Socket, SocketAddr)> {
    loop {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        match SockRef::from(listener).accept4(flags) {
            Ok((socket, address)) => {
                let address = address.as_socket();
                let address =
                    address.ok_or_else(|| io::Error::other("the peer is no IP socket"))?;
                return Ok((socket, address));
            }
            // It took the broken connection off the queue, so the next call meets another.
            Err(error) if is_of_the_connection(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether an error of `accept` is about the connection that it took off the queue, not about the
/// listener: Linux passes on what the network had reported about it.
fn is_of_the_connection(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNABORTED
                | libc::EPROTO
                | libc::ENOPROTOOPT
                | libc::ENETDOWN
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::EHOSTUNREACH
                | libc::ENONET
        )
    )
}

fn registered((socket, address): (Socket, SocketAddr)) -> io::Result<(TcpStream, SocketAddr)> {
    Ok((TcpStream::from_socket(socket)?, address))
}

impl TryFrom<OwnedFd> for TcpListener {
    type Error = io::Error;

    /// Takes over a listening socket, and makes it non-blocking. Fails outside a runtime.
    fn try_from(fd: OwnedFd) -> io::Result<Self> {
        let listener = net::TcpListener::from(fd);
        listener.set_nonblocking(true)?;
        Ok(TcpListener {
            io: Registration::try_new(listener)?,
        })
    }
}

impl TryFrom<net::TcpListener> for TcpListener {
    type Error = io::Error;

    /// As [`TcpListener::from_std`], but fails outside a runtime.
    fn try_from(listener: net::TcpListener) -> io::Result<Self> {
        OwnedFd::from(listener).try_into()
    }
}

impl From<TcpListener> for OwnedFd {
    /// Leaves the runtime. The socket is still non-blocking.
    fn from(listener: TcpListener) -> OwnedFd {
        listener.io.into_inner_always().into()
    }
}

impl AsFd for TcpListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl AsRawFd for TcpListener {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_fd().as_raw_fd()
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}

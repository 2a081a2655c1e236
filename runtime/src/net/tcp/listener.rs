//! A socket that accepts connections.

use std::io;
use std::net::{self, SocketAddr};
use std::task::{Context, Poll};

use rt_reactor::Direction;
use socket2::{SockAddr, Socket};

use super::{TcpStream, connect};
use crate::io::Registration;
use crate::io::methods::descriptor_impls;
use crate::net::accept::accept;
use crate::net::addr::{self, ToSocketAddrs};

/// As many connections as wait to be accepted. The kernel takes the lesser of this and its
/// `net.core.somaxconn`.
pub(crate) const BACKLOG: i32 = 1024;

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
        let socket = connect::new_socket(addr)?;
        socket.set_reuse_address(true)?;
        socket.bind(&addr.into())?;
        socket.listen(BACKLOG)?;
        Self::from_nonblocking(socket.into())
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

    /// The address that it listens at.
    ///
    /// # Errors
    ///
    /// Passes on the error of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.inner().local_addr()
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

fn registered((socket, address): (Socket, SockAddr)) -> io::Result<(TcpStream, SocketAddr)> {
    let address = address.as_socket();
    let address = address.ok_or_else(|| io::Error::other("the peer is no IP socket"))?;
    Ok((TcpStream::from_nonblocking(socket.into())?, address))
}

descriptor_impls!(
    TcpListener,
    net::TcpListener,
    "std::net::TcpListener::bind(\"127.0.0.1:0\")?"
);

//! A connection: how it is made, split, given away and adjusted. What flows through it is in
//! `transfer.rs`.

use std::fmt;
use std::io;
use std::net::{self, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rt_reactor::Direction;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf, split_owned};
use super::with_a_pair;
use crate::io::Registration;
use crate::net::addr::{self, ToSocketAddrs};

/// A TCP connection.
///
/// Its methods take `&self`, so that one task may read while another writes. It implements the
/// traits of `tokio::io` (feature `tokio-io`) and `futures_io` (feature `futures-io`, also on
/// references), but none of them is needed: the methods here read and write as well.
///
/// Dropping it closes the connection. [`shutdown`](Self::shutdown) ends one direction of it.
///
#[doc = with_a_pair!(
    "client.write_all(b\"hello\").await?;"
    "let mut greeting = [0; 5];"
    "server.read_exact(&mut greeting).await?;"
    "assert_eq!(&greeting, b\"hello\");"
)]
pub struct TcpStream {
    io: Registration<net::TcpStream>,
}

impl TcpStream {
    /// Opens a connection.
    ///
    /// If the name has several addresses, they are tried in order, each until the kernel gives it
    /// up; [`timeout`](crate::time::timeout) limits the whole.
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
    /// use rt::net::{TcpListener, TcpStream};
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let stream = TcpStream::connect(listener.local_addr()?).await?;
    /// assert_eq!(stream.peer_addr()?, listener.local_addr()?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {
        let resolution = addr::resolve(&addr)?;
        addr::try_each(resolution, Self::connect_to).await
    }

    async fn connect_to(addr: SocketAddr) -> io::Result<TcpStream> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new_raw(Domain::for_address(addr), kind, Some(Protocol::TCP))?;
        // Registered after the call: a socket that is not even connecting reports a hang-up.
        let pending = match socket.connect(&addr.into()) {
            Ok(()) => false,
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => true,
            Err(error) => return Err(error),
        };
        let stream = TcpStream::from_socket(socket)?;
        if pending {
            stream.io.expect_event(Direction::Write);
            stream.io.io(Direction::Write, connected).await?;
        }
        Ok(stream)
    }

    /// Registers a non-blocking socket.
    pub(super) fn from_socket(socket: Socket) -> io::Result<TcpStream> {
        Ok(TcpStream {
            io: Registration::new(socket.into())?,
        })
    }

    /// Takes over a connection of the standard library, and makes it non-blocking.
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
    /// let stream = std::net::TcpStream::connect(listener.local_addr()?)?;
    /// let stream = rt::net::TcpStream::from_std(stream)?;
    /// stream.write_all(b"hello").await?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn from_std(stream: net::TcpStream) -> io::Result<TcpStream> {
        stream.set_nonblocking(true)?;
        Ok(TcpStream {
            io: Registration::new(stream)?,
        })
    }

    /// Leaves the runtime and gives back a connection of the standard library.
    ///
    /// It is still non-blocking: call its `set_nonblocking(false)` to block on it.
    ///
    /// # Errors
    ///
    /// Fails, closing the connection, if it cannot be taken out of epoll.
    ///
    #[doc = with_a_pair!(
        "use std::io::{Read, Write};"
        ""
        "let (mut client, mut server) = (client.into_std()?, server.into_std()?);"
        "client.write_all(b\"hello\")?;"
        "server.set_nonblocking(false)?;"
        "server.read_exact(&mut [0; 5])?;"
    )]
    pub fn into_std(self) -> io::Result<net::TcpStream> {
        self.io.into_inner()
    }

    pub(crate) fn registration(&self) -> &Registration<net::TcpStream> {
        &self.io
    }

    pub(super) fn std(&self) -> &net::TcpStream {
        self.io.inner()
    }

    /// The stream's two directions, borrowed, for two futures of one task.
    ///
    #[doc = with_a_pair!(
        "let (reader, writer) = client.split();"
        "writer.write_all(b\"ping\").await?;"
        "server.write_all(b\"pong\").await?;"
        "let mut answer = [0; 4];"
        "reader.read_exact(&mut answer).await?;"
        "assert_eq!(&answer, b\"pong\");"
    )]
    pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        (ReadHalf::new(self), WriteHalf::new(self))
    }

    /// The stream's two directions, owned, for two tasks.
    ///
    /// Dropping the write half ends the writing direction: the peer reads the end of the stream. The
    /// connection is closed when both are gone.
    ///
    #[doc = with_a_pair!(
        "let (reader, writer) = client.into_split();"
        "let task = rt::spawn(async move {"
        "    writer.write_all(b\"ping\").await"
        "});"
        "let mut question = Vec::new();"
        "rt::io::AsyncReadExt::read_to_end(&mut server, &mut question).await?;"
        "assert_eq!(question, b\"ping\");"
        "# task.await.unwrap()?;"
        "# drop(reader);"
    )]
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        split_owned(self)
    }
}

/// Addresses and options.
impl TcpStream {
    /// This end's address.
    ///
    /// # Errors
    ///
    /// Passes on the error of `getsockname`.
    ///
    #[doc = with_a_pair!("assert_eq!(client.local_addr()?, server.peer_addr()?);")]
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.std().local_addr()
    }

    /// The other end's address.
    ///
    /// # Errors
    ///
    /// Passes on the error of `getpeername`.
    ///
    #[doc = with_a_pair!("assert_eq!(client.peer_addr()?, listener.local_addr()?);")]
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.std().peer_addr()
    }

    /// The error that the socket keeps (`SO_ERROR`), which is cleared.
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be read.
    ///
    #[doc = with_a_pair!("assert!(client.take_error()?.is_none());")]
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.std().take_error()
    }

    /// Whether small writes are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be read.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.std().nodelay()
    }

    /// Sets whether small writes are sent at once (`TCP_NODELAY`), rather than held back until those
    /// before them are acknowledged.
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be set.
    ///
    #[doc = with_a_pair!(
        "client.set_nodelay(true)?;"
        "assert!(client.nodelay()?);"
    )]
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.std().set_nodelay(nodelay)
    }

    /// How many hops a packet may take (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be read.
    pub fn ttl(&self) -> io::Result<u32> {
        self.std().ttl()
    }

    /// Sets how many hops a packet may take (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be set.
    ///
    #[doc = with_a_pair!(
        "client.set_ttl(7)?;"
        "assert_eq!(client.ttl()?, 7);"
    )]
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.std().set_ttl(ttl)
    }

    /// How long closing takes to send what is left (`SO_LINGER`).
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be read.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(self).linger()
    }

    /// Sets how long closing takes to send what is left (`SO_LINGER`).
    ///
    /// `None`, the default, lets the kernel send it in the background. Zero throws it away and resets
    /// the connection. Any other time blocks the thread that drops the stream, for that long at most,
    /// which holds up every task on it.
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be set.
    ///
    #[doc = with_a_pair!(
        "use std::io::ErrorKind;"
        "use std::time::Duration;"
        ""
        "client.set_linger(Some(Duration::ZERO))?;"
        "drop(client);"
        "let reset = server.read(&mut [0; 8]).await.unwrap_err();"
        "assert_eq!(reset.kind(), ErrorKind::ConnectionReset);"
    )]
    pub fn set_linger(&self, time: Option<Duration>) -> io::Result<()> {
        SockRef::from(self).set_linger(time)
    }
}

/// Whether an attempt to connect has succeeded, failed, or (`WouldBlock`) still goes on.
fn connected(stream: &net::TcpStream) -> io::Result<()> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        // A wake-up without a cause: neither an error nor a peer yet.
        Err(error) if error.kind() == io::ErrorKind::NotConnected => {
            Err(io::ErrorKind::WouldBlock.into())
        }
        result => result.map(drop),
    }
}

impl TryFrom<OwnedFd> for TcpStream {
    type Error = io::Error;

    /// Takes over a connected socket, and makes it non-blocking. Fails outside a runtime.
    fn try_from(fd: OwnedFd) -> io::Result<Self> {
        let stream = net::TcpStream::from(fd);
        stream.set_nonblocking(true)?;
        Ok(TcpStream {
            io: Registration::try_new(stream)?,
        })
    }
}

impl TryFrom<net::TcpStream> for TcpStream {
    type Error = io::Error;

    /// As [`TcpStream::from_std`], but fails outside a runtime.
    fn try_from(stream: net::TcpStream) -> io::Result<Self> {
        OwnedFd::from(stream).try_into()
    }
}

impl From<TcpStream> for OwnedFd {
    /// Leaves the runtime. The socket is still non-blocking.
    fn from(stream: TcpStream) -> OwnedFd {
        stream.io.into_inner_always().into()
    }
}

impl AsFd for TcpStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl AsRawFd for TcpStream {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_fd().as_raw_fd()
    }
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}

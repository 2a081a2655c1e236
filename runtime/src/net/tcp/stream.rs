//! A connection: how it is made and adjusted. What flows through it, and how it is split, is in the
//! macros that it shares with other kinds of stream.

use std::io;
use std::net::{self, Shutdown, SocketAddr};
use std::time::Duration;

use socket2::SockRef;

use super::{connect, with_a_pair, with_ends};
use crate::io::Registration;
use crate::io::methods::{
    descriptor_impls, peek_method, read_methods, ready_method, try_io_methods, write_methods,
};
use crate::net::addr::{self, ToSocketAddrs};
use crate::net::options::options;

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
    /// If the name has several addresses, they are tried in the order in which the system prefers
    /// them, IPv4 and IPv6 in turn, and the first connection that comes about is taken. The next
    /// one is tried as soon as one has failed, or has said nothing for a quarter of a second; those
    /// before it go on meanwhile. (RFC 8305 calls it Happy Eyeballs.)
    ///
    /// The kernel takes minutes to give an address up. [`connect_timeout`](Self::connect_timeout)
    /// has a limit.
    ///
    /// # Errors
    ///
    /// Fails if the name cannot be resolved, or if no address can be connected to, with the error of
    /// the one that failed last.
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
        let addresses = addr::resolve(&addr)?.addresses().await?;
        connect::any(addresses).await
    }

    /// As [`connect`](Self::connect), for at most so long, the lookup of the name included.
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
    /// Dropping the future closes what it opened.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use rt::net::{TcpListener, TcpStream};
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let limit = Duration::from_secs(10);
    /// let stream = TcpStream::connect_timeout(listener.local_addr()?, limit).await?;
    /// assert_eq!(stream.peer_addr()?, listener.local_addr()?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect_timeout<A: ToSocketAddrs>(
        addr: A,
        limit: Duration,
    ) -> io::Result<TcpStream> {
        connect::within(limit, Self::connect(addr)).await
    }

    pub(crate) fn registration(&self) -> &Registration<net::TcpStream> {
        &self.io
    }

    fn std(&self) -> &net::TcpStream {
        self.io.inner()
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
        self.io.shutdown(how)
    }

    /// Makes closing reset the connection and throw away what was not sent yet (`SO_LINGER` of
    /// zero).
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be set.
    ///
    #[doc = with_a_pair!(
        "client.set_zero_linger()?;"
        "drop(client);"
        "let reset = server.read(&mut [0; 8]).await.unwrap_err();"
        "assert_eq!(reset.kind(), std::io::ErrorKind::ConnectionReset);"
    )]
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.set_linger(Some(Duration::ZERO))
    }
}

/// Urgent data: one byte that overtakes the stream, or stays in it where it was sent
/// ([`set_out_of_band_inline`](Self::set_out_of_band_inline)).
impl TcpStream {
    /// Sends bytes of which the last is urgent, and says how many there was room for. Never waits.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room; else the error of `send`.
    ///
    #[doc = with_a_pair!(
        "assert_eq!(client.try_send_urgent(b\"!\")?, 1);"
        "server.readable().await?;"
        "assert_eq!(server.try_recv_urgent()?, b'!');"
    )]
    pub fn try_send_urgent(&self, buf: &[u8]) -> io::Result<usize> {
        SockRef::from(self).send_with_flags(buf, libc::MSG_OOB | libc::MSG_NOSIGNAL)
    }

    /// Takes the urgent byte that the socket keeps. Never waits; urgent data makes the stream
    /// [`readable`](Self::readable).
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if there is none, if it was taken already, or if
    /// the stream was read past it, which throws it away;
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if it has been announced but is not here yet; else
    /// the error of `recv`.
    ///
    #[doc = with_a_pair!(
        "let nothing = server.try_recv_urgent().unwrap_err();"
        "assert_eq!(nothing.kind(), std::io::ErrorKind::InvalidInput);"
        "# drop(client);"
    )]
    pub fn try_recv_urgent(&self) -> io::Result<u8> {
        use std::os::fd::AsFd;

        rt_reactor::socket::recv_urgent(self.as_fd())
    }
}

options! { TcpStream, "# let listener = TcpListener::bind(\"127.0.0.1:0\").await?;\n# let socket = TcpStream::connect(listener.local_addr()?).await?;":
    /// Whether small writes are sent at once (`TCP_NODELAY`), rather than held back until those
    /// before them are acknowledged.
    nodelay, set_nodelay: bool = true => tcp_nodelay, set_tcp_nodelay;
    /// How many hops a packet may take (`IP_TTL`).
    ttl, set_ttl: u32 = 7 => ttl_v4, set_ttl_v4;
    /// Whether what is received is acknowledged at once (`TCP_QUICKACK`). The kernel may change its
    /// mind later.
    quickack, set_quickack: bool = false => tcp_quickack, set_tcp_quickack;
    /// Whether the connection is probed while nothing flows (`SO_KEEPALIVE`).
    keepalive, set_keepalive: bool = true => keepalive, set_keepalive;
    /// Whether urgent data stays in the stream (`SO_OOBINLINE`).
    out_of_band_inline, set_out_of_band_inline: bool = true => out_of_band_inline, set_out_of_band_inline;
    /// How long closing takes to send what is left (`SO_LINGER`).
    ///
    /// `None`, the default, lets the kernel send it in the background. Zero throws it away and
    /// resets the connection. Any other time blocks the thread that drops the stream, for that long
    /// at most, which holds up every task on it.
    linger, set_linger: Option<Duration> = Some(std::time::Duration::ZERO) => linger, set_linger;
}

descriptor_impls!(
    TcpStream,
    net::TcpStream,
    "{\n    let listener = std::net::TcpListener::bind(\"127.0.0.1:0\")?;\n    std::net::TcpStream::connect(listener.local_addr()?)?\n}"
);
read_methods!(TcpStream, with_ends);
write_methods!(TcpStream, with_ends);
ready_method!(TcpStream, with_ends);
peek_method!(TcpStream, with_ends);
try_io_methods!(TcpStream);

impl AsRef<TcpStream> for TcpStream {
    fn as_ref(&self) -> &TcpStream {
        self
    }
}

//! Connections that keep messages apart.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::task::{Context, Poll};

use rt_reactor::Direction;
use socket2::{SockAddr, Socket, Type};

use super::{SocketAddr, UCred, address, new_connection, new_listener, new_pair, unix_address};
use crate::io::Registration;
use crate::io::methods::{borrow_impls, ready_method, try_io_methods};
use crate::net::RecvMsg;
use crate::net::accept::accept;
use crate::net::message::message_methods;

/// An example that begins with two sockets that are connected to each other, `near` and `far`.
macro_rules! with_connected {
    ($($line:literal)*) => {
        concat!(
            "# Examples\n\n",
            "```\n",
            "# use rt::net::UnixSeqPacket;\n",
            "# #[rt::main(flavor = \"current_thread\")]\n",
            "# async fn main() -> std::io::Result<()> {\n",
            "let (near, far) = UnixSeqPacket::pair()?;\n",
            $($line, "\n",)*
            "# drop((near, far));\n",
            "# Ok(())\n",
            "# }\n",
            "```",
        )
    };
}

/// The same, under the name that the example of readiness uses.
macro_rules! with_writer {
    ($($line:literal)*) => {
        with_connected!("# let writer = &near;" $($line)*)
    };
}

/// A Unix connection that keeps messages apart (`SOCK_SEQPACKET`): with an end, like a stream, and
/// with whole messages, like datagrams.
///
/// A message of no bytes looks like the end of the connection, so do not send one. One that is
/// longer than the receiver's buffer is cut; [`recv_msg`](Self::recv_msg) tells so.
///
#[doc = with_connected!(
    "near.send(b\"one\").await?;"
    "near.send(b\"three\").await?;"
    "let mut buf = [0; 64];"
    "assert_eq!(far.recv(&mut buf).await?, 3);"
    "assert_eq!(far.recv(&mut buf).await?, 5);"
)]
pub struct UnixSeqPacket {
    io: Registration<Connection>,
}

/// A Unix socket that listens for [connections](UnixSeqPacket) that keep messages apart.
///
/// # Examples
///
/// ```
/// use rt::net::{UnixSeqPacket, UnixSeqPacketListener};
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let name = format!("\0example-{}-packets", std::process::id());
/// let listener = UnixSeqPacketListener::bind(&name)?;
/// let client = UnixSeqPacket::connect(&name).await?;
/// let (server, _) = listener.accept().await?;
///
/// client.send(b"hello").await?;
/// assert_eq!(server.recv(&mut [0; 64]).await?, 5);
/// # Ok(())
/// # }
/// ```
pub struct UnixSeqPacketListener {
    io: Registration<Connection>,
}

/// The standard library has no type for such a socket.
pub(crate) struct Connection(Socket);

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeqPacket")
            .field("local", &self.local_addr().ok())
            .field("peer", &self.peer_addr().ok())
            .field("fd", &self.as_fd())
            .finish()
    }
}

impl Connection {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        unix_address(&self.0.local_addr()?)
    }

    fn peer_addr(&self) -> io::Result<SocketAddr> {
        unix_address(&self.0.peer_addr()?)
    }
}

impl UnixSeqPacket {
    #[track_caller]
    fn from_nonblocking(socket: Socket) -> io::Result<UnixSeqPacket> {
        let io = Registration::new(Connection(socket))?;
        Ok(UnixSeqPacket { io })
    }

    fn registration(&self) -> &Registration<Connection> {
        &self.io
    }

    /// Connects to a path or to an abstract name.
    ///
    /// If the listener's queue is full it waits for room.
    ///
    /// # Errors
    ///
    /// Passes on the error of `connect`: nobody listens there, or this process may not connect.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what it opened.
    pub async fn connect<P: AsRef<Path>>(path: P) -> io::Result<UnixSeqPacket> {
        let address = address(path.as_ref())?;
        Self::from_nonblocking(new_connection(Type::SEQPACKET, &address).await?)
    }

    /// Two sockets that are connected to each other.
    ///
    /// # Errors
    ///
    /// Fails if the process or the system is out of descriptors.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn pair() -> io::Result<(UnixSeqPacket, UnixSeqPacket)> {
        let (near, far) = new_pair(Type::SEQPACKET)?;
        Ok((Self::from_nonblocking(near)?, Self::from_nonblocking(far)?))
    }

    /// Receives a message, and tells all about it: also whether it was longer than the buffer.
    ///
    /// # Errors
    ///
    /// Passes on the error of `recvmsg`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped before it is ready, nothing was received.
    ///
    #[doc = with_connected!(
        "near.send(b\"too long\").await?;"
        "let message = far.recv_msg(&mut [0; 3]).await?;"
        "assert!(message.truncated && message.full_len == 8);"
    )]
    pub async fn recv_msg(&self, buf: &mut [u8]) -> io::Result<RecvMsg<SocketAddr>> {
        let message = self.io.recv_msg(buf).await?;
        Ok(RecvMsg::new(&message, self.peer_addr()?))
    }

    /// This end's address.
    ///
    /// # Errors
    ///
    /// Passes on the error of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.inner().local_addr()
    }

    /// The other end's address.
    ///
    /// # Errors
    ///
    /// Passes on the error of `getpeername`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.inner().peer_addr()
    }

    /// The process at the other end, as it was when the connection was made.
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be read.
    pub fn peer_cred(&self) -> io::Result<UCred> {
        UCred::of_peer(self)
    }

    /// The error that the socket keeps (`SO_ERROR`), which is cleared.
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be read.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.inner().0.take_error()
    }

    /// Ends one direction of the connection, or both.
    ///
    /// # Errors
    ///
    /// Passes on the error of `shutdown`.
    ///
    #[doc = with_connected!(
        "near.shutdown(std::net::Shutdown::Write)?;"
        "assert_eq!(far.recv(&mut [0; 8]).await?, 0);"
    )]
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.shutdown(how)
    }
}

impl UnixSeqPacketListener {
    /// Listens at a path, which must not exist yet, or at an abstract name.
    ///
    /// # Errors
    ///
    /// Fails if the path exists, or cannot be made.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixSeqPacketListener> {
        let socket = new_listener(Type::SEQPACKET, &address(path.as_ref())?)?;
        let io = Registration::new(Connection(socket))?;
        Ok(UnixSeqPacketListener { io })
    }

    /// Accepts a connection.
    ///
    /// # Errors
    ///
    /// Fails if the process or the system is out of file descriptors or memory. The connection stays
    /// in the queue and the listener stays usable.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no connection is lost.
    pub async fn accept(&self) -> io::Result<(UnixSeqPacket, SocketAddr)> {
        registered(self.io.io(Direction::Read, accept).await?)
    }

    /// Accepts a connection, or keeps the caller's waker for the next one, the last caller's.
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept).
    pub fn poll_accept(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(UnixSeqPacket, SocketAddr)>> {
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
}

fn registered((socket, address): (Socket, SockAddr)) -> io::Result<(UnixSeqPacket, SocketAddr)> {
    let address = unix_address(&address)?;
    Ok((UnixSeqPacket::from_nonblocking(socket)?, address))
}

/// Into the runtime and out of it.
macro_rules! conversions {
    ($($type:ident),*) => {$(
        impl TryFrom<OwnedFd> for $type {
            type Error = io::Error;

            /// Takes over a socket of this kind, and makes it non-blocking. Fails outside a runtime.
            fn try_from(fd: OwnedFd) -> io::Result<Self> {
                let socket = Socket::from(fd);
                socket.set_nonblocking(true)?;
                let io = Registration::try_new(Connection(socket))?;
                Ok($type { io })
            }
        }

        impl From<$type> for OwnedFd {
            /// Leaves the runtime. The socket is still non-blocking.
            fn from(socket: $type) -> OwnedFd {
                socket.io.into_inner_always().0.into()
            }
        }

        borrow_impls!($type);
    )*};
}

conversions!(UnixSeqPacket, UnixSeqPacketListener);
message_methods!(UnixSeqPacket, with_connected);
ready_method!(UnixSeqPacket, with_writer);
try_io_methods!(UnixSeqPacket);

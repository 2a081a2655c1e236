//! Datagrams between processes of one machine: in order, whole, and never lost.

use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll};

use rt_reactor::Direction;
use rt_reactor::socket::Message;
use socket2::Type;

use super::{SocketAddr, UCred, address, full, new_pair, new_socket, raw, unix_address};
use crate::io::Registration;
use crate::io::methods::{descriptor_impls, ready_method, try_io_methods};
use crate::net::RecvMsg;
use crate::net::message::message_methods;

/// An example that begins with two sockets that are connected to each other, `near` and `far`.
macro_rules! with_connected {
    ($($line:literal)*) => {
        concat!(
            "# Examples\n\n",
            "```\n",
            "# use rt::net::UnixDatagram;\n",
            "# #[rt::main(flavor = \"current_thread\")]\n",
            "# async fn main() -> std::io::Result<()> {\n",
            "let (near, far) = UnixDatagram::pair()?;\n",
            $($line, "\n",)*
            "# drop((near, far));\n",
            "# Ok(())\n",
            "# }\n",
            "```",
        )
    };
}

/// An example that begins with two sockets, of which `far` has a `name`.
macro_rules! with_name {
    ($($line:literal)*) => {
        concat!(
            "# Examples\n\n",
            "```\n",
            "# use rt::net::UnixDatagram;\n",
            "# #[rt::main(flavor = \"current_thread\")]\n",
            "# async fn main() -> std::io::Result<()> {\n",
            "# let name = format!(\"\\0example-{}-{}\", std::process::id(), line!());\n",
            "// `name` begins with a zero byte: it is an abstract one, without a file.\n",
            "let far = UnixDatagram::bind(&name)?;\n",
            "let near = UnixDatagram::unbound()?;\n",
            $($line, "\n",)*
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

/// A Unix socket for datagrams.
///
/// Unlike UDP, it keeps their order and loses none: who sends to a full queue waits. A datagram
/// that is longer than the receiver's buffer is cut; [`recv_msg`](Self::recv_msg) tells so.
///
#[doc = with_connected!(
    "near.send(b\"hello\").await?;"
    "assert_eq!(far.recv(&mut [0; 64]).await?, 5);"
)]
pub struct UnixDatagram {
    io: Registration<net::UnixDatagram>,
}

impl UnixDatagram {
    pub(crate) fn registration(&self) -> &Registration<net::UnixDatagram> {
        &self.io
    }

    /// Makes a socket with a path of its own, which must not exist yet, or with an abstract name.
    ///
    /// # Errors
    ///
    /// Fails if the path exists, or cannot be made.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    #[doc = with_name!(
        "near.send_to(b\"hello\", &name).await?;"
        "assert_eq!(far.recv(&mut [0; 64]).await?, 5);"
    )]
    #[track_caller]
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixDatagram> {
        let socket = new_socket(Type::DGRAM)?;
        socket.bind(&raw(&address(path.as_ref())?)?)?;
        Self::from_nonblocking(socket.into())
    }

    /// Makes a socket without a name, which can send but not be sent to.
    ///
    /// # Errors
    ///
    /// Fails if the process or the system is out of descriptors.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn unbound() -> io::Result<UnixDatagram> {
        Self::from_nonblocking(new_socket(Type::DGRAM)?.into())
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
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (near, far) = new_pair(Type::DGRAM)?;
        let near = Self::from_nonblocking(near.into())?;
        Ok((near, Self::from_nonblocking(far.into())?))
    }

    /// Chooses the peer, to whom [`send`](Self::send) sends, and from whom alone datagrams are
    /// received from now on.
    ///
    /// # Errors
    ///
    /// Passes on the error of `connect`.
    ///
    #[doc = with_name!(
        "near.connect(&name)?;"
        "assert_eq!(near.send(b\"hello\").await?, 5);"
        "# drop(far);"
    )]
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.io.inner().connect_addr(&address(path.as_ref())?)
    }

    /// Sends a datagram to a path or to an abstract name, and says how many bytes it had.
    ///
    /// The kernel gives no event when the queue of a receiver has room again that this socket is
    /// not [connected](Self::connect) to, so that this looks again at intervals.
    ///
    /// # Errors
    ///
    /// Passes on the error of `sendto`: among them that nobody is there, and that the datagram is too
    /// long.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped before it is ready, nothing was sent.
    ///
    #[doc = with_name!(
        "assert_eq!(near.send_to(b\"hello\", &name).await?, 5);"
        "# drop(far);"
    )]
    pub async fn send_to<P: AsRef<Path>>(&self, buf: &[u8], target: P) -> io::Result<usize> {
        let target = address(target.as_ref())?;
        full::while_full(|| self.io.inner().send_to_addr(buf, &target)).await
    }

    /// Sends a datagram if there is room, and never waits.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none; else the error of `sendto`.
    ///
    #[doc = with_name!(
        "assert_eq!(near.try_send_to(b\"hello\", &name)?, 5);"
        "# drop(far);"
    )]
    pub fn try_send_to<P: AsRef<Path>>(&self, buf: &[u8], target: P) -> io::Result<usize> {
        // Whether this socket is ready says nothing about the receiver's queue.
        self.io
            .inner()
            .send_to_addr(buf, &address(target.as_ref())?)
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
    #[doc = with_name!(
        "near.send_to(b\"hello\", &name).await?;"
        "let (len, from) = far.recv_from(&mut [0; 64]).await?;"
        "assert!(len == 5 && from.is_unnamed());"
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
    #[doc = with_name!(
        "near.send_to(b\"hello\", &name).await?;"
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
    pub fn poll_recv_from_uninit(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let received = self.io.poll_recv_from_uninit(cx, buf);
        received.map(|received| {
            let (len, source) = received?;
            Ok((len, unix_address(&source)?))
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
    #[doc = with_connected!(
        "near.send(b\"too long\").await?;"
        "let message = far.recv_msg(&mut [0; 3]).await?;"
        "assert!(message.truncated && message.full_len == 8);"
    )]
    pub async fn recv_msg(&self, buf: &mut [u8]) -> io::Result<RecvMsg<SocketAddr>> {
        told(&self.io.recv_msg(buf).await?)
    }

    /// As [`recv_msg`](Self::recv_msg), if there is a datagram, and never waits.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none; else the error of `recvmsg`.
    pub fn try_recv_msg(&self, buf: &mut [u8]) -> io::Result<RecvMsg<SocketAddr>> {
        told(&self.io.try_recv_msg(buf)?)
    }

    /// This socket's address.
    ///
    /// # Errors
    ///
    /// Passes on the error of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.inner().local_addr()
    }

    /// The address that the socket is connected to.
    ///
    /// # Errors
    ///
    /// [`NotConnected`](io::ErrorKind::NotConnected) if it is to none.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.inner().peer_addr()
    }

    /// The process that made the pair, if this socket is one of a pair.
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be read.
    ///
    #[doc = with_connected!("assert_eq!(near.peer_cred()?, far.peer_cred()?);")]
    pub fn peer_cred(&self) -> io::Result<UCred> {
        UCred::of_peer(self)
    }

    /// Ends one direction, or both: what comes later is refused.
    ///
    /// # Errors
    ///
    /// Passes on the error of `shutdown`.
    ///
    #[doc = with_connected!(
        "near.shutdown(std::net::Shutdown::Write)?;"
        "let refused = near.send(b\"hello\").await.unwrap_err();"
        "assert_eq!(refused.kind(), std::io::ErrorKind::BrokenPipe);"
    )]
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.shutdown(how)
    }
}

fn told(message: &Message) -> io::Result<RecvMsg<SocketAddr>> {
    Ok(RecvMsg::new(message, message.source.to_unix()?))
}

descriptor_impls!(
    UnixDatagram,
    net::UnixDatagram,
    "std::os::unix::net::UnixDatagram::unbound()?"
);
message_methods!(UnixDatagram, with_connected);
ready_method!(UnixDatagram, with_writer);
try_io_methods!(UnixDatagram);

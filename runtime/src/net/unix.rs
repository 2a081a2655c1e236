//! Unix sockets, which connect processes of one machine, and pipes.
//!
//! An address is a path, or a name in the abstract namespace, which is written as a path that begins
//! with a zero byte. A path stays after its socket is closed: whoever bound it removes it.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use socket2::{SockAddr, Type};

pub use std::os::unix::net::SocketAddr;

pub use self::credentials::UCred;
pub use self::datagram::UnixDatagram;
pub use self::listener::UnixListener;
pub use self::seqpacket::{UnixSeqPacket, UnixSeqPacketListener};
pub use self::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use self::stream::UnixStream;

mod credentials;
mod datagram;
mod full;
mod listener;
pub mod pipe;
mod seqpacket;
mod split;
mod stream;
#[cfg(test)]
mod tests;

/// The address that a path stands for.
fn address(path: &Path) -> io::Result<SocketAddr> {
    match path.as_os_str().as_bytes() {
        [0, name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(path),
    }
}

/// An address as `socket2` has it.
fn raw(address: &SocketAddr) -> io::Result<SockAddr> {
    if let Some(path) = address.as_pathname() {
        return SockAddr::unix(path);
    }
    let Some(name) = address.as_abstract_name() else {
        let message = "a socket without a name cannot be reached";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    };
    let path = [&[0], name].concat();
    SockAddr::unix(Path::new(std::ffi::OsStr::from_bytes(&path)))
}

/// The address of a socket that is a Unix socket, maybe one without a name.
pub(crate) fn unix_address(address: &SockAddr) -> io::Result<SocketAddr> {
    if let Some(address) = address.as_unix() {
        return Ok(address);
    }
    // The sender of a datagram may have no address at all.
    if address.len() != 0 && !address.is_unnamed() {
        return Err(io::Error::other("the peer is no Unix socket"));
    }
    SocketAddr::from_pathname("")
}

/// A socket of a kind, non-blocking from birth.
fn new_socket(kind: Type) -> io::Result<socket2::Socket> {
    let kind = kind.nonblocking().cloexec();
    socket2::Socket::new_raw(socket2::Domain::UNIX, kind, None)
}

/// Two sockets of a kind that are connected to each other, non-blocking from birth.
fn new_pair(kind: Type) -> io::Result<(socket2::Socket, socket2::Socket)> {
    let kind = kind.nonblocking().cloexec();
    socket2::Socket::pair_raw(socket2::Domain::UNIX, kind, None)
}

/// A listening socket of a kind.
fn new_listener(kind: Type, address: &SocketAddr) -> io::Result<socket2::Socket> {
    let socket = new_socket(kind)?;
    socket.bind(&raw(address)?)?;
    socket.listen(super::tcp::BACKLOG)?;
    Ok(socket)
}

/// A connected socket of a kind. A Unix socket connects at once, or the listener's queue is full.
async fn new_connection(kind: Type, address: &SocketAddr) -> io::Result<socket2::Socket> {
    let address = raw(address)?;
    let socket = new_socket(kind)?;
    full::while_full(|| socket.connect(&address)).await?;
    Ok(socket)
}

/// An example that begins with the lines of `$setup`, in a task that has a connected pair of
/// streams, `client` and `server`.
macro_rules! with_connection {
    ([$($setup:literal)*] $($line:literal)*) => {
        concat!(
            "# Examples\n\n",
            "```\n",
            "# use rt::net::UnixStream;\n",
            "# #[rt::main(flavor = \"current_thread\")]\n",
            "# async fn main() -> std::io::Result<()> {\n",
            "# #[allow(unused_mut)]\n",
            "# let (mut client, mut server) = UnixStream::pair()?;\n",
            $($setup, "\n",)*
            $($line, "\n",)*
            "# Ok(())\n",
            "# }\n",
            "```",
        )
    };
}
use with_connection;

/// An example that begins with a connected pair of streams, `client` and `server`.
macro_rules! with_a_pair {
    ($($line:literal)*) => {
        crate::net::unix::with_connection!(
            ["// `client` and `server` are the two ends of one connection."]
            $($line)*
        )
    };
}
use with_a_pair;

/// An example that begins with the two ends of a connection as `reader` and `writer`.
macro_rules! with_ends {
    ($($line:literal)*) => {
        crate::net::unix::with_connection!(
            [
                "// `reader` and `writer` are the two ends of one connection."
                "# #[allow(unused_variables)]"
                "# let (reader, writer) = (server, client);"
            ]
            $($line)*
        )
    };
}
use with_ends;

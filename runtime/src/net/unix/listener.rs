//! A Unix socket that accepts connections.

use std::io;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll};

use rt_reactor::Direction;
use socket2::{SockAddr, Socket, Type};

use super::{SocketAddr, UnixStream, address, new_listener, unix_address};
use crate::io::Registration;
use crate::io::methods::descriptor_impls;
use crate::net::accept::accept;

/// A Unix socket that listens for connections.
///
/// Any number of tasks may accept from one listener. Dropping it closes the socket; its path stays,
/// until somebody removes the file.
///
/// # Examples
///
/// ```
/// use rt::net::{UnixListener, UnixStream};
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// // A path that begins with a zero byte is a name in the abstract namespace, without a file.
/// let name = format!("\0example-{}", std::process::id());
/// let listener = UnixListener::bind(&name)?;
/// let client = UnixStream::connect(&name).await?;
/// let (server, _) = listener.accept().await?;
///
/// client.write_all(b"hello").await?;
/// let mut greeting = [0; 5];
/// server.read_exact(&mut greeting).await?;
/// assert_eq!(&greeting, b"hello");
/// # Ok(())
/// # }
/// ```
pub struct UnixListener {
    io: Registration<net::UnixListener>,
}

impl UnixListener {
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
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixListener> {
        Self::bind_addr(&address(path.as_ref())?)
    }

    /// Listens at an address.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::os::linux::net::SocketAddrExt;
    ///
    /// use rt::net::UnixListener;
    /// use rt::net::unix::SocketAddr;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let name = format!("example-{}-by-address", std::process::id());
    /// let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    /// assert_eq!(listener.local_addr()?.as_abstract_name(), Some(name.as_bytes()));
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn bind_addr(address: &SocketAddr) -> io::Result<UnixListener> {
        Self::from_nonblocking(new_listener(Type::STREAM, address)?.into())
    }

    /// Accepts a connection.
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
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        registered(self.io.io(Direction::Read, accept).await?)
    }

    /// Accepts a connection, or keeps the caller's waker for the next one.
    ///
    /// Only the last caller's waker is kept. Several tasks wait with [`accept`](Self::accept).
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
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

fn registered((socket, address): (Socket, SockAddr)) -> io::Result<(UnixStream, SocketAddr)> {
    let address = unix_address(&address)?;
    Ok((UnixStream::from_nonblocking(socket.into())?, address))
}

descriptor_impls!(
    UnixListener,
    net::UnixListener,
    "{\n    use std::os::linux::net::SocketAddrExt;\n    use std::os::unix::net::{SocketAddr, UnixListener};\n\n    let name = format!(\"example-{}-from-std\", std::process::id());\n    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?\n}"
);

//! A connection between two processes of one machine.

use std::io;
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;

use socket2::Type;

use super::{SocketAddr, UCred, address, new_connection, new_pair, with_a_pair, with_ends};
use crate::io::Registration;
use crate::io::methods::{
    descriptor_impls, peek_method, read_methods, ready_method, try_io_methods, write_methods,
};

/// A connection between two processes of one machine.
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
pub struct UnixStream {
    io: Registration<net::UnixStream>,
}

impl UnixStream {
    pub(crate) fn registration(&self) -> &Registration<net::UnixStream> {
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
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::net::UnixStream;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let nobody = UnixStream::connect("/nothing/is/here").await.unwrap_err();
    /// assert_eq!(nobody.kind(), std::io::ErrorKind::NotFound);
    /// # }
    /// ```
    pub async fn connect<P: AsRef<Path>>(path: P) -> io::Result<UnixStream> {
        Self::connect_addr(&address(path.as_ref())?).await
    }

    /// Connects to an address. See [`connect`](Self::connect).
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what it opened.
    pub async fn connect_addr(address: &SocketAddr) -> io::Result<UnixStream> {
        let socket = new_connection(Type::STREAM, address).await?;
        Self::from_nonblocking(socket.into())
    }

    /// Two streams that are connected to each other.
    ///
    /// # Errors
    ///
    /// Fails if the process or the system is out of descriptors.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::net::UnixStream;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let (near, far) = UnixStream::pair()?;
    /// near.write_all(b"hello").await?;
    /// assert_eq!(far.read(&mut [0; 64]).await?, 5);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        let (near, far) = new_pair(Type::STREAM)?;
        let near = Self::from_nonblocking(near.into())?;
        Ok((near, Self::from_nonblocking(far.into())?))
    }

    /// This end's address.
    ///
    /// # Errors
    ///
    /// Passes on the error of `getsockname`.
    ///
    #[doc = with_a_pair!(
        "assert!(client.local_addr()?.is_unnamed());"
        "# drop(server);"
    )]
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.inner().local_addr()
    }

    /// The other end's address.
    ///
    /// # Errors
    ///
    /// Passes on the error of `getpeername`.
    ///
    #[doc = with_a_pair!(
        "assert!(client.peer_addr()?.is_unnamed());"
        "# drop(server);"
    )]
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.inner().peer_addr()
    }

    /// The process at the other end, as it was when the connection was made.
    ///
    /// # Errors
    ///
    /// Fails if the option cannot be read.
    ///
    #[doc = with_a_pair!(
        "assert_eq!(client.peer_cred()?.uid(), server.peer_cred()?.uid());"
    )]
    pub fn peer_cred(&self) -> io::Result<UCred> {
        UCred::of_peer(self)
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
    /// Passes on the error of `shutdown`.
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
}

descriptor_impls!(
    UnixStream,
    net::UnixStream,
    "std::os::unix::net::UnixStream::pair()?.0"
);
read_methods!(UnixStream, with_ends);
write_methods!(UnixStream, with_ends);
ready_method!(UnixStream, with_ends);
peek_method!(UnixStream, with_ends);
try_io_methods!(UnixStream);

impl AsRef<UnixStream> for UnixStream {
    fn as_ref(&self) -> &UnixStream {
        self
    }
}

//! Where connections come from.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hyper::rt::{Read, Write};
use rt::net::{TcpListener, TcpStream, UnixListener, UnixStream, unix};

/// How long to wait when the process has no descriptor or memory left for a connection.
const OUT_OF_RESOURCES: Duration = Duration::from_millis(50);

/// A source of connections for [`serve`](crate::serve).
///
/// It is there for TCP and for Unix sockets; implement it for others, for TLS perhaps, whose `accept`
/// should do no more than accept: what it waits for keeps other connections waiting.
pub trait Listener: Send + 'static {
    /// A connection.
    type Io: Read + Write + Unpin + Send + 'static;
    /// Who is at its other end.
    type Addr: Clone + fmt::Debug + Send + Sync + 'static;

    /// The next connection. Errors are dealt with inside: there is nobody who could do better.
    ///
    /// # Cancel safety
    ///
    /// It must lose no connection when it is dropped.
    fn accept(&mut self) -> impl Future<Output = (Self::Io, Self::Addr)> + Send;

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    fn local_addr(&self) -> io::Result<Self::Addr>;
}

impl Listener for TcpListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            match TcpListener::accept(self).await {
                Ok((stream, peer)) => {
                    // Answers go out whole. Nagle's algorithm would only hold back their tails. A
                    // connection that is gone already says so at its first read.
                    let _ = stream.set_nodelay(true);
                    return (stream, peer);
                }
                Err(error) => pause_after(&error).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        TcpListener::local_addr(self)
    }
}

impl Listener for UnixListener {
    type Io = UnixStream;
    type Addr = unix::SocketAddr;

    async fn accept(&mut self) -> (UnixStream, unix::SocketAddr) {
        loop {
            match UnixListener::accept(self).await {
                Ok(accepted) => return accepted,
                Err(error) => pause_after(&error).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<unix::SocketAddr> {
        UnixListener::local_addr(self)
    }
}

/// A connection that died in the queue is no reason to wait; anything else would come again at once.
async fn pause_after(error: &io::Error) {
    let of_one_connection = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
    );
    if !of_one_connection {
        rt::delay(OUT_OF_RESOURCES).await;
    }
}

//! Sockets and pipes.
//!
//! They are non-blocking from birth. An operation is tried at once and waits only if the kernel
//! says that it would block, so that a busy connection costs no more calls than a blocking one.
//! Every type takes `&self` for reading and writing, so that two tasks may share one connection
//! through an `Arc`; [`TcpStream::into_split`] gives each its own half.
//!
//! # Examples
//!
//! ```
//! use rt::net::{TcpListener, TcpStream};
//!
//! # #[rt::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let client = TcpStream::connect(listener.local_addr()?).await?;
//! let (server, _) = listener.accept().await?;
//!
//! client.write_all(b"hello").await?;
//! let mut greeting = [0; 5];
//! server.read_exact(&mut greeting).await?;
//! assert_eq!(&greeting, b"hello");
//! # Ok(())
//! # }
//! ```

pub use self::addr::{ToSocketAddrs, lookup_host};
pub use self::message::RecvMsg;
pub use self::splice::{SpliceFrom, SpliceTo, copy_zero};
pub use self::tcp::{TcpListener, TcpSocket, TcpStream};
pub use self::udp::UdpSocket;

pub use self::unix::{
    UnixDatagram, UnixListener, UnixSeqPacket, UnixSeqPacketListener, UnixStream,
};

mod accept;
pub(crate) mod addr;
mod halves;
mod message;
mod options;
mod splice;
pub mod tcp;
pub(crate) mod udp;
pub mod unix;

//! A UDP socket as quinn wants it: it sends and takes many datagrams with one system call.

use std::fmt;
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncUdpSocket, UdpPoller};
use rt::io::Interest;
use rt::net::UdpSocket;

/// A UDP socket for an endpoint of quinn. [`Runtime`](crate::Runtime) makes them by itself; this one is
/// for [`Endpoint::new_with_abstract_socket`](quinn::Endpoint::new_with_abstract_socket), or for a cover that
/// counts, drops or delays.
///
/// # Examples
///
/// ```
/// use quinn::AsyncUdpSocket;
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let socket = rt_quinn::Socket::new(std::net::UdpSocket::bind("127.0.0.1:0")?)?;
/// println!("{} datagrams in one call", socket.max_transmit_segments());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Socket {
    io: Arc<UdpSocket>,
    /// What the kernel can do for this socket.
    state: UdpSocketState,
}

impl Socket {
    /// Takes `socket` over.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    ///
    /// # Panics
    ///
    /// On a thread that belongs to no runtime.
    pub fn new(socket: std::net::UdpSocket) -> io::Result<Socket> {
        let state = UdpSocketState::new((&socket).into())?;
        let io = Arc::new(UdpSocket::from_std(socket)?);
        Ok(Socket { io, state })
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller {
            io: Arc::clone(&self.io),
            waiting: None,
        })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let send = || self.state.send((&*self.io).into(), transmit);
        self.io.try_io(Interest::WRITABLE, send)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.io.poll_readable(cx))?;
            let receive = || self.state.recv((&*self.io).into(), bufs, meta);
            match self.io.try_io(Interest::READABLE, receive) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }
}

/// One of any number that wait until the socket can send.
struct Poller {
    io: Arc<UdpSocket>,
    waiting: Option<Waiting>,
}

type Waiting = Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>;

impl UdpPoller for Poller {
    fn poll_writable(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut waiting = match self.waiting.take() {
            Some(waiting) => waiting,
            None => Box::pin(Arc::clone(&self.io).writable_owned()),
        };
        let result = waiting.as_mut().poll(cx);
        if result.is_pending() {
            self.waiting = Some(waiting);
        }
        result
    }
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poller")
            .field("io", &self.io)
            .field("waits", &self.waiting.is_some())
            .finish()
    }
}

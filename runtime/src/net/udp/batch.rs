//! Many datagrams with one system call.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::AsFd;

use rt_reactor::Direction;
use rt_reactor::socket::{self, MAX_BATCH, Message};

use super::{UdpSocket, told};
use crate::net::RecvMsg;

/// Many datagrams at once.
impl UdpSocket {
    /// Receives as many datagrams as there are, at least one, one into each buffer, and tells about
    /// each in the `Vec`, which is cleared before. One call takes at most 32.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) without a buffer; else the error of `recvmmsg`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped before it is ready, nothing was received.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::IoSliceMut;
    ///
    /// use rt::net::UdpSocket;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let receiver = UdpSocket::bind("127.0.0.1:0").await?;
    /// let sender = UdpSocket::bind("127.0.0.1:0").await?;
    /// let target = Some(receiver.local_addr()?);
    /// let sent = sender.send_batch(&[(b"one", target), (b"two", target)]).await?;
    /// assert_eq!(sent, 2);
    ///
    /// let mut space = [[0; 1500]; 8];
    /// let mut received = Vec::new();
    /// let mut count = 0;
    /// while count < 2 {
    ///     let mut bufs: Vec<_> = space.iter_mut().map(|buf| IoSliceMut::new(buf)).collect();
    ///     receiver.recv_batch(&mut bufs, &mut received).await?;
    ///     for (message, buf) in received.iter().zip(&space) {
    ///         assert_eq!(message.source, sender.local_addr()?);
    ///         assert_eq!(buf[..message.len].len(), 3);
    ///         count += 1;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn recv_batch(
        &self,
        bufs: &mut [IoSliceMut<'_>],
        received: &mut Vec<RecvMsg>,
    ) -> io::Result<()> {
        received.clear();
        at_least_one(bufs.len())?;
        let receive = |socket: &_| receive(socket, bufs, received);
        self.io.io(Direction::Read, receive).await
    }

    /// As [`recv_batch`](Self::recv_batch), but never waits.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no datagram; else as
    /// [`recv_batch`](Self::recv_batch).
    pub fn try_recv_batch(
        &self,
        bufs: &mut [IoSliceMut<'_>],
        received: &mut Vec<RecvMsg>,
    ) -> io::Result<()> {
        received.clear();
        at_least_one(bufs.len())?;
        let receive = |socket: &_| receive(socket, bufs, received);
        self.io.try_op(Direction::Read, receive)
    }

    /// Sends as many of the datagrams as there is room for, at least one, and says how many. Without
    /// an address one goes to the peer that the socket is connected to. One call takes at most 32.
    ///
    /// # Errors
    ///
    /// The error of `sendmmsg`, if it is about the first of them. If it is about a later one, those
    /// before it are sent and counted, and the next call tells the error.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped before it is ready, nothing was sent.
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::net::UdpSocket;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let receiver = UdpSocket::bind("127.0.0.1:0").await?;
    /// let sender = UdpSocket::bind("127.0.0.1:0").await?;
    /// sender.connect(receiver.local_addr()?).await?;
    /// let datagrams: [(&[u8], _); 2] = [(b"one", None), (b"three", None)];
    /// let mut left = &datagrams[..];
    /// while !left.is_empty() {
    ///     left = &left[sender.send_batch(left).await?..];
    /// }
    /// assert_eq!(receiver.recv(&mut [0; 64]).await?, 3);
    /// assert_eq!(receiver.recv(&mut [0; 64]).await?, 5);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_batch(&self, datagrams: &[(&[u8], Option<SocketAddr>)]) -> io::Result<usize> {
        let send = |socket: &std::net::UdpSocket| socket::send_batch(socket.as_fd(), datagrams);
        self.io.io(Direction::Write, send).await
    }

    /// As [`send_batch`](Self::send_batch), but never waits.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is room for none; else as
    /// [`send_batch`](Self::send_batch).
    pub fn try_send_batch(&self, datagrams: &[(&[u8], Option<SocketAddr>)]) -> io::Result<usize> {
        let send = |socket: &std::net::UdpSocket| socket::send_batch(socket.as_fd(), datagrams);
        self.io.try_op(Direction::Write, send)
    }
}

/// With no buffer the kernel would receive nothing and not wait either.
fn at_least_one(buffers: usize) -> io::Result<()> {
    if buffers == 0 {
        let message = "no buffer to receive into";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(())
}

fn receive(
    socket: &std::net::UdpSocket,
    bufs: &mut [IoSliceMut<'_>],
    received: &mut Vec<RecvMsg>,
) -> io::Result<()> {
    let mut messages: [Option<Message>; MAX_BATCH] = [None; MAX_BATCH];
    let count = socket::recv_batch(socket.as_fd(), bufs, &mut messages)?;
    for message in messages[..count].iter().flatten() {
        received.push(told(message)?);
    }
    Ok(())
}

//! What every socket that keeps messages apart has: its methods, and what is told of a message.

use std::net::SocketAddr;

/// What is told of a message that was received, by `recv_msg`.
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
/// sender.send_to(b"too long", receiver.local_addr()?).await?;
///
/// let mut buf = [0; 3];
/// let message = receiver.recv_msg(&mut buf).await?;
/// assert!(message.truncated);
/// assert_eq!((message.len, message.full_len), (3, 8));
/// assert_eq!(message.source, sender.local_addr()?);
/// assert_eq!(&buf, b"too");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecvMsg<A = SocketAddr> {
    /// How many bytes of it are in the buffer.
    pub len: usize,
    /// How many bytes it had when it was sent.
    pub full_len: usize,
    /// Whether it was longer than the buffer. The rest of it is lost.
    pub truncated: bool,
    /// Who sent it.
    pub source: A,
}

impl<A> RecvMsg<A> {
    pub(super) fn new(message: &rt_reactor::socket::Message, source: A) -> RecvMsg<A> {
        RecvMsg {
            len: message.len,
            full_len: message.full_len,
            truncated: message.full_len > message.len,
            source,
        }
    }
}

/// Writes the methods of a socket that knows its peer. `$example` begins with `near` and `far`, two
/// such sockets that are connected to each other.
macro_rules! message_methods {
    ($type:ty, $example:ident) => {
        /// Messages from and to the peer.
        impl $type {
            /// Sends a message to the peer that the socket is connected to, and says how many bytes
            /// it had.
            ///
            /// # Errors
            ///
            /// Passes on the error of `send`: among them that the socket is not connected, that the
            /// message is too long, and what the network has reported about an earlier one.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was sent.
            ///
            #[doc = $example!(
                "assert_eq!(near.send(b\"hello\").await?, 5);"
            )]
            pub async fn send(&self, buf: &[u8]) -> std::io::Result<usize> {
                self.registration().send(buf).await
            }

            /// Sends a message that is made of several buffers, one after another.
            ///
            /// # Errors
            ///
            /// As [`send`](Self::send).
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was sent.
            ///
            #[doc = $example!(
                "use std::io::IoSlice;"
                ""
                "let bufs = [IoSlice::new(b\"hel\"), IoSlice::new(b\"lo\")];"
                "assert_eq!(near.send_vectored(&bufs).await?, 5);"
            )]
            pub async fn send_vectored(
                &self,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::io::Result<usize> {
                self.registration().send_vectored(bufs).await
            }

            /// Sends a message if there is room, and never waits.
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is none; else as
            /// [`send`](Self::send).
            ///
            #[doc = $example!(
                "near.writable().await?;"
                "assert_eq!(near.try_send(b\"hello\")?, 5);"
            )]
            pub fn try_send(&self, buf: &[u8]) -> std::io::Result<usize> {
                self.registration().try_send(buf)
            }

            /// Sends a message, or keeps the caller's waker until there is room. One waker is kept
            /// for sending, the last caller's.
            ///
            /// # Errors
            ///
            /// As [`send`](Self::send).
            ///
            #[doc = $example!(
                "let sent = std::future::poll_fn(|cx| near.poll_send(cx, b\"hello\")).await?;"
                "assert_eq!(sent, 5);"
            )]
            pub fn poll_send(
                &self,
                cx: &mut std::task::Context<'_>,
                buf: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.registration().poll_send(cx, buf)
            }

            /// Receives a message, and says how many bytes are in the buffer. If the message is
            /// longer, the rest is lost; `recv_msg` tells so.
            ///
            /// # Errors
            ///
            /// Passes on the error of `recv`: among them what the network has reported about a message
            /// that was sent.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was received.
            ///
            #[doc = $example!(
                "near.send(b\"hello\").await?;"
                "let mut buf = [0; 64];"
                "assert_eq!(far.recv(&mut buf).await?, 5);"
                "assert_eq!(&buf[..5], b\"hello\");"
            )]
            pub async fn recv(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.registration().recv(buf).await
            }

            /// Receives a message if there is one, and never waits.
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is none; else as
            /// [`recv`](Self::recv).
            ///
            #[doc = $example!(
                "let nothing = far.try_recv(&mut [0; 8]);"
                "assert_eq!(nothing.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);"
            )]
            pub fn try_recv(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.registration().try_recv(buf)
            }

            /// Receives a message into memory that need not be initialised, or keeps the caller's
            /// waker until there is one. One waker is kept for receiving, the last caller's.
            ///
            /// As many bytes at the start of `buf` are initialised as it says.
            ///
            /// # Errors
            ///
            /// As [`recv`](Self::recv).
            ///
            #[doc = $example!(
                "near.send(b\"hello\").await?;"
                "let mut buf = [std::mem::MaybeUninit::uninit(); 64];"
                "let len = std::future::poll_fn(|cx| far.poll_recv_uninit(cx, &mut buf)).await?;"
                "assert_eq!(len, 5);"
            )]
            pub fn poll_recv_uninit(
                &self,
                cx: &mut std::task::Context<'_>,
                buf: &mut [std::mem::MaybeUninit<u8>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.registration().poll_recv_uninit(cx, buf)
            }

            /// Receives the next message and leaves it in the socket.
            ///
            /// # Errors
            ///
            /// As [`recv`](Self::recv).
            ///
            /// # Cancel safety
            ///
            /// Cancel safe.
            ///
            #[doc = $example!(
                "near.send(b\"hello\").await?;"
                "let mut buf = [0; 64];"
                "assert_eq!(far.peek(&mut buf).await?, 5);"
                "assert_eq!(far.recv(&mut buf).await?, 5);"
            )]
            pub async fn peek(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.registration().peek(buf).await
            }

            /// As [`peek`](Self::peek), if there is a message, and never waits.
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is none; else as
            /// [`recv`](Self::recv).
            ///
            #[doc = $example!(
                "let nothing = far.try_peek(&mut [0; 8]);"
                "assert_eq!(nothing.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);"
            )]
            pub fn try_peek(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.registration().try_peek(buf)
            }

            /// Waits until there may be a message. Any number of tasks may wait.
            ///
            /// # Errors
            ///
            /// Fails if the runtime shuts down.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe.
            ///
            #[doc = $example!(
                "near.send(b\"hello\").await?;"
                "far.readable().await?;"
                "assert_eq!(far.try_recv(&mut [0; 64])?, 5);"
            )]
            pub async fn readable(&self) -> std::io::Result<()> {
                let interest = crate::io::Interest::READABLE;
                self.registration().ready(interest).await.map(drop)
            }

            /// Waits until there may be room to send. Any number of tasks may wait.
            ///
            /// # Errors
            ///
            /// Fails if the runtime shuts down.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe.
            ///
            #[doc = $example!(
                "near.writable().await?;"
                "assert_eq!(near.try_send(b\"hello\")?, 5);"
            )]
            pub async fn writable(&self) -> std::io::Result<()> {
                let interest = crate::io::Interest::WRITABLE;
                self.registration().ready(interest).await.map(drop)
            }

            /// As [`readable`](Self::readable); one waker is kept for receiving, the last caller's.
            ///
            /// # Errors
            ///
            /// Fails if the runtime shuts down.
            pub fn poll_recv_ready(
                &self,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.registration().poll_ready(cx, rt_reactor::Direction::Read).map_ok(drop)
            }

            /// As [`writable`](Self::writable); one waker is kept for sending, the last caller's.
            ///
            /// # Errors
            ///
            /// Fails if the runtime shuts down.
            pub fn poll_send_ready(
                &self,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.registration().poll_ready(cx, rt_reactor::Direction::Write).map_ok(drop)
            }
        }
    };
}

pub(crate) use message_methods;

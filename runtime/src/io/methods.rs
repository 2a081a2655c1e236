//! The native methods of everything that bytes flow through, with their documentation: one set for
//! connections, their halves and pipes.
//!
//! Each macro writes an `impl` for a type with a method `registration`, and passes on to what
//! `stream.rs` does. `$example` is a macro that sets up `reader` and `writer`, the two ends of
//! something, and `$type` is one of them or both.

mod descriptor;
mod read;
mod write;

pub(crate) use descriptor::{borrow_impls, descriptor_impls};
pub(crate) use read::read_methods;
pub(crate) use write::write_methods;

/// Readiness of any kind, for both ends and their halves.
macro_rules! ready_method {
    ($type:ty, $example:ident) => {
        impl $type {
            /// Waits until it is ready for any of `interest`.
            ///
            /// Readiness is a hint: the operation that follows may still say that it would block. Any
            /// number of tasks may wait. The readiness lasts until an operation finds otherwise, so
            /// loop with the `try_` methods.
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
                        "use rt::io::Interest;"
                        ""
                        "let ready = writer.ready(Interest::READABLE | Interest::WRITABLE).await?;"
                        "assert!(ready.is_writable());"
                    )]
            pub async fn ready(
                &self,
                interest: crate::io::Interest,
            ) -> std::io::Result<crate::io::Ready> {
                let ready = self.registration().ready(interest).await?;
                Ok(crate::io::Ready::from(ready))
            }
        }
    };
}

/// Reading without taking, for connections and their reading halves.
macro_rules! peek_method {
    ($type:ty, $example:ident) => {
        impl $type {
            /// Reads some bytes without taking them out of the socket.
            ///
            /// Returns how many. Zero means that the peer has ended its direction, or that the buffer
            /// is empty.
            ///
            /// # Errors
            ///
            /// Passes on the error of `recv`.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe.
            ///
            #[doc = $example!(
                                                "writer.write_all(b\"hello\").await?;"
                                                "let mut buf = [0; 1];"
                                                "assert_eq!(reader.peek(&mut buf).await?, 1);"
                                                "assert_eq!(reader.read(&mut buf).await?, 1);"
                                                "assert_eq!(&buf, b\"h\");"
                                            )]
            pub async fn peek(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.registration().peek(buf).await
            }
        }
    };
}

/// Operations of the caller's own, for every socket.
macro_rules! try_io_methods {
    ($type:ty) => {
        /// Operations of the caller's own.
        impl $type {
            /// Runs an operation of the caller's own if the socket is thought ready for it.
            ///
            /// When the operation says [`WouldBlock`](std::io::ErrorKind::WouldBlock), the socket is
            /// no longer thought ready, so it must say so only if a call on this very socket did.
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if the socket is not ready; else what
            /// `op` returns.
            ///
            /// # Examples
            ///
            /// ```
            /// use rt::io::Interest;
            /// use rt::net::UdpSocket;
            /// use socket2::SockRef;
            ///
            /// # #[rt::main(flavor = "current_thread")]
            /// # async fn main() -> std::io::Result<()> {
            /// let socket = UdpSocket::bind("127.0.0.1:0").await?;
            /// socket.connect(socket.local_addr()?).await?;
            /// socket.writable().await?;
            /// let sent = socket.try_io(Interest::WRITABLE, || SockRef::from(&socket).send(b"hi"))?;
            /// assert_eq!(sent, 2);
            /// # Ok(())
            /// # }
            /// ```
            pub fn try_io<R>(
                &self,
                interest: crate::io::Interest,
                op: impl FnOnce() -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                self.registration().try_io(interest, op)
            }

            /// Runs an operation of the caller's own until it does something other than say
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock), waiting in between.
            ///
            /// It must say so only if a call on this very socket did. What was said about
            /// [`try_io`](Self::try_io) holds here as well.
            ///
            /// # Errors
            ///
            /// What `op` returns, or that the runtime shuts down.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe if `op` is: it is run as a whole, within one poll.
            ///
            /// # Examples
            ///
            /// ```
            /// use rt::io::Interest;
            /// use rt::net::UdpSocket;
            /// use socket2::SockRef;
            ///
            /// # #[rt::main(flavor = "current_thread")]
            /// # async fn main() -> std::io::Result<()> {
            /// let socket = UdpSocket::bind("127.0.0.1:0").await?;
            /// socket.connect(socket.local_addr()?).await?;
            /// let send = || SockRef::from(&socket).send(b"hi");
            /// assert_eq!(socket.async_io(Interest::WRITABLE, send).await?, 2);
            /// # Ok(())
            /// # }
            /// ```
            pub async fn async_io<R>(
                &self,
                interest: crate::io::Interest,
                op: impl FnMut() -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                self.registration().async_io(interest, op).await
            }
        }
    };
}

pub(crate) use {peek_method, ready_method, try_io_methods};

//! The native methods of everything that bytes flow through, with their documentation: one set for
//! connections, their halves and pipes.
//!
//! Each macro writes an `impl` for a type with a method `registration`, and passes on to what
//! `stream.rs` does. `$example` is a macro that sets up `reader` and `writer`, the two ends of
//! something, and `$type` is one of them or both.

macro_rules! read_methods {
    ($type:ty, $example:ident) => {
        /// Reading.
        impl $type {
            /// Reads some bytes: as many as are there, at least one, at most the buffer's length.
            ///
            /// Returns how many. Zero means that the other end will write no more, or that the
            /// buffer is empty.
            ///
            /// # Errors
            ///
            /// Passes on the kernel's error.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was read.
            ///
            #[doc = $example!(
                        "writer.write_all(b\"hello\").await?;"
                        "let mut buf = [0; 64];"
                        "let read = reader.read(&mut buf).await?;"
                        "assert_eq!(&buf[..read], &b\"hello\"[..read]);"
                    )]
            pub async fn read(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.registration().read(buf).await
            }

            /// As [`read`](Self::read), into several buffers, one after another.
            ///
            /// # Errors
            ///
            /// Passes on the kernel's error.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was read.
            ///
            #[doc = $example!(
                        "use std::io::IoSliceMut;"
                        ""
                        "writer.write_all(b\"hello\").await?;"
                        "let (mut first, mut rest) = ([0; 1], [0; 8]);"
                        "let mut bufs = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut rest)];"
                        "assert!(reader.read_vectored(&mut bufs).await? > 0);"
                        "assert_eq!(&first, b\"h\");"
                    )]
            pub async fn read_vectored(
                &self,
                bufs: &mut [std::io::IoSliceMut<'_>],
            ) -> std::io::Result<usize> {
                self.registration().read_vectored(bufs).await
            }

            /// Reads until the buffer is full, and returns its length.
            ///
            /// # Errors
            ///
            /// [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the other end stops before
            /// that; else the kernel's error. Either way the start of the buffer holds what was read.
            ///
            /// # Cancel safety
            ///
            /// Not cancel safe: bytes that were read already are in the buffer and nowhere else.
            ///
            #[doc = $example!(
                        "writer.write_all(b\"hello\").await?;"
                        "let mut greeting = [0; 5];"
                        "reader.read_exact(&mut greeting).await?;"
                        "assert_eq!(&greeting, b\"hello\");"
                    )]
            pub async fn read_exact(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.registration().read_exact(buf).await
            }

            /// Waits until there may be something to read, the end included.
            ///
            /// Readiness is a hint: the read that follows may still say that it would block. Any
            /// number of tasks may wait. The readiness lasts until a read finds otherwise.
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
                        "use std::io::ErrorKind;"
                        ""
                        "writer.write_all(b\"hello\").await?;"
                        "let mut buf = [0; 64];"
                        "let read = loop {"
                        "    reader.readable().await?;"
                        "    match reader.try_read(&mut buf) {"
                        "        Err(error) if error.kind() == ErrorKind::WouldBlock => {}"
                        "        result => break result?,"
                        "    }"
                        "};"
                        "assert_eq!(read, 5);"
                    )]
            pub async fn readable(&self) -> std::io::Result<()> {
                let interest = crate::io::Interest::READABLE;
                self.registration().ready(interest).await.map(drop)
            }

            /// Reads if there is something to read, and never waits.
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is not; else the kernel's error.
            ///
            #[doc = $example!(
                        "let nothing = reader.try_read(&mut [0; 8]);"
                        "assert_eq!(nothing.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);"
                    )]
            pub fn try_read(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.registration().try_read(buf)
            }

            /// As [`try_read`](Self::try_read), into several buffers, one after another.
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is nothing; else the kernel's
            /// error.
            ///
            #[doc = $example!(
                        "use std::io::IoSliceMut;"
                        ""
                        "writer.write_all(b\"hello\").await?;"
                        "reader.readable().await?;"
                        "let (mut first, mut rest) = ([0; 1], [0; 4]);"
                        "let mut bufs = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut rest)];"
                        "assert_eq!(reader.try_read_vectored(&mut bufs)?, 5);"
                        "assert_eq!((&first, &rest), (b\"h\", b\"ello\"));"
                    )]
            pub fn try_read_vectored(
                &self,
                bufs: &mut [std::io::IoSliceMut<'_>],
            ) -> std::io::Result<usize> {
                self.registration().try_read_vectored(bufs)
            }

            /// Reads some bytes into memory that need not be initialised, and returns how many.
            ///
            /// That many bytes at the start of `buf` are initialised then; none is made
            /// uninitialised. One waker is kept for reading, the last caller's.
            ///
            /// # Errors
            ///
            /// Passes on the kernel's error.
            ///
            #[doc = $example!(
                        "use std::future::poll_fn;"
                        "use std::mem::MaybeUninit;"
                        ""
                        "writer.write_all(b\"hello\").await?;"
                        "let mut buf = [MaybeUninit::uninit(); 64];"
                        "let read = poll_fn(|cx| reader.poll_read_uninit(cx, &mut buf)).await?;"
                        "assert_eq!(read, 5);"
                    )]
            pub fn poll_read_uninit(
                &self,
                cx: &mut std::task::Context<'_>,
                buf: &mut [std::mem::MaybeUninit<u8>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.registration().poll_read_uninit(cx, buf)
            }

            /// Waits until there may be something to read. See [`readable`](Self::readable).
            ///
            /// One waker is kept for reading, the last caller's.
            ///
            /// # Errors
            ///
            /// Fails if the runtime shuts down.
            ///
            #[doc = $example!(
                        "writer.write_all(b\"hello\").await?;"
                        "std::future::poll_fn(|cx| reader.poll_read_ready(cx)).await?;"
                    )]
            pub fn poll_read_ready(
                &self,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.registration()
                    .poll_ready(cx, rt_reactor::Direction::Read)
            }
        }
    };
}

macro_rules! write_methods {
    ($type:ty, $example:ident) => {
        /// Writing.
        impl $type {
            /// Writes some bytes: as many as there is room for, at least one.
            ///
            /// Returns how many.
            ///
            /// # Errors
            ///
            /// Passes on the kernel's error.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was written.
            ///
            #[doc = $example!(
                        "assert_eq!(writer.write(b\"hello\").await?, 5);"
                    )]
            pub async fn write(&self, buf: &[u8]) -> std::io::Result<usize> {
                self.registration().write(buf).await
            }

            /// As [`write`](Self::write), from several buffers, one after another.
            ///
            /// # Errors
            ///
            /// Passes on the kernel's error.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: if the future is dropped before it is ready, nothing was written.
            ///
            #[doc = $example!(
                        "use std::io::IoSlice;"
                        ""
                        "let bufs = [IoSlice::new(b\"hel\"), IoSlice::new(b\"lo\")];"
                        "assert_eq!(writer.write_vectored(&bufs).await?, 5);"
                    )]
            pub async fn write_vectored(
                &self,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::io::Result<usize> {
                self.registration().write_vectored(bufs).await
            }

            /// Writes all of the buffer.
            ///
            /// # Errors
            ///
            /// Passes on the kernel's error. A part of the buffer may have been written.
            ///
            /// # Cancel safety
            ///
            /// Not cancel safe: a part of the buffer may have been written, and nothing tells how much.
            ///
            #[doc = $example!(
                        "writer.write_all(b\"hello\").await?;"
                    )]
            pub async fn write_all(&self, buf: &[u8]) -> std::io::Result<()> {
                self.registration().write_all(buf).await
            }

            /// Waits until there may be room to write.
            ///
            /// Readiness is a hint: the write that follows may still say that it would block. Any
            /// number of tasks may wait. The readiness lasts until a write finds otherwise.
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
                        "writer.writable().await?;"
                        "assert_eq!(writer.try_write(b\"hello\")?, 5);"
                    )]
            pub async fn writable(&self) -> std::io::Result<()> {
                let interest = crate::io::Interest::WRITABLE;
                self.registration().ready(interest).await.map(drop)
            }

            /// Writes if there is room, and never waits. Returns how many bytes there was room for.
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is none; else the kernel's
            /// error.
            ///
            #[doc = $example!(
                        "writer.writable().await?;"
                        "assert_eq!(writer.try_write(b\"hello\")?, 5);"
                    )]
            pub fn try_write(&self, buf: &[u8]) -> std::io::Result<usize> {
                self.registration().try_write(buf)
            }

            /// As [`try_write`](Self::try_write), from several buffers, one after another.
            ///
            /// # Errors
            ///
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is no room; else the kernel's
            /// error.
            ///
            #[doc = $example!(
                        "use std::io::IoSlice;"
                        ""
                        "writer.writable().await?;"
                        "let bufs = [IoSlice::new(b\"hel\"), IoSlice::new(b\"lo\")];"
                        "assert_eq!(writer.try_write_vectored(&bufs)?, 5);"
                    )]
            pub fn try_write_vectored(
                &self,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::io::Result<usize> {
                self.registration().try_write_vectored(bufs)
            }

            /// Writes some bytes, and returns how many.
            ///
            /// One waker is kept for writing, the last caller's.
            ///
            /// # Errors
            ///
            /// Passes on the kernel's error.
            ///
            #[doc = $example!(
                        "use std::future::poll_fn;"
                        ""
                        "let written = poll_fn(|cx| writer.poll_write(cx, b\"hello\")).await?;"
                        "assert_eq!(written, 5);"
                    )]
            pub fn poll_write(
                &self,
                cx: &mut std::task::Context<'_>,
                buf: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.registration().poll_write(cx, buf)
            }

            /// Writes some bytes from several buffers, one after another, and returns how many.
            ///
            /// One waker is kept for writing, the last caller's.
            ///
            /// # Errors
            ///
            /// Passes on the kernel's error.
            ///
            #[doc = $example!(
                        "use std::future::poll_fn;"
                        "use std::io::IoSlice;"
                        ""
                        "let bufs = [IoSlice::new(b\"hel\"), IoSlice::new(b\"lo\")];"
                        "let written = poll_fn(|cx| writer.poll_write_vectored(cx, &bufs)).await?;"
                        "assert_eq!(written, 5);"
                    )]
            pub fn poll_write_vectored(
                &self,
                cx: &mut std::task::Context<'_>,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.registration().poll_write_vectored(cx, bufs)
            }

            /// Ends the writing direction of a connection, and does nothing to a pipe, which ends by
            /// being closed. It never waits: what was written is the kernel's to deliver.
            ///
            /// # Errors
            ///
            /// Passes on the kernel's error; a connection that has ended already is none.
            ///
            #[doc = $example!(
                        "std::future::poll_fn(|cx| writer.poll_shutdown(cx)).await?;"
                    )]
            pub fn poll_shutdown(
                &self,
                _cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::task::Poll::Ready(self.registration().end_write())
            }

            /// Waits until there may be room to write. See [`writable`](Self::writable).
            ///
            /// One waker is kept for writing, the last caller's.
            ///
            /// # Errors
            ///
            /// Fails if the runtime shuts down.
            ///
            #[doc = $example!(
                        "std::future::poll_fn(|cx| writer.poll_write_ready(cx)).await?;"
                    )]
            pub fn poll_write_ready(
                &self,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.registration()
                    .poll_ready(cx, rt_reactor::Direction::Write)
            }
        }
    };
}

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

/// Into the runtime and out of it: conversions, descriptors and `Debug`, for a type with a field
/// `io` that is a [`Registration`](crate::io::Registration).
macro_rules! descriptor_impls {
    ($type:ident, $inner:ty) => {
        impl $type {
            /// Registers what does not block already.
            #[track_caller]
            pub(crate) fn from_nonblocking(inner: $inner) -> std::io::Result<Self> {
                Ok(Self {
                    io: crate::io::Registration::new(inner)?,
                })
            }

            /// Takes over a socket of the standard library, and makes it non-blocking.
            ///
            /// # Errors
            ///
            /// Fails if it cannot be made non-blocking or be registered with epoll.
            ///
            /// # Panics
            ///
            /// Panics outside a runtime.
            #[track_caller]
            pub fn from_std(socket: $inner) -> std::io::Result<Self> {
                socket.set_nonblocking(true)?;
                Self::from_nonblocking(socket)
            }

            /// Leaves the runtime and gives back a socket of the standard library.
            ///
            /// It is still non-blocking: call its `set_nonblocking(false)` to block on it.
            ///
            /// # Errors
            ///
            /// Fails, closing the socket, if it cannot be taken out of epoll.
            pub fn into_std(self) -> std::io::Result<$inner> {
                self.io.into_inner()
            }

            /// The error that the socket keeps (`SO_ERROR`), which is cleared.
            ///
            /// # Errors
            ///
            /// Fails if the option cannot be read.
            pub fn take_error(&self) -> std::io::Result<Option<std::io::Error>> {
                self.io.inner().take_error()
            }
        }

        impl TryFrom<$inner> for $type {
            type Error = std::io::Error;

            /// As `from_std`, but fails outside a runtime.
            fn try_from(socket: $inner) -> std::io::Result<Self> {
                socket.set_nonblocking(true)?;
                Ok(Self {
                    io: crate::io::Registration::try_new(socket)?,
                })
            }
        }

        impl TryFrom<std::os::fd::OwnedFd> for $type {
            type Error = std::io::Error;

            /// Takes over a socket of this kind, and makes it non-blocking. Fails outside a runtime.
            fn try_from(fd: std::os::fd::OwnedFd) -> std::io::Result<Self> {
                <$inner>::from(fd).try_into()
            }
        }

        impl From<$type> for std::os::fd::OwnedFd {
            /// Leaves the runtime. The socket is still non-blocking.
            fn from(socket: $type) -> std::os::fd::OwnedFd {
                socket.io.into_inner_always().into()
            }
        }

        crate::io::methods::borrow_impls!($type);
    };
}

/// The descriptor of a type with a field `io`, borrowed, and `Debug`.
macro_rules! borrow_impls {
    ($type:ident) => {
        impl std::os::fd::AsFd for $type {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.io.as_fd()
            }
        }

        impl std::os::fd::AsRawFd for $type {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                std::os::fd::AsFd::as_fd(&self.io).as_raw_fd()
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.io.fmt(f)
            }
        }
    };
}

pub(crate) use {
    borrow_impls, descriptor_impls, peek_method, read_methods, ready_method, try_io_methods,
    write_methods,
};

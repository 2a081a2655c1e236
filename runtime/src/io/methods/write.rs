//! Writing.

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
            pub fn write(
                &self,
                buf: &[u8],
            ) -> impl Future<Output = std::io::Result<usize>> {
                self.registration().write(buf)
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
            pub fn write_vectored(
                &self,
                bufs: &[std::io::IoSlice<'_>],
            ) -> impl Future<Output = std::io::Result<usize>> {
                self.registration().write_vectored(bufs)
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
            pub fn write_all(
                &self,
                buf: &[u8],
            ) -> impl Future<Output = std::io::Result<()>> {
                self.registration().write_all(buf)
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
                    .poll_ready(cx, rt_reactor::Direction::Write).map_ok(drop)
            }
        }
    };
}

pub(crate) use write_methods;

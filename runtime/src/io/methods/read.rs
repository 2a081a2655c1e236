//! Reading.

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
            pub fn read(
                &self,
                buf: &mut [u8],
            ) -> impl Future<Output = std::io::Result<usize>> {
                self.registration().read(buf)
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
            pub fn read_vectored(
                &self,
                bufs: &mut [std::io::IoSliceMut<'_>],
            ) -> impl Future<Output = std::io::Result<usize>> {
                self.registration().read_vectored(bufs)
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
            pub fn read_exact(
                &self,
                buf: &mut [u8],
            ) -> impl Future<Output = std::io::Result<usize>> {
                self.registration().read_exact(buf)
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
                    .poll_ready(cx, rt_reactor::Direction::Read).map_ok(drop)
            }
        }
    };
}

pub(crate) use read_methods;

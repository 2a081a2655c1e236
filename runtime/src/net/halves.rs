//! The two directions of a stream, apart: once for TCP and Unix streams.
//!
//! Both kinds of half pass on to the stream they share, which takes `&self` for everything. They
//! exist for the traits that want `&mut self` for each direction, and to say who does what.

/// Makes the four halves of `$stream`, whose addresses are `$address`. `$pair` is a macro for
/// examples that begin with `client` and `server`, and `$halves` one that begins with `reader` and
/// `writer`, owned halves of the two.
macro_rules! halves {
    ($stream:ident, $inner:ty, $address:ty, $pair:ident, $halves:ident) => {
        /// The reading direction of a stream, borrowed: see the stream's `split`.
        ///
        #[doc = $pair!(
                    "let (reader, _writer) = client.split();"
                    "server.write_all(b\"hello\").await?;"
                    "let mut greeting = [0; 5];"
                    "reader.read_exact(&mut greeting).await?;"
                )]
        #[derive(Debug)]
        pub struct ReadHalf<'a> {
            stream: &'a $stream,
        }

        /// The writing direction of a stream, borrowed: see the stream's `split`.
        ///
        #[doc = $pair!(
                    "let (_reader, writer) = client.split();"
                    "writer.write_all(b\"hello\").await?;"
                )]
        #[derive(Debug)]
        pub struct WriteHalf<'a> {
            stream: &'a $stream,
        }

        /// The reading direction of a stream, owned: see the stream's `into_split`.
        ///
        #[doc = $pair!(
                    "let (reader, _writer) = client.into_split();"
                    "server.write_all(b\"hello\").await?;"
                    "let task = rt::spawn(async move {"
                    "    let mut greeting = [0; 5];"
                    "    reader.read_exact(&mut greeting).await"
                    "});"
                    "assert_eq!(task.await.unwrap()?, 5);"
                )]
        #[derive(Debug)]
        pub struct OwnedReadHalf {
            stream: std::sync::Arc<$stream>,
        }

        /// The writing direction of a stream, owned: see the stream's `into_split`.
        ///
        /// Dropping it ends the direction, so that the peer reads the end of the stream. To keep it
        /// open, [`forget`](Self::forget) it.
        ///
        #[doc = $pair!(
                    "let (_reader, writer) = client.into_split();"
                    "drop(writer);"
                    "assert_eq!(server.read(&mut [0; 8]).await?, 0);"
                )]
        #[derive(Debug)]
        pub struct OwnedWriteHalf {
            stream: std::sync::Arc<$stream>,
            ends_on_drop: bool,
        }

        /// Splitting.
        impl $stream {
            /// The stream's two directions, borrowed, for two futures of one task.
            ///
            #[doc = $pair!(
                        "let (reader, writer) = client.split();"
                        "writer.write_all(b\"ping\").await?;"
                        "server.write_all(b\"pong\").await?;"
                        "let mut answer = [0; 4];"
                        "reader.read_exact(&mut answer).await?;"
                        "assert_eq!(&answer, b\"pong\");"
                    )]
            pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
                (ReadHalf { stream: self }, WriteHalf { stream: self })
            }

            /// The stream's two directions, owned, for two tasks.
            ///
            /// Dropping the write half ends the writing direction: the peer reads the end of the
            /// stream. The connection is closed when both are gone.
            ///
            #[doc = $pair!(
                        "let (reader, writer) = client.into_split();"
                        "let task = rt::spawn(async move {"
                        "    writer.write_all(b\"ping\").await"
                        "});"
                        "let mut question = Vec::new();"
                        "rt::io::AsyncReadExt::read_to_end(&mut server, &mut question).await?;"
                        "assert_eq!(question, b\"ping\");"
                        "# task.await.unwrap()?;"
                        "# drop(reader);"
                    )]
            pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
                let stream = std::sync::Arc::new(self);
                let reader = OwnedReadHalf {
                    stream: std::sync::Arc::clone(&stream),
                };
                let writer = OwnedWriteHalf {
                    stream,
                    ends_on_drop: true,
                };
                (reader, writer)
            }
        }

        impl OwnedReadHalf {
            /// Joins two halves of one stream.
            ///
            /// # Errors
            ///
            /// [`ReuniteError`], which holds both, if they are of different streams.
            ///
            #[doc = $pair!(
                        "let (reader, writer) = client.into_split();"
                        "let client = reader.reunite(writer).unwrap();"
                        "client.write_all(b\"hello\").await?;"
                    )]
            pub fn reunite(self, mut other: OwnedWriteHalf) -> Result<$stream, ReuniteError> {
                if !std::sync::Arc::ptr_eq(&self.stream, &other.stream) {
                    return Err(ReuniteError(self, other));
                }
                other.ends_on_drop = false;
                drop(other);
                let stream = std::sync::Arc::into_inner(self.stream);
                Ok(stream.expect("a stream is shared by its two halves only"))
            }
        }

        impl OwnedWriteHalf {
            /// Joins two halves of one stream.
            ///
            /// # Errors
            ///
            /// [`ReuniteError`], which holds both, if they are of different streams.
            ///
            #[doc = $pair!(
                        "let (reader, writer) = client.into_split();"
                        "let client = writer.reunite(reader).unwrap();"
                        "client.write_all(b\"hello\").await?;"
                    )]
            pub fn reunite(self, other: OwnedReadHalf) -> Result<$stream, ReuniteError> {
                other.reunite(self)
            }

            /// Drops this half without ending the direction, which then lasts as long as the other
            /// half.
            ///
            #[doc = $pair!(
                        "use std::io::ErrorKind;"
                        ""
                        "let (_reader, writer) = client.into_split();"
                        "writer.forget();"
                        "let nothing = server.try_read(&mut [0; 8]);"
                        "assert_eq!(nothing.unwrap_err().kind(), ErrorKind::WouldBlock);"
                    )]
            pub fn forget(mut self) {
                self.ends_on_drop = false;
            }
        }

        impl Drop for OwnedWriteHalf {
            fn drop(&mut self) {
                if self.ends_on_drop {
                    // It fails if the connection is over, and then there is nothing to end.
                    let _ = self.stream.registration().end_write();
                }
            }
        }

        /// The error of [`OwnedReadHalf::reunite`]: two halves of different streams, given back.
        #[derive(Debug)]
        pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

        impl std::fmt::Display for ReuniteError {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the two halves are of different streams")
            }
        }

        impl std::error::Error for ReuniteError {}

        crate::net::halves::half!(ReadHalf<'_>, $stream, $inner, $address, $halves);
        crate::net::halves::half!(WriteHalf<'_>, $stream, $inner, $address, $halves);
        crate::net::halves::half!(OwnedReadHalf, $stream, $inner, $address, $halves);
        crate::net::halves::half!(OwnedWriteHalf, $stream, $inner, $address, $halves);
        crate::io::methods::read_methods!(ReadHalf<'_>, $halves);
        crate::io::methods::read_methods!(OwnedReadHalf, $halves);
        crate::io::methods::peek_method!(ReadHalf<'_>, $halves);
        crate::io::methods::peek_method!(OwnedReadHalf, $halves);
        crate::io::methods::write_methods!(WriteHalf<'_>, $halves);
        crate::io::methods::write_methods!(OwnedWriteHalf, $halves);
    };
}

/// What every half has.
macro_rules! half {
    ($half:ty, $stream:ident, $inner:ty, $address:ty, $halves:ident) => {
        impl $half {
            pub(crate) fn registration(&self) -> &crate::io::Registration<$inner> {
                self.stream.registration()
            }

            /// This end's address.
            ///
            /// # Errors
            ///
            /// Passes on the error of `getsockname`.
            pub fn local_addr(&self) -> std::io::Result<$address> {
                self.stream.local_addr()
            }

            /// The other end's address.
            ///
            /// # Errors
            ///
            /// Passes on the error of `getpeername`.
            pub fn peer_addr(&self) -> std::io::Result<$address> {
                self.stream.peer_addr()
            }
        }

        crate::io::methods::ready_method!($half, $halves);

        impl AsRef<$stream> for $half {
            fn as_ref(&self) -> &$stream {
                &self.stream
            }
        }
    };
}

pub(crate) use {half, halves};

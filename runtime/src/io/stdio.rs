//! The process's own input and outputs.
//!
//! Descriptors 0, 1 and 2 are shared with other processes, a shell among them, so nothing about them is
//! ever changed; above all they are never made non-blocking. Input is read by a thread of its own
//! (`input.rs`), which nobody waits for: a process ends although it waits for a line. Outputs are written
//! as files are.

use std::fmt;
use std::fs::File as StdFile;
use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::task::{Context, Poll};

use crate::fs::File;
use crate::sys::file::Destination;

#[cfg(feature = "futures-io")]
mod futures_io;
mod input;
#[cfg(feature = "tokio-io")]
mod tokio_io;

/// The process's input.
///
/// All handles read from the same stream, `std::io::stdin` included, whose buffer they share.
///
/// # Examples
///
/// Prints what it reads, line by line:
///
/// ```
/// # #[cfg(feature = "tokio-io")] {
/// use rt::io::{AsyncBufReadExt, BufReader};
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let mut lines = BufReader::new(rt::io::stdin()).lines();
/// while let Some(line) = lines.next_line().await? {
///     println!("{line}");
/// }
/// # Ok(())
/// # }
/// # main().unwrap();
/// # }
/// ```
pub fn stdin() -> Stdin {
    Stdin { _private: () }
}

/// The process's output. It is not buffered.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let mut out = rt::io::stdout();
/// out.write_all(b"hello\n").await?;
/// out.flush().await?;
/// # Ok(())
/// # }
/// ```
pub fn stdout() -> Stdout {
    Stdout {
        file: duplicate(&io::stdout()),
    }
}

/// The process's error output. It is not buffered.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// rt::io::stderr().write_all(b"out of cheese\n").await?;
/// # Ok(())
/// # }
/// ```
pub fn stderr() -> Stderr {
    Stderr {
        file: duplicate(&io::stderr()),
    }
}

/// Another descriptor of the same open file: what is dropped here does not close it.
fn duplicate(stream: &impl AsFd) -> io::Result<File> {
    let fd = stream.as_fd().try_clone_to_owned()?;
    Ok(File::from_std(StdFile::from(fd)))
}

/// The process's input; made by [`stdin`].
pub struct Stdin {
    _private: (),
}

/// The process's output; made by [`stdout`].
///
/// As with a [`File`], a write that cannot be done at once is taken over, and its error is told by the
/// next call: [`flush`](Stdout::flush) before the program ends.
pub struct Stdout {
    file: io::Result<File>,
}

/// The process's error output; made by [`stderr`]. See [`Stdout`].
pub struct Stderr {
    file: io::Result<File>,
}

impl Stdin {
    /// Reads some bytes, and returns how many. Zero is the end, which at a terminal (Ctrl-D) need not be
    /// the last.
    ///
    /// # Errors
    ///
    /// Those of `read`; or if the operating system refuses a thread.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: what was read for nobody is given to the next read, of whichever handle.
    pub async fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| input::poll_read(cx, &mut Destination::Plain(buf))).await
    }

    /// Reads until the buffer is full.
    ///
    /// # Errors
    ///
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the input ends before; else those of `read`.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: some bytes may have been read.
    pub async fn read_exact(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buf.len() {
            match self.read(&mut buf[filled..]).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        Ok(filled)
    }

    /// Reads into memory that need not be initialised. That many bytes at its start are so then.
    ///
    /// # Errors
    ///
    /// Those of `read`; or if the operating system refuses a thread.
    pub fn poll_read_uninit(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        input::poll_read(cx, &mut Destination::Uninit(buf))
    }
}

macro_rules! outputs {
    ($($type:ident on $std:ident),*) => {$(
        impl $type {
            /// The file, or why there is none.
            fn file(&mut self) -> io::Result<&mut File> {
                if let Err(error) = &self.file {
                    // Kept: the next call is told the same.
                    return Err(error.raw_os_error().map_or_else(
                        || error.kind().into(),
                        io::Error::from_raw_os_error,
                    ));
                }
                self.file.as_mut().map_err(|error| error.kind().into())
            }

            /// Writes some bytes, and returns how many.
            ///
            /// # Errors
            ///
            /// Those of `write`, perhaps of an earlier one.
            ///
            /// # Panics
            ///
            /// Outside a runtime, if they cannot be written at once.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: if the future is dropped, nothing of these bytes was written.
            pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                poll_fn(|cx| self.poll_write(cx, bytes)).await
            }

            /// Writes all bytes.
            ///
            /// # Errors
            ///
            /// Those of `write`, perhaps of an earlier one.
            ///
            /// # Cancel safety
            ///
            /// Not cancel safe: some of the bytes may have been written.
            pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
                self.file()?.write_all(bytes).await
            }

            /// Waits until the kernel has all that was written.
            ///
            /// # Errors
            ///
            /// That of a write that failed after it had been taken over.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe.
            pub async fn flush(&mut self) -> io::Result<()> {
                poll_fn(|cx| self.poll_flush(cx)).await
            }

            /// Writes, or takes bytes over to be written.
            ///
            /// # Errors
            ///
            /// Those of `write`, perhaps of an earlier one.
            pub fn poll_write(
                &mut self,
                cx: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.file()?.poll_write(cx, bytes)
            }

            /// Waits until the kernel has all that was written.
            ///
            /// # Errors
            ///
            /// That of a write that failed after it had been taken over.
            pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.file()?.poll_flush(cx)
            }
        }

        standard!($type on $std);
    )*};
}

macro_rules! standard {
    ($type:ident on $std:ident) => {
        impl AsFd for $type {
            fn as_fd(&self) -> BorrowedFd<'_> {
                // A handle that lives for good, so that it lends the descriptor for good.
                static STREAM: std::sync::LazyLock<io::$type> = std::sync::LazyLock::new(io::$std);
                STREAM.as_fd()
            }
        }

        impl AsRawFd for $type {
            fn as_raw_fd(&self) -> RawFd {
                self.as_fd().as_raw_fd()
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        }
    };
}

standard!(Stdin on stdin);
outputs!(Stdout on stdout, Stderr on stderr);

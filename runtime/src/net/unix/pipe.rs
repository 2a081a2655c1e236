//! Pipes: from one end to the other, inside a process or between two.
//!
//! [`pipe`] makes one without a name; [`OpenOptions`] opens a FIFO, a pipe with a path.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rt_reactor::pipe::access;
use socket2::SockRef;

use crate::io::methods::{borrow_impls, read_methods, ready_method, write_methods};
use crate::io::{Interest, Registration};

/// An example that begins with the two ends of a pipe, `writer` and `reader`.
macro_rules! with_a_pipe {
    ($($line:literal)*) => {
        concat!(
            "# Examples\n\n",
            "```\n",
            "# use rt::net::unix::pipe;\n",
            "# #[rt::main(flavor = \"current_thread\")]\n",
            "# async fn main() -> std::io::Result<()> {\n",
            "let (writer, reader) = pipe::pipe()?;\n",
            $($line, "\n",)*
            "# drop((writer, reader));\n",
            "# Ok(())\n",
            "# }\n",
            "```",
        )
    };
}

/// Makes a pipe: what is written to the sender is read from the receiver.
///
/// # Errors
///
/// Fails if the process or the system is out of descriptors.
///
/// # Panics
///
/// Panics outside a runtime.
///
#[doc = with_a_pipe!(
    "writer.write_all(b\"hello\").await?;"
    "let mut greeting = [0; 5];"
    "reader.read_exact(&mut greeting).await?;"
    "assert_eq!(&greeting, b\"hello\");"
)]
#[track_caller]
pub fn pipe() -> io::Result<(Sender, Receiver)> {
    let (reader, writer) = io::pipe()?;
    let sender = Sender::register(nonblocking(OwnedFd::from(writer).into())?)?;
    let receiver = Receiver::register(nonblocking(OwnedFd::from(reader).into())?)?;
    Ok((sender, receiver))
}

/// The end of a pipe that is written to.
///
/// Once every receiver is gone, writing is a [`BrokenPipe`](io::ErrorKind::BrokenPipe) error, in a
/// process that ignores `SIGPIPE`, as Rust programs do unless they say otherwise.
///
#[doc = with_a_pipe!("writer.write_all(b\"hello\").await?;")]
pub struct Sender {
    io: Registration<File>,
}

/// The end of a pipe that is read from.
///
/// It reads the end once every sender is gone.
///
#[doc = with_a_pipe!(
    "writer.write_all(b\"hello\").await?;"
    "drop(writer);"
    "assert_eq!(reader.read(&mut [0; 64]).await?, 5);"
    "assert_eq!(reader.read(&mut [0; 64]).await?, 0);"
    "# let writer = ();"
)]
pub struct Receiver {
    io: Registration<File>,
}

/// How to open a FIFO.
///
/// # Examples
///
/// ```no_run
/// use rt::net::unix::pipe;
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let receiver = pipe::OpenOptions::new().open_receiver("/run/commands")?;
/// let mut command = [0; 64];
/// let len = receiver.read(&mut command).await?;
/// # drop(len);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    read_write: bool,
    unchecked: bool,
}

impl OpenOptions {
    /// Nothing special.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Opens it for reading and writing at once.
    ///
    /// Then a sender can be opened though nobody reads yet, and a receiver meets no end though
    /// nobody writes any more.
    pub fn read_write(&mut self, value: bool) -> &mut Self {
        self.read_write = value;
        self
    }

    /// Does not check that the file is a FIFO.
    pub fn unchecked(&mut self, value: bool) -> &mut Self {
        self.unchecked = value;
        self
    }

    /// Opens the reading end. It does not wait for a writer.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the file is no FIFO; else the error of `open`.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn open_receiver<P: AsRef<Path>>(&self, path: P) -> io::Result<Receiver> {
        Receiver::register(self.open(path.as_ref(), true, self.read_write)?)
    }

    /// Opens the writing end.
    ///
    /// # Errors
    ///
    /// `ENXIO` if nobody has opened the reading end; [`InvalidInput`](io::ErrorKind::InvalidInput) if
    /// the file is no FIFO; else the error of `open`.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn open_sender<P: AsRef<Path>>(&self, path: P) -> io::Result<Sender> {
        Sender::register(self.open(path.as_ref(), self.read_write, true)?)
    }

    fn open(&self, path: &Path, read: bool, write: bool) -> io::Result<File> {
        let mut options = fs::OpenOptions::new();
        options.read(read).write(write);
        // Without this flag, opening would wait for the other end.
        let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
        if !self.unchecked {
            check_is_pipe(&file)?;
        }
        Ok(file)
    }
}

impl Sender {
    #[track_caller]
    fn register(file: File) -> io::Result<Sender> {
        Ok(Sender {
            io: Registration::new(file)?,
        })
    }

    /// Takes over the writing end of a pipe, and makes it non-blocking.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is no pipe, or cannot be written; else if
    /// it cannot be registered with epoll.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn from_file(file: File) -> io::Result<Sender> {
        check_is_pipe(&file)?;
        check(access(file.as_fd())?.write, "it is not open for writing")?;
        Self::from_file_unchecked(file)
    }

    /// As [`from_file`](Self::from_file), without checking what it is.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be registered with epoll.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn from_file_unchecked(file: File) -> io::Result<Sender> {
        Self::register(nonblocking(file)?)
    }

    /// As [`from_file`](Self::from_file), from a descriptor.
    ///
    /// # Errors
    ///
    /// As [`from_file`](Self::from_file).
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn from_owned_fd(fd: OwnedFd) -> io::Result<Sender> {
        Self::from_file(fd.into())
    }

    /// As [`from_file_unchecked`](Self::from_file_unchecked), from a descriptor.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be registered with epoll.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn from_owned_fd_unchecked(fd: OwnedFd) -> io::Result<Sender> {
        Self::from_file_unchecked(fd.into())
    }

    /// Runs an operation of the caller's own if the pipe is thought ready for writing.
    ///
    /// When it says [`WouldBlock`](io::ErrorKind::WouldBlock), the pipe is no longer thought ready, so
    /// it must say so only if a call on this very pipe did.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the pipe is not ready; else what `op` returns.
    pub fn try_io<R>(&self, op: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.io.try_io(Interest::WRITABLE, op)
    }
}

impl Receiver {
    #[track_caller]
    fn register(file: File) -> io::Result<Receiver> {
        Ok(Receiver {
            io: Registration::new(file)?,
        })
    }

    /// Takes over the reading end of a pipe, and makes it non-blocking.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it is no pipe, or cannot be read; else if
    /// it cannot be registered with epoll.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn from_file(file: File) -> io::Result<Receiver> {
        check_is_pipe(&file)?;
        check(access(file.as_fd())?.read, "it is not open for reading")?;
        Self::from_file_unchecked(file)
    }

    /// As [`from_file`](Self::from_file), without checking what it is.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be registered with epoll.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn from_file_unchecked(file: File) -> io::Result<Receiver> {
        Self::register(nonblocking(file)?)
    }

    /// As [`from_file`](Self::from_file), from a descriptor.
    ///
    /// # Errors
    ///
    /// As [`from_file`](Self::from_file).
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn from_owned_fd(fd: OwnedFd) -> io::Result<Receiver> {
        Self::from_file(fd.into())
    }

    /// As [`from_file_unchecked`](Self::from_file_unchecked), from a descriptor.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be registered with epoll.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn from_owned_fd_unchecked(fd: OwnedFd) -> io::Result<Receiver> {
        Self::from_file_unchecked(fd.into())
    }

    /// Runs an operation of the caller's own if the pipe is thought ready for reading.
    ///
    /// When it says [`WouldBlock`](io::ErrorKind::WouldBlock), the pipe is no longer thought ready, so
    /// it must say so only if a call on this very pipe did.
    ///
    /// # Errors
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the pipe is not ready; else what `op` returns.
    pub fn try_io<R>(&self, op: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.io.try_io(Interest::READABLE, op)
    }
}

/// What both ends have.
macro_rules! end {
    ($($type:ident),*) => {$(
        impl $type {
            pub(crate) fn registration(&self) -> &Registration<File> {
                &self.io
            }

            /// Leaves the runtime and gives the descriptor back, made blocking.
            ///
            /// # Errors
            ///
            /// Fails, closing the pipe, if it cannot be taken out of epoll or be made blocking.
            pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
                let fd = self.into_nonblocking_fd()?;
                SockRef::from(&fd).set_nonblocking(false)?;
                Ok(fd)
            }

            /// Leaves the runtime and gives the descriptor back, still non-blocking.
            ///
            /// # Errors
            ///
            /// Fails, closing the pipe, if it cannot be taken out of epoll.
            pub fn into_nonblocking_fd(self) -> io::Result<OwnedFd> {
                self.io.into_inner().map(OwnedFd::from)
            }
        }

        impl TryFrom<OwnedFd> for $type {
            type Error = io::Error;

            /// As [`from_owned_fd_unchecked`](Self::from_owned_fd_unchecked), but fails outside a
            /// runtime.
            fn try_from(fd: OwnedFd) -> io::Result<Self> {
                let io = Registration::try_new(nonblocking(fd.into())?)?;
                Ok($type { io })
            }
        }

        impl From<$type> for OwnedFd {
            /// Leaves the runtime. The pipe is still non-blocking.
            fn from(end: $type) -> OwnedFd {
                end.io.into_inner_always().into()
            }
        }

        borrow_impls!($type);
        ready_method!($type, with_a_pipe);
    )*};
}

end!(Sender, Receiver);
write_methods!(Sender, with_a_pipe);
read_methods!(Receiver, with_a_pipe);

pub(crate) fn nonblocking(file: File) -> io::Result<File> {
    // The call is the same for every kind of file.
    SockRef::from(&file).set_nonblocking(true)?;
    Ok(file)
}

fn check(holds: bool, otherwise: &'static str) -> io::Result<()> {
    if !holds {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, otherwise));
    }
    Ok(())
}

fn check_is_pipe(file: &File) -> io::Result<()> {
    check(file.metadata()?.file_type().is_fifo(), "it is no pipe")
}

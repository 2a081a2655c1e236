//! Copying from one stream to another inside the kernel.
//!
//! `splice` moves bytes between a pipe and something else, so that a copy between two sockets goes
//! through a pipe: filled from the one, emptied into the other, with no byte in this process.

use std::io;
use std::os::fd::AsFd;

use rt_reactor::Direction::{Read, Write};
use rt_reactor::pipe::{grow, splice};

use super::unix::pipe::{Receiver, Sender};
use super::{TcpStream, UnixStream, tcp, unix};
use crate::io::Registration;

/// How much the pipe should hold. The kernel gives less to users who have many.
const PIPE: usize = 256 << 10;

/// What [`copy_zero`] can copy from: streams, their reading halves, and pipes. It cannot be
/// implemented outside this crate.
pub trait SpliceFrom: sealed::Source {}

/// What [`copy_zero`] can copy to: streams, their writing halves, and pipes. It cannot be implemented
/// outside this crate.
pub trait SpliceTo: sealed::Target {}

impl<T: sealed::Source> SpliceFrom for T {}
impl<T: sealed::Target> SpliceTo for T {}

/// Copies all that comes from one stream to another, without taking it out of the kernel, and says
/// how many bytes there were. It ends with the end of `from`, and does not end `to`.
///
/// It needs a pipe, two descriptors, for as long as it runs, and two system calls for what a copy
/// through a buffer takes two for as well: what it saves is the copying, so it is for long streams.
///
/// # Errors
///
/// Fails if there are no descriptors left for the pipe, or with the error of either stream. In a
/// process that does not ignore `SIGPIPE`, as Rust programs do unless they say otherwise, a peer that is
/// gone is that signal.
///
/// # Cancel safety
///
/// Not cancel safe: what was taken from `from` and not yet given to `to` is lost.
///
/// # Examples
///
/// ```
/// use rt::net::{UnixStream, copy_zero};
/// use rt::net::unix::pipe;
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let (near, from) = UnixStream::pair()?;
/// let (to, reader) = pipe::pipe()?;
/// near.write_all(b"hello").await?;
/// drop(near);
/// assert_eq!(copy_zero(&from, &to).await?, 5);
///
/// let mut greeting = [0; 5];
/// reader.read_exact(&mut greeting).await?;
/// assert_eq!(&greeting, b"hello");
/// # Ok(())
/// # }
/// ```
pub async fn copy_zero<R, W>(from: &R, to: &W) -> io::Result<u64>
where
    R: SpliceFrom + ?Sized,
    W: SpliceTo + ?Sized,
{
    let (from, to) = (from.source().0, to.target().0);
    let (pipe_out, pipe_in) = io::pipe()?;
    let room = grow(pipe_in.as_fd(), PIPE)?;
    let mut total = 0;
    loop {
        // The pipe is empty, so that only the source can make this wait.
        let fill = |from: &_| splice(AsFd::as_fd(from), pipe_in.as_fd(), room);
        let mut held = from.io(Read, fill).await?;
        if held == 0 {
            return Ok(total);
        }
        total += held as u64;
        while held > 0 {
            // The pipe is not, so that only the target can make this one.
            let empty = |to: &_| splice(pipe_out.as_fd(), AsFd::as_fd(to), held);
            match to.io(Write, empty).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                moved => held -= moved,
            }
        }
    }
}

mod sealed {
    use super::{AsFd, Registration};

    /// Leads to what is of this crate alone.
    #[derive(Debug)]
    pub struct Io<'a, T: AsFd>(pub(super) &'a Registration<T>);

    pub trait Source {
        type File: AsFd;

        #[doc(hidden)]
        fn source(&self) -> Io<'_, Self::File>;
    }

    pub trait Target {
        type File: AsFd;

        #[doc(hidden)]
        fn target(&self) -> Io<'_, Self::File>;
    }
}

macro_rules! implement {
    ($trait:ident, $method:ident: $($type:ty => $file:ty,)*) => {$(
        impl sealed::$trait for $type {
            type File = $file;

            fn $method(&self) -> sealed::Io<'_, $file> {
                sealed::Io(self.registration())
            }
        }
    )*};
}

implement! { Source, source:
    TcpStream => std::net::TcpStream,
    tcp::ReadHalf<'_> => std::net::TcpStream,
    tcp::OwnedReadHalf => std::net::TcpStream,
    UnixStream => std::os::unix::net::UnixStream,
    unix::ReadHalf<'_> => std::os::unix::net::UnixStream,
    unix::OwnedReadHalf => std::os::unix::net::UnixStream,
    Receiver => std::fs::File,
}

implement! { Target, target:
    TcpStream => std::net::TcpStream,
    tcp::WriteHalf<'_> => std::net::TcpStream,
    tcp::OwnedWriteHalf => std::net::TcpStream,
    UnixStream => std::os::unix::net::UnixStream,
    unix::WriteHalf<'_> => std::os::unix::net::UnixStream,
    unix::OwnedWriteHalf => std::os::unix::net::UnixStream,
    Sender => std::fs::File,
}

//! Reading and writing files: at once, or on a thread that may block; and the memory that reads fill.

use std::fs::File;
use std::io::{self, Write};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::slice;

use libc::{c_int, c_void, iovec, off_t};

/// A place in a file as the kernel takes it; `None` is the file's own position.
pub(crate) fn offset(at: Option<u64>) -> io::Result<off_t> {
    match at {
        None => Ok(-1),
        Some(at) => off_t::try_from(at).map_err(|_| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "a place in a file is less than 2^63",
            )
        }),
    }
}

/// Reads what the page cache has, without waiting for the disk: `WouldBlock` if it has nothing.
///
/// # Errors
///
/// `Unsupported` if this kind of file cannot be asked so.
pub(crate) fn read_now(
    file: BorrowedFd<'_>,
    buf: &mut [MaybeUninit<u8>],
    at: Option<u64>,
) -> io::Result<usize> {
    let slice = iovec {
        iov_base: buf.as_mut_ptr().cast(),
        iov_len: buf.len(),
    };
    let (at, flags) = (offset(at)?, libc::RWF_NOWAIT);
    // SAFETY: `slice` is the memory of `buf`, which is borrowed for writing during the call.
    transferred(|| unsafe { libc::preadv2(file.as_raw_fd(), &raw const slice, 1, at, flags) })
}

/// Writes what the page cache takes without waiting. Errors as [`read_now`]'s.
pub(crate) fn write_now(file: BorrowedFd<'_>, bytes: &[u8], at: Option<u64>) -> io::Result<usize> {
    let slice = iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let (at, flags) = (offset(at)?, libc::RWF_NOWAIT);
    // SAFETY: `slice` is the memory of `bytes`, which a write only reads.
    transferred(|| unsafe { libc::pwritev2(file.as_raw_fd(), &raw const slice, 1, at, flags) })
}

/// Reads, and blocks for as long as that takes.
pub(crate) fn read(file: &File, buf: &mut [MaybeUninit<u8>], at: Option<u64>) -> io::Result<usize> {
    let (fd, start, len) = (
        file.as_raw_fd(),
        buf.as_mut_ptr().cast::<c_void>(),
        buf.len(),
    );
    let offset = offset(at)?;
    if at.is_none() {
        // SAFETY: `start` is valid for `len` bytes during the call.
        transferred(|| unsafe { libc::read(fd, start, len) })
    } else {
        // SAFETY: as above.
        transferred(|| unsafe { libc::pread(fd, start, len, offset) })
    }
}

/// The result of a call that says how many bytes it has moved.
fn transferred(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        let moved = call();
        if let Ok(moved) = usize::try_from(moved) {
            return Ok(moved);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // What old kernels say to a call or a flag that they do not know.
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => return Err(io::ErrorKind::Unsupported.into()),
            _ => return Err(error),
        }
    }
}

/// A vector that is being filled by reads.
#[derive(Debug)]
pub(crate) struct Room {
    buf: Vec<u8>,
    filled: usize,
    /// Where it is full.
    end: usize,
    /// The vector gets the length of what was read.
    grows: bool,
}

impl Room {
    /// The room of a vector's bytes, or of its whole capacity if it has none.
    pub(crate) fn new(buf: Vec<u8>) -> Room {
        let grows = buf.is_empty();
        let end = if grows { buf.capacity() } else { buf.len() };
        Room {
            buf,
            filled: 0,
            end,
            grows,
        }
    }

    /// The room behind a vector's bytes.
    pub(crate) fn behind(buf: Vec<u8>) -> Room {
        Room {
            filled: buf.len(),
            end: buf.capacity(),
            buf,
            grows: true,
        }
    }

    /// Takes the room away for a time, and leaves none.
    pub(crate) fn take(&mut self) -> Room {
        mem::replace(self, Room::new(Vec::new()))
    }

    /// How many bytes have been read into it.
    pub(crate) fn filled(&self) -> usize {
        self.filled
    }

    pub(crate) fn is_full(&self) -> bool {
        self.filled == self.end
    }

    /// What is still to be filled, but at most so many bytes of it.
    pub(crate) fn unfilled(&mut self, limit: usize) -> &mut [MaybeUninit<u8>] {
        let len = limit.min(self.end - self.filled);
        // SAFETY: `filled + len` is at most `end`, which is within the vector's capacity; bytes that
        // may be uninitialised need no more.
        unsafe { slice::from_raw_parts_mut(self.buf.as_mut_ptr().add(self.filled).cast(), len) }
    }

    /// Takes a read's result into account.
    ///
    /// # Safety
    ///
    /// The kernel has written so many bytes at the start of what [`unfilled`](Room::unfilled) gave.
    pub(crate) unsafe fn advance(&mut self, read: usize) {
        self.filled += read;
        debug_assert!(self.filled <= self.end);
    }

    /// The vector.
    pub(crate) fn into_inner(mut self) -> Vec<u8> {
        if self.grows {
            // SAFETY: the vector's own bytes, and those that were read behind them, by `advance`'s
            // contract.
            unsafe { self.buf.set_len(self.filled) };
        }
        self.buf
    }

    /// Fills with [`read_now`].
    pub(crate) fn fill_now(
        &mut self,
        file: BorrowedFd<'_>,
        limit: usize,
        at: Option<u64>,
    ) -> io::Result<usize> {
        let read = read_now(file, self.unfilled(limit), at)?;
        // SAFETY: the kernel has just written them.
        unsafe { self.advance(read) };
        Ok(read)
    }

    /// Fills with [`read`].
    pub(crate) fn fill(&mut self, file: &File, limit: usize, at: Option<u64>) -> io::Result<usize> {
        let read = read(file, self.unfilled(limit), at)?;
        // SAFETY: the kernel has just written them.
        unsafe { self.advance(read) };
        Ok(read)
    }
}

/// The most that one call is asked to move: it keeps its worker for as long as copying that takes.
pub(crate) const CHUNK: usize = 1 << 20;

/// `open`'s permissions argument.
pub(crate) type Mode = libc::mode_t;

/// The flags of `open` for a descriptor that only names a file, to look at it.
pub(crate) const NAME_ONLY: c_int = libc::O_PATH | libc::O_CLOEXEC;
/// As [`NAME_ONLY`], for a symbolic link itself.
pub(crate) const NAME_ONLY_OF_LINK: c_int = NAME_ONLY | libc::O_NOFOLLOW;

/// Writes, and blocks for as long as that takes.
pub(crate) fn write(file: &File, bytes: &[u8], at: Option<u64>) -> io::Result<usize> {
    let bytes = &bytes[..bytes.len().min(CHUNK)];
    loop {
        let result = match at {
            None => (&*file).write(bytes),
            Some(at) => file.write_at(bytes, at),
        };
        match result {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Where a read of a stream puts its bytes.
#[derive(Debug)]
pub(crate) enum Destination<'a> {
    Plain(&'a mut [u8]),
    Uninit(&'a mut [MaybeUninit<u8>]),
}

impl Destination<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Destination::Plain(buf) => buf.len(),
            Destination::Uninit(buf) => buf.len(),
        }
    }

    /// As [`read_now`], at the file's own position.
    pub(crate) fn read_now(&mut self, file: &File) -> io::Result<usize> {
        let len = self.len().min(CHUNK);
        let buf = match self {
            // SAFETY: the layout is the same, and a read only writes initialised bytes.
            Destination::Plain(buf) => unsafe {
                slice::from_raw_parts_mut(buf.as_mut_ptr().cast(), buf.len())
            },
            Destination::Uninit(buf) => &mut **buf,
        };
        read_now(file.as_fd(), &mut buf[..len], None)
    }

    /// Copies as many bytes as fit, and says how many.
    pub(crate) fn copy_from(&mut self, bytes: &[u8]) -> usize {
        let len = bytes.len().min(self.len());
        match self {
            Destination::Plain(buf) => buf[..len].copy_from_slice(&bytes[..len]),
            Destination::Uninit(buf) => {
                for (to, from) in buf.iter_mut().zip(&bytes[..len]) {
                    to.write(*from);
                }
            }
        }
        len
    }
}

//! Calls on pipes and on other plain descriptors.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use super::{retry, retry_size};

/// Reads into memory that need not be initialised; the bytes that it counts are then.
///
/// # Errors
///
/// Those of `read`.
pub fn read(fd: BorrowedFd<'_>, buf: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    // SAFETY: the buffer is valid for writes of its length.
    retry_size(|| unsafe { libc::read(fd.as_raw_fd(), buf.as_mut_ptr().cast(), buf.len()) })
}

/// Which calls a descriptor was opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// It can be read.
    pub read: bool,
    /// It can be written.
    pub write: bool,
}

/// What a descriptor was opened for.
///
/// # Errors
///
/// Those of `fcntl`.
pub fn access(fd: BorrowedFd<'_>) -> io::Result<Access> {
    // SAFETY: the call takes no pointer.
    let flags = retry(|| unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    let mode = flags & libc::O_ACCMODE;
    Ok(Access {
        read: mode == libc::O_RDONLY || mode == libc::O_RDWR,
        write: mode == libc::O_WRONLY || mode == libc::O_RDWR,
    })
}

/// How many bytes a pipe holds at most, after an attempt to make it hold `wanted`.
///
/// # Errors
///
/// Those of `fcntl` if the size cannot be told. That it cannot be changed is none.
pub fn grow(fd: BorrowedFd<'_>, wanted: usize) -> io::Result<usize> {
    let wanted = i32::try_from(wanted).unwrap_or(i32::MAX);
    // SAFETY: the call takes no pointer.
    let grown = retry(|| unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETPIPE_SZ, wanted) });
    let size = grown.or_else(|_| {
        // SAFETY: as above.
        retry(|| unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETPIPE_SZ) })
    })?;
    Ok(size.cast_unsigned() as usize)
}

/// Moves at most `len` bytes from one descriptor to another inside the kernel. One of them is a
/// pipe. It never waits. Zero is the end of what comes from `from`.
///
/// # Errors
///
/// Those of `splice`.
pub fn splice(from: BorrowedFd<'_>, to: BorrowedFd<'_>, len: usize) -> io::Result<usize> {
    let flags = libc::SPLICE_F_NONBLOCK | libc::SPLICE_F_MOVE;
    let (from, to) = (from.as_raw_fd(), to.as_raw_fd());
    // SAFETY: without offsets the call takes no pointer.
    retry_size(|| unsafe { libc::splice(from, ptr::null_mut(), to, ptr::null_mut(), len, flags) })
}

//! What a ring is asked to do, and what it takes for that: memory, and files that stay open.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use io_uring::types::{Fd, FsyncFlags};
use io_uring::{opcode, squeue};
use libc::c_int;

use crate::sys::file::{CHUNK, Mode, Room};

/// One operation, with all that the kernel needs for it.
///
/// # Safety
///
/// The entry names only memory that the request owns and that stays valid, and in place, for as long
/// as the request is neither moved nor dropped; and only descriptors that it keeps open.
pub(crate) unsafe trait Request: Send + 'static {
    /// What comes of it.
    type Output: Send;

    /// Whether nothing is lost by giving it up when nobody waits for it any more.
    const IS_VAIN_ALONE: bool;

    /// How it is put to the kernel.
    fn entry(&mut self) -> squeue::Entry;

    /// Takes the kernel's answer.
    fn finish(self, result: io::Result<u32>) -> Self::Output;
}

/// The file's own position is -1, which as an unsigned number is the largest.
fn place(at: Option<u64>) -> u64 {
    at.unwrap_or(u64::MAX)
}

/// Bytes that one entry may ask for.
fn length(len: usize) -> u32 {
    len.min(CHUNK) as u32
}

fn fd(file: &impl AsRawFd) -> Fd {
    Fd(file.as_raw_fd())
}

/// Reads on into a vector.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) file: Arc<File>,
    pub(crate) room: Room,
    pub(crate) at: Option<u64>,
}

// SAFETY: the entry names the vector's heap memory, and the file.
unsafe impl Request for Read {
    type Output = (io::Result<usize>, Room);

    const IS_VAIN_ALONE: bool = true;

    fn entry(&mut self) -> squeue::Entry {
        let unfilled = self.room.unfilled(CHUNK);
        let len = length(unfilled.len());
        opcode::Read::new(fd(&*self.file), unfilled.as_mut_ptr().cast(), len)
            .offset(place(self.at))
            .build()
    }

    fn finish(mut self, result: io::Result<u32>) -> Self::Output {
        let read = result.map(|read| read as usize);
        if let Ok(read) = read {
            // SAFETY: the kernel has written so many bytes where the entry said.
            unsafe { self.room.advance(read) };
        }
        (read, self.room)
    }
}

/// Writes a buffer's bytes from `from` on.
#[derive(Debug)]
pub(crate) struct Write<B> {
    pub(crate) file: Arc<File>,
    pub(crate) buf: B,
    pub(crate) from: usize,
    pub(crate) at: Option<u64>,
}

// SAFETY: the entry names memory that the buffer lends for as long as it stays in place and is not
// used, and the file.
unsafe impl<B: AsRef<[u8]> + Send + 'static> Request for Write<B> {
    type Output = (io::Result<usize>, B);

    // What was given to be written is written.
    const IS_VAIN_ALONE: bool = false;

    fn entry(&mut self) -> squeue::Entry {
        let bytes = self.buf.as_ref().get(self.from..).unwrap_or_default();
        opcode::Write::new(fd(&*self.file), bytes.as_ptr(), length(bytes.len()))
            .offset(place(self.at))
            .build()
    }

    fn finish(self, result: io::Result<u32>) -> Self::Output {
        (result.map(|written| written as usize), self.buf)
    }
}

/// Opens a file.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) path: CString,
    pub(crate) flags: c_int,
    pub(crate) mode: Mode,
}

// SAFETY: the entry names the path's heap memory.
unsafe impl Request for Open {
    type Output = io::Result<File>;

    const IS_VAIN_ALONE: bool = true;

    fn entry(&mut self) -> squeue::Entry {
        opcode::OpenAt::new(Fd(libc::AT_FDCWD), self.path.as_ptr())
            .flags(self.flags)
            .mode(self.mode)
            .build()
    }

    fn finish(self, result: io::Result<u32>) -> Self::Output {
        let fd = result?.cast_signed() as RawFd;
        // SAFETY: the kernel has opened it for this request, and nobody else knows of it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) }.into())
    }
}

/// Sends a file's data to the disk, and what else is needed to find them, or all there is of it.
#[derive(Debug)]
pub(crate) struct Sync {
    pub(crate) file: Arc<File>,
    pub(crate) data_only: bool,
}

// SAFETY: the entry names the file alone.
unsafe impl Request for Sync {
    type Output = io::Result<()>;

    const IS_VAIN_ALONE: bool = true;

    fn entry(&mut self) -> squeue::Entry {
        let flags = if self.data_only {
            FsyncFlags::DATASYNC
        } else {
            FsyncFlags::empty()
        };
        opcode::Fsync::new(fd(&*self.file)).flags(flags).build()
    }

    fn finish(self, result: io::Result<u32>) -> Self::Output {
        result.map(drop)
    }
}

//! The bell: an eventfd that interrupts a thread blocked in the epoll set.
//!
//! It is watched edge-triggered and never read. Each write is an edge of its own, whatever the
//! counter holds, so there is nothing to drain and no flag that could be left standing.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::{own, retry};

/// An eventfd.
#[derive(Debug)]
pub(crate) struct EventFd {
    fd: OwnedFd,
}

impl EventFd {
    pub(crate) fn new() -> io::Result<EventFd> {
        // SAFETY: the call takes no pointer, and what it returns is new.
        let fd = unsafe { own(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK)) }?;
        Ok(EventFd { fd })
    }

    /// Makes an edge.
    pub(crate) fn ring(&self) -> io::Result<()> {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: `one` is valid for the eight bytes that the call reads.
        let result = retry(|| unsafe {
            libc::write(self.fd.as_raw_fd(), one.as_ptr().cast(), one.len()) as libc::c_int
        });
        match result {
            // The counter is full after 2^64 - 2 writes: it has been signalled.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            other => other.map(drop),
        }
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

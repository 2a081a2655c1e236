//! System calls that `rt` makes itself, beside those of the reactor.
//!
//! Each file wraps one kind of call. A descriptor is an `OwnedFd` from its first line and is never
//! inherited by a child program; every return code is checked.

#![expect(unsafe_code, reason = "these modules call libc")]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::c_int;

pub(crate) mod affinity;
pub(crate) mod file;
pub(crate) mod priority;
pub(crate) mod process;
pub(crate) mod signal;
pub(crate) mod uring;
pub(crate) mod usage;

/// The result of a call that returns -1 on failure.
fn check(code: c_int) -> io::Result<c_int> {
    if code == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(code)
}

/// Owns the descriptor that a call has just returned.
///
/// # Safety
///
/// `code` is what a call that makes a descriptor returned, and nobody else owns it.
unsafe fn own(code: c_int) -> io::Result<OwnedFd> {
    let fd = check(code)?;
    // SAFETY: the call succeeded, so `fd` is open, and by the contract it is the caller's alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// An eventfd, to be watched edge-triggered and never read: each write is an edge.
fn eventfd() -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointer, and what it returns is new.
    unsafe { own(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK)) }
}

//! A process as a descriptor.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// A descriptor of a child that has not been waited for. It becomes readable when the child ends, and
/// is never inherited.
pub(crate) fn pidfd_open(process: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointer.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so `fd` is open, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

//! A process as a descriptor, and what the kernel tells of a thread.

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

/// What a thread of this process does: the system call that it is in, or that it computes.
///
/// `None` if the kernel does not tell, or the thread is gone.
pub(crate) fn doing(thread: u32) -> Option<String> {
    let told = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).ok()?;
    let number = told.split_whitespace().next()?;
    if number == "running" {
        return Some("computes".to_owned());
    }
    let number: libc::c_long = number.parse().ok()?;
    let known = CALLS.iter().find(|(call, _)| *call == number);
    Some(match known {
        Some((_, name)) => format!("blocks in {name}"),
        // Blocked, but not by a call: a page that has to be read, for example.
        None if number < 0 => "blocks outside a system call".to_owned(),
        None => format!("blocks in system call {number}"),
    })
}

/// The calls that threads are found in.
const CALLS: [(libc::c_long, &str); 16] = [
    (libc::SYS_clock_nanosleep, "clock_nanosleep"),
    (libc::SYS_nanosleep, "nanosleep"),
    (libc::SYS_futex, "futex: a lock or a condition"),
    (libc::SYS_read, "read"),
    (libc::SYS_write, "write"),
    (libc::SYS_recvfrom, "recvfrom"),
    (libc::SYS_sendto, "sendto"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_accept4, "accept4"),
    (libc::SYS_ppoll, "ppoll"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fdatasync"),
    (libc::SYS_flock, "flock"),
    (libc::SYS_wait4, "wait4"),
    (libc::SYS_waitid, "waitid"),
    (libc::SYS_epoll_pwait, "epoll_pwait"),
];

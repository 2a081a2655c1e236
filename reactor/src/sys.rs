//! System calls: the only place where this crate talks to the kernel.
//!
//! Each file wraps one kind of descriptor. They share three rules: a descriptor is an `OwnedFd`
//! from its first line and is never inherited by a child program; `EINTR` is retried here, so no
//! caller ever sees it; every return code is checked.

#![expect(unsafe_code, reason = "these modules call libc")]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::{c_int, clockid_t};

mod epoll;
mod eventfd;
mod fork;
pub mod pipe;
pub mod socket;
#[cfg(test)]
mod tests;
mod timerfd;

pub(crate) use epoll::{Buffer, EDGE, ERR, Epoll, HUP, IN, OUT, PRI, RDHUP};
pub(crate) use eventfd::EventFd;
pub use fork::{Forked, Process};
pub(crate) use timerfd::TimerFd;

/// The monotonic clock in nanoseconds.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

/// The monotonic clock that counts suspensions too, in nanoseconds.
pub(crate) fn boottime_ns() -> u64 {
    read_clock(libc::CLOCK_BOOTTIME)
}

/// The monotonic clock as the kernel's last tick left it: a few milliseconds behind, and read in
/// a quarter of the time.
#[inline]
pub(crate) fn monotonic_coarse_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC_COARSE)
}

#[inline]
fn read_clock(clock: clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: `time` is valid for the one `timespec` that the call writes.
    let code = unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
    assert_eq!(code, 0, "Linux always has the monotonic clocks");
    // SAFETY: the call succeeded, so it has filled `time`.
    let time = unsafe { time.assume_init() };
    // Time since boot is not negative.
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// The result of a call that returns -1 on failure.
fn check(code: c_int) -> io::Result<c_int> {
    if code == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(code)
}

/// Calls until the call is not interrupted by a signal.
fn retry(mut call: impl FnMut() -> c_int) -> io::Result<c_int> {
    loop {
        match check(call()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// As [`retry`], for a call that moves bytes and says how many.
fn retry_size(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        if let Ok(moved) = usize::try_from(call()) {
            return Ok(moved);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
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

//! A timerfd on one of the monotonic clocks, armed with absolute times.
//!
//! It too is watched edge-triggered and never read: each expiry is an edge, and setting it anew
//! clears what had expired.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use super::{Process, check, own};
use crate::clock::Basis;

/// A timerfd.
#[derive(Debug)]
pub(crate) struct TimerFd {
    fd: OwnedFd,
    maker: Process,
}

impl TimerFd {
    /// A timer on the kernel's clock for `basis`. It wakes no suspended machine: it
    /// expires when the machine is awake again.
    pub(crate) fn new(basis: Basis) -> io::Result<TimerFd> {
        let clock = match basis {
            Basis::Boottime => libc::CLOCK_BOOTTIME,
            Basis::Monotonic | Basis::Hand => libc::CLOCK_MONOTONIC,
        };
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: the call takes no pointer, and what it returns is new.
        let fd = unsafe { own(libc::timerfd_create(clock, flags)) }?;
        let maker = Process::current();
        Ok(TimerFd { fd, maker })
    }

    /// Expires once when its clock reads `at_ns`, at once if it already does.
    pub(crate) fn set(&self, at_ns: u64) -> io::Result<()> {
        self.maker.check()?;
        // Zero would disarm it instead of letting it expire at once.
        let at_ns = at_ns.max(1);
        let time = libc::itimerspec {
            it_interval: libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: libc::timespec {
                tv_sec: (at_ns / 1_000_000_000).cast_signed(),
                tv_nsec: (at_ns % 1_000_000_000).cast_signed(),
            },
        };
        // SAFETY: `time` is valid, and the old value is not asked for.
        check(unsafe {
            libc::timerfd_settime(
                self.fd.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &raw const time,
                ptr::null_mut(),
            )
        })?;
        Ok(())
    }
}

impl AsFd for TimerFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

//! What stands for `sys` in a model: descriptors without a kernel.
//!
//! Nothing here waits or makes events. A model delivers events itself, and looks at what the
//! timerfd was set to. The flags have the kernel's values.

#![expect(
    unsafe_code,
    reason = "a stand-in borrows a descriptor that is always there"
)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::clock::Basis;
use crate::primitive::sync::atomic::AtomicU64;
use crate::primitive::sync::atomic::Ordering::Relaxed;

pub(crate) const IN: u32 = 0x1;
pub(crate) const PRI: u32 = 0x2;
pub(crate) const OUT: u32 = 0x4;
pub(crate) const ERR: u32 = 0x8;
pub(crate) const HUP: u32 = 0x10;
pub(crate) const RDHUP: u32 = 0x2000;
pub(crate) const EDGE: u32 = 1 << 31;

/// Time stands still.
pub(crate) fn monotonic_ns() -> u64 {
    0
}

/// Time stands still.
pub(crate) fn boottime_ns() -> u64 {
    0
}

/// Time stands still.
pub(crate) fn monotonic_coarse_ns() -> u64 {
    0
}

/// A descriptor to pass where none is used.
pub(crate) fn some_fd() -> BorrowedFd<'static> {
    // SAFETY: nothing in a model closes, or does anything to, standard input.
    unsafe { BorrowedFd::borrow_raw(0) }
}

/// A set that is never ready.
pub(crate) struct Epoll;

#[expect(clippy::unnecessary_wraps, reason = "the shape of the real one")]
#[expect(clippy::unused_self, reason = "the shape of the real one")]
impl Epoll {
    pub(crate) fn new() -> io::Result<Epoll> {
        Ok(Epoll)
    }

    pub(crate) fn add(&self, _fd: impl AsFd, _token: u64, _flags: u32) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn delete(&self, _fd: impl AsFd) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn wait(&self, buffer: &mut Buffer, _timeout: i32) -> io::Result<()> {
        buffer.clear();
        Ok(())
    }
}

/// The events of one wait.
pub(crate) struct Buffer {
    events: Vec<(u64, u32)>,
}

impl Buffer {
    pub(crate) fn with_capacity(_capacity: usize) -> Buffer {
        Buffer { events: Vec::new() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u32)> + Clone {
        self.events.iter().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
    }
}

/// A bell that nobody hears.
pub(crate) struct EventFd;

#[expect(clippy::unnecessary_wraps, reason = "the shape of the real one")]
#[expect(clippy::unused_self, reason = "the shape of the real one")]
impl EventFd {
    pub(crate) fn new() -> io::Result<EventFd> {
        Ok(EventFd)
    }

    pub(crate) fn ring(&self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        some_fd()
    }
}

/// A timer that remembers what it was set to.
pub(crate) struct TimerFd {
    at_ns: AtomicU64,
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of the real one")]
impl TimerFd {
    pub(crate) fn new(_basis: Basis) -> io::Result<TimerFd> {
        Ok(TimerFd {
            at_ns: AtomicU64::new(u64::MAX),
        })
    }

    pub(crate) fn set(&self, at_ns: u64) -> io::Result<()> {
        self.at_ns.store(at_ns, Relaxed);
        Ok(())
    }

    /// What it was set to last.
    #[cfg(test)]
    pub(crate) fn at_ns(&self) -> u64 {
        self.at_ns.load(Relaxed)
    }
}

impl AsFd for TimerFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        some_fd()
    }
}

//! An epoll set and the buffer that it fills.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr;
use std::time::Instant;

use libc::c_int;

use super::{Process, check, own, retry};

/// Something can be read.
pub(crate) const IN: u32 = libc::EPOLLIN.cast_unsigned();
/// Something urgent has come, which a read may stop at.
pub(crate) const PRI: u32 = libc::EPOLLPRI.cast_unsigned();
/// Something can be written.
pub(crate) const OUT: u32 = libc::EPOLLOUT.cast_unsigned();
/// The peer will send no more.
pub(crate) const RDHUP: u32 = libc::EPOLLRDHUP.cast_unsigned();
/// Both directions have ended. Reported without being asked for.
pub(crate) const HUP: u32 = libc::EPOLLHUP.cast_unsigned();
/// An error waits to be collected. Reported without being asked for.
pub(crate) const ERR: u32 = libc::EPOLLERR.cast_unsigned();
/// Report changes, not states.
pub(crate) const EDGE: u32 = libc::EPOLLET.cast_unsigned();

/// An epoll set.
#[derive(Debug)]
pub(crate) struct Epoll {
    pub(super) fd: OwnedFd,
    maker: Process,
}

impl Epoll {
    pub(crate) fn new() -> io::Result<Epoll> {
        // SAFETY: the call takes no pointer, and what it returns is new.
        let fd = unsafe { own(libc::epoll_create1(libc::EPOLL_CLOEXEC)) }?;
        let maker = Process::current();
        Ok(Epoll { fd, maker })
    }

    /// Adds a descriptor; its events carry `token`.
    pub(crate) fn add(&self, fd: impl AsFd, token: u64, flags: u32) -> io::Result<()> {
        self.maker.check()?;
        let mut event = libc::epoll_event {
            events: flags,
            u64: token,
        };
        self.control(libc::EPOLL_CTL_ADD, fd, &raw mut event)
    }

    /// Removes a descriptor: from here on the kernel makes no new event of it. In a forked child
    /// nothing happens: the registration is the parent's.
    pub(crate) fn delete(&self, fd: impl AsFd) -> io::Result<()> {
        if self.maker.is_left() {
            return Ok(());
        }
        self.control(libc::EPOLL_CTL_DEL, fd, ptr::null_mut())
    }

    fn control(
        &self,
        operation: c_int,
        fd: impl AsFd,
        event: *mut libc::epoll_event,
    ) -> io::Result<()> {
        let fd = fd.as_fd().as_raw_fd();
        // SAFETY: both descriptors are open, and `event` is valid or, for a removal, not read.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), operation, fd, event) })?;
        Ok(())
    }

    /// Fills the buffer, waiting for the first event until the timeout: milliseconds, -1 for ever.
    pub(crate) fn wait(&self, buffer: &mut Buffer, timeout: i32) -> io::Result<()> {
        buffer.events.clear();
        self.maker.check()?;
        let room = c_int::try_from(buffer.events.capacity()).unwrap_or(c_int::MAX);
        let start = buffer.events.as_mut_ptr();
        let left = Left::new(timeout);
        let filled = retry(|| {
            let timeout = left.milliseconds();
            // SAFETY: `start` is valid for `room` events, and nothing else looks at the buffer.
            unsafe { libc::epoll_wait(self.fd.as_raw_fd(), start, room, timeout) }
        })?;
        // SAFETY: the kernel filled the first `filled` of at most `room` events; not negative.
        unsafe { buffer.events.set_len(filled.cast_unsigned() as usize) };
        Ok(())
    }
}

/// What is left of a timeout. A wait that a signal interrupts goes on for the rest, not for the
/// whole again, so that no stream of signals can make it endless.
struct Left {
    timeout: c_int,
    /// Read only for a timeout that can run out.
    start: Option<Instant>,
}

impl Left {
    fn new(timeout: c_int) -> Left {
        Left {
            timeout,
            start: (timeout > 0).then(Instant::now),
        }
    }

    fn milliseconds(&self) -> c_int {
        let Some(start) = self.start else {
            return self.timeout;
        };
        let gone = c_int::try_from(start.elapsed().as_millis()).unwrap_or(c_int::MAX);
        self.timeout.saturating_sub(gone).max(0)
    }
}

/// Room for the events of one wait.
pub(crate) struct Buffer {
    events: Vec<libc::epoll_event>,
}

impl Buffer {
    /// Room for `capacity` events, but at least for one.
    pub(crate) fn with_capacity(capacity: usize) -> Buffer {
        Buffer {
            events: Vec::with_capacity(capacity.max(1)),
        }
    }

    /// Token and flags of each event.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u32)> + Clone {
        self.events.iter().map(|event| (event.u64, event.events))
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
    }
}

//! The system calls that `std` has no name for, behind safe functions.
//!
//! With `sys/trace.rs` this is all the unsafe code of the package: a hand-written epoll set (for the
//! load generator and the `raw` peer), limits, pinning, and dropping a file from the page cache.

#![expect(unsafe_code, reason = "calls into libc")]

use std::io;
use std::mem;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

pub(crate) mod trace;

/// The queue of connections that wait to be accepted. A server that starts slowly must not make the
/// kernel drop connection attempts, which are retried only a second later.
const BACKLOG: i32 = 4096;

/// A level-triggered epoll set.
#[derive(Debug)]
pub(crate) struct Epoll {
    fd: OwnedFd,
}

/// Room for events of one wait.
pub(crate) struct Events {
    buffer: Vec<libc::epoll_event>,
    filled: usize,
}

impl Events {
    pub(crate) fn with_capacity(capacity: usize) -> Events {
        Events {
            buffer: vec![libc::epoll_event { events: 0, u64: 0 }; capacity],
            filled: 0,
        }
    }

    /// The tokens of the file descriptors that the last wait found readable.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = usize> + '_ {
        self.buffer[..self.filled]
            .iter()
            .map(|event| event.u64 as usize)
    }
}

impl Epoll {
    pub(crate) fn new() -> io::Result<Epoll> {
        // SAFETY: takes no pointer.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the call above has just opened `fd`, and nothing else knows it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Epoll { fd })
    }

    /// Watches `source` for input. Closing it ends the watch.
    pub(crate) fn add(&self, source: impl AsFd, token: usize) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: token as u64,
        };
        // SAFETY: both descriptors are open for the whole call, and `event` lives through it.
        check(unsafe {
            libc::epoll_ctl(
                self.fd.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                source.as_fd().as_raw_fd(),
                &raw mut event,
            )
        })?;
        Ok(())
    }

    /// Waits for input, at most `limit` (for ever if `None`). An interrupted wait found nothing.
    pub(crate) fn wait(&self, events: &mut Events, limit: Option<Duration>) -> io::Result<()> {
        let timeout = limit.map_or(-1, |limit| limit.as_millis() as i32);
        events.filled = 0;
        // SAFETY: the buffer has room for as many events as the length passed, and they are plain
        // data that any bit pattern is valid for.
        let found = check(unsafe {
            libc::epoll_wait(
                self.fd.as_raw_fd(),
                events.buffer.as_mut_ptr(),
                events.buffer.len() as i32,
                timeout,
            )
        });
        match found {
            Ok(count) => events.filled = count as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// A listener on a free loopback port, with a backlog that holds thousands.
pub(crate) fn listen() -> io::Result<TcpListener> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Raises the limit of open files to the most this user may have, and returns it.
pub(crate) fn raise_open_files() -> io::Result<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` lives through both calls.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: as above.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })?;
    Ok(limit.rlim_cur)
}

/// Keeps this process, and the threads it starts from now on, on one core.
pub(crate) fn pin_to(core: usize) -> io::Result<()> {
    // SAFETY: a CPU set is an array of integers, for which zero is valid.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: `set` is a valid set; a core past its end is ignored by the macro's bounds.
    unsafe { libc::CPU_SET(core % libc::CPU_SETSIZE as usize, &mut set) };
    // SAFETY: the size is that of `set`, which lives through the call.
    check(unsafe { libc::sched_setaffinity(0, mem::size_of_val(&set), &raw const set) })?;
    Ok(())
}

/// Lets the kernel end this thread's sleeps as exactly as it can, instead of up to 50 µs later.
pub(crate) fn sleep_exactly() -> io::Result<()> {
    const NANOSECOND: libc::c_ulong = 1;
    // SAFETY: this option takes a number.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, NANOSECOND) })?;
    Ok(())
}

/// Drops a file's clean pages from the page cache.
pub(crate) fn drop_cached(file: impl AsFd) -> io::Result<()> {
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: `fd` is open for the whole call, which takes no pointer.
    match unsafe { libc::posix_fadvise(fd, 0, 0, libc::POSIX_FADV_DONTNEED) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// The CPU time that this process has used, all its threads together.
pub(crate) fn cpu_time() -> Duration {
    let mut time = mem::MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: `time` is valid for the one `timespec` that the call writes.
    let code = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, time.as_mut_ptr()) };
    assert_eq!(code, 0, "Linux has a clock for each process");
    // SAFETY: the call succeeded, so it has filled `time`.
    let time = unsafe { time.assume_init() };
    Duration::new(
        time.tv_sec.cast_unsigned(),
        time.tv_nsec.cast_unsigned() as u32,
    )
}

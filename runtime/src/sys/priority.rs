//! How the kernel weighs the calling thread against others.
//!
//! Each of these concerns one thread, needs no privilege as long as it gives something up, and may be
//! refused: whoever calls them goes on without.

use std::io;
use std::time::Duration;

use libc::{c_int, c_long};

use super::check;

#[cfg(test)]
mod tests;

/// `struct sched_attr` of the kernel, in its first version.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// For threads without a deadline: the slice, since Linux 6.12.
    runtime: u64,
    deadline: u64,
    period: u64,
}

const SIZE: u32 = size_of::<Attributes>() as u32;

/// The nice value of this thread.
pub(crate) fn nice() -> io::Result<i8> {
    attributes().map(|attributes| attributes.nice as i8)
}

/// Changes the nice value of this thread.
pub(crate) fn set_nice(nice: i8) -> io::Result<()> {
    // SAFETY: a call without pointers; 0 is the calling thread.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, c_int::from(nice)) }).map(drop)
}

/// The length of this thread's slices; zero where the kernel does not tell.
pub(crate) fn slice() -> io::Result<Duration> {
    attributes().map(|attributes| Duration::from_nanos(attributes.runtime))
}

/// Asks for slices of that length: a thread with short ones is let in sooner, and lets others in sooner.
/// Its share of the CPU stays the same.
///
/// Zero is the kernel's own choice again. Kernels before 6.12 take it and do nothing; [`slice`] tells.
pub(crate) fn set_slice(slice: Duration) -> io::Result<()> {
    let mut attributes = attributes()?;
    attributes.size = SIZE;
    attributes.flags = 0;
    attributes.runtime = u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX);
    // SAFETY: the kernel reads as many bytes as `size` says.
    let code = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    checked(code)
}

fn attributes() -> io::Result<Attributes> {
    let mut attributes = Attributes::default();
    // SAFETY: the kernel writes as many bytes as it is told there is room for.
    let code = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, SIZE, 0) };
    checked(code).map(|()| attributes)
}

fn checked(code: c_long) -> io::Result<()> {
    // Either call answers 0 or -1.
    check(code as c_int).map(drop)
}

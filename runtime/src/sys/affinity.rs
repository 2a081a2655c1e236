//! Which CPUs the calling thread may run on.

use std::io;

use libc::{c_int, c_ulong, cpu_set_t, pid_t};

use super::check;

#[cfg(test)]
mod tests;

/// As many as the kernel can be built for; `cpu_set_t` has room for an eighth of them.
const CPUS: usize = 8192;

/// Bits in a word of the kernel's set.
const BITS: usize = c_ulong::BITS as usize;

/// A bit for each CPU, from the lowest of the first word.
type Set = [c_ulong; CPUS / BITS];

/// The calling thread.
const SELF: pid_t = 0;

/// The numbers of the CPUs that the calling thread may run on.
pub(crate) fn allowed() -> io::Result<Vec<usize>> {
    let mut set: Set = [0; _];
    // SAFETY: the kernel writes as many bytes as it is told there is room for.
    check(unsafe { libc::sched_getaffinity(SELF, size_of::<Set>(), set.as_mut_ptr().cast()) })?;
    let is_set = |cpu: &usize| set[cpu / BITS] & (1 << (cpu % BITS)) != 0;
    Ok((0..CPUS).filter(is_set).collect())
}

/// Keeps the calling thread on one CPU from now on.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    let mut set: Set = [0; _];
    let word = set.get_mut(cpu / BITS).ok_or(io::ErrorKind::InvalidInput)?;
    *word = 1 << (cpu % BITS);
    let set: *const cpu_set_t = set.as_ptr().cast();
    // SAFETY: the kernel reads as many bytes as it is told there are.
    let code: c_int = unsafe { libc::sched_setaffinity(SELF, size_of::<Set>(), set) };
    check(code).map(drop)
}

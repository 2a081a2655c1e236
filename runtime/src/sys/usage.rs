//! What the kernel has counted of a thread.

use std::mem::MaybeUninit;
use std::time::Duration;

use super::check;

#[cfg(test)]
mod tests;

/// How often the calling thread was taken off its CPU although it could have run on; 0 where the
/// kernel does not tell. See getrusage(2), `ru_nivcsw`.
pub(crate) fn preemptions() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: there is room for what the kernel writes.
    let code = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    if check(code).is_err() {
        return 0;
    }
    // SAFETY: it was zeroed, which is a value of each of its integers, and the kernel has written integers.
    let usage = unsafe { usage.assume_init() };
    u64::try_from(usage.ru_nivcsw).unwrap_or(0)
}

/// How long a thread of this process, by its number in `/proc`, has run until now; `None` if there is none, or the kernel
/// does not tell. See `pthread_getcpuclockid(3)`, which finds the same clock by another handle.
pub(crate) fn time_on_cpu(thread: u32) -> Option<Duration> {
    /// What the kernel's scheduler has counted (2), of one thread (4).
    const SCHEDULED: libc::clockid_t = 2 | 4;
    let thread = libc::clockid_t::try_from(thread).ok()?;
    let clock = !thread << 3 | SCHEDULED;
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: there is room for what the kernel writes.
    check(unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) }).ok()?;
    // SAFETY: it was zeroed, which is a value of each of its integers, and the kernel has written integers.
    let time = unsafe { time.assume_init() };
    let (seconds, nanos) = (time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?);
    Some(Duration::new(seconds, nanos))
}

//! What the kernel has counted of the calling thread.

use std::mem::MaybeUninit;

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

//! Tells the CPU early which memory the events of a batch will need.
//!
//! With many sources an event's entry, the waiter in it and the task that waits have left the near caches since they
//! were used last. Each names the next one, so an event taken alone would wait for main memory three times in a row. So
//! a batch is gone through beforehand, a step at a time: while one event's line is on its way, the others' are asked for.

#![expect(unsafe_code, reason = "a line is fetched by an instruction")]

/// Asks for the cache line that `address` lies in.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn line<T>(address: *const T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint, for any address: nothing is read, and nothing faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

/// Asks for the cache line that `address` lies in, where that has been tried.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn line<T>(_address: *const T) {}

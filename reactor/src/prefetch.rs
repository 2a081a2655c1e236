//! Asking for memory before it is needed.
//!
//! Of a hundred timers that fire at once, or of a hundred sockets with events, each has its task somewhere
//! else in memory. What a thread will touch next is known before it gets there: so it has the lines
//! fetched while it is busy with others.

#![expect(unsafe_code, reason = "the processor's hint is an intrinsic")]

/// A task's header and the beginning of its future lie in so many bytes.
const LINE: usize = 64;

/// Hints that the two cache lines from `address` on will be written soon. Any address will do.
#[inline]
pub(crate) fn prefetch(address: *const ()) {
    fetch(address);
    fetch(address.wrapping_byte_add(LINE));
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn fetch(address: *const ()) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint reads nothing and faults nowhere.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn fetch(_: *const ()) {}

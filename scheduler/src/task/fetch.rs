//! Tells the CPU early which memory a task's next poll will need.
//!
//! Between two polls of one task of thousands its memory leaves the near caches. A wake touches the header, so that line
//! is there when the worker comes to the task; what follows is not, and the poll would begin with a wait for main memory,
//! some 100 ns. The wake comes a few polls earlier, so it asks for the lines that a poll is likely to
//! touch: those behind the header, and the last ones. rustc places a future's large buffers first, and the small fields, among them
//! the number of the point where it waits, behind them.

#![expect(unsafe_code, reason = "a line is fetched by an instruction")]

use std::ptr;

use super::cell::Header;

const LINE: usize = 64;

/// What is smaller than this lies in lines that the wake and the start of the poll touch anyway.
const SMALL: usize = 3 * LINE;

/// Asks for what the next poll of a task, of `size` bytes in all, is likely to touch.
#[inline]
pub(super) fn prefetch(task: &Header, size: usize) {
    if size < SMALL {
        return;
    }
    // Tasks do not begin at the start of a line: the last two lines' worth of bytes may lie in three.
    for offset in [
        LINE,
        2 * LINE,
        size - 1 - 2 * LINE,
        size - 1 - LINE,
        size - 1,
    ] {
        line(ptr::from_ref(task).cast::<u8>().wrapping_add(offset));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint, for any address: nothing is read, and nothing faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn line(_: *const u8) {}

//! The memory that the process has.

#![expect(
    unsafe_code,
    reason = "the allocator is asked to give free memory back"
)]

use std::fs;

/// How many bytes of memory are resident, after the allocator has given back what is free.
///
/// # Panics
///
/// If `/proc` cannot be read.
pub fn memory() -> usize {
    // SAFETY: takes no pointer; any thread may call it.
    unsafe { libc::malloc_trim(0) };
    let status = fs::read_to_string("/proc/self/status").expect("/proc/self/status");
    let field = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = field.and_then(|field| field.trim().strip_suffix(" kB"));
    let kilobytes = kilobytes.and_then(|kilobytes| kilobytes.parse::<usize>().ok());
    kilobytes.expect("VmRSS in kilobytes") * 1024
}

/// How many bytes the program has from the allocator. What the allocator keeps of what was given back does not
/// count: glibc does not return the top of a thread's arena while it is smaller than a threshold, which grows
/// with the largest block that was ever freed, and not for `malloc_trim` either.
pub fn memory_in_use() -> usize {
    // SAFETY: takes no pointer; any thread may call it.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}

//! What the kernel says of a thread, in `/proc`.

use std::fs;

#[cfg(test)]
mod tests;

/// The kernel's number of the calling thread.
pub(crate) fn thread_number() -> Option<u32> {
    let link = fs::read_link("/proc/thread-self").ok()?;
    link.file_name()?.to_str()?.parse().ok()
}

/// Whether a thread of this process waits for something, and not for a CPU. `false` if the kernel does not tell. See
/// `proc_pid_stat(5)`.
pub(crate) fn is_asleep(thread: u32) -> bool {
    let stat = fs::read(format!("/proc/self/task/{thread}/stat"));
    stat.is_ok_and(|stat| matches!(state(&stat), Some(b'S' | b'D')))
}

/// The third field. The second is a name in brackets, which may have some of its own.
fn state(stat: &[u8]) -> Option<u8> {
    let name_ends = stat.iter().rposition(|&byte| byte == b')')?;
    stat.get(name_ends + 2).copied()
}

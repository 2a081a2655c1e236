//! What the kernel says of a thread, in `/proc`.

use std::fs;
use std::time::Duration;

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

/// Where a thread's time went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTime {
    /// On a CPU.
    pub(crate) ran: Duration,
    /// Ready to run, without a CPU.
    pub(crate) waited: Duration,
}

/// The calling thread's; nothing if the kernel does not tell. See `proc_pid_schedstat(5)`.
pub(crate) fn cpu_time() -> CpuTime {
    let stat = fs::read_to_string("/proc/thread-self/schedstat");
    stat.ok().and_then(|stat| times(&stat)).unwrap_or_default()
}

/// The first two fields, in nanoseconds.
fn times(stat: &str) -> Option<CpuTime> {
    let mut fields = stat.split_ascii_whitespace();
    let mut field = || Some(Duration::from_nanos(fields.next()?.parse().ok()?));
    Some(CpuTime {
        ran: field()?,
        waited: field()?,
    })
}

/// The third field. The second is a name in brackets, which may have some of its own.
fn state(stat: &[u8]) -> Option<u8> {
    let name_ends = stat.iter().rposition(|&byte| byte == b')')?;
    stat.get(name_ends + 2).copied()
}

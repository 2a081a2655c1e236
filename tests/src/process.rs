//! The process from outside.

use std::fs;
use std::time::Duration;

/// How many file descriptors are open.
///
/// # Panics
///
/// If `/proc` cannot be read.
pub fn fds() -> usize {
    // Reading the folder opens one more.
    fs::read_dir("/proc/self/fd")
        .expect("/proc/self/fd")
        .count()
        - 1
}

/// How many threads the process has.
///
/// # Panics
///
/// If `/proc` cannot be read.
pub fn threads() -> usize {
    fs::read_dir("/proc/self/task")
        .expect("/proc/self/task")
        .count()
}

/// The threads' names, sorted. The kernel keeps 15 bytes of each.
///
/// # Panics
///
/// If `/proc` cannot be read.
pub fn thread_names() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").expect("/proc/self/task");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    let mut names: Vec<String> = names.map(|name| name.trim_end().to_owned()).collect();
    names.sort();
    names
}

/// How many threads there are whose names start so.
///
/// One that has been joined may still be there for a moment: the kernel says that it has ended first.
///
/// # Panics
///
/// If `/proc` cannot be read.
pub fn threads_named(name: &str) -> usize {
    let names = thread_names();
    names.iter().filter(|other| other.starts_with(name)).count()
}

/// How often the threads whose names start so have gone to sleep, all together.
///
/// # Panics
///
/// If `/proc` cannot be read.
pub fn sleeps(name: &str) -> u64 {
    let tasks = fs::read_dir("/proc/self/task").expect("/proc/self/task");
    let sleeps = tasks.filter_map(|task| {
        let status = fs::read_to_string(task.ok()?.path().join("status")).ok()?;
        let field = |field: &str| Some(status.lines().find_map(|l| l.strip_prefix(field))?.trim());
        let count = field("voluntary_ctxt_switches:")?.parse::<u64>().ok()?;
        field("Name:")?.starts_with(name).then_some(count)
    });
    sleeps.sum()
}

/// The CPU time that the process has used, all its threads together, in the kernel's nanoseconds.
///
/// # Panics
///
/// If `/proc` cannot be read.
pub fn cpu_time() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").expect("/proc/self/task");
    let used = tasks.filter_map(|task| {
        let stat = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        stat.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(used.sum())
}

/// How many CPUs the calling thread may run on, whatever the quotas of its control groups.
///
/// # Panics
///
/// If `/proc` cannot be read.
pub fn allowed_cpus() -> usize {
    let status = fs::read_to_string("/proc/thread-self/status").expect("/proc/thread-self/status");
    let mask = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed:"));
    let digits = mask
        .expect("a mask")
        .chars()
        .filter_map(|digit| digit.to_digit(16));
    digits.map(|digit| digit.count_ones() as usize).sum()
}

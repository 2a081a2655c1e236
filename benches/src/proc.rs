//! What the kernel says of a process: CPU seconds, context switches, memory.
//!
//! Everything is read from `/proc`, so that a peer's process is measured from outside and in the same
//! way whatever it is written in. A file that cannot be read any more (the process has ended) counts
//! as zero.

use std::fs;
use std::sync::LazyLock;

#[cfg(test)]
mod tests;

/// Clock ticks a second in `/proc` (`USER_HZ`, which is 100 on every Linux port in use).
const TICKS: f64 = 100.0;

/// A point in a process's life.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// User and system time, all threads, in seconds.
    pub(crate) cpu_seconds: f64,
    /// Times a live thread gave up its core by itself.
    pub(crate) voluntary_switches: u64,
    /// Resident memory now.
    pub(crate) rss_bytes: u64,
    /// The most that was ever resident.
    pub(crate) peak_bytes: u64,
}

impl Usage {
    /// Of process `pid`.
    pub(crate) fn of(pid: u32) -> Usage {
        let base = format!("/proc/{pid}");
        let status = read(&format!("{base}/status"));
        Usage {
            cpu_seconds: cpu_seconds(&read(&format!("{base}/stat"))).unwrap_or(0.0),
            voluntary_switches: threads(pid)
                .iter()
                .map(|tid| read(&format!("{base}/task/{tid}/status")))
                .filter_map(|text| field(&text, "voluntary_ctxt_switches"))
                .sum(),
            rss_bytes: field(&status, "VmRSS").unwrap_or(0) * 1024,
            peak_bytes: field(&status, "VmHWM").unwrap_or(0) * 1024,
        }
    }

    /// Of the caller's process.
    pub(crate) fn own() -> Usage {
        Usage::of(std::process::id())
    }
}

/// The thread ids of a process.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// CPU time of the whole machine, in seconds since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Machine {
    /// Spent in processes, or taken by the hypervisor for other guests.
    pub(crate) busy: f64,
    /// Busy, idle and interrupts together: cores × wall clock.
    pub(crate) all: f64,
}

impl Machine {
    /// Now.
    pub(crate) fn now() -> Machine {
        machine(&read("/proc/stat")).unwrap_or_default()
    }

    /// What went, since `earlier`, to something other than `ours` seconds of measured work. Interrupt
    /// time is nobody's: loopback traffic is handled there.
    pub(crate) fn others_since(&self, earlier: &Machine, ours: f64) -> Others {
        Others {
            seconds: self.busy - earlier.busy - ours,
            of: self.all - earlier.all,
        }
    }
}

/// CPU time that other processes took. Short runs are blurred by the steps of 10 ms in which it is
/// counted, and may even show less than none, so that runs are added up before they are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Others {
    seconds: f64,
    /// The machine's CPU time, used or not.
    of: f64,
}

impl Others {
    /// The share of the machine that they took in all of the runs.
    pub(crate) fn share(runs: impl Iterator<Item = Others>) -> f64 {
        let (seconds, of) = runs.fold((0.0, 0.0), |sum, run| (sum.0 + run.seconds, sum.1 + run.of));
        if of > 0.0 {
            (seconds / of).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// Cores of this machine, its kernel and processor: what a reader must know beside a number.
pub(crate) static HOST: LazyLock<String> = LazyLock::new(|| {
    let kernel = read("/proc/sys/kernel/osrelease").trim().to_owned();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{cores} cores, {model}, Linux {kernel}")
});

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// `utime + stime` of a `/proc/PID/stat` line. The name may hold spaces and parentheses, so counting
/// starts after the last `)`.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS)
}

/// The number after `name:` in a `/proc/PID/status` text.
fn field(status: &str, name: &str) -> Option<u64> {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
}

/// The first line of `/proc/stat`: user nice system idle iowait irq softirq steal.
fn machine(stat: &str) -> Option<Machine> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<f64> = line
        .split_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    let busy = ticks.get(0..3)?.iter().sum::<f64>() + ticks.get(7)?;
    let all = ticks.get(0..8)?.iter().sum::<f64>();
    Some(Machine {
        busy: busy / TICKS,
        all: all / TICKS,
    })
}

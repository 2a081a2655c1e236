//! Metrics as text, for people.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use rt_scheduler::{Histogram, WorkerMetrics};

use super::RuntimeMetrics;

/// The quantiles of a histogram that are shown.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// A table: a line for all tasks, one for each worker, and one for each of the runtime's other parts.
impl Display for RuntimeMetrics {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "tasks        {} live, {} spawned, {} injected",
            self.live_tasks, self.spawned_tasks, self.injected
        )?;
        let columns = ["polls", "steals", "parks", "harvested", "overflow"];
        line(f, "worker", columns, "stalls", "busy")?;
        workers(f, "io", self.io_threads, &self.io_workers)?;
        workers(f, "cpu", self.cpu_threads, &self.cpu_workers)?;
        writeln!(
            f,
            "guard        {} stalls, {} spares started",
            self.stalls, self.spare_workers_started
        )?;
        self.print_times(f)?;
        self.print_priorities(f)?;
        self.print_blocking(f)?;
        writeln!(
            f,
            "reactor      {} wake-ups, {} events, {} sources",
            self.reactor_polls, self.reactor_events, self.live_sources
        )?;
        write!(
            f,
            "timers       {} wait, {} fired",
            self.live_timers, self.timers_fired
        )
    }
}

impl RuntimeMetrics {
    fn print_times(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let histograms = [
            ("io polls", &self.io_poll_times),
            ("io queued", &self.io_schedule_latencies),
            ("cpu polls", &self.cpu_poll_times),
            ("cpu queued", &self.cpu_schedule_latencies),
        ];
        for (name, histogram) in histograms {
            if let Some(histogram) = histogram {
                print_histogram(f, name, histogram)?;
            }
        }
        Ok(())
    }

    fn print_priorities(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("kernel       ")?;
        let mut separator = "";
        if let Some(nice) = self.cpu_nice {
            write!(f, "cpu nice {nice}")?;
            separator = ", ";
        }
        for (pool, slice) in [("io", self.io_slice), ("cpu", self.cpu_slice)] {
            if let Some(slice) = slice {
                write!(f, "{separator}{pool} slices {}", Short(slice))?;
                separator = ", ";
            }
        }
        writeln!(f, "{}", if separator.is_empty() { "-" } else { "" })
    }

    fn print_blocking(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "blocking     {} threads, {} idle, {} queued",
            self.blocking_threads, self.idle_blocking_threads, self.blocking_queue_depth
        )?;
        let lanes = [
            ("jobs", &self.blocking_jobs),
            ("files", &self.blocking_files),
            ("lookups", &self.blocking_lookups),
        ];
        for (index, (name, lane)) in lanes.into_iter().enumerate() {
            let before = if index == 0 { "; " } else { ", " };
            let (queued, wait) = (lane.queued, Short(lane.longest_wait));
            write!(f, "{before}{name} {queued} (longest wait {wait})")?;
        }
        writeln!(f)
    }
}

/// The workers of a pool, and after them the spares that have served.
fn workers(
    f: &mut Formatter<'_>,
    pool: &str,
    stay: usize,
    workers: &[WorkerMetrics],
) -> fmt::Result {
    for (index, worker) in workers.iter().enumerate() {
        let name = match index.checked_sub(stay) {
            None => format!("{pool}-{index}"),
            Some(spare) => format!("{pool}-spare-{spare}"),
        };
        let columns = [
            worker.polls,
            worker.steals,
            worker.parks,
            worker.harvested,
            worker.overflow,
        ];
        line(f, &name, columns, worker.stalls, Short(worker.busy))?;
    }
    Ok(())
}

fn line(
    f: &mut Formatter<'_>,
    name: &str,
    columns: [impl Display; 5],
    stalls: impl Display,
    busy: impl Display,
) -> fmt::Result {
    write!(f, "{name:12} ")?;
    for column in columns {
        write!(f, "{column:>11} ")?;
    }
    writeln!(f, "{stalls:>8} {busy:>9}")
}

fn print_histogram(f: &mut Formatter<'_>, name: &str, histogram: &Histogram) -> fmt::Result {
    write!(f, "{name:12} {} measured", histogram.count())?;
    if histogram.count() == 0 {
        return writeln!(f);
    }
    write!(f, ", mean {}", Short(histogram.mean()))?;
    for (quantile, share) in QUANTILES {
        write!(f, ", {quantile} {}", Short(histogram.quantile(share)))?;
    }
    writeln!(f, ", longest {}", Short(histogram.quantile(1.0)))
}

/// Three figures or so, with a unit.
struct Short(Duration);

impl Display for Short {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_zero() {
            return f.pad("0");
        }
        f.pad(&format!("{:.1?}", self.0))
    }
}

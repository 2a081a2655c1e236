//! The runtime's counters.

use std::time::Duration;

use rt_scheduler::{Histogram, LaneMetrics, Pool, WorkerMetrics};

use crate::handle::Inner;

#[cfg(feature = "metrics")]
mod export;
mod print;

/// What a runtime has counted, at one moment.
///
/// The counters are read one after another while the runtime runs, so two of them need not belong
/// to the same instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RuntimeMetrics {
    /// Workers of the IO pool.
    pub io_threads: usize,
    /// Workers of the CPU pool.
    pub cpu_threads: usize,
    /// Tasks that have not ended, on both pools.
    pub live_tasks: usize,
    /// Tasks that were ever spawned, on both pools.
    pub spawned_tasks: u64,
    /// Tasks in the injectors just now.
    pub injected: usize,
    /// How often a spare worker was called in for a stuck one, on both pools.
    pub spare_workers_started: u64,
    /// How many polls on the IO pool lasted longer than the stall threshold.
    pub stalls: u64,
    /// How long the polls of the IO pool's tasks have taken; `None` unless the runtime was made with
    /// [`enable_metrics_poll_time_histogram`](crate::runtime::Builder::enable_metrics_poll_time_histogram).
    pub io_poll_times: Option<Histogram>,
    /// How long the IO pool's tasks were queued before their polls; `None` unless the runtime was made with
    /// [`enable_metrics_schedule_latency_histogram`](crate::runtime::Builder::enable_metrics_schedule_latency_histogram).
    pub io_schedule_latencies: Option<Histogram>,
    /// As [`io_poll_times`](RuntimeMetrics::io_poll_times), of the CPU pool; `None` also while that has not started.
    pub cpu_poll_times: Option<Histogram>,
    /// As [`io_schedule_latencies`](RuntimeMetrics::io_schedule_latencies), of the CPU pool; `None` also while that has
    /// not started.
    pub cpu_schedule_latencies: Option<Histogram>,
    /// The IO pool's workers, and after them the spares that have served.
    pub io_workers: Vec<WorkerMetrics>,
    /// The CPU pool's workers; empty while that pool has not started.
    pub cpu_workers: Vec<WorkerMetrics>,
    /// The nice value of the CPU pool's threads; `None` while that pool has not started.
    pub cpu_nice: Option<i8>,
    /// The slices that the CPU pool's threads run in; `None` where the kernel has one length for all.
    pub cpu_slice: Option<Duration>,
    /// The slices that the IO pool's threads run in; `None` as above, and on a current-thread runtime,
    /// which leaves its caller's thread as it is.
    pub io_slice: Option<Duration>,
    /// Threads for blocking calls.
    pub blocking_threads: usize,
    /// Those of them that wait for a job.
    pub idle_blocking_threads: usize,
    /// Blocking jobs that wait for a thread, of all kinds.
    pub blocking_queue_depth: usize,
    /// The jobs of [`spawn_blocking`](crate::spawn_blocking) among them.
    pub blocking_jobs: LaneMetrics,
    /// The calls for files among them.
    pub blocking_files: LaneMetrics,
    /// The names to look up among them.
    pub blocking_lookups: LaneMetrics,
    /// How often `epoll_wait` has returned.
    pub reactor_polls: u64,
    /// Events that it has returned.
    pub reactor_events: u64,
    /// Registered sockets and other file descriptors.
    pub live_sources: usize,
    /// Timers that wait.
    pub live_timers: usize,
    /// Timers that have fired.
    pub timers_fired: u64,
}

impl RuntimeMetrics {
    pub(crate) fn read(inner: &Inner) -> Self {
        let io = inner.io.pool();
        let cpu = inner.cpu.started();
        let io_workers = io.worker_metrics();
        let blocking = inner.blocking.metrics();
        let granted = inner.granted.read();
        RuntimeMetrics {
            io_threads: io.workers(),
            cpu_threads: inner.cpu.workers(),
            live_tasks: io.live_tasks() + cpu.map_or(0, Pool::live_tasks),
            spawned_tasks: io.spawned_tasks() + cpu.map_or(0, Pool::spawned_tasks),
            injected: io.injected() + cpu.map_or(0, Pool::injected),
            spare_workers_started: io.spares_called() + cpu.map_or(0, Pool::spares_called),
            stalls: io_workers.iter().map(|worker| worker.stalls).sum(),
            io_poll_times: io.poll_times(),
            io_schedule_latencies: io.schedule_latencies(),
            cpu_poll_times: cpu.and_then(Pool::poll_times),
            cpu_schedule_latencies: cpu.and_then(Pool::schedule_latencies),
            io_workers,
            cpu_workers: cpu.map_or_else(Vec::new, Pool::worker_metrics),
            cpu_nice: granted.cpu_nice,
            cpu_slice: granted.cpu_slice,
            io_slice: granted.io_slice,
            blocking_threads: blocking.threads,
            idle_blocking_threads: blocking.idle,
            blocking_queue_depth: blocking.user.queued
                + blocking.files.queued
                + blocking.dns.queued,
            blocking_jobs: blocking.user,
            blocking_files: blocking.files,
            blocking_lookups: blocking.dns,
            reactor_polls: inner.reactor.polls(),
            reactor_events: inner.reactor.events(),
            live_sources: inner.reactor.live_sources() - inner.files.sources(),
            live_timers: inner.reactor.live_timers(),
            timers_fired: inner.reactor.timers_fired(),
        }
    }
}

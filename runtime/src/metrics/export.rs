//! Metrics for the `metrics` facade, from where an exporter takes them.
//!
//! All that the facade is given is counted by the runtime itself, so an export sets values and adds up nothing: it
//! may come as often or as rarely as one likes, from any thread, and none is lost in between. Histograms
//! go as counters, in Prometheus' form: the facade's own would want every single duration anew.
//!
//! The crate is `::metrics` here: `crate::metrics` is the module above.

use std::time::Duration;

use ::metrics::{Key, KeyName, Label, Level, Metadata, Recorder, Unit, with_recorder};
use rt_scheduler::{Histogram, HistogramBucket, LaneMetrics, WorkerMetrics};

use super::RuntimeMetrics;
use crate::handle::Handle;
use crate::time::interval;

const METADATA: Metadata<'static> = Metadata::new("rt", Level::INFO, Some("rt"));

impl Handle {
    /// Gives the runtime's [metrics](Handle::metrics), as they are now, to the recorder of the crate
    /// [`metrics`](https://docs.rs/metrics), and with it to whatever exporter the program has installed. Needs the feature
    /// `metrics`.
    ///
    /// It may be called at any moment and from any thread; best just before the exporter is asked, or
    /// regularly, as [`export_metrics_every`](Handle::export_metrics_every) does. Without a recorder it does nothing.
    ///
    /// Each series has the label `runtime`, the [name](crate::runtime::Builder::thread_name) of the runtime's threads: give
    /// runtimes of one process different ones.
    ///
    /// | series | kind | further labels |
    /// |---|---|---|
    /// | `rt_threads` | gauge | `pool`: `io`, `cpu` |
    /// | `rt_live_tasks`, `rt_injected_tasks` | gauge | |
    /// | `rt_spawned_tasks_total`, `rt_stalls_total`, `rt_spare_workers_started_total` | counter | |
    /// | `rt_worker_polls_total`, `rt_worker_steals_total`, `rt_worker_parks_total`, `rt_worker_harvested_total`, `rt_worker_overflow_total`, `rt_worker_stalls_total`, `rt_worker_busy_nanoseconds_total` | counter | `pool`; `worker`: a number, or `spares` for all of them together |
    /// | `rt_cpu_nice` | gauge | |
    /// | `rt_slice_seconds` | gauge | `pool` |
    /// | `rt_blocking_threads`, `rt_idle_blocking_threads`, `rt_blocking_queue_depth` | gauge | |
    /// | `rt_blocking_lane_queue_depth`, `rt_blocking_lane_longest_wait_seconds` | gauge | `lane`: `jobs`, `files`, `lookups` |
    /// | `rt_reactor_polls_total`, `rt_reactor_events_total`, `rt_timers_fired_total` | counter | |
    /// | `rt_live_sources`, `rt_live_timers` | gauge | |
    /// | `rt_poll_time_nanoseconds_bucket`, `rt_schedule_latency_nanoseconds_bucket` | counter | `pool`; `le` |
    /// | `rt_poll_time_nanoseconds_sum`, `…_count`, `rt_schedule_latency_nanoseconds_sum`, `…_count` | counter | `pool` |
    ///
    /// What is `None` in [`RuntimeMetrics`] is left out. The last two rows are histograms, if the
    /// [builder](crate::runtime::Builder::enable_metrics_poll_time_histogram) was asked for them: how many there were of at
    /// most `le` nanoseconds, for each power of two. Prometheus reads them as such:
    /// `histogram_quantile(0.99, sum by (le) (rate(rt_poll_time_nanoseconds_bucket[1m])))`.
    ///
    /// # Examples
    ///
    /// The page that Prometheus asks for, which the example `metrics` serves:
    ///
    /// ```
    /// use metrics_exporter_prometheus::PrometheusBuilder;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let exporter = PrometheusBuilder::new().install_recorder().unwrap();
    /// rt::spawn(async {}).await.unwrap();
    ///
    /// rt::Handle::current().export_metrics();
    /// let page = exporter.render();
    /// assert!(page.contains("rt_spawned_tasks_total{runtime=\"rt\"} 1"), "{page}");
    /// # }
    /// ```
    pub fn export_metrics(&self) {
        let metrics = self.metrics();
        let name = &self.inner.name;
        with_recorder(|recorder| Export { recorder, name }.all(&metrics));
    }

    /// [Exports](Handle::export_metrics) the metrics now and then once in each `period`, for ever: for a task of its own.
    ///
    /// # Panics
    ///
    /// If `period` is zero.
    ///
    /// # Cancel safety
    ///
    /// It may be dropped at any moment; what was exported stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let handle = rt::Handle::current();
    /// rt::spawn(async move { handle.export_metrics_every(Duration::from_secs(10)).await });
    /// # }
    /// ```
    pub async fn export_metrics_every(&self, period: Duration) {
        let mut ticks = interval(period);
        loop {
            ticks.tick().await;
            self.export_metrics();
        }
    }
}

/// One export of one runtime.
struct Export<'a> {
    recorder: &'a dyn Recorder,
    /// The runtime's name.
    name: &'a str,
}

impl Export<'_> {
    fn all(&self, metrics: &RuntimeMetrics) {
        self.tasks(metrics);
        self.workers("io", metrics.io_threads, &metrics.io_workers);
        self.workers("cpu", metrics.cpu_threads, &metrics.cpu_workers);
        self.kernel(metrics);
        self.blocking(metrics);
        self.reactor(metrics);
        for (pool, polls, latencies) in [
            ("io", &metrics.io_poll_times, &metrics.io_schedule_latencies),
            (
                "cpu",
                &metrics.cpu_poll_times,
                &metrics.cpu_schedule_latencies,
            ),
        ] {
            self.histogram(pool, &POLL_TIME, polls.as_ref());
            self.histogram(pool, &SCHEDULE_LATENCY, latencies.as_ref());
        }
    }

    fn tasks(&self, metrics: &RuntimeMetrics) {
        let live = "Tasks that have not ended";
        self.amount("rt_live_tasks", live, [], metrics.live_tasks);
        let injected = "Tasks in the injectors";
        self.amount("rt_injected_tasks", injected, [], metrics.injected);
        let spawned = "Tasks that were ever spawned";
        self.counter("rt_spawned_tasks_total", spawned, [], metrics.spawned_tasks);
        let stalls = "Polls on the IO pool that lasted longer than the stall threshold";
        self.counter("rt_stalls_total", stalls, [], metrics.stalls);
        let spares = "How often a spare worker was called in";
        let started = metrics.spare_workers_started;
        self.counter("rt_spare_workers_started_total", spares, [], started);
    }

    /// The workers of a pool one by one. The spares come and go, in places that change, so they
    /// are one.
    fn workers(&self, pool: &'static str, stay: usize, workers: &[WorkerMetrics]) {
        let threads = "Workers, without spares";
        self.amount("rt_threads", threads, [("pool", pool)], stay);
        let (staying, spares) = workers.split_at(stay.min(workers.len()));
        for (index, worker) in staying.iter().enumerate() {
            self.worker(pool, &index.to_string(), |value| value(worker));
        }
        if !spares.is_empty() {
            self.worker(pool, "spares", |value| spares.iter().map(value).sum());
        }
    }

    fn worker(&self, pool: &'static str, worker: &str, read: impl Fn(Value) -> u64) {
        let labels = [("pool", pool), ("worker", worker)];
        for (name, description, value) in WORKER {
            self.counter(name, description, labels, read(value));
        }
    }

    /// What the kernel has granted the threads.
    fn kernel(&self, metrics: &RuntimeMetrics) {
        if let Some(nice) = metrics.cpu_nice {
            let description = "The nice value of the CPU pool's threads";
            self.gauge("rt_cpu_nice", description, [], f64::from(nice));
        }
        for (pool, slice) in [("io", metrics.io_slice), ("cpu", metrics.cpu_slice)] {
            if let Some(slice) = slice {
                let description = "The slices that a pool's threads run in";
                let seconds = slice.as_secs_f64();
                self.gauge("rt_slice_seconds", description, [("pool", pool)], seconds);
            }
        }
    }

    fn blocking(&self, metrics: &RuntimeMetrics) {
        let all = "Threads for blocking calls";
        let idle = "Those of them that wait for a job";
        let queued = "Blocking jobs that wait for a thread";
        for (name, description, value) in [
            ("rt_blocking_threads", all, metrics.blocking_threads),
            (
                "rt_idle_blocking_threads",
                idle,
                metrics.idle_blocking_threads,
            ),
            (
                "rt_blocking_queue_depth",
                queued,
                metrics.blocking_queue_depth,
            ),
        ] {
            self.amount(name, description, [], value);
        }
        self.lane("jobs", &metrics.blocking_jobs);
        self.lane("files", &metrics.blocking_files);
        self.lane("lookups", &metrics.blocking_lookups);
    }

    fn lane(&self, lane: &'static str, metrics: &LaneMetrics) {
        let labels = [("lane", lane)];
        let queued = "Blocking jobs of one kind that wait for a thread";
        self.amount(
            "rt_blocking_lane_queue_depth",
            queued,
            labels,
            metrics.queued,
        );
        let wait = "The longest that a blocking job of one kind has waited for a thread";
        let seconds = metrics.longest_wait.as_secs_f64();
        self.gauge(
            "rt_blocking_lane_longest_wait_seconds",
            wait,
            labels,
            seconds,
        );
    }

    fn reactor(&self, metrics: &RuntimeMetrics) {
        let polls = "How often epoll_wait has returned";
        self.counter("rt_reactor_polls_total", polls, [], metrics.reactor_polls);
        let events = "Events that epoll_wait has returned";
        self.counter(
            "rt_reactor_events_total",
            events,
            [],
            metrics.reactor_events,
        );
        let fired = "Timers that have fired";
        self.counter("rt_timers_fired_total", fired, [], metrics.timers_fired);
        let sources = "Registered sockets and other file descriptors";
        self.amount("rt_live_sources", sources, [], metrics.live_sources);
        let timers = "Timers that wait";
        self.amount("rt_live_timers", timers, [], metrics.live_timers);
    }

    fn histogram(&self, pool: &'static str, names: &Names, histogram: Option<&Histogram>) {
        let Some(histogram) = histogram else { return };
        let mut count = 0;
        for bucket in histogram.buckets() {
            count += bucket.count;
            if let Some(le) = limit(&bucket) {
                let labels = [("pool", pool), ("le", le.as_str())];
                self.counter(names.bucket, names.description, labels, count);
            }
        }
        let labels = [("pool", pool)];
        let sum = nanos(histogram.sum());
        self.counter(names.sum, names.description, labels, sum);
        self.counter(names.count, names.description, labels, count);
    }

    fn counter<const N: usize>(
        &self,
        name: &'static str,
        description: &'static str,
        labels: [(&'static str, &str); N],
        value: u64,
    ) {
        let (unit, key) = (unit(name), KeyName::from_const_str(name));
        self.recorder
            .describe_counter(key, Some(unit), description.into());
        let key = self.key(name, labels);
        self.recorder
            .register_counter(&key, &METADATA)
            .absolute(value);
    }

    fn amount<const N: usize>(
        &self,
        name: &'static str,
        description: &'static str,
        labels: [(&'static str, &str); N],
        value: usize,
    ) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "no such amount fits in the memory"
        )]
        self.gauge(name, description, labels, value as f64);
    }

    fn gauge<const N: usize>(
        &self,
        name: &'static str,
        description: &'static str,
        labels: [(&'static str, &str); N],
        value: f64,
    ) {
        let (unit, key) = (unit(name), KeyName::from_const_str(name));
        self.recorder
            .describe_gauge(key, Some(unit), description.into());
        let key = self.key(name, labels);
        self.recorder.register_gauge(&key, &METADATA).set(value);
    }

    fn key<const N: usize>(&self, name: &'static str, labels: [(&'static str, &str); N]) -> Key {
        let mut all = vec![Label::new("runtime", self.name.to_owned())];
        all.extend(labels.map(|(key, value)| Label::new(key, value.to_owned())));
        Key::from_parts(name, all)
    }
}

/// Which of a worker's counters.
type Value = fn(&WorkerMetrics) -> u64;

/// A worker's counters, with name and description.
const WORKER: [(&str, &str, Value); 7] = [
    (
        "rt_worker_polls_total",
        "Task polls of a worker",
        |worker| worker.polls,
    ),
    (
        "rt_worker_steals_total",
        "How often a worker took tasks from another one",
        |worker| worker.steals,
    ),
    (
        "rt_worker_parks_total",
        "How often a worker went to sleep",
        |worker| worker.parks,
    ),
    (
        "rt_worker_harvested_total",
        "Tasks that a worker made runnable by polling IO while busy",
        |worker| worker.harvested,
    ),
    (
        "rt_worker_overflow_total",
        "Tasks that have left a worker for the injector",
        |worker| worker.overflow,
    ),
    (
        "rt_worker_stalls_total",
        "Polls of a worker that lasted longer than the stall threshold",
        |worker| worker.stalls,
    ),
    (
        "rt_worker_busy_nanoseconds_total",
        "How long a worker has polled tasks, estimated from samples",
        |worker| nanos(worker.busy),
    ),
];

/// What the three kinds of series of a histogram are called.
struct Names {
    description: &'static str,
    bucket: &'static str,
    sum: &'static str,
    count: &'static str,
}

const POLL_TIME: Names = Names {
    description: "How long polls of tasks have taken",
    bucket: "rt_poll_time_nanoseconds_bucket",
    sum: "rt_poll_time_nanoseconds_sum",
    count: "rt_poll_time_nanoseconds_count",
};

const SCHEDULE_LATENCY: Names = Names {
    description: "How long tasks were queued before their polls",
    bucket: "rt_schedule_latency_nanoseconds_bucket",
    sum: "rt_schedule_latency_nanoseconds_sum",
    count: "rt_schedule_latency_nanoseconds_count",
};

/// The end of a bucket, if it is one that is exported: one in four.
fn limit(bucket: &HistogramBucket) -> Option<String> {
    if bucket.below == Duration::MAX {
        return Some("+Inf".to_owned());
    }
    let below = nanos(bucket.below);
    below.is_power_of_two().then(|| below.to_string())
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The names tell it: what counts nothing is a time. A histogram's `_bucket` and `_count` do count.
fn unit(name: &str) -> Unit {
    if name.ends_with("_seconds") {
        Unit::Seconds
    } else if name.ends_with("_nanoseconds_total") || name.ends_with("_nanoseconds_sum") {
        Unit::Nanoseconds
    } else {
        Unit::Count
    }
}

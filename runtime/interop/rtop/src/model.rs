//! What the runtime tells, as far as it is shown. What an older or newer one does not tell is zero.

use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The first line.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct Hello {
    /// The version of the protocol.
    pub rt_inspect: u32,
    /// The process id.
    #[serde(default)]
    pub process: u32,
    /// The first part of its threads' names.
    #[serde(default)]
    pub runtime: String,
}

/// The counters of a runtime.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are those of `rt::RuntimeMetrics`")]
pub struct Metrics {
    pub live_tasks: u64,
    pub spawned_tasks: u64,
    pub injected: u64,
    pub spare_workers_started: u64,
    pub stalls: u64,
    pub io_threads: usize,
    pub io_workers: Vec<Worker>,
    pub cpu_threads: usize,
    pub cpu_workers: Vec<Worker>,
    pub blocking_threads: u64,
    pub idle_blocking_threads: u64,
    pub blocking_jobs: Lane,
    pub blocking_files: Lane,
    pub blocking_lookups: Lane,
    pub reactor_polls: u64,
    pub reactor_events: u64,
    pub live_sources: u64,
    pub live_timers: u64,
    pub timers_fired: u64,
}

/// The counters of a worker.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are those of `rt::WorkerMetrics`")]
pub struct Worker {
    pub polls: u64,
    pub steals: u64,
    pub parks: u64,
    pub busy: Duration,
    pub stalls: u64,
}

/// The jobs of one kind that wait for a blocking thread.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are those of `rt::LaneMetrics`")]
pub struct Lane {
    pub queued: u64,
}

/// The live tasks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are those of `rt::dump::Dump`")]
pub struct Dump {
    pub tasks: Vec<Task>,
    pub scopes: Vec<Scope>,
    pub unlisted: u64,
}

/// One task. Times are in seconds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are those of `rt::dump::TaskDump`")]
pub struct Task {
    pub id: u64,
    pub name: Option<String>,
    pub location: String,
    pub pool: String,
    pub state: String,
    pub polls: u64,
    pub busy: Option<f64>,
    pub idle: Option<f64>,
    pub waits_for: Option<WaitsFor>,
    pub and_others: bool,
    pub scope: Option<u64>,
    pub worker: Option<usize>,
    pub running_for: Option<f64>,
    pub blocked_in: Option<String>,
}

/// What a task waits for.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "the names are those of `rt::dump::WaitsFor`")]
pub enum WaitsFor {
    Readable {
        fd: i32,
    },
    Writable {
        fd: i32,
    },
    Timer {
        left: Option<f64>,
    },
    Receive {
        channel: u64,
    },
    Send {
        channel: u64,
    },
    Join {
        task: u64,
    },
    Scope {
        scope: u64,
    },
    Cancellation {
        scope: u64,
    },
    /// Something that only a newer runtime knows.
    #[serde(untagged)]
    Unknown(IgnoredAny),
}

/// One scope.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are those of `rt::dump::ScopeDump`")]
pub struct Scope {
    pub id: u64,
    pub name: Option<String>,
    pub kind: String,
    pub parent: Option<u64>,
    pub opened_in: Option<u64>,
    pub children: u64,
    pub deadline: Option<f64>,
    pub cancelled: bool,
}

impl Task {
    /// Its name, or else the file and line of its spawn.
    pub fn title(&self) -> &str {
        match &self.name {
            Some(name) => name,
            None => self.place(),
        }
    }

    /// File and line of its spawn, without the folders.
    pub fn place(&self) -> &str {
        let file = self.location.rsplit('/').next().unwrap_or_default();
        // The column comes last.
        file.rsplit_once(':').map_or(file, |(place, _)| place)
    }

    /// Whether it is in a poll.
    pub fn runs(&self) -> bool {
        self.state == "running"
    }
}

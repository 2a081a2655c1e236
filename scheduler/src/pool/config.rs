//! How a pool is built.

use std::fmt;
use std::time::Duration;

use crate::guard::Stall;
use crate::hooks::Hooks;
use crate::observer::Measures;
use crate::primitive::sync::Arc;

/// How a pool is built.
#[derive(Clone, Debug)]
pub struct Config {
    /// Threads are called `NAME-KIND-INDEX`.
    pub name: String,
    /// `io`, `cpu`: the middle part of the threads' names.
    pub kind: &'static str,
    /// How many workers.
    pub workers: usize,
    /// Bytes of stack of each thread; `None` leaves it to `std`.
    pub stack_size: Option<usize>,
    /// What to call on the threads.
    pub hooks: Hooks,
    /// A busy worker looks at the injector first once in this many polls; `None`: as often as the
    /// length of its polls asks for.
    pub global_queue_interval: Option<u32>,
    /// A busy worker polls IO once in this many polls.
    pub event_interval: u32,
    /// How often the kernel has taken the calling thread off its CPU. With it, workers wake one
    /// another for less where the CPUs are idle than where they are contended, and stand back from one another there.
    pub preemptions: Option<fn() -> u64>,
    /// How long a thread of this process, by the kernel's number, has run. With it, a worker that has waited for a
    /// CPU is not taken for one whose polls are long.
    pub time_on_cpu: Option<fn(u32) -> Option<Duration>>,
    /// Fixes the workers' random choices.
    pub seed: u64,
    /// The lone worker of a pool without threads runs its tasks in an order drawn from the seed.
    pub shuffle: bool,
    /// A poll that lasts longer than this makes the guard act; `None` switches that off.
    pub stall_threshold: Option<Duration>,
    /// Told of each stall, on the reactor thread.
    pub on_stall: Option<OnStall>,
    /// How long the thread of a spare that is not needed stays.
    pub keep_alive: Duration,
    /// What is measured of each poll.
    pub measures: Measures,
}

/// Told of each stall; see [`Config::on_stall`].
#[derive(Clone)]
pub struct OnStall(Arc<dyn Fn(&Stall) + Send + Sync>);

impl OnStall {
    /// Wraps a function.
    pub fn new(f: impl Fn(&Stall) + Send + Sync + 'static) -> Self {
        OnStall(Arc::new(f))
    }

    /// Calls it.
    pub fn call(&self, stall: &Stall) {
        (self.0)(stall);
    }
}

impl fmt::Debug for OnStall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnStall").finish_non_exhaustive()
    }
}

impl Config {
    /// The defaults for `workers` threads of `kind`.
    pub fn new(name: &str, kind: &'static str, workers: usize) -> Self {
        Config {
            name: name.to_owned(),
            kind,
            workers,
            stack_size: None,
            hooks: Hooks::default(),
            global_queue_interval: None,
            event_interval: 61,
            preemptions: None,
            time_on_cpu: None,
            seed: 0,
            shuffle: false,
            stall_threshold: Some(Duration::from_millis(10)),
            on_stall: None,
            keep_alive: Duration::from_secs(10),
            measures: Measures::default(),
        }
    }

    /// How many workers there may be at a time, spares among them.
    pub fn places(&self) -> usize {
        self.workers + 4 * self.workers + 4
    }
}

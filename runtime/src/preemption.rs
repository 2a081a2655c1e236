//! Makes the kernel look often who should run, while more workers want to than there are CPUs.
//!
//! The kernel decides who runs when a thread wakes, and at its own timer tick, mostly 250 times a second. A worker
//! that has served many requests has had more than its share of the CPU, so a thread that computes is let on, for a
//! tenth of a millisecond (`priority.rs`). But nobody notices when that is over: if no other thread wakes
//! on that CPU, the worker waits for the tick, for up to 4 ms, and all its sockets with it.
//!
//! So a thread that is pinned to the CPU wakes every millisecond and goes back to sleep. That it wakes is
//! what has the kernel look. There is one for each CPU, as each has a queue of its own. They begin when the guard finds
//! more workers awake than CPUs, and sleep when it has not found that for a while: a runtime that is idle, or
//! that has a CPU for each worker that runs, pays nothing. `benches/README.md` has the figures.
//!
//! Where threads may not be pinned or started, the runtime goes on without.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::sys::affinity;

#[cfg(test)]
mod tests;

/// How often they wake unless the builder says otherwise. On the machine of the benches each time takes 12 µs.
pub(crate) const INTERVAL: Duration = Duration::from_millis(1);

/// How long they go on when they are not wanted any more; the guard looks every 5 ms or more often.
const LINGER: Duration = Duration::from_millis(50);

/// Stands for the end in place of a number of demands.
const CLOSED: u64 = u64::MAX;

/// The threads of one runtime.
pub(crate) struct Preemption {
    interval: Option<Duration>,
    /// What the threads' names begin with.
    name: String,
    /// The CPUs that the runtime may use, once anybody has asked.
    cpus: OnceLock<Vec<usize>>,
    shared: Arc<Shared>,
    /// There as soon as they were first wanted.
    threads: Mutex<Option<Vec<JoinHandle<()>>>>,
}

#[derive(Default)]
struct Shared {
    /// How often they were wanted, or [`CLOSED`]. Written under the lock.
    demands: AtomicU64,
    sleep: Mutex<()>,
    changed: Condvar,
}

impl Preemption {
    pub(crate) fn new(interval: Option<Duration>, name: &str) -> Self {
        Preemption {
            interval,
            name: name.to_owned(),
            cpus: OnceLock::new(),
            shared: Arc::default(),
            threads: Mutex::new(None),
        }
    }

    /// So many workers are awake. On one of the runtime's threads, as those inherit its slices.
    pub(crate) fn want(&self, awake: usize) {
        let Some(interval) = self.interval else {
            return;
        };
        let cpus = self
            .cpus
            .get_or_init(|| affinity::allowed().unwrap_or_default());
        if awake <= cpus.len() || !self.shared.demand() {
            return;
        }
        self.threads.lock().get_or_insert_with(|| {
            let threads = cpus.iter().map(|&cpu| self.start(cpu, interval));
            threads.map_while(Result::ok).collect()
        });
    }

    fn start(&self, cpu: usize, interval: Duration) -> io::Result<JoinHandle<()>> {
        let shared = Arc::clone(&self.shared);
        thread::Builder::new()
            .name(format!("{}-tick-{cpu}", self.name))
            .spawn(move || {
                if affinity::pin(cpu).is_ok() {
                    shared.tick(interval);
                }
            })
    }

    /// Ends the threads.
    pub(crate) fn close(&self) {
        self.shared.say(CLOSED);
        for thread in self.threads.lock().iter().flatten() {
            thread.thread().unpark();
        }
    }

    /// Waits for the threads to end, after [`close`](Preemption::close). `false`: there was no time to.
    pub(crate) fn join(&self, until: Option<Instant>) -> bool {
        let threads = self.threads.lock().take().unwrap_or_default();
        if until.is_some_and(|until| until <= Instant::now()) {
            // They end by themselves.
            return threads.is_empty();
        }
        for thread in threads {
            // One that has panicked, which none does, has ended too.
            let _ended = thread.join();
        }
        true
    }
}

impl Shared {
    /// Counts a demand. `false`: closed.
    fn demand(&self) -> bool {
        let demands = self.demands.load(Relaxed);
        demands != CLOSED && self.say(demands + 1)
    }

    /// Changes the number, unless it says that this is closed, and wakes who sleeps until it changes.
    fn say(&self, demands: u64) -> bool {
        let sleep = self.sleep.lock();
        if self.demands.load(Relaxed) == CLOSED {
            return false;
        }
        self.demands.store(demands, Relaxed);
        drop(sleep);
        self.changed.notify_all();
        true
    }

    /// The life of a thread: wakes at each interval for as long as that is wanted, and then sleeps.
    fn tick(&self, interval: Duration) {
        let mut seen = 0;
        loop {
            let demands = self.sleep_while(seen);
            if demands == CLOSED {
                return;
            }
            seen = demands;
            let until = Instant::now() + LINGER;
            while Instant::now() < until && self.demands.load(Relaxed) != CLOSED {
                thread::park_timeout(interval);
            }
        }
    }

    /// Sleeps while there are so many demands, and tells how many there are then.
    fn sleep_while(&self, demands: u64) -> u64 {
        let mut sleep = self.sleep.lock();
        loop {
            let now = self.demands.load(Relaxed);
            if now != demands {
                return now;
            }
            self.changed.wait(&mut sleep);
        }
    }
}

//! A pool: the queues that its workers share, and the threads.
//!
//! Two pools are built from this: the IO pool, whose workers also poll the driver, with a guard
//! thread beside them, and the CPU pool, whose workers park on tokens alone. A third use has no
//! thread at all: the current-thread flavour runs the one worker on the thread that blocks
//! (`current.rs`).
//!
//! # Shutdown
//!
//! 1. [`Pool::close`]: the owner lists refuse new tasks, the workers are told to stop.
//! 2. Each worker ends its poll, leaves its loop, and cancels tasks from the owner lists one at a
//!    time, no lock held, until there is none. Their destructors may wake, spawn and abort: wakes go
//!    to queues that nobody reads, spawns are refused.
//! 3. The last worker out empties the queues. A waker that pushes after that finds the pool
//!    drained and empties the queue itself, so that no task, and no pool, is kept by a queue.

use std::fmt;
use std::future::Future;
use std::io;
use std::panic::Location;
use std::sync::atomic::AtomicUsize;
use std::sync::{Condvar, Mutex as StdMutex, PoisonError};
use std::thread;
use std::time::Instant;

use crossbeam_deque::{Injector, Steal, Stealer, Worker as Deque};
use crossbeam_utils::CachePadded;

use crate::context;
use crate::driver::Driver;
use crate::hooks::Hooks;
use crate::parking::{Parking, Watch};
use crate::primitive::sync::Arc;
use crate::primitive::sync::atomic::Ordering::{AcqRel, Relaxed, SeqCst};
use crate::primitive::sync::atomic::{AtomicBool, fence};
use crate::rng::Rng;
use crate::slot::Slot;
use crate::stats::{Stats, WorkerMetrics};
use crate::task::{self, JoinHandle, Runnable, Schedule, Shard};
use crate::worker::Local;

#[cfg(test)]
mod tests;

/// How a pool is built.
#[derive(Debug)]
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
    /// A busy worker looks at the injector first once in this many polls.
    pub global_queue_interval: u32,
    /// A busy worker polls IO once in this many polls.
    pub event_interval: u32,
    /// Fixes the workers' random choices.
    pub seed: u64,
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
            global_queue_interval: 61,
            event_interval: 61,
            seed: 0,
        }
    }
}

/// What the workers of one pool share.
pub(crate) struct Shared {
    pub(crate) parking: Parking,
    pub(crate) injector: CachePadded<Injector<Runnable>>,
    /// Tasks wait in the injector behind workers whose polls are long: look there first.
    pub(crate) urgent: CachePadded<AtomicBool>,
    remotes: Box<[CachePadded<Remote>]>,
    /// The last worker has left; see the module's shutdown.
    drained: AtomicBool,
    polls_io: bool,
    pub(crate) global_interval: u32,
    pub(crate) event_interval: u32,
}

/// What a worker shows to the others.
pub(crate) struct Remote {
    pub(crate) slot: Slot<Runnable>,
    stealers: [Stealer<Runnable>; 2],
    /// Which of the two is the queue; the other holds the tasks that have yielded.
    ///
    /// ORDERING: Relaxed everywhere. It only ranks two queues that are both safe to steal from.
    pub(crate) current: AtomicUsize,
    pub(crate) stats: Stats,
}

impl Remote {
    /// The queues that others may take from just now: a lone yielded task is its worker's.
    fn stealable(&self) -> impl Iterator<Item = &Stealer<Runnable>> {
        let current = self.current.load(Relaxed);
        let queue = Some(&self.stealers[current]).filter(|queue| !queue.is_empty());
        let yielded = Some(&self.stealers[1 - current]).filter(|yielded| yielded.len() > 1);
        queue.into_iter().chain(yielded)
    }
}

impl Shared {
    #[inline]
    pub(crate) fn remote(&self, worker: usize) -> &Remote {
        &self.remotes[worker]
    }

    pub(crate) fn polls_io(&self) -> bool {
        self.polls_io
    }

    /// Whether a worker that looked everywhere would find a task.
    pub(crate) fn any_work(&self) -> bool {
        !self.injector.is_empty()
            || self
                .remotes
                .iter()
                .any(|remote| remote.stealable().next().is_some())
    }

    /// Takes the oldest injected task.
    pub(crate) fn pop_injected(&self) -> Option<Runnable> {
        if self.injector.is_empty() {
            return None;
        }
        insist(|| self.injector.steal())
    }

    /// Takes the oldest injected task, and some more into `queue`.
    #[inline]
    pub(crate) fn steal_injected(&self, queue: &Deque<Runnable>) -> Option<Runnable> {
        if self.injector.is_empty() {
            return None;
        }
        insist(|| self.injector.steal_batch_and_pop(queue))
    }

    /// Takes half of another worker's queue, from a random one on.
    pub(crate) fn steal(&self, me: usize, queue: &Deque<Runnable>, rng: &Rng) -> Option<Runnable> {
        let workers = self.remotes.len();
        let first = rng.below(workers);
        (0..workers)
            .map(|offset| (first + offset) % workers)
            .filter(|&victim| victim != me)
            .flat_map(|victim| self.remotes[victim].stealable())
            .find_map(|stealer| insist(|| stealer.steal_batch_and_pop(queue)))
            .or_else(|| self.steal_injected(queue))
    }

    fn inject(&self, task: Runnable) {
        self.injector.push(task);
        self.parking.notify();
        // `notify` has fenced: this push and the last worker's drain see one another.
        if self.drained.load(Relaxed) {
            self.drain();
        }
    }

    /// Cancels what is queued. The tasks are complete already, unless they raced with shutdown.
    fn drain(&self) {
        while let Some(task) = self.pop_injected() {
            task.cancel();
        }
    }
}

/// Repeats a steal that lost a race.
fn insist<T>(mut steal: impl FnMut() -> Steal<T>) -> Option<T> {
    loop {
        match steal() {
            Steal::Success(task) => return Some(task),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}

impl Schedule for Shared {
    fn schedule(self: Arc<Self>, task: Runnable) {
        self.inject(task);
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("parking", &self.parking)
            .finish_non_exhaustive()
    }
}

/// A pool of workers.
pub struct Pool {
    pub(crate) shared: Arc<Shared>,
    /// An owner list a worker, and the last one for spawns from other threads.
    shards: Box<[Arc<Shard>]>,
    ended: Arc<Ended>,
    threads: usize,
}

/// Counts the threads that have ended.
#[derive(Default)]
struct Ended {
    count: StdMutex<usize>,
    changed: Condvar,
}

impl Ended {
    fn add(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    fn wait(&self, threads: usize, until: Option<Instant>) -> bool {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        while *count < threads {
            let Some(until) = until else {
                count = self
                    .changed
                    .wait(count)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            count = self
                .changed
                .wait_timeout(count, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }
}

impl Pool {
    /// The pool without its threads, and its workers' own ends.
    pub(crate) fn assemble(
        config: &Config,
        driver: Option<Box<dyn Driver>>,
        guarded: bool,
    ) -> (Pool, Vec<Local>) {
        let workers = config.workers;
        let queues: Vec<[Deque<Runnable>; 2]> = (0..workers)
            .map(|_| [Deque::new_fifo(), Deque::new_fifo()])
            .collect();
        let remotes = queues.iter().map(|[queue, yielded]| {
            CachePadded::new(Remote {
                slot: Slot::new(),
                stealers: [queue.stealer(), yielded.stealer()],
                current: AtomicUsize::new(0),
                stats: Stats::default(),
            })
        });
        let shared = Arc::new(Shared {
            polls_io: driver.is_some(),
            remotes: remotes.collect(),
            parking: Parking::new(workers, workers, driver, guarded),
            injector: CachePadded::new(Injector::new()),
            urgent: CachePadded::new(AtomicBool::new(false)),
            drained: AtomicBool::new(false),
            global_interval: config.global_queue_interval,
            event_interval: config.event_interval,
        });
        let shards: Box<[Arc<Shard>]> = (0..=workers)
            .map(|_| Shard::new(Arc::clone(&shared) as Arc<dyn Schedule>))
            .collect();
        let locals = queues.into_iter().enumerate().map(|(index, queues)| {
            let seed = config.seed.wrapping_add(index as u64);
            Local::new(
                Arc::clone(&shared),
                Arc::clone(&shards[index]),
                index,
                queues,
                seed,
            )
        });
        let locals = locals.collect();
        let pool = Pool {
            shared,
            shards,
            ended: Arc::default(),
            threads: 0,
        };
        (pool, locals)
    }

    /// Builds a pool and starts its threads. With a driver, a guard thread `NAME-reactor` too.
    ///
    /// # Errors
    ///
    /// The operating system's, when it refuses a thread; those already started end again.
    pub fn start(config: &Config, driver: Option<Box<dyn Driver>>) -> io::Result<Pool> {
        let guarded = driver.is_some();
        let (mut pool, locals) = Pool::assemble(config, driver, guarded);
        // The last worker out drains the pool; the count is here before the first one can end.
        let left = Arc::new(AtomicUsize::new(locals.len()));
        for local in locals {
            let name = format!("{}-{}-{}", config.name, config.kind, pool.threads);
            let (shared, shards) = (Arc::clone(&pool.shared), pool.shards.clone());
            let (hooks, left) = (config.hooks.clone(), Arc::clone(&left));
            let body = move || {
                shared.parking.bind(local.index());
                context::enter_worker(&local, || {
                    let _entered = context::enter();
                    hooks.start();
                    local.run(&hooks);
                    local.leave();
                    wind_up(&shards);
                    local.drain();
                    if left.fetch_sub(1, AcqRel) == 1 {
                        shared.drained.store(true, Relaxed);
                        fence(SeqCst);
                        shared.drain();
                    }
                    hooks.stop();
                });
            };
            pool.spawn_thread(config, name, body)?;
        }
        if guarded {
            let shared = Arc::clone(&pool.shared);
            let hooks = config.hooks.clone();
            let body = move || {
                shared.parking.bind_guard();
                hooks.start();
                guard(&shared);
                hooks.stop();
            };
            pool.spawn_thread(config, format!("{}-reactor", config.name), body)?;
        }
        Ok(pool)
    }

    fn spawn_thread(
        &mut self,
        config: &Config,
        name: String,
        body: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let ended = Arc::clone(&self.ended);
        let mut builder = thread::Builder::new().name(name);
        if let Some(bytes) = config.stack_size {
            builder = builder.stack_size(bytes);
        }
        let started = builder.spawn(move || {
            // Counted also if something in the runtime itself should panic.
            struct Count(Arc<Ended>);
            impl Drop for Count {
                fn drop(&mut self) {
                    self.0.add();
                }
            }
            let _count = Count(ended);
            body();
        });
        if let Err(error) = started {
            self.close();
            return Err(error);
        }
        self.threads += 1;
        Ok(())
    }

    /// Spawns a task into this pool. Once the pool is closed, the future is dropped and the handle
    /// is already cancelled.
    #[inline]
    pub fn spawn<F>(&self, future: F, location: &'static Location<'static>) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let shard = self.shard();
        let (handle, task) = task::spawn(future, shard, location);
        if let Some(task) = task {
            task.schedule();
        }
        handle
    }

    /// The owner list for a task that this thread spawns.
    #[inline]
    fn shard(&self) -> Arc<Shard> {
        context::with_worker(|worker| match worker {
            Some(worker) if worker.pool_id() == self.shards[0].pool_id() => {
                Arc::clone(worker.shard())
            }
            _ => Arc::clone(&self.shards[self.shards.len() - 1]),
        })
    }

    /// Whether the current thread is a worker of this pool.
    pub fn is_current(&self) -> bool {
        context::with_worker(|worker| {
            worker.is_some_and(|worker| worker.pool_id() == self.shards[0].pool_id())
        })
    }

    /// Refuses new tasks and tells the workers to end. Does not wait.
    pub fn close(&self) {
        for shard in &self.shards {
            shard.close();
        }
        self.shared.parking.close();
    }

    /// Waits for the threads to end, after [`close`](Pool::close). `false`: the time is over.
    pub fn join(&self, until: Option<Instant>) -> bool {
        self.ended.wait(self.threads, until)
    }

    /// Cancels what the owner lists still hold, on this thread. For pools without threads.
    pub(crate) fn cancel_all(&self) {
        wind_up(&self.shards);
        self.shared.drained.store(true, Relaxed);
        fence(SeqCst);
        self.shared.drain();
    }

    /// How many tasks are live.
    pub fn live_tasks(&self) -> usize {
        self.shards.iter().map(|shard| shard.len()).sum()
    }

    /// How many tasks were ever spawned.
    pub fn spawned_tasks(&self) -> u64 {
        self.shards.iter().map(|shard| shard.spawned()).sum()
    }

    /// How many tasks wait in the injector.
    pub fn injected(&self) -> usize {
        self.shared.injector.len()
    }

    /// The workers' counters.
    pub fn worker_metrics(&self) -> Vec<WorkerMetrics> {
        self.shared
            .remotes
            .iter()
            .map(|remote| remote.stats.read())
            .collect()
    }
}

/// Cancels the tasks of all lists, one at a time.
fn wind_up(shards: &[Arc<Shard>]) {
    for shard in shards {
        while shard.cancel_one() {}
    }
}

/// The reactor thread.
fn guard(shared: &Shared) {
    let mut watch = Watch::default();
    while !shared.parking.is_closed() {
        shared.parking.guard_turn(&mut watch);
        // Work that waits while nobody sleeps would see the local queues' long polls go first.
        if !shared.injector.is_empty() && shared.parking.idle.parked() == 0 {
            shared.urgent.store(true, Relaxed);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("live_tasks", &self.live_tasks())
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}

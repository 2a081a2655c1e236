//! A pool: the queues that its workers share, and the threads.
//!
//! Two pools are built from this: the IO pool, whose workers also poll the driver, with a guard thread beside
//! them, and the CPU pool, whose workers park on tokens alone, and which the same guard looks after. A third use has no
//! thread at all: the current-thread flavour runs the one worker on the thread that blocks
//! (`current.rs`).
//!
//! # Shutdown
//!
//! 1. [`Pool::close`]: new tasks are refused, the owner lists close, the workers are told to stop.
//! 2. Each worker ends its poll, leaves its loop, and cancels tasks from the owner lists and from
//!    all workers' queues one at a time, no lock held, until there is none. Their destructors may
//!    wake, spawn and abort: wakes go to queues that are being emptied, spawns are refused.
//! 3. The last worker out empties the queues. A waker that pushes after that finds the pool
//!    drained and empties the queue itself, so that no task, and no pool, is kept by a queue.

use std::fmt;
use std::future::Future;
use std::io;
use std::time::Instant;

use crossbeam_deque::{Injector, Steal, Stealer, Worker as Deque};
use crossbeam_utils::CachePadded;

use crate::activity::Activity;
use crate::context;
use crate::crew::{Crew, Seat};
use crate::driver::Driver;
use crate::histogram::Histogram;
use crate::hooks::{self, Hook, Hooks};
use crate::observer::Timing;
use crate::parking::{Guard, Parking};
use crate::primitive::barrier;
use crate::primitive::sync::Arc;
use crate::primitive::sync::atomic::Ordering::{Relaxed, SeqCst};
use crate::primitive::sync::atomic::{AtomicBool, AtomicUsize, fence};
use crate::record;
use crate::rng::Rng;
use crate::scope::{Free, Member};
use crate::sharing::Asks;
use crate::stats::WorkerMetrics;
use crate::task::{self, JoinHandle, Keeper, Place, Runnable, Schedule};
use crate::view::Views;
use crate::worker::Local;

pub use config::{Config, OnStall};
pub(crate) use remote::Remote;

mod config;
pub(crate) mod listing;
mod remote;
#[cfg(test)]
mod tests;

/// What the workers of one pool share.
pub(crate) struct Shared {
    pub(crate) parking: Parking,
    pub(crate) injector: CachePadded<Injector<Runnable>>,
    /// Tasks wait in the injector behind workers whose polls are long: look there first.
    pub(crate) urgent: CachePadded<AtomicBool>,
    /// Workers that find their CPUs contended may stand back from one another: the guard says so.
    ///
    /// ORDERING: Relaxed: a hint.
    pub(crate) may_stand_back: AtomicBool,
    remotes: Box<[Arc<CachePadded<Remote>>]>,
    /// How many of them a worker has ever sat in: the rest, the places of spares that nobody has called
    /// yet, hold nothing, and whoever looks for work passes them by.
    ///
    /// ORDERING: Relaxed. A spare counts its place before it pushes there, so whoever is bound to see the push,
    /// by the handshakes in `parking.rs`, sees the count.
    used: AtomicUsize,
    /// The last worker has left; see the module's shutdown.
    drained: AtomicBool,
    polls_io: bool,
    /// Its workers weigh whether a queue is worth a wake-up: their polls are short, and the guard looks after
    /// what they got wrong.
    pub(crate) weighs: bool,
    pub(crate) global_interval: Option<u32>,
    pub(crate) event_interval: u32,
    pub(crate) asks: Option<Asks>,
    /// There if polls are measured.
    pub(crate) timing: Option<Arc<Timing>>,
    on_unhandled_panic: Option<Hook>,
}

impl Shared {
    pub(crate) fn remote(&self, worker: usize) -> &Arc<CachePadded<Remote>> {
        &self.remotes[worker]
    }

    pub(crate) fn polls_io(&self) -> bool {
        self.polls_io
    }

    /// Whether a worker that looked everywhere would find a task.
    pub(crate) fn any_work(&self) -> bool {
        !self.injector.is_empty()
            || self
                .used_remotes()
                .iter()
                .any(|remote| remote.stealable().next().is_some())
    }

    /// How many tasks the fullest queue of a worker holds.
    pub(crate) fn longest_queue(&self) -> usize {
        let queues = self
            .used_remotes()
            .iter()
            .flat_map(|remote| &remote.stealers);
        queues.map(Stealer::len).max().unwrap_or(0)
    }

    /// The places that may hold something.
    #[inline]
    fn used_remotes(&self) -> &[Arc<CachePadded<Remote>>] {
        &self.remotes[..self.used.load(Relaxed)]
    }

    /// Says that a worker is about to sit in a place.
    pub(crate) fn take_place(&self, worker: usize) {
        self.used.fetch_max(worker + 1, Relaxed);
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
        let remotes = self.used_remotes();
        let (before, from) = remotes.split_at(rng.below(remotes.len()));
        let mine = Arc::as_ptr(&self.remotes[me]);
        from.iter()
            .chain(before)
            .filter(|victim| Arc::as_ptr(victim) != mine)
            .flat_map(|victim| victim.stealable())
            .find_map(|stealer| insist(|| stealer.steal_batch_and_pop(queue)))
            .or_else(|| self.steal_injected(queue))
    }

    /// How many workers there may be at a time.
    pub(crate) fn places(&self) -> usize {
        self.remotes.len()
    }

    /// Puts what only a stuck worker would run where all others find it: the task in its slot, and
    /// a lone one that has yielded.
    pub(crate) fn rescue(&self, worker: usize) {
        let remote = &self.remotes[worker];
        let yielded = &remote.stealers[1 - remote.current.load(Relaxed)];
        let tasks = [remote.slot.rescue(), insist(|| yielded.steal())];
        for task in tasks.into_iter().flatten() {
            remote.stats.rescued.add(1);
            self.inject(task);
        }
    }

    /// Empties the queues after the last worker, and for whoever pushes from now on.
    pub(crate) fn drain_for_good(&self) {
        self.drained.store(true, Relaxed);
        fence(SeqCst);
        self.drain();
    }

    /// A thread that is no worker of this pool is about to queue a task that was spawned or woken.
    #[inline]
    fn note_queued(&self, task: &Runnable) {
        if let Some(timing) = &self.timing {
            timing.queued(task.id());
        }
    }

    /// Puts a task where every worker finds it.
    pub(crate) fn inject(&self, task: Runnable) {
        self.injector.push(task);
        self.parking.notify();
        // `notify` has fenced: this push and the last worker's drain see one another.
        if self.drained.load(Relaxed) {
            self.drain();
        }
    }

    /// Queues a task that a thread spawns which is no worker of this pool.
    #[inline]
    fn inject_new(&self, task: Runnable) {
        record::wake(task.id());
        self.note_queued(&task);
        self.injector.push(task);
        self.parking.notify();
        // `notify` has fenced: the workers that wind up see the task, or it is seen here that they
        // may have done so already.
        if self.parking.is_closed() {
            self.drain();
        }
    }

    /// Takes one task out of any queue, wherever it is.
    pub(crate) fn any_queued(&self) -> Option<Runnable> {
        self.pop_injected().or_else(|| {
            self.remotes.iter().find_map(|remote| {
                let queues = remote.stealers.iter();
                let queued = queues.filter_map(|stealer| insist(|| stealer.steal()));
                remote.slot.rescue().or_else(|| queued.into_iter().next())
            })
        })
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
        self.note_queued(&task);
        self.inject(task);
    }

    fn unhandled_panic(&self) {
        hooks::call(self.on_unhandled_panic.as_ref());
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
    crew: Arc<Crew>,
}

impl Pool {
    /// The pool without its threads, and its workers' queues.
    pub(crate) fn assemble(
        config: Config,
        driver: Option<Box<dyn Driver>>,
        guard: Guard,
    ) -> (Pool, Vec<Seat>) {
        let (workers, places) = (config.workers, config.places());
        let mut seats: Vec<Seat> = (0..places)
            .map(|index| Seat {
                index,
                queues: [Deque::new_fifo(), Deque::new_fifo()],
            })
            .collect();
        let remotes = seats
            .iter()
            .map(|seat| Arc::new(CachePadded::new(Remote::new(&seat.queues))));
        // Before any worker has a slot.
        barrier::prepare();
        let polls_io = driver.is_some();
        let weighs = polls_io && matches!(guard, Guard::Own);
        let shared = Arc::new(Shared {
            polls_io,
            weighs,
            remotes: remotes.collect(),
            used: AtomicUsize::new(workers),
            parking: Parking::new(workers, places, driver, guard),
            injector: CachePadded::new(Injector::new()),
            urgent: CachePadded::new(AtomicBool::new(false)),
            may_stand_back: AtomicBool::new(false),
            drained: AtomicBool::new(false),
            global_interval: config.global_queue_interval,
            event_interval: config.event_interval,
            asks: config.preemptions.filter(|_| weighs).map(Asks::new),
            timing: Timing::new(config.measures, places),
            on_unhandled_panic: config.hooks.on_unhandled_panic.clone(),
        });
        let home = Keeper::new(Arc::clone(&shared) as Arc<dyn Schedule>, places);
        // The first that is called sits beside the workers.
        let spares = seats.drain(workers..).rev().collect();
        let crew = Crew::new(Arc::clone(&shared), home, config, spares);
        (Pool { shared, crew }, seats)
    }

    /// Builds a pool and starts its threads: workers, and a guard, which with a driver is called `NAME-reactor`, and
    /// else, where a stall threshold asks for it, `NAME-KIND-guard`.
    ///
    /// # Errors
    ///
    /// The operating system's, when it refuses a thread; those already started end again.
    pub fn start(config: Config, driver: Option<Box<dyn Driver>>) -> io::Result<Pool> {
        let is_guarded = driver.is_some() || config.stall_threshold.is_some();
        let guard = if is_guarded {
            Guard::Own
        } else {
            Guard::Nobody
        };
        let pool = Pool::start_workers(config, driver, guard)?;
        if is_guarded {
            pool.crew.start_guard()?;
        }
        Ok(pool)
    }

    /// As [`start`](Pool::start), without a driver: the guard of this pool, which looks after no other one yet,
    /// looks after the new one.
    ///
    /// # Errors
    ///
    /// As for [`start`](Pool::start).
    pub fn start_beside(&self, config: Config) -> io::Result<Pool> {
        // Late wakers may keep what the new pool shares, but not what this one polls.
        let shared = Arc::downgrade(&self.shared);
        let wake = move || {
            if let Some(shared) = shared.upgrade() {
                shared.parking.wake_guard();
            }
        };
        let pool = Pool::start_workers(config, None, Guard::Other(Box::new(wake)))?;
        self.crew.look_after(&pool.crew);
        Ok(pool)
    }

    fn start_workers(
        config: Config,
        driver: Option<Box<dyn Driver>>,
        guard: Guard,
    ) -> io::Result<Pool> {
        // From here on the drop closes what has started.
        let (pool, seats) = Pool::assemble(config, driver, guard);
        for Seat { index, queues } in seats {
            pool.crew.start_worker(index, queues)?;
        }
        Ok(pool)
    }

    /// The worker of a pool without threads.
    pub(crate) fn lone_worker(&self, seat: Seat) -> Local {
        let home = Arc::clone(&self.crew.home);
        let config = &self.crew.config;
        let &Config { seed, shuffle, .. } = config;
        let worker = Local::new(
            Arc::clone(&self.shared),
            None,
            home,
            seat.index,
            seat.queues,
            seed,
        );
        let worker = match &config.hooks.recorder {
            None => worker,
            Some(recorder) => {
                let name = format!("{}-{}-{}", config.name, config.kind, worker.index());
                worker.recorded(recorder.track(name))
            }
        };
        if shuffle {
            worker.shuffled(seed)
        } else {
            worker
        }
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.crew.config.hooks
    }

    /// Spawns a task into this pool. Once the pool is closed, the future is dropped and the handle
    /// is already cancelled.
    #[inline]
    pub fn spawn<F>(&self, future: F, place: impl Place) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_as(Free, future, place)
    }

    /// As [`spawn`](Pool::spawn), for a child of a scope, which refuses it once it is closed.
    #[inline]
    pub fn spawn_as<M, F>(&self, member: M, future: F, place: impl Place) -> JoinHandle<M::Value>
    where
        M: Member<F::Output>,
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let home = &**self.crew.home;
        let (handle, task) = task::spawn(member, future, home, place);
        context::with_worker(|worker| match worker {
            Some(worker) if worker.home_id() == home.id() => {
                worker.shard().book.spawned.add(1);
                if home.is_closed() || !task.admit::<F::Output, M>() {
                    return task.cancel();
                }
                worker.push(task);
            }
            _ => {
                home.count_spawn_outside();
                if home.is_closed() || !task.admit::<F::Output, M>() {
                    return task.cancel();
                }
                self.shared.inject_new(task);
            }
        });
        handle
    }

    /// Whether the current thread is a worker of this pool.
    pub fn is_current(&self) -> bool {
        context::is_worker_of(Arc::as_ptr(&self.shared).cast())
    }

    /// Whether the current thread is a worker of this pool, and in the poll of a task of it.
    pub fn polls_here(&self) -> bool {
        context::polls_task_of(Arc::as_ptr(&self.shared).cast())
    }

    /// Whether [`close`](Pool::close) was called.
    pub fn is_closed(&self) -> bool {
        self.shared.parking.is_closed()
    }

    pub(crate) fn views(&self) -> &Arc<Views> {
        &self.crew.views
    }

    /// Refuses new tasks and tells the workers to end. Does not wait.
    pub fn close(&self) {
        self.crew.home.close();
        self.crew.views.close();
        self.crew.close();
        self.shared.parking.close();
    }

    /// Waits for the threads to end, after [`close`](Pool::close). `false`: the time is over.
    pub fn join(&self, until: Option<Instant>) -> bool {
        self.crew.join(until)
    }

    /// As [`join`](Pool::join), but does not wait for workers inside [`block_in_place`]: those may
    /// wait for something that the caller ends only afterwards.
    ///
    /// [`block_in_place`]: crate::block_in_place
    pub fn join_polling(&self, until: Option<Instant>) -> bool {
        self.crew.join_polling(until)
    }

    /// Cancels what the owner lists still hold, on this thread. For pools without threads.
    pub(crate) fn cancel_all(&self) {
        self.crew.wind_up();
        self.shared.drain_for_good();
    }

    /// The workers that run, and whether tasks wait for one.
    pub fn activity(&self) -> Activity {
        let busy = self.shared.parking.unparked();
        // A worker counts its parks before it is seen parked.
        let parks = self.shared.remotes.iter().map(|remote| remote.stats.read());
        Activity {
            busy: busy + usize::from(self.shared.any_work()),
            turns: parks.map(|stats| stats.parks).sum(),
        }
    }

    /// How many workers do not sleep.
    pub fn awake(&self) -> usize {
        self.shared.parking.unparked()
    }

    /// How many tasks are live.
    pub fn live_tasks(&self) -> usize {
        self.crew.home.live_tasks() + self.crew.views.live_tasks()
    }

    /// How many tasks were ever spawned.
    pub fn spawned_tasks(&self) -> u64 {
        self.crew.home.spawned_tasks() + self.crew.views.spawned_tasks()
    }

    /// How many tasks wait in the injector.
    pub fn injected(&self) -> usize {
        self.shared.injector.len()
    }

    /// The counters of every place: the workers', then those of the spares that have served.
    pub fn worker_metrics(&self) -> Vec<WorkerMetrics> {
        let workers = self.crew.config.workers;
        let remotes = self.shared.remotes.iter().map(|remote| remote.stats.read());
        let served = |&(index, metrics): &(usize, WorkerMetrics)| {
            index < workers || metrics != WorkerMetrics::default()
        };
        remotes
            .enumerate()
            .filter(served)
            .map(|(_, metrics)| metrics)
            .collect()
    }

    /// How long its tasks' polls have taken; `None` if that is not measured.
    pub fn poll_times(&self) -> Option<Histogram> {
        self.shared.timing.as_ref()?.poll_times()
    }

    /// How long its tasks have been in queues before their polls; `None` if that is not measured.
    pub fn schedule_latencies(&self) -> Option<Histogram> {
        self.shared.timing.as_ref()?.latencies()
    }

    /// How many workers the pool has, spares not counted.
    pub fn workers(&self) -> usize {
        self.crew.config.workers
    }

    /// How often a spare was called.
    pub fn spares_called(&self) -> u64 {
        self.crew.spares_called.get()
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

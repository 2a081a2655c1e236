//! Threads for calls that block: started when needed, kept for a while, never more than a limit.
//!
//! A job is a task whose one poll runs the closure, so handles, aborts and panics work as for any
//! task. An abort of a queued job takes effect at once; a running one cannot be stopped.
//!
//! # Protocol
//!
//! One lock holds the account of jobs and threads (`lanes.rs`, which says who may run and who is to
//! be woken or started), so "push" and "wake an idle thread, or start one" are one step: a job is
//! never left beside an idle thread, and a thread that was claimed for one job is never counted as
//! idle for the next.

use std::fmt;
use std::future::Future;
use std::io;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use crate::activity::Activity;
use crate::hooks::{self, Hooks};
use crate::kernel;
use crate::lanes::{Call, Lane, Lanes};
use crate::primitive::sync::Arc;
use crate::record;
use crate::scope::{Free, Member};
use crate::task::{self, Id, JoinHandle, Keeper, Place, Runnable, Schedule, TaskInfo, TaskState};

#[cfg(test)]
mod tests;

/// How the blocking threads are made.
#[derive(Clone, Debug)]
pub struct BlockingConfig {
    /// Threads are called `NAME-blk-INDEX`.
    pub name: String,
    /// The most jobs that run at a time, but for one of each lane that has no other.
    pub max_threads: usize,
    /// An idle thread ends after this.
    pub keep_alive: Duration,
    /// Bytes of stack of each thread; `None` leaves it to `std`.
    pub stack_size: Option<usize>,
    /// What to call on the threads.
    pub hooks: Hooks,
}

/// The threads for blocking calls.
pub struct Blocking {
    shared: Arc<Shared>,
    /// A home a lane.
    homes: [Arc<Keeper>; 3],
}

struct Shared {
    config: BlockingConfig,
    state: Mutex<State>,
    /// Threads wait here for jobs.
    work: Condvar,
    /// `join` waits here for the threads to end.
    ended: Condvar,
}

struct State {
    lanes: Lanes<Entry>,
    /// Threads that have not ended: some that have left the account may still run a hook.
    alive: usize,
    /// For thread names.
    started: usize,
    /// The longest that a job of each lane has waited for its thread.
    longest_wait: [Duration; 3],
    /// The jobs that run.
    running: Vec<Running>,
    /// Jobs that were aborted in their queue since it was last weeded.
    aborted: [usize; 3],
}

/// A job in its queue.
struct Entry {
    task: Runnable,
    since: Instant,
}

/// A job that runs, for a dump.
#[derive(Clone)]
struct Running {
    task: Described,
    since: Instant,
    thread: Option<u32>,
}

/// What a dump tells of a job.
#[derive(Clone)]
struct Described {
    id: Id,
    name: Option<Arc<str>>,
    location: &'static Location<'static>,
}

impl Described {
    fn new(task: &Runnable) -> Self {
        Described {
            id: task.id(),
            name: task.name().cloned(),
            location: task.location(),
        }
    }

    fn info(self, running: Option<Duration>) -> TaskInfo {
        let info = TaskInfo::of_running(self.id, self.location, "blocking");
        TaskInfo {
            name: self.name,
            state: match running {
                Some(_) => TaskState::Running,
                None => TaskState::Scheduled,
            },
            polls: u64::from(running.is_some()),
            running_for: running,
            ..info
        }
    }
}

/// The blocking threads at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockingMetrics {
    /// Threads, busy ones and idle ones.
    pub threads: usize,
    /// Idle threads.
    pub idle: usize,
    /// What the user calls.
    pub user: LaneMetrics,
    /// Files.
    pub files: LaneMetrics,
    /// Names to look up.
    pub dns: LaneMetrics,
}

/// One lane of the blocking threads at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LaneMetrics {
    /// Jobs that wait for a thread.
    pub queued: usize,
    /// The longest that a job has waited for a thread so far, those that still wait included.
    pub longest_wait: Duration,
}

impl Blocking {
    /// No threads yet.
    pub fn new(config: BlockingConfig) -> Blocking {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                lanes: Lanes::new(config.max_threads),
                alive: 0,
                started: 0,
                longest_wait: [Duration::ZERO; 3],
                running: Vec::new(),
                aborted: [0; 3],
            }),
            config,
            work: Condvar::new(),
            ended: Condvar::new(),
        });
        let homes = Lane::ALL.map(|lane| {
            let shared = Arc::clone(&shared);
            Keeper::new(Arc::new(Queue { shared, lane }) as Arc<dyn Schedule>, 1)
        });
        Blocking { shared, homes }
    }

    /// Runs `job` on one of the threads. Once closed, the job is dropped and the handle is already
    /// cancelled.
    ///
    /// # Errors
    ///
    /// The operating system's, when it refuses a thread while there is none to run the job.
    pub fn try_spawn<F, T>(
        &self,
        lane: Lane,
        job: F,
        place: impl Place,
    ) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.try_spawn_as(Free, lane, job, place)
    }

    /// As [`try_spawn`](Blocking::try_spawn), for whoever expects a thread.
    ///
    /// # Panics
    ///
    /// If the operating system refuses a thread while there is none to run the job.
    #[track_caller]
    pub fn spawn<F, T>(&self, lane: Lane, job: F, place: impl Place) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_as(Free, lane, job, place)
    }

    /// As [`spawn`](Blocking::spawn), for a child of a scope, which refuses it once it is closed.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Blocking::spawn).
    #[track_caller]
    pub fn spawn_as<M, F, T>(
        &self,
        member: M,
        lane: Lane,
        job: F,
        place: impl Place,
    ) -> JoinHandle<M::Value>
    where
        M: Member<T>,
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        match self.try_spawn_as(member, lane, job, place) {
            Ok(handle) => handle,
            Err(error) => panic!("{error}"),
        }
    }

    fn try_spawn_as<M, F, T>(
        &self,
        member: M,
        lane: Lane,
        job: F,
        place: impl Place,
    ) -> io::Result<JoinHandle<M::Value>>
    where
        M: Member<T>,
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let home = &self.homes[lane as usize];
        let (handle, task) = task::spawn(member, Job(Some(job)), home, place);
        home.count_spawn_outside();
        if task.admit::<T, M>() {
            self.shared.push(lane, task)?;
        } else {
            task.cancel();
        }
        Ok(handle)
    }

    /// Refuses new jobs, cancels the queued ones, and lets the threads end. Does not wait.
    pub fn close(&self) {
        let queued = self.shared.lock().lanes.close();
        self.shared.work.notify_all();
        for entry in queued {
            entry.task.cancel();
        }
    }

    /// Waits for the threads to end, after [`close`](Blocking::close). `false`: the time is over.
    pub fn join(&self, until: Option<Instant>) -> bool {
        let mut state = self.shared.lock();
        while state.alive > 0 {
            let Some(until) = until else {
                state = self
                    .shared
                    .ended
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.ended.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// The jobs that run or wait for a thread. One that has just ended has told its handle.
    pub fn activity(&self) -> Activity {
        let state = self.shared.lock();
        Activity {
            busy: state.lanes.unfinished(),
            turns: state.lanes.pushed(),
        }
    }

    /// The jobs that run or wait for a thread.
    pub fn list_jobs(&self) -> Vec<TaskInfo> {
        let (running, queued) = self.shared.lock().jobs();
        let now = Instant::now();
        let running = running.into_iter().map(|job| TaskInfo {
            thread: job.thread,
            ..job
                .task
                .info(Some(now.saturating_duration_since(job.since)))
        });
        let queued = queued.into_iter().map(|task| task.info(None));
        running.chain(queued).collect()
    }

    /// The threads and the queues as they are now.
    pub fn metrics(&self) -> BlockingMetrics {
        let state = self.shared.lock();
        BlockingMetrics {
            threads: state.lanes.threads(),
            idle: state.lanes.idle(),
            user: state.metrics(Lane::User),
            files: state.metrics(Lane::Files),
            dns: state.metrics(Lane::Dns),
        }
    }
}

impl State {
    fn metrics(&self, lane: Lane) -> LaneMetrics {
        let mut metrics = LaneMetrics {
            queued: 0,
            longest_wait: self.longest_wait[lane as usize],
        };
        for entry in self.lanes.queued(lane).filter(|entry| entry.is_wanted()) {
            metrics.queued += 1;
            metrics.longest_wait = metrics.longest_wait.max(entry.since.elapsed());
        }
        metrics
    }

    fn take(&mut self, thread: Option<u32>) -> Option<(Lane, Runnable)> {
        let (lane, Entry { task, since }) = self.lanes.take()?;
        let now = Instant::now();
        let longest = &mut self.longest_wait[lane as usize];
        *longest = now.saturating_duration_since(since).max(*longest);
        self.running.push(Running {
            task: Described::new(&task),
            since: now,
            thread,
        });
        Some((lane, task))
    }

    /// A job has ended.
    fn ended(&mut self, id: Id) {
        let job = self.running.iter().position(|job| job.task.id == id);
        if let Some(job) = job {
            self.running.swap_remove(job);
        }
    }

    /// The jobs that run, and those that wait.
    fn jobs(&self) -> (Vec<Running>, Vec<Described>) {
        let queued = Lane::ALL
            .into_iter()
            .flat_map(|lane| self.lanes.queued(lane))
            .filter(|entry| entry.is_wanted());
        (
            self.running.clone(),
            queued.map(|entry| Described::new(&entry.task)).collect(),
        )
    }
}

impl Entry {
    /// Whether the job was not aborted in the queue.
    fn is_wanted(&self) -> bool {
        !self.task.is_complete()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a job and finds it a thread.
    fn push(self: &Arc<Self>, lane: Lane, task: Runnable) -> io::Result<()> {
        let since = Instant::now();
        let mut state = self.lock();
        let call = match state.lanes.push(lane, Entry { task, since }) {
            Ok(call) => call,
            Err(refused) => {
                drop(state);
                refused.task.cancel();
                return Ok(());
            }
        };
        if let Err(error) = self.call_all(&mut state, call)
            && let Some(job) = state.lanes.not_started()
        {
            drop(state);
            job.task.cancel();
            return Err(no_thread(&error));
        }
        Ok(())
    }

    /// Gets a thread on its way, and those that the system has refused before.
    fn call_all(self: &Arc<Self>, state: &mut State, first: Call) -> io::Result<()> {
        let mut call = first;
        loop {
            self.call(state, call)?;
            call = state.lanes.catch_up();
            if call == Call::Nobody {
                return Ok(());
            }
        }
    }

    /// Gets a thread on its way.
    fn call(self: &Arc<Self>, state: &mut State, call: Call) -> io::Result<()> {
        match call {
            Call::Nobody => {}
            Call::Wake => self.work.notify_one(),
            Call::Start => {
                let shared = Arc::clone(self);
                let name = format!("{}-blk-{}", self.config.name, state.started);
                let mut builder = thread::Builder::new().name(name);
                if let Some(bytes) = self.config.stack_size {
                    builder = builder.stack_size(bytes);
                }
                builder.spawn(move || shared.run())?;
                state.started += 1;
                state.alive += 1;
            }
        }
        Ok(())
    }

    /// The life of one thread.
    fn run(self: &Arc<Self>) {
        self.config.hooks.start();
        let thread = kernel::thread_number();
        let mut state = self.lock();
        loop {
            if let Some((lane, task)) = state.take(thread) {
                drop(state);
                let id = task.id();
                // A job is ready after one poll; nothing comes back.
                let poll = record::poll(&task);
                let again = task.run();
                drop(poll);
                debug_assert!(again.is_none());
                state = self.lock();
                state.ended(id);
                let call = state.lanes.done(lane);
                if self.call_all(&mut state, call).is_err() {
                    // This thread will come to the job.
                    let job = state.lanes.not_started();
                    debug_assert!(job.is_none());
                }
            } else if state.lanes.is_closed() {
                break;
            } else {
                let claimed;
                (state, claimed) = self.wait(state);
                if !claimed {
                    break;
                }
            }
        }
        // In the same step as the decision to end: a push from here on starts another thread.
        state.lanes.leave();
        drop(state);
        self.config.hooks.stop();
        self.lock().alive -= 1;
        self.ended.notify_all();
    }

    /// Waits to be claimed. `false`: nobody did for the keep-alive time, or there are no more jobs.
    fn wait<'a>(&self, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, bool) {
        let until = Instant::now().checked_add(self.config.keep_alive);
        state.lanes.rest();
        loop {
            if state.lanes.answer() {
                return (state, true);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if state.lanes.is_closed() || left.is_some_and(|left| left.is_zero()) {
                state.lanes.stir();
                return (state, false);
            }
            let left = left.unwrap_or(Duration::MAX);
            state = match self.work.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// A queued job of `lane` was aborted. Its entry goes when many of them have come together.
    fn aborted(&self, lane: Lane) {
        let mut state = self.lock();
        let aborted = &mut state.aborted[lane as usize];
        *aborted += 1;
        let aborted = *aborted;
        if aborted >= WEED_FROM && aborted > state.lanes.waiting(lane) / 2 {
            state.aborted[lane as usize] = 0;
            let weeds = state.lanes.weed(lane, Entry::is_wanted);
            drop(state);
            drop(weeds);
        }
    }
}

/// Says what the thread was for.
fn no_thread(error: &io::Error) -> io::Error {
    let message = format!(
        "no thread for a blocking call: the operating system refused to start one: {error}"
    );
    io::Error::new(error.kind(), message)
}

/// So many aborted jobs may stay in a queue.
const WEED_FROM: usize = 64;

/// The way into one lane.
struct Queue {
    shared: Arc<Shared>,
    lane: Lane,
}

impl Schedule for Queue {
    fn schedule(self: Arc<Self>, task: Runnable) {
        // Without a thread the job has been cancelled, and its handle says so.
        let _ = self.shared.push(self.lane, task);
    }

    fn cancels_in_place(&self) -> bool {
        true
    }

    fn unhandled_panic(&self) {
        hooks::call(self.shared.config.hooks.on_unhandled_panic.as_ref());
    }

    fn cancelled_in_place(&self) {
        self.shared.aborted(self.lane);
    }
}

/// A closure as a future that is ready after one poll.
struct Job<F>(Option<F>);

/// The closure is called by value; nothing in it is pinned.
impl<F> Unpin for Job<F> {}

impl<F: FnOnce() -> T, T> Future for Job<F> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        let job = self.0.take().expect("a job is polled once");
        Poll::Ready(job())
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Blocking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocking")
            .field("metrics", &self.metrics())
            .finish_non_exhaustive()
    }
}

//! Threads for calls that block: started when needed, kept for a while, never more than a limit.
//!
//! A job is a task whose one poll runs the closure, so handles, aborts and panics work as for any
//! task. An abort of a queued job takes effect at once; a running one cannot be stopped.
//!
//! # Protocol
//!
//! One lock holds the queue and the account of threads, so "push" and "wake an idle thread, or
//! start one" are one step: a job is never left beside an idle thread, and a thread that was
//! claimed for one job is never counted as idle for the next.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use crate::hooks::{self, Hooks};
use crate::primitive::sync::Arc;
use crate::task::{self, JoinHandle, Keeper, Place, Runnable, Schedule};

#[cfg(test)]
mod tests;

/// How the blocking threads are made.
#[derive(Clone, Debug)]
pub struct BlockingConfig {
    /// Threads are called `NAME-blk-INDEX`.
    pub name: String,
    /// The most threads at a time.
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
    home: Arc<Keeper>,
}

struct Shared {
    config: BlockingConfig,
    state: Mutex<State>,
    /// Threads wait here for jobs.
    work: Condvar,
    /// `join` waits here for the threads to end.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Runnable>,
    /// Threads that will look at the queue again before they end.
    threads: usize,
    /// Threads that have not ended.
    alive: usize,
    /// Waiting threads that nobody has claimed yet.
    idle: usize,
    /// Claims that no waiting thread has picked up yet.
    claims: usize,
    /// For thread names.
    started: usize,
    closed: bool,
}

/// The blocking threads at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockingMetrics {
    /// Threads, busy ones and idle ones.
    pub threads: usize,
    /// Idle threads.
    pub idle: usize,
    /// Jobs that wait for a thread.
    pub queued: usize,
}

impl Blocking {
    /// No threads yet.
    pub fn new(config: BlockingConfig) -> Blocking {
        let shared = Arc::new(Shared {
            config,
            state: Mutex::default(),
            work: Condvar::new(),
            ended: Condvar::new(),
        });
        let home = Keeper::new(Arc::clone(&shared) as Arc<dyn Schedule>, 1);
        Blocking { shared, home }
    }

    /// Runs `job` on one of the threads. Once closed, the job is dropped and the handle is already
    /// cancelled.
    ///
    /// # Panics
    ///
    /// If the operating system refuses a thread while there is none to run the job.
    pub fn spawn<F, T>(&self, job: F, place: impl Place) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (handle, task) = task::spawn(Job(Some(job)), &self.home, place);
        self.home.count_spawn_outside();
        self.shared.push(task);
        handle
    }

    /// Refuses new jobs, cancels the queued ones, and lets the threads end. Does not wait.
    pub fn close(&self) {
        let queued = {
            let mut state = self.shared.lock();
            state.closed = true;
            std::mem::take(&mut state.queue)
        };
        self.shared.work.notify_all();
        for task in queued {
            task.cancel();
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

    /// The threads and the queue as they are now.
    pub fn metrics(&self) -> BlockingMetrics {
        let state = self.shared.lock();
        BlockingMetrics {
            threads: state.threads,
            idle: state.idle,
            queued: state.queue.len(),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a job and finds it a thread.
    fn push(self: &Arc<Self>, task: Runnable) {
        let mut state = self.lock();
        if state.closed {
            drop(state);
            return task.cancel();
        }
        state.queue.push_back(task);
        if state.idle > 0 {
            state.idle -= 1;
            state.claims += 1;
            self.work.notify_one();
        } else if state.threads < self.config.max_threads {
            self.start_thread(state);
        }
    }

    fn start_thread(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let shared = Arc::clone(self);
        let name = format!("{}-blk-{}", self.config.name, state.started);
        let mut builder = thread::Builder::new().name(name);
        if let Some(bytes) = self.config.stack_size {
            builder = builder.stack_size(bytes);
        }
        match builder.spawn(move || shared.run()) {
            Ok(_) => {
                state.started += 1;
                state.threads += 1;
                state.alive += 1;
            }
            // The threads that there are will come to the job.
            Err(_) if state.threads > 0 => {}
            Err(error) => Shared::refuse(state, &error),
        }
    }

    fn refuse(mut state: MutexGuard<'_, State>, error: &io::Error) {
        let job = state.queue.pop_back();
        drop(state);
        if let Some(job) = job {
            job.cancel();
        }
        panic!("no thread for a blocking call: the operating system refused to start one: {error}");
    }

    /// The life of one thread.
    fn run(&self) {
        self.config.hooks.start();
        let mut state = self.lock();
        loop {
            if let Some(task) = state.queue.pop_front() {
                drop(state);
                // A job is ready after one poll; nothing comes back.
                let again = task.run();
                debug_assert!(again.is_none());
                state = self.lock();
            } else if state.closed {
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
        state.threads -= 1;
        drop(state);
        self.config.hooks.stop();
        self.lock().alive -= 1;
        self.ended.notify_all();
    }

    /// Waits to be claimed. `false`: nobody did for the keep-alive time.
    fn wait<'a>(&self, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, bool) {
        state.idle += 1;
        let until = Instant::now().checked_add(self.config.keep_alive);
        while state.claims == 0 && !state.closed {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                state.idle -= 1;
                return (state, false);
            }
            let left = left.unwrap_or(Duration::MAX);
            state = match self.work.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        if state.claims > 0 {
            state.claims -= 1;
        } else {
            state.idle -= 1;
        }
        (state, true)
    }
}

impl Schedule for Shared {
    fn schedule(self: Arc<Self>, task: Runnable) {
        self.push(task);
    }

    fn cancels_in_place(&self) -> bool {
        true
    }

    fn unhandled_panic(&self) {
        hooks::call(self.config.hooks.on_unhandled_panic.as_ref());
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

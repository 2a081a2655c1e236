//! Parallel iterators on a pool of [`rayon`] that belongs to the runtime.
//!
//! Code that is written for rayon keeps its threads to itself, and a worker that waits for it serves
//! nobody meanwhile. [`run`] hands such code to a pool with as many threads as the CPU pool has workers,
//! of the same priority, and waits for it as for any future. [`pool`] gives that pool to code that
//! wants a pool. It starts when it is first used, and ends with the runtime.
//!
//! # Examples
//!
//! ```
//! use rayon::prelude::*;
//!
//! # #[rt::main]
//! # async fn main() {
//! let squares = rt::rayon::run(|| (1..=1000_u64).into_par_iter().map(|n| n * n).sum::<u64>());
//! assert_eq!(squares.await, 333_833_500);
//! # }
//! ```

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use ::rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use parking_lot::{Condvar, Mutex};
use rt_scheduler::Activity;

use crate::contain::contain;
use crate::context;
use crate::handle::Handle;

/// The current runtime's pool, started if need be.
///
/// A worker that calls its `install` waits, and serves nobody meanwhile: [`run`] does not. Whoever keeps
/// the pool keeps its threads, also beyond the end of the runtime.
///
/// # Panics
///
/// Outside a runtime, while the runtime is shut down, and if the operating system refuses the threads.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// assert!(rt::rayon::pool().current_num_threads() >= 1);
/// # }
/// ```
#[track_caller]
pub fn pool() -> Arc<ThreadPool> {
    context::with(|handle| match handle.inner.rayon.get() {
        Some(Ok(pool)) => pool,
        Some(Err(error)) => panic!("rayon's threads could not be started: {error}"),
        None => panic!("the runtime is being shut down: it has no rayon pool any more"),
    })
}

/// Runs `job` on the runtime's rayon pool: parallel iterators, `join` and `scope` in it use that pool.
///
/// It starts when the returned future is first polled. Inside `job` the runtime is the current one.
///
/// # Panics
///
/// A panic of `job` resumes here. When first polled: outside a runtime, and if the operating system
/// refuses the threads. In a `block_on`, if the runtime is shut down before the job has started; a task
/// ends with its runtime anyway.
///
/// # Cancel safety
///
/// Dropping the returned future drops a job that has not started. One that runs is not interrupted; its
/// value is dropped.
///
/// # Examples
///
/// ```
/// use rayon::prelude::*;
///
/// # #[rt::main]
/// # async fn main() {
/// let mut names = vec!["delta", "alpha", "charlie", "bravo"];
/// let names = rt::rayon::run(move || {
///     names.par_sort();
///     names
/// });
/// assert_eq!(names.await[0], "alpha");
/// # }
/// ```
#[track_caller]
pub fn run<F, T>(job: F) -> Run<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Run(State::New(Box::new(job), Location::caller()))
}

/// The future of [`run`].
#[must_use = "the job starts when this is awaited"]
pub struct Run<T>(State<T>);

type Job<T> = Box<dyn FnOnce() -> T + Send>;

enum State<T> {
    New(Job<T>, &'static Location<'static>),
    Sent(Arc<Sent<T>>),
    /// In the first poll, and for good if that panics.
    Gone,
}

/// What the waiting future and the thread share.
struct Sent<T>(Mutex<Stage<T>>);

enum Stage<T> {
    Queued(Job<T>, Waker),
    Running(Waker),
    Done(Result<T, Box<dyn Any + Send>>),
    /// The runtime ended before a thread came to the job.
    Cancelled,
    /// The output was taken, or nobody waits for it.
    Over,
}

impl<T: Send + 'static> Run<T> {
    fn send(job: Job<T>, location: &'static Location<'static>, waker: Waker) -> Arc<Sent<T>> {
        let send = |handle: &Handle| {
            let rayon = &handle.inner.rayon;
            let pool = match rayon.get() {
                Some(Ok(pool)) => pool,
                Some(Err(error)) => panic!("rayon's threads could not be started: {error}"),
                None => return Arc::new(Sent(Mutex::new(Stage::Cancelled))),
            };
            let sent = Arc::new(Sent(Mutex::new(Stage::Queued(job, waker))));
            let (there, handle) = (Arc::clone(&sent), handle.clone());
            rayon.jobs.lock().begin();
            pool.spawn(move || {
                let inner = Arc::clone(&handle.inner);
                let _counted = Counted(&inner.rayon);
                there.execute(&handle);
                // Before the job counts as done: neither may outlive the runtime's end.
                drop((there, handle));
            });
            sent
        };
        match context::try_with(send) {
            Ok(sent) => sent,
            Err(error) => panic!("`rt::rayon::run` at {location}: {error}"),
        }
    }
}

impl<T> Sent<T> {
    /// What a thread of the pool does.
    fn execute(&self, handle: &Handle) {
        let cancelled = handle.inner.rayon.is_closed();
        let (job, waker) = {
            let mut stage = self.0.lock();
            match mem::replace(&mut *stage, Stage::Over) {
                Stage::Queued(job, waker) if cancelled => {
                    *stage = Stage::Cancelled;
                    (job, Some(waker))
                }
                Stage::Queued(job, waker) => {
                    *stage = Stage::Running(waker);
                    (job, None)
                }
                _ => return,
            }
        };
        let _lent = context::lend_thread(&handle.inner);
        let _current = handle.enter();
        let Some(waker) = waker else {
            return self.finish(catch_unwind(AssertUnwindSafe(job)));
        };
        contain(|| drop(job));
        contain(|| waker.wake());
    }

    fn finish(&self, result: Result<T, Box<dyn Any + Send>>) {
        let mut stage = self.0.lock();
        if let Stage::Running(waker) = mem::replace(&mut *stage, Stage::Done(result)) {
            drop(stage);
            contain(|| waker.wake());
        } else {
            // Nobody waits any more.
            let unwanted = mem::replace(&mut *stage, Stage::Over);
            drop(stage);
            contain(|| drop(unwanted));
        }
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<T> {
        // The clone is foreign code, so it comes before the lock, and the old waker goes after it.
        let mut fresh = cx.waker().clone();
        let mut stage = self.0.lock();
        match &mut *stage {
            Stage::Queued(_, waker) | Stage::Running(waker) => {
                mem::swap(waker, &mut fresh);
                drop(stage);
                return Poll::Pending;
            }
            Stage::Cancelled => {
                drop(stage);
                assert!(
                    context::ends_here(),
                    "the runtime was shut down before the job of `rt::rayon::run` had started"
                );
                // A task of a runtime that ends is not polled again: it is about to be dropped.
                return Poll::Pending;
            }
            Stage::Done(_) | Stage::Over => {}
        }
        let done = mem::replace(&mut *stage, Stage::Over);
        drop(stage);
        match done {
            Stage::Done(Ok(value)) => Poll::Ready(value),
            Stage::Done(Err(panic)) => resume_unwind(panic),
            _ => panic!("`rt::rayon::run` was polled after it had ended"),
        }
    }
}

impl<T: Send + 'static> Future for Run<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        if let State::Sent(sent) = &self.0 {
            return sent.poll(cx);
        }
        match mem::replace(&mut self.0, State::Gone) {
            State::New(job, location) => {
                let sent = Run::send(job, location, cx.waker().clone());
                self.0 = State::Sent(Arc::clone(&sent));
                sent.poll(cx)
            }
            State::Sent(_) | State::Gone => panic!("`rt::rayon::run` was polled after a panic"),
        }
    }
}

impl<T> Drop for Run<T> {
    fn drop(&mut self) {
        if let State::Sent(sent) = &self.0 {
            let unwanted = mem::replace(&mut *sent.0.lock(), Stage::Over);
            drop(unwanted);
        }
    }
}

impl<T> fmt::Debug for Run<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.0 {
            State::New(..) => "new",
            State::Sent(sent) => match &*sent.0.lock() {
                Stage::Queued(..) => "queued",
                Stage::Running(_) => "running",
                Stage::Done(_) => "done",
                Stage::Cancelled => "cancelled",
                Stage::Over => "over",
            },
            State::Gone => "gone",
        };
        f.debug_struct("Run").field("state", &state).finish()
    }
}

/// A runtime's rayon pool, which may not have started yet.
pub(crate) struct Companion {
    name: String,
    threads: usize,
    stack_size: Option<usize>,
    begin: Arc<dyn Fn() + Send + Sync>,
    pool: Mutex<Slot>,
    jobs: Mutex<Jobs>,
    ended: Condvar,
}

/// The jobs of [`run`].
#[derive(Default)]
struct Jobs {
    /// Those that have not ended.
    unfinished: usize,
    /// All so far.
    sent: u64,
}

impl Jobs {
    fn begin(&mut self) {
        self.unfinished += 1;
        self.sent += 1;
    }
}

enum Slot {
    New,
    Started(Arc<ThreadPool>),
    Closed,
}

impl Companion {
    /// A pool to be, whose threads are called `NAME-rayon-INDEX` and call `begin` first.
    pub(crate) fn new(
        name: &str,
        threads: usize,
        stack_size: Option<usize>,
        begin: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Companion {
            name: name.to_owned(),
            threads,
            stack_size,
            begin: Arc::new(begin),
            pool: Mutex::new(Slot::New),
            jobs: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    /// How many of its threads may be at work for [`run`].
    pub(crate) fn computing(&self) -> usize {
        if self.jobs.lock().unfinished == 0 {
            return 0;
        }
        self.threads
    }

    /// The pool, started. `None`: the runtime has ended.
    fn get(&self) -> Option<Result<Arc<ThreadPool>, ThreadPoolBuildError>> {
        let mut slot = self.pool.lock();
        match &*slot {
            Slot::Started(pool) => return Some(Ok(Arc::clone(pool))),
            Slot::Closed => return None,
            Slot::New => {}
        }
        let (name, begin) = (self.name.clone(), Arc::clone(&self.begin));
        let mut builder = ThreadPoolBuilder::new()
            .num_threads(self.threads)
            .thread_name(move |index| format!("{name}-rayon-{index}"))
            .start_handler(move |_| begin());
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        let pool = builder.build().map(Arc::new);
        if let Ok(pool) = &pool {
            *slot = Slot::Started(Arc::clone(pool));
        }
        Some(pool)
    }

    fn is_closed(&self) -> bool {
        matches!(*self.pool.lock(), Slot::Closed)
    }

    /// How busy it is with jobs of [`run`].
    pub(crate) fn activity(&self) -> Activity {
        let jobs = self.jobs.lock();
        Activity {
            busy: jobs.unfinished,
            turns: jobs.sent,
        }
    }

    /// Lets the pool end. Jobs that have not started are dropped, by its threads.
    pub(crate) fn close(&self) {
        let pool = mem::replace(&mut *self.pool.lock(), Slot::Closed);
        drop(pool);
    }

    /// Waits for the jobs of [`run`] to end. `false`: the time is over.
    pub(crate) fn join(&self, until: Option<Instant>) -> bool {
        let mut jobs = self.jobs.lock();
        while jobs.unfinished > 0 {
            match until {
                None => self.ended.wait(&mut jobs),
                Some(until) => {
                    if self.ended.wait_until(&mut jobs, until).timed_out() {
                        return jobs.unfinished == 0;
                    }
                }
            }
        }
        true
    }
}

/// One job of [`run`], until its thread has done with it.
struct Counted<'a>(&'a Companion);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.jobs.lock().unfinished -= 1;
        self.0.ended.notify_all();
    }
}

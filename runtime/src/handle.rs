//! A handle to a runtime: everything but the right to end it.

use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rt_reactor::{Process, Reactor, Wheel};
use rt_scheduler::scope::{Free, Member, rooted};
use rt_scheduler::{Blocking, CurrentThread, JoinHandle, Lane, Place, Pool};

use crate::context::{self, EnterGuard};
use crate::dispatcher::Dispatcher;
use crate::dump::{Dump, Locals, OnSignal};
use crate::fs::Files;
use crate::lazy_pool::LazyPool;
use crate::metrics::RuntimeMetrics;
use crate::preemption::Preemption;
use crate::priority::Granted;
use crate::record::Record;
use crate::root::Root;
use crate::spans::{follow_root, in_span};
use crate::unhandled::Verdict;

/// Futures larger than this are boxed before they travel through further calls, so that a large one
/// costs its stack space once.
pub(crate) const BOX_ABOVE: usize = 2048;

/// Calls on with a future, boxed first if it is large. The first function that gets a future does
/// this: every further one would copy it once more in a debug build.
macro_rules! box_if_large {
    ($future:ident => $call:expr) => {
        if size_of_val(&$future) > $crate::handle::BOX_ABOVE {
            let $future = Box::pin($future);
            $call
        } else {
            $call
        }
    };
}
pub(crate) use box_if_large;

/// A handle to a [`Runtime`](crate::Runtime).
///
/// Handles are cheap to clone and can be sent anywhere. A handle does not keep the runtime running:
/// once the `Runtime` is dropped or shut down, spawns give handles that are already cancelled.
#[derive(Clone)]
pub struct Handle {
    pub(crate) inner: Arc<Inner>,
}

/// What all handles of one runtime share. Every timer reads it, so it keeps its cache lines to itself: a task whose
/// memory began where this ended, on the line of the last field, had its state taken away by each timer of the others
/// (`timer_cancel`: 60 ns in place of 39).
#[repr(align(128))]
pub(crate) struct Inner {
    pub(crate) io: IoPool,
    pub(crate) cpu: LazyPool,
    pub(crate) blocking: Blocking,
    pub(crate) granted: Granted,
    pub(crate) preemption: Preemption,
    #[cfg(feature = "rayon")]
    pub(crate) rayon: crate::rayon::Companion,
    pub(crate) reactor: Arc<Reactor>,
    pub(crate) files: Files,
    pub(crate) locals: Locals,
    pub(crate) on_signal: Option<OnSignal>,
    #[cfg(feature = "inspect")]
    pub(crate) inspect: Option<crate::inspect::Inspect>,
    /// There if what it does is recorded.
    pub(crate) record: Option<Record>,
    /// There if an unhandled panic ends the runtime.
    pub(crate) verdict: Option<Verdict>,
    /// Which process its threads are in.
    pub(crate) maker: Process,
    /// What its threads' names begin with.
    #[cfg(feature = "metrics")]
    pub(crate) name: String,
    #[cfg(feature = "tokio-context")]
    pub(crate) tokio_context: bool,
}

/// The pool that polls IO, in one of the two flavours.
pub(crate) enum IoPool {
    Threads(Pool),
    Current(CurrentThread),
}

impl IoPool {
    /// The pool, whoever runs it.
    pub(crate) fn pool(&self) -> &Pool {
        match self {
            IoPool::Threads(pool) => pool,
            IoPool::Current(current) => current.pool(),
        }
    }
}

impl Inner {
    /// This worker's wheel, or the last one, which all other threads share.
    pub(crate) fn wheel(&self) -> Arc<Wheel> {
        let others = self.reactor.wheels() - 1;
        // A spare's index lies beyond the wheels: it shares the last one too.
        let mine = rt_scheduler::worker_index().filter(|_| self.io.pool().is_current());
        Arc::clone(
            self.reactor
                .wheel(mine.map_or(others, |mine| mine.min(others))),
        )
    }

    /// Spawns a task, as a child of a scope or as [`Free`].
    #[track_caller]
    #[inline]
    pub(crate) fn spawn_as<M, F>(
        &self,
        member: M,
        dispatcher: Dispatcher,
        future: F,
        place: impl Place,
    ) -> JoinHandle<M::Value>
    where
        M: Member<F::Output>,
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.check_process();
        in_span!(Task, follow(future), place => match dispatcher {
            Dispatcher::Io => self.io.pool().spawn_as(member, future, place),
            Dispatcher::Cpu => self.cpu.get().spawn_as(member, future, place),
            Dispatcher::Limited(limited) => limited.view(self).spawn_as(member, future, place),
        })
    }

    /// Runs a closure that may block on a blocking thread, as a child of a scope or as [`Free`].
    #[track_caller]
    pub(crate) fn spawn_blocking_as<M, F, T>(
        &self,
        member: M,
        job: F,
        place: impl Place,
    ) -> JoinHandle<M::Value>
    where
        M: Member<T>,
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.check_process();
        in_span!(Blocking, cover(job), place => {
            self.blocking.spawn_as(member, Lane::User, job, place)
        })
    }

    /// Whether it is being shut down and this code is part of a task of it.
    pub(crate) fn ends_here(&self) -> bool {
        let (io, cpu) = (self.io.pool(), self.cpu.started());
        io.is_closed() && (io.polls_here() || cpu.is_some_and(Pool::polls_here))
    }

    /// Panics in a forked child, where the runtime's threads are not.
    #[track_caller]
    #[inline]
    pub(crate) fn check_process(&self) {
        if let Err(error) = self.maker.check() {
            panic!("{error}");
        }
    }

    /// A panic that no handle tells of: the end, if that is the policy.
    pub(crate) fn unhandled_panic(&self) {
        if let Some(verdict) = &self.verdict {
            // In this order: who is told by the one finds the other done.
            self.close();
            verdict.end();
        }
    }

    /// Tells every part to end. Idempotent, and waits for nothing.
    pub(crate) fn close(&self) {
        match &self.io {
            IoPool::Threads(pool) => pool.close(),
            IoPool::Current(current) => current.close(),
        }
        self.cpu.close();
        self.blocking.close();
        self.preemption.close();
        if let Some(on_signal) = &self.on_signal {
            on_signal.close();
        }
        #[cfg(feature = "rayon")]
        self.rayon.close();
    }

    /// Waits for the threads to end, after [`close`](Inner::close).
    pub(crate) fn join(&self, limit: Option<Duration>) -> bool {
        // A limit beyond what the clock can name is no limit.
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        // The tasks first, so that they are cancelled and see no error. From then on nobody polls:
        // whoever still waits for IO or time, a blocking job perhaps, is told so before it is
        // waited for.
        if let IoPool::Threads(pool) = &self.io {
            pool.join_polling(until);
        }
        self.cpu.join_polling(until);
        self.reactor.shutdown();
        self.files.close();
        let io = match &self.io {
            IoPool::Threads(pool) => pool.join(until),
            IoPool::Current(current) => current.join(until),
        };
        let ended = io & self.cpu.join(until) & self.blocking.join(until);
        #[cfg(feature = "rayon")]
        let ended = ended & self.rayon.join(until);
        ended & self.preemption.join(until)
    }
}

// A panic in a task stays in the task; what is shared here is never left half-changed.
impl UnwindSafe for Handle {}
impl RefUnwindSafe for Handle {}

impl Handle {
    /// The handle of the runtime that this thread belongs to.
    ///
    /// # Panics
    ///
    /// Outside a runtime; [`try_current`](Handle::try_current) does not.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let handle = rt::Handle::current();
    /// std::thread::spawn(move || handle.spawn(async { println!("from a plain thread") }));
    /// # }
    /// ```
    #[track_caller]
    pub fn current() -> Handle {
        context::with(Handle::clone)
    }

    /// The handle of the runtime that this thread belongs to, if it belongs to one.
    ///
    /// # Errors
    ///
    /// Outside a runtime, and in a thread that is ending.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(rt::Handle::try_current().unwrap_err().is_missing());
    /// ```
    pub fn try_current() -> Result<Handle, TryCurrentError> {
        context::try_with(Handle::clone)
    }

    /// Makes this runtime the current one of this thread until the guard is dropped.
    ///
    /// Guards end in the reverse order of their making.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let guard = runtime.handle().enter();
    /// let task = rt::spawn(async { 1 + 1 });
    /// drop(guard);
    /// assert_eq!(runtime.block_on(task).unwrap(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        context::enter(self)
    }

    /// Spawns a task onto the IO pool.
    ///
    /// It starts at once, whether or not its handle is awaited. On a runtime that is shut down the
    /// future is dropped and the handle is already cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let task = runtime.handle().spawn(async { 6 * 7 });
    /// assert_eq!(runtime.block_on(task).unwrap(), 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    #[inline]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let location = Location::caller();
        box_if_large!(future => self.spawn_at(Dispatcher::Io, future, location))
    }

    /// Spawns with a place of the caller's choice: a closure between the two would hide its own.
    #[track_caller]
    #[inline]
    pub(crate) fn spawn_at<F>(
        &self,
        dispatcher: Dispatcher,
        future: F,
        place: impl Place,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.inner.spawn_as(Free, dispatcher, future, place)
    }

    /// Spawns a task onto the pool that `dispatcher` names.
    ///
    /// # Panics
    ///
    /// On a current-thread runtime, if the CPU pool has not been used before and the operating
    /// system refuses its threads.
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::Dispatcher;
    ///
    /// let runtime = rt::Runtime::new()?;
    /// let sum = runtime.handle().spawn_on(Dispatcher::Cpu, async { (1..=1000u64).sum::<u64>() });
    /// assert_eq!(runtime.block_on(sum).unwrap(), 500_500);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(&self, dispatcher: Dispatcher, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let location = Location::caller();
        box_if_large!(future => self.spawn_at(dispatcher, future, location))
    }

    /// Runs a closure that may block on a thread of its own.
    ///
    /// Blocking threads are started when needed, up to
    /// [`max_blocking_threads`](crate::runtime::Builder::max_blocking_threads); beyond that, jobs
    /// wait in order. Calls that the runtime makes for files and names have queues of their own, so
    /// neither kind keeps another waiting for good. Aborting the handle drops a job that has not started; a running one cannot be
    /// stopped.
    ///
    /// # Panics
    ///
    /// If the operating system refuses a thread while there is none to run the job. If there are others, the
    /// job waits for one of them, or until one can be started for a later call.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let text = runtime.handle().spawn_blocking(|| std::fs::read_to_string("/proc/self/comm"));
    /// println!("{}", runtime.block_on(text).unwrap()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let location = Location::caller();
        if size_of::<F>() > BOX_ABOVE {
            let job = Box::new(job);
            self.spawn_blocking_at(job, location)
        } else {
            self.spawn_blocking_at(job, location)
        }
    }

    #[track_caller]
    pub(crate) fn spawn_blocking_at<F, T>(&self, job: F, place: impl Place) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.inner.spawn_blocking_as(Free, job, place)
    }

    /// Runs one of the runtime's own blocking calls in its lane.
    #[track_caller]
    pub(crate) fn try_spawn_lane<F, T>(
        &self,
        lane: Lane,
        job: F,
        place: impl Place,
    ) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.inner.check_process();
        self.inner.blocking.try_spawn(lane, job, place)
    }

    /// Runs a future on this thread, inside this runtime, until it ends.
    ///
    /// On a current-thread runtime this thread also runs the runtime's tasks meanwhile.
    ///
    /// # Panics
    ///
    /// If this thread already runs futures: in a task, or inside another `block_on`. Also, of
    /// course, if the future panics.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let handle = runtime.handle().clone();
    /// let job = runtime.spawn_blocking(move || handle.block_on(async { 5 }));
    /// assert_eq!(runtime.block_on(job).unwrap(), 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        box_if_large!(future => self.block_on_here(future))
    }

    #[track_caller]
    pub(crate) fn block_on_here<F: Future>(&self, future: F) -> F::Output {
        self.inner.check_process();
        let _current = self.enter();
        if let Some(record) = &self.inner.record {
            record.recorder().attach_thread();
        }
        // It returns when the scopes that the future leaves behind have ended, too.
        let mut future = pin!(Some(follow_root(future, Location::caller())));
        let root = Root::new(&self.inner, rooted(future.as_mut()));
        match &self.inner.io {
            IoPool::Threads(_) => rt_scheduler::block_on(root),
            IoPool::Current(current) => current.block_on(root, context::started_by(&self.inner)),
        }
    }

    /// Every live task of the runtime, as a tree by scopes.
    ///
    /// It may be called at any moment, from any thread, and stops nothing: lists are locked one after another,
    /// for some hundred tasks at a time. So tasks may end or begin meanwhile; one that ended may be told as it was.
    /// Tasks that were spawned and not polled yet are in queues: the first thousands of them are listed, the
    /// others counted.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let sleeper = rt::spawn(rt::time::sleep(Duration::from_secs(3600)));
    /// rt::task::yield_now().await;
    ///
    /// let dump = rt::Handle::current().dump();
    /// println!("{dump}");
    /// let task = dump.tasks.iter().find(|task| task.id == sleeper.id()).unwrap();
    /// assert_eq!(task.polls, 1);
    /// # sleeper.abort();
    /// # }
    /// ```
    pub fn dump(&self) -> Dump {
        self.inner.check_process();
        Dump::take(&self.inner)
    }

    /// The runtime's counters as they are now.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::builder().io_threads(2).build()?;
    /// assert_eq!(runtime.handle().metrics().io_threads, 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics(&self) -> RuntimeMetrics {
        self.inner.check_process();
        RuntimeMetrics::read(&self.inner)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("io", &self.inner.io)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for IoPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IoPool::Threads(pool) => pool.fmt(f),
            IoPool::Current(current) => current.fmt(f),
        }
    }
}

/// The current thread belongs to no runtime.
#[derive(Clone, PartialEq, Eq)]
pub struct TryCurrentError(());

impl TryCurrentError {
    pub(crate) fn missing() -> Self {
        TryCurrentError(())
    }

    /// No runtime was entered on this thread. It is the only reason there is.
    pub fn is_missing(&self) -> bool {
        true
    }
}

impl fmt::Display for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "no `rt` runtime in this thread: call this inside `Runtime::block_on`, `#[rt::main]` \
             or a task, or hold the guard of `Handle::enter()`",
        )
    }
}

impl fmt::Debug for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TryCurrentError({self})")
    }
}

impl std::error::Error for TryCurrentError {}

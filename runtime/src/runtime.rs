//! The runtime: what a program makes first and drops last.

use std::future::Future;
use std::io;
use std::mem;
use std::panic::Location;
use std::time::Duration;

use rt_scheduler::JoinHandle;

use crate::context;
use crate::dispatcher::Dispatcher;
use crate::dump::Dump;
use crate::handle::box_if_large;
use crate::leftovers;
use crate::metrics::RuntimeMetrics;

pub use crate::builder::Builder;
pub use crate::context::EnterGuard;
pub use crate::fs::engine::FileIo;
pub use crate::handle::{Handle, TryCurrentError};
pub use crate::unhandled::UnhandledPanic;
pub use rt_scheduler::{Histogram, HistogramBucket, LaneMetrics, Stall, WorkerMetrics};

/// How long a drop waits for threads that do not come back.
const DROP_LIMIT: Duration = Duration::from_secs(10);

/// A runtime: its threads, its reactor and its tasks.
///
/// Dropping it ends every task at its next suspension point, drops their futures, and waits for the
/// threads: as long as a task's poll or a blocking job takes, but for ten seconds at most; then it says on
/// standard error what it has waited for. On a thread of its own it does not wait.
///
/// # Forks
///
/// A runtime belongs to the process that made it. In a child that was made with `fork`, spawning,
/// blocking, timers and I/O on it panic, or fail with an error, that says so; dropping it does nothing.
/// A child can make a runtime of its own. Only waiting for what a task of the parent would have done (a
/// channel, a `JoinHandle`) inside such a new runtime is waiting for ever.
///
/// # Examples
///
/// ```
/// let runtime = rt::Runtime::new()?;
/// let answer = runtime.block_on(async {
///     let task = rt::spawn(async { 42 });
///     task.await.unwrap()
/// });
/// assert_eq!(answer, 42);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
    /// How long the drop waits, if that was said.
    limit: Option<Duration>,
}

impl Runtime {
    /// A multi-threaded runtime with the default settings.
    ///
    /// # Errors
    ///
    /// The operating system's, when it refuses file descriptors or threads.
    ///
    /// # Examples
    ///
    /// ```
    /// rt::Runtime::new()?.block_on(async { println!("hello") });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new() -> io::Result<Runtime> {
        Runtime::builder().build()
    }

    /// The settings of a multi-threaded runtime, to be changed.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::builder().io_threads(2).build()?;
    /// assert_eq!(runtime.metrics().io_threads, 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn new_from(handle: Handle) -> Runtime {
        Runtime {
            handle,
            limit: None,
        }
    }

    /// Runs a future on this thread, inside this runtime, until it ends. See
    /// [`Handle::block_on`].
    ///
    /// # Panics
    ///
    /// If this thread already runs futures: in a task, or inside another `block_on`.
    ///
    /// # Examples
    ///
    /// ```
    /// let sum = rt::Runtime::new()?.block_on(async { 1 + 1 });
    /// assert_eq!(sum, 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        box_if_large!(future => self.handle.block_on_here(future))
    }

    /// Spawns a task onto the IO pool. See [`Handle::spawn`].
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let task = runtime.spawn(async { 7 });
    /// assert_eq!(runtime.block_on(task).unwrap(), 7);
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
        box_if_large!(future => self.handle.spawn_at(Dispatcher::Io, future, location))
    }

    /// Spawns a task onto the pool that `dispatcher` names. See [`Handle::spawn_on`].
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let task = runtime.spawn_on(rt::Dispatcher::Cpu, async { (1..=10).product::<u32>() });
    /// assert_eq!(runtime.block_on(task).unwrap(), 3_628_800);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(&self, dispatcher: Dispatcher, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let location = Location::caller();
        box_if_large!(future => self.handle.spawn_at(dispatcher, future, location))
    }

    /// Runs a closure that may block on a thread of its own. See [`Handle::spawn_blocking`].
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let job = runtime.spawn_blocking(|| std::fs::exists("/proc"));
    /// assert!(runtime.block_on(job).unwrap()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.handle.spawn_blocking(job)
    }

    /// A handle, to clone and to send elsewhere.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let handle = runtime.handle().clone();
    /// let thread = std::thread::spawn(move || handle.block_on(async { 3 }));
    /// assert_eq!(thread.join().unwrap(), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Makes this runtime the current one of this thread until the guard is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let _current = runtime.enter();
    /// // Free functions find it now, on a thread that runs no futures.
    /// let task = rt::spawn(async { 5 });
    /// assert_eq!(runtime.block_on(task).unwrap(), 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Every live task, as a tree by scopes. See [`Handle::dump`].
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// drop(runtime.spawn(std::future::pending::<()>()));
    /// println!("{}", runtime.dump());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn dump(&self) -> Dump {
        self.handle.dump()
    }

    /// The runtime's counters as they are now.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// runtime.block_on(runtime.spawn(async {})).unwrap();
    /// assert!(runtime.metrics().spawned_tasks >= 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }

    /// Ends the runtime as a drop does, but waits for `limit` at most: zero does not wait, and
    /// [`Duration::MAX`] waits for as long as it takes.
    ///
    /// Threads that are still in a poll or a blocking job then end by themselves when that returns. With the feature
    /// `tracing`, a warning says which these are.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let runtime = rt::Runtime::new()?;
    /// let (_keep, blocked) = std::sync::mpsc::channel::<()>();
    /// runtime.spawn_blocking(move || blocked.recv());
    /// runtime.shutdown_timeout(Duration::from_millis(10));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_timeout(mut self, limit: Duration) {
        self.limit = Some(limit);
    }

    /// Ends the runtime without waiting.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// runtime.spawn_blocking(|| std::thread::sleep(std::time::Duration::from_millis(10)));
    /// runtime.shutdown_background(); // at once
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if self.handle.inner.maker.is_left() {
            // A forked child: there are no threads to end, and a lock may be held for ever by one that
            // is not here. What the runtime has stays where it is; the parent's is not touched.
            return mem::forget(self.handle.clone());
        }
        // Futures are dropped from here on, and what they call may want a runtime.
        let _current = self.handle.enter();
        let inner = &self.handle.inner;
        inner.close();
        let limit = if context::started_by(inner) {
            Duration::ZERO
        } else {
            self.limit.unwrap_or(DROP_LIMIT)
        };
        if !inner.join(Some(limit)) && !limit.is_zero() {
            leftovers::tell(&self.handle, limit, self.limit.is_none());
        }
        inner.write_recording();
        // Last of all: what keeps a runtime from its end may be worth a look.
        #[cfg(feature = "inspect")]
        if let Some(inspect) = &inner.inspect {
            inspect.close();
        }
    }
}

//! Tasks with a name.

use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

use rt_scheduler::{JoinHandle, Named};

use crate::context;
use crate::dispatcher::Dispatcher;
use crate::handle::{BOX_ABOVE, Handle, box_if_large};
use crate::task::local_set::{LocalSet, spawn_local_at};

/// Spawns a task with a name, or onto another pool.
///
/// The name is shown wherever the task is: in stall reports, dumps and traces; the task itself reads
/// it with [`try_name`](crate::task::try_name). Names need not be unique. A task of which no name is
/// known costs nothing for it.
///
/// # Examples
///
/// ```
/// use rt::{Dispatcher, task};
///
/// # #[rt::main]
/// # async fn main() {
/// let sum = task::Builder::new()
///     .name("summing up")
///     .dispatcher(Dispatcher::Cpu)
///     .spawn(async { (task::try_name(), (1..=1000u64).sum::<u64>()) });
/// let (name, sum) = sum.await.unwrap();
/// assert_eq!(name.as_deref(), Some("summing up"));
/// assert_eq!(sum, 500_500);
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder spawns a task only when one of its `spawn` functions is called"]
pub struct Builder {
    name: Option<Arc<str>>,
    dispatcher: Dispatcher,
}

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}

/// Calls on with the place of the spawn: with a name, or without.
macro_rules! at_place {
    ($builder:ident, $location:ident, $place:ident => $call:expr) => {
        if let Some(name) = $builder.name {
            let $place = Named {
                location: $location,
                name,
            };
            $call
        } else {
            let $place = $location;
            $call
        }
    };
}

impl Builder {
    /// No name, and the IO pool.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::task::Builder::new().spawn(async { rt::task::try_name() });
    /// assert_eq!(task.await.unwrap(), None);
    /// # }
    /// ```
    pub fn new() -> Self {
        Builder {
            name: None,
            dispatcher: Dispatcher::Io,
        }
    }

    /// What the task is called.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::task::Builder::new().name("sums").spawn(async { rt::task::try_name() });
    /// assert_eq!(task.await.unwrap().as_deref(), Some("sums"));
    /// # }
    /// ```
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        self.name = Some(Arc::from(name.as_ref()));
        self
    }

    /// The pool that the task runs on. Blocking jobs have threads of their own whatever it says.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let on_cpu = rt::task::Builder::new().dispatcher(rt::Dispatcher::Cpu);
    /// let thread = on_cpu.spawn(async { std::thread::current().name().map(str::to_owned) });
    /// assert!(thread.await.unwrap().unwrap().contains("cpu"));
    /// # }
    /// ```
    pub fn dispatcher(mut self, dispatcher: Dispatcher) -> Self {
        self.dispatcher = dispatcher;
        self
    }

    /// Spawns the task into the current runtime.
    ///
    /// # Panics
    ///
    /// Outside a runtime, and as [`Handle::spawn_on`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::task::Builder::new().name("a first one").spawn(async { 1 });
    /// assert_eq!(task.await.unwrap(), 1);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let location = Location::caller();
        box_if_large!(future => context::with(|handle| self.spawn_at(handle, future, location)))
    }

    /// Spawns the task into the runtime of `handle`.
    ///
    /// # Panics
    ///
    /// As [`Handle::spawn_on`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let task = rt::task::Builder::new()
    ///     .name("elsewhere")
    ///     .spawn_on(async { 1 }, runtime.handle());
    /// assert_eq!(runtime.block_on(task).unwrap(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let location = Location::caller();
        box_if_large!(future => self.spawn_at(handle, future, location))
    }

    /// Runs a closure that may block on a thread of its own, in the current runtime.
    ///
    /// # Panics
    ///
    /// Outside a runtime, and as [`Handle::spawn_blocking`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let job = rt::task::Builder::new().name("a long one").spawn_blocking(|| 6 * 7);
    /// assert_eq!(job.await.unwrap(), 42);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, T>(self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let location = Location::caller();
        if size_of::<F>() > BOX_ABOVE {
            let job = Box::new(job);
            context::with(|handle| self.spawn_blocking_at(handle, job, location))
        } else {
            context::with(|handle| self.spawn_blocking_at(handle, job, location))
        }
    }

    /// Runs a closure that may block on a thread of its own, in the runtime of `handle`.
    ///
    /// # Panics
    ///
    /// As [`Handle::spawn_blocking`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let job = rt::task::Builder::new().name("a long one");
    /// let job = job.spawn_blocking_on(|| 6 * 7, runtime.handle());
    /// assert_eq!(runtime.block_on(job).unwrap(), 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking_on<F, T>(self, job: F, handle: &Handle) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let location = Location::caller();
        if size_of::<F>() > BOX_ABOVE {
            let job = Box::new(job);
            self.spawn_blocking_at(handle, job, location)
        } else {
            self.spawn_blocking_at(handle, job, location)
        }
    }

    /// Spawns a task that stays on this thread. See [`spawn_local`](crate::task::spawn_local).
    ///
    /// # Panics
    ///
    /// Outside a [`LocalSet`] and the future of a `block_on`.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let here = rt::task::Builder::new().name("here").spawn_local(async { rt::task::try_name() });
    /// assert_eq!(here.await.unwrap().as_deref(), Some("here"));
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let location = Location::caller();
        box_if_large!(future => at_place!(self, location, place => spawn_local_at(future, place)))
    }

    /// Spawns a task into a set that stays on this thread.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let local = rt::task::LocalSet::new();
    /// let here = rt::task::Builder::new().name("here").spawn_local_on(async { 7 }, &local);
    /// assert_eq!(local.run_until(here).await.unwrap(), 7);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_local_on<F>(self, future: F, set: &LocalSet) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let location = Location::caller();
        box_if_large!(future => {
            at_place!(self, location, place => set.spawn_local_at(future, place))
        })
    }

    #[track_caller]
    fn spawn_at<F>(
        self,
        handle: &Handle,
        future: F,
        location: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let dispatcher = self.dispatcher;
        at_place!(self, location, place => handle.spawn_at(dispatcher, future, place))
    }

    #[track_caller]
    fn spawn_blocking_at<F, T>(
        self,
        handle: &Handle,
        job: F,
        location: &'static Location<'static>,
    ) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        at_place!(self, location, place => handle.spawn_blocking_at(job, place))
    }
}

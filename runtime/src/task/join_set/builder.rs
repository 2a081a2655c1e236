//! Tasks of a set, with a name or on another pool.

use std::future::Future;

use super::JoinSet;
use crate::dispatcher::Dispatcher;
use crate::handle::Handle;
use crate::task::{self, AbortHandle, LocalSet};

/// A [`task::Builder`] whose task goes into a [`JoinSet`]; made by [`JoinSet::build_task`].
#[derive(Debug)]
#[must_use = "a builder spawns a task only when one of its `spawn` functions is called"]
pub struct Builder<'a, T> {
    pub(super) task: task::Builder,
    pub(super) set: &'a mut JoinSet<T>,
}

impl<T: 'static> Builder<'_, T> {
    /// What the task is called.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// set.build_task().name("sums").spawn(async { rt::task::try_name() });
    /// assert_eq!(set.join_next().await.unwrap().unwrap().as_deref(), Some("sums"));
    /// # }
    /// ```
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        self.task = self.task.name(name);
        self
    }

    /// The pool that the task runs on.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// set.build_task().dispatcher(rt::Dispatcher::Cpu).spawn(async { 6 * 7 });
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 42);
    /// # }
    /// ```
    pub fn dispatcher(mut self, dispatcher: Dispatcher) -> Self {
        self.task = self.task.dispatcher(dispatcher);
        self
    }

    /// Spawns the task into the current runtime. See [`task::Builder::spawn`].
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// set.build_task().spawn(async { 1 });
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 1);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.set.insert(self.task.spawn(future))
    }

    /// Spawns the task into the runtime of `handle`. See [`task::Builder::spawn_on`].
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let mut set = rt::task::JoinSet::new();
    /// set.build_task().name("elsewhere").spawn_on(async { 1 }, runtime.handle());
    /// assert_eq!(runtime.block_on(set.join_all()), [1]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.set.insert(self.task.spawn_on(future, handle))
    }

    /// Spawns a task that stays on this thread. See [`task::Builder::spawn_local`].
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
    /// let mut set = rt::task::JoinSet::new();
    /// let here = std::rc::Rc::new(7);
    /// set.build_task().spawn_local(async move { *here });
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 7);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.set.insert(self.task.spawn_local(future))
    }

    /// Spawns a task into a set that stays on this thread. See [`task::Builder::spawn_local_on`].
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let local = rt::task::LocalSet::new();
    /// let mut set = rt::task::JoinSet::new();
    /// set.build_task().name("here").spawn_local_on(async { 7 }, &local);
    /// assert_eq!(local.run_until(set.join_all()).await, [7]);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_local_on<F>(self, future: F, local: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.set.insert(self.task.spawn_local_on(future, local))
    }

    /// Runs a closure that may block on a thread of its own. See [`task::Builder::spawn_blocking`].
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// set.build_task().name("a long one").spawn_blocking(|| 6 * 7);
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 42);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F>(self, job: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.set.insert(self.task.spawn_blocking(job))
    }

    /// As [`spawn_blocking`](Builder::spawn_blocking), in the runtime of `handle`.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let mut set = rt::task::JoinSet::new();
    /// set.build_task().spawn_blocking_on(|| 6 * 7, runtime.handle());
    /// assert_eq!(runtime.block_on(set.join_all()), [42]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking_on<F>(self, job: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.set.insert(self.task.spawn_blocking_on(job, handle))
    }
}

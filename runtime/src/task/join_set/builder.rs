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
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        self.task = self.task.name(name);
        self
    }

    /// The pool that the task runs on.
    pub fn dispatcher(mut self, dispatcher: Dispatcher) -> Self {
        self.task = self.task.dispatcher(dispatcher);
        self
    }

    /// Spawns the task into the current runtime. See [`task::Builder::spawn`].
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.set.insert(self.task.spawn(future))
    }

    /// Spawns the task into the runtime of `handle`. See [`task::Builder::spawn_on`].
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
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.set.insert(self.task.spawn_local(future))
    }

    /// Spawns a task into a set that stays on this thread. See [`task::Builder::spawn_local_on`].
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
    #[track_caller]
    pub fn spawn_blocking<F>(self, job: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.set.insert(self.task.spawn_blocking(job))
    }

    /// As [`spawn_blocking`](Builder::spawn_blocking), in the runtime of `handle`.
    #[track_caller]
    pub fn spawn_blocking_on<F>(self, job: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.set.insert(self.task.spawn_blocking_on(job, handle))
    }
}

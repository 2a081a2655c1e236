//! Tasks that are waited for together.

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{self, Location};
use std::task::{Context, Poll};

use rt_scheduler::{HandleSet, Joined};

use crate::context;
use crate::dispatcher::Dispatcher;
use crate::handle::{Handle, box_if_large};
use crate::task::{self, AbortHandle, Id, JoinError, JoinHandle, LocalSet};

pub use builder::Builder;

mod builder;

/// Tasks of which the finished ones come out first.
///
/// They run whether or not the set is asked for them. Dropping the set aborts them all;
/// [`detach_all`](JoinSet::detach_all) lets them go. A task's end costs the same however many others
/// there are.
///
/// A task that was given up by [`abort_all`](JoinSet::abort_all), or by its own handle, still comes out,
/// as an error that says that it was cancelled.
///
/// The tasks may outlive the set's owner, and move: they borrow nothing, and are [`Send`].
///
/// ```compile_fail
/// # #[rt::main]
/// # async fn main() {
/// let text = String::from("borrowed");
/// rt::task::JoinSet::new().spawn(async { text.len() });
/// # }
/// ```
///
/// ```compile_fail
/// # #[rt::main]
/// # async fn main() {
/// let shared = std::rc::Rc::new(1);
/// rt::task::JoinSet::new().spawn(async move { *shared });
/// # }
/// ```
///
/// # Examples
///
/// ```
/// use rt::task::JoinSet;
///
/// # #[rt::main]
/// # async fn main() {
/// let mut squares: JoinSet<u64> = (1..=10).map(|n| async move { n * n }).collect();
/// squares.spawn_on(rt::Dispatcher::Cpu, async { 1000 });
///
/// let mut sum = 0;
/// while let Some(square) = squares.join_next().await {
///     sum += square.unwrap();
/// }
/// assert_eq!(sum, 1385);
/// # }
/// ```
pub struct JoinSet<T> {
    handles: HandleSet<T>,
}

impl<T> JoinSet<T> {
    /// A set without tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// let set = rt::task::JoinSet::<()>::new();
    /// assert!(set.is_empty());
    /// ```
    pub fn new() -> Self {
        JoinSet {
            handles: HandleSet::new(),
        }
    }

    /// How many tasks there are, those among them that have ended and did not come out yet.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set: rt::task::JoinSet<_> = (0..3).map(|n| async move { n }).collect();
    /// set.join_next().await;
    /// assert_eq!(set.len(), 2);
    /// # }
    /// ```
    pub fn len(&self) -> usize {
        self.handles.len()
    }

    /// Whether there is no task.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// set.spawn(async {});
    /// while !set.is_empty() {
    ///     set.join_next().await;
    /// }
    /// # }
    /// ```
    pub fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// Aborts all tasks. They come out when they have ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// set.abort_all();
    /// assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
    /// # }
    /// ```
    pub fn abort_all(&mut self) {
        self.handles.abort_all();
    }

    /// Lets all tasks go: they run on, and nobody waits for them.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let (done, told) = rt::channel::oneshot();
    /// let mut set = rt::task::JoinSet::new();
    /// set.spawn(async { drop(done.send("it ran on")) });
    /// set.detach_all();
    /// drop(set);
    /// assert_eq!(told.await, Ok("it ran on"));
    /// # }
    /// ```
    pub fn detach_all(&mut self) {
        self.handles.detach_all();
    }
}

impl<T: 'static> JoinSet<T> {
    fn insert(&mut self, task: JoinHandle<T>) -> AbortHandle {
        self.handles.insert(task)
    }

    /// A task with a name, or on another pool, or both.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// set.build_task().name("the first").spawn(async { 1 });
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 1);
    /// # }
    /// ```
    pub fn build_task(&mut self) -> Builder<'_, T> {
        Builder {
            task: task::Builder::new(),
            set: self,
        }
    }

    /// Spawns a task onto the current runtime's IO pool.
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
    /// set.spawn(async { 1 });
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 1);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        let location = Location::caller();
        let task = box_if_large!(future => {
            context::with(|handle| handle.spawn_at(Dispatcher::Io, future, location))
        });
        self.insert(task)
    }

    /// Spawns a task onto the pool that `dispatcher` names.
    ///
    /// # Panics
    ///
    /// As [`spawn_on`](crate::spawn_on) does.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::<u64>::new();
    /// set.spawn_on(rt::Dispatcher::Cpu, async { (1..=1000u64).sum() });
    /// assert_eq!(set.join_all().await, [500_500]);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(&mut self, dispatcher: Dispatcher, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        let location = Location::caller();
        let task = box_if_large!(future => {
            context::with(|handle| handle.spawn_at(dispatcher, future, location))
        });
        self.insert(task)
    }

    /// Spawns a task into the runtime of `handle`.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let mut set = rt::task::JoinSet::new();
    /// set.spawn_on_handle(async { 1 }, runtime.handle());
    /// assert_eq!(runtime.block_on(set.join_all()), [1]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on_handle<F>(&mut self, future: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        let task = handle.spawn(future);
        self.insert(task)
    }

    /// Spawns a task that stays on this thread. See [`spawn_local`](task::spawn_local).
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
    /// set.spawn_local(async move { *here });
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 7);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        let task = task::spawn_local(future);
        self.insert(task)
    }

    /// Spawns a task into a set that stays on this thread.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let local = rt::task::LocalSet::new();
    /// let mut set = rt::task::JoinSet::new();
    /// set.spawn_local_on(async { 7 }, &local);
    /// let outputs = local.run_until(set.join_all()).await;
    /// assert_eq!(outputs, [7]);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, future: F, local: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        let task = local.spawn_local(future);
        self.insert(task)
    }

    /// Runs a closure that may block on a thread of its own.
    ///
    /// # Panics
    ///
    /// As [`spawn_blocking`](crate::spawn_blocking) does.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// set.spawn_blocking(|| std::fs::exists("/proc"));
    /// assert!(set.join_next().await.unwrap().unwrap().is_ok());
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, job: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        let task = crate::spawn_blocking(job);
        self.insert(task)
    }

    /// Runs a closure that may block on a thread of its own, in the runtime of `handle`.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let mut set = rt::task::JoinSet::new();
    /// set.spawn_blocking_on(|| 6 * 7, runtime.handle());
    /// assert_eq!(runtime.block_on(set.join_all()), [42]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, job: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        let task = handle.spawn_blocking(job);
        self.insert(task)
    }

    /// Waits for the next task that ends; `None` if there is no task.
    ///
    /// # Errors
    ///
    /// The inner result is the task's: it panicked or was cancelled.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a task comes out only with the poll that returns it.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set: rt::task::JoinSet<_> = (1..=3).map(|n| async move { n }).collect();
    /// let mut sum = 0;
    /// while let Some(ended) = set.join_next().await {
    ///     sum += ended.unwrap();
    /// }
    /// assert_eq!(sum, 6);
    /// # }
    /// ```
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.next().await.map(|(_, output)| output)
    }

    /// As [`join_next`](JoinSet::join_next), with the task's id.
    ///
    /// # Errors
    ///
    /// The inner result is the task's; [`JoinError::id`] tells which one.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a task comes out only with the poll that returns it.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// let id = set.spawn(async { 5 }).id();
    /// assert_eq!(set.join_next_with_id().await.unwrap().unwrap(), (id, 5));
    /// # }
    /// ```
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        self.next().await.map(with_id)
    }

    /// A task that has ended, if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// assert!(set.try_join_next().is_none());
    /// set.spawn(async { 5 });
    /// let ended = loop {
    ///     match set.try_join_next() {
    ///         Some(ended) => break ended,
    ///         None => rt::yield_now().await,
    ///     }
    /// };
    /// assert_eq!(ended.unwrap(), 5);
    /// # }
    /// ```
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.handles.try_next().map(|(_, output)| output)
    }

    /// As [`try_join_next`](JoinSet::try_join_next), with the task's id.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// let id = set.spawn(async { 5 }).id();
    /// let ended = loop {
    ///     match set.try_join_next_with_id() {
    ///         Some(ended) => break ended,
    ///         None => rt::yield_now().await,
    ///     }
    /// };
    /// assert_eq!(ended.unwrap(), (id, 5));
    /// # }
    /// ```
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        self.handles.try_next().map(with_id)
    }

    /// As [`join_next`](JoinSet::join_next), for hand-written futures. The last caller is woken.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// set.spawn(async { 5 });
    /// let ended = std::future::poll_fn(|cx| set.poll_join_next(cx)).await;
    /// assert_eq!(ended.unwrap().unwrap(), 5);
    /// # }
    /// ```
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        let joined = self.handles.poll_next(cx);
        joined.map(|joined| joined.map(|(_, output)| output))
    }

    /// As [`join_next_with_id`](JoinSet::join_next_with_id), for hand-written futures. The last
    /// caller is woken.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// let id = set.spawn(async { 5 }).id();
    /// let ended = std::future::poll_fn(|cx| set.poll_join_next_with_id(cx)).await;
    /// assert_eq!(ended.unwrap().unwrap(), (id, 5));
    /// # }
    /// ```
    pub fn poll_join_next_with_id(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        self.handles.poll_next(cx).map(|joined| joined.map(with_id))
    }

    /// Aborts all tasks and waits until they have ended.
    ///
    /// # Cancel safety
    ///
    /// The tasks are aborted by the first poll; those that did not come out by then stay in the set.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let mut set = rt::task::JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// set.shutdown().await;
    /// assert!(set.is_empty());
    /// # }
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.next().await.is_some() {}
    }

    /// Waits for all tasks; their outputs are in the order of their ends.
    ///
    /// # Panics
    ///
    /// With the panic of the first task that panicked, or if one was cancelled. The others are
    /// aborted then.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: dropping the future drops the set with it.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let set: rt::task::JoinSet<u32> = (0..3).map(|n| async move { n }).collect();
    /// let mut outputs = set.join_all().await;
    /// outputs.sort();
    /// assert_eq!(outputs, [0, 1, 2]);
    /// # }
    /// ```
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some((_, output)) = self.next().await {
            match output.map_err(JoinError::try_into_panic) {
                Ok(output) => outputs.push(output),
                Err(Ok(payload)) => panic::resume_unwind(payload),
                Err(Err(cancelled)) => panic!("{cancelled}"),
            }
        }
        outputs
    }

    /// The next task that ends. Whoever gives the wait up leaves no waker behind.
    async fn next(&mut self) -> Option<Joined<T>> {
        struct Wait<'a, T>(&'a mut HandleSet<T>);
        impl<T> Drop for Wait<'_, T> {
            fn drop(&mut self) {
                self.0.forget_waiter();
            }
        }
        let wait = Wait(&mut self.handles);
        poll_fn(|cx| wait.0.poll_next(cx)).await
    }
}

fn with_id<T>((id, output): Joined<T>) -> Result<(Id, T), JoinError> {
    output.map(|output| (id, output))
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        JoinSet::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Spawns each future onto the current runtime's IO pool.
impl<T, F> Extend<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn extend<I: IntoIterator<Item = F>>(&mut self, futures: I) {
        for future in futures {
            self.spawn(future);
        }
    }
}

/// Spawns each future onto the current runtime's IO pool.
impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        let mut set = JoinSet::new();
        set.extend(futures);
        set
    }
}

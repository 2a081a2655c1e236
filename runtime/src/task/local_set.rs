//! Tasks that stay on one thread, and so need not be `Send`.
//!
//! Which set `spawn_local` means is a cell of the thread: set while a [`LocalSet`] or a task of it is
//! polled, while its guard lives, and while the future of a `block_on` is polled, which gets a set of
//! its own with its first `spawn_local`.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use rt_scheduler::{JoinHandle, LocalTasks, Place};

use crate::context;
use crate::handle::box_if_large;
use crate::runtime::Runtime;
use crate::spans::in_span;

/// Which set `spawn_local` means.
#[derive(Clone, Debug, Default)]
enum Current {
    #[default]
    None,
    /// That of the `block_on` whose future is polled; it has none yet.
    Root,
    Set(Rc<LocalTasks>),
}

thread_local! {
    static CURRENT: RefCell<Current> = const { RefCell::new(Current::None) };
}

/// Puts a value into the thread's cell; gives back what was there. A thread that is ending has none.
fn replace(current: Current) -> Current {
    CURRENT
        .try_with(|cell| mem::replace(&mut *cell.borrow_mut(), current))
        .unwrap_or_default()
}

/// Puts the previous set back, also by a panic.
#[derive(Debug)]
struct Previous(Current);

impl Previous {
    fn enter(current: Current) -> Self {
        Previous(replace(current))
    }

    /// Puts it back now; gives what has been there meanwhile.
    fn leave(mut self) -> Current {
        let previous = mem::take(&mut self.0);
        mem::forget(self);
        replace(previous)
    }
}

impl Drop for Previous {
    fn drop(&mut self) {
        drop(replace(mem::take(&mut self.0)));
    }
}

fn new_tasks() -> Rc<LocalTasks> {
    Rc::new(LocalTasks::new(|| {
        // Tasks are polled inside a runtime, if any: it is that one's policy.
        let _ = context::try_with(|handle| handle.inner.unhandled_panic());
    }))
}

/// The set that `spawn_local` means here.
fn current() -> Option<Rc<LocalTasks>> {
    let find = |cell: &RefCell<Current>| {
        let current = &mut *cell.borrow_mut();
        if let Current::Root = current {
            *current = Current::Set(new_tasks());
        }
        match current {
            Current::Set(tasks) => Some(Rc::clone(tasks)),
            _ => None,
        }
    };
    CURRENT.try_with(find).ok().flatten()
}

/// Spawns a task that stays on this thread: its future need not be [`Send`].
///
/// Inside a [`LocalSet`] it belongs to that. Elsewhere inside a `block_on`, `#[rt::main]` and
/// `#[rt::test]` included, it belongs to the `block_on`: it runs on its thread while the future that
/// is blocked on waits, and is cancelled when that one ends.
///
/// # Panics
///
/// Outside both, which is also inside a task that [`spawn`](crate::spawn) made: such a task has no
/// thread of its own.
///
/// # Examples
///
/// ```
/// use std::cell::Cell;
/// use std::rc::Rc;
///
/// # #[rt::main]
/// # async fn main() {
/// let shared = Rc::new(Cell::new(1));
/// let copy = Rc::clone(&shared);
/// let task = rt::task::spawn_local(async move { copy.set(2) });
/// task.await.unwrap();
/// assert_eq!(shared.get(), 2);
/// # }
/// ```
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let location = Location::caller();
    box_if_large!(future => spawn_local_at(future, location))
}

#[track_caller]
pub(crate) fn spawn_local_at<F>(future: F, place: impl Place) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let Some(tasks) = current() else {
        panic!(
            "`spawn_local` was called where no thread is known to stay: call it inside a \
             `LocalSet`, or directly inside the future of `block_on`, not in a spawned task"
        );
    };
    spawn_into(&tasks, future, place)
}

fn spawn_into<F>(tasks: &LocalTasks, future: F, place: impl Place) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    in_span!(Local, follow_here(future), place => tasks.spawn(future, place))
}

/// A set of tasks that stay on the thread which made it.
///
/// They run while the set is polled: by [`run_until`](LocalSet::run_until), by
/// [`block_on`](LocalSet::block_on), or by awaiting the set itself, which waits for all of them. Wakes
/// and aborts may come from any thread. Dropping the set drops the futures of its tasks, here, and
/// their handles say that they were cancelled.
///
/// The set can be neither sent nor shared:
///
/// ```compile_fail
/// let set = rt::task::LocalSet::new();
/// std::thread::spawn(move || drop(set));
/// ```
///
/// # Examples
///
/// ```
/// use std::rc::Rc;
///
/// use rt::task::{self, LocalSet};
///
/// let runtime = rt::Runtime::new()?;
/// let set = LocalSet::new();
/// let shared = Rc::new(7);
/// let value = set.block_on(&runtime, async move {
///     task::spawn_local(async move { *shared }).await.unwrap()
/// });
/// assert_eq!(value, 7);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct LocalSet {
    tasks: Rc<LocalTasks>,
}

impl Default for LocalSet {
    fn default() -> Self {
        LocalSet::new()
    }
}

impl LocalSet {
    /// A set without tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let local = rt::task::LocalSet::new();
    /// let task = local.spawn_local(async { std::rc::Rc::new(7) });
    /// assert_eq!(*local.run_until(task).await.unwrap(), 7);
    /// # }
    /// ```
    pub fn new() -> LocalSet {
        LocalSet { tasks: new_tasks() }
    }

    fn set_current(&self) -> Previous {
        Previous::enter(Current::Set(Rc::clone(&self.tasks)))
    }

    /// Makes [`spawn_local`] mean this set, on this thread, until the guard is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # let runtime = rt::Runtime::new()?;
    /// let set = rt::task::LocalSet::new();
    /// let guard = set.enter();
    /// let task = rt::task::spawn_local(async { 1 });
    /// drop(guard);
    /// assert_eq!(set.block_on(&runtime, task).unwrap(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter(&self) -> LocalEnterGuard {
        LocalEnterGuard {
            _previous: self.set_current(),
        }
    }

    /// Spawns a task into this set. It runs when the set is polled.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let set = rt::task::LocalSet::new();
    /// let task = set.spawn_local(async { std::rc::Rc::new(3) });
    /// set.await;
    /// assert_eq!(*task.await.unwrap(), 3);
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let location = Location::caller();
        box_if_large!(future => self.spawn_local_at(future, location))
    }

    pub(crate) fn spawn_local_at<F>(&self, future: F, place: impl Place) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        spawn_into(&self.tasks, future, place)
    }

    /// Blocks on `future` on `runtime`, and runs the tasks of this set meanwhile.
    ///
    /// # Panics
    ///
    /// As [`Runtime::block_on`].
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let local = rt::task::LocalSet::new();
    /// let task = local.spawn_local(async { std::rc::Rc::new(7) });
    /// assert_eq!(*local.block_on(&runtime, task).unwrap(), 7);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, runtime: &Runtime, future: F) -> F::Output {
        box_if_large!(future => runtime.block_on(self.run_until(future)))
    }

    /// Runs the tasks of this set until `future` ends. Tasks that have not ended by then wait for
    /// the next time the set is polled.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, if `future` is: the tasks stay with the set.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let set = rt::task::LocalSet::new();
    /// let sum = set
    ///     .run_until(async {
    ///         let one = rt::task::spawn_local(async { 1 });
    ///         let two = rt::task::spawn_local(async { 2 });
    ///         one.await.unwrap() + two.await.unwrap()
    ///     })
    ///     .await;
    /// assert_eq!(sum, 3);
    /// # }
    /// ```
    pub fn run_until<F: Future>(&self, future: F) -> RunUntil<'_, F> {
        RunUntil { set: self, future }
    }

    /// Runs what can run. The caller is woken when there is more.
    fn poll_tasks(&self, cx: &mut Context<'_>) {
        if let Some(watch) = self.tasks.watch_once() {
            // Outside a runtime there is nobody to dump them.
            let _ = context::try_with(|handle| handle.inner.locals.add(watch));
        }
        let _previous = self.set_current();
        self.tasks.poll(cx);
    }
}

/// Waits for all tasks of the set.
impl Future for LocalSet {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_tasks(cx);
        if self.tasks.is_empty() {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl Drop for LocalSet {
    fn drop(&mut self) {
        // What the futures' destructors spawn is refused by this set, and reaches no other.
        let _previous = self.set_current();
        self.tasks.close();
    }
}

pin_project! {
    /// The future of [`LocalSet::run_until`].
    #[must_use = "futures do nothing unless polled"]
    pub struct RunUntil<'a, F> {
        set: &'a LocalSet,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for RunUntil<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let polled = {
            let _previous = this.set.set_current();
            this.future.poll(cx)
        };
        if polled.is_pending() {
            this.set.poll_tasks(cx);
        }
        polled
    }
}

impl<F> fmt::Debug for RunUntil<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunUntil")
            .field("set", self.set)
            .finish_non_exhaustive()
    }
}

/// Keeps a [`LocalSet`] current on this thread; see [`LocalSet::enter`].
#[derive(Debug)]
#[must_use = "the set is current only while the guard lives"]
pub struct LocalEnterGuard {
    _previous: Previous,
}

/// The local tasks of one `block_on`: none until the first is spawned.
#[derive(Debug, Default)]
pub(crate) struct RootTasks(Option<LocalSet>);

impl RootTasks {
    /// Polls the future that is blocked on.
    pub(crate) fn enter<R>(&mut self, poll: impl FnOnce() -> R) -> R {
        if let Some(set) = &self.0 {
            let _previous = set.set_current();
            return poll();
        }
        let previous = Previous::enter(Current::Root);
        let polled = poll();
        if let Current::Set(tasks) = previous.leave() {
            self.0 = Some(LocalSet { tasks });
        }
        polled
    }

    pub(crate) fn poll(&self, cx: &mut Context<'_>) {
        if let Some(set) = &self.0 {
            set.poll_tasks(cx);
        }
    }
}

//! `scope` and `supervisor`, and the handle that both give.

use std::fmt;
use std::future::Future;
use std::panic::{Location, RefUnwindSafe, UnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use rt_scheduler::scope::{Blow, Child, Kind, Node, Reason};
use rt_scheduler::{JoinError, JoinHandle};

use super::alarm;
use super::body::run;
use super::token::{CancelToken, Cancelled};
use crate::dispatcher::Dispatcher;
use crate::handle::{BOX_ABOVE, Handle, box_if_large};
use crate::time::Instant;

/// Runs `f`, and returns when it and every task that was spawned in the scope have ended.
///
/// The closure gets the [`Scope`], to spawn children in. Grandchildren count as well: children may
/// clone the scope and spawn more, and a child's own scopes end before the child does. When this
/// returns, the futures of all of them have been dropped.
///
/// If a child panics, the other children are aborted, `f`'s future is dropped at its next suspension
/// point, and when all are gone the panic resumes here. The handle of the child that panicked tells
/// of it too. If several panic, the first is resumed; the payloads of the others stay with their
/// handles, and go to [`Scope::on_lost_failure`] where these are dropped. A child that is aborted through its handle is no failure.
///
/// # Panics
///
/// Outside a runtime. And with the panic of `f` or of a child.
///
/// # Cancel safety
///
/// Dropping it, as an abort, a timeout or a `select!` does, aborts all children. They cannot be waited
/// for there, so the task in which it is dropped waits in its place: it does not complete, and its
/// [`JoinHandle`] does not resolve, before they are gone. So does a `block_on`.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let squares = rt::scope(|s| async move {
///     let tasks: Vec<_> = (0..4).map(|n| s.spawn(async move { n * n })).collect();
///     let mut sum = 0;
///     for task in tasks {
///         sum += task.await.unwrap();
///     }
///     sum
/// });
/// assert_eq!(squares.await, 14);
/// # }
/// ```
pub async fn scope<F, Fut>(f: F) -> Fut::Output
where
    F: FnOnce(Scope) -> Fut,
    Fut: Future,
{
    finish(run(Kind::Scope, |node| f(Scope::new(node))).await)
}

/// As [`scope`], but the failure of a child stays in its handle: its siblings and `f` go on.
///
/// # Panics
///
/// Outside a runtime. And with the panic of `f`, after the children were aborted and have ended.
///
/// # Cancel safety
///
/// As that of [`scope`].
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let answers = rt::supervisor(|s| async move {
///     let bad = s.spawn(async { panic!("alone in this") });
///     let good = s.spawn(async { 42 });
///     (bad.await.is_err(), good.await.unwrap())
/// });
/// assert_eq!(answers.await, (true, 42));
/// # }
/// ```
pub async fn supervisor<F, Fut>(f: F) -> Fut::Output
where
    F: FnOnce(Scope) -> Fut,
    Fut: Future,
{
    finish(run(Kind::Supervisor, |node| f(Scope::new(node))).await)
}

fn finish<T>(ended: Result<T, Blow>) -> T {
    match ended {
        Ok(output) => output,
        Err(Blow::Panic(payload) | Blow::Error(payload)) => resume_unwind(payload),
    }
}

/// A scope to spawn tasks in; what [`scope`] and [`supervisor`] give to their closures.
///
/// It can be cloned, and sent to children and elsewhere. Once the scope is over, all that is left of
/// it refuses.
///
/// # Examples
///
/// A child spawns its siblings:
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let spawned = rt::scope(|s| async move {
///     let siblings = s.clone();
///     let first = s.spawn(async move { siblings.spawn(async { 2 }) });
///     first.await.unwrap().await.unwrap()
/// });
/// assert_eq!(spawned.await, 2);
/// # }
/// ```
#[derive(Clone)]
pub struct Scope {
    node: Arc<Node>,
    runtime: Handle,
}

impl UnwindSafe for Scope {}
impl RefUnwindSafe for Scope {}

impl Scope {
    #[track_caller]
    pub(super) fn new(node: &Arc<Node>) -> Self {
        Scope {
            node: Arc::clone(node),
            runtime: Handle::current(),
        }
    }

    pub(super) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Spawns a child onto the IO pool.
    ///
    /// It starts at once, whether or not its handle is awaited, and dropping the handle does not
    /// detach it from the scope. In a scope that is cancelled or over, the future is dropped and the
    /// handle is already cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let sum = rt::scope(|s| async move {
    ///     let (a, b) = (s.spawn(async { 20 }), s.spawn(async { 22 }));
    ///     a.await.unwrap() + b.await.unwrap()
    /// });
    /// assert_eq!(sum.await, 42);
    /// # }
    /// ```
    ///
    /// Children own what they use: the scope's future may be dropped or leaked, and they would be left
    /// with dangling references.
    ///
    /// ```compile_fail
    /// # #[rt::main]
    /// # async fn main() {
    /// let local = String::from("borrowed");
    /// rt::scope(|s| {
    ///     let word = &local;
    ///     async move { s.spawn(async move { println!("{word}") }) }
    /// })
    /// .await;
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let location = Location::caller();
        box_if_large!(future => self.spawn_at(Dispatcher::Io, future, location))
    }

    /// Spawns a child onto the pool that `dispatcher` names. See [`spawn`](Scope::spawn).
    ///
    /// # Panics
    ///
    /// On a current-thread runtime, if the CPU pool's threads cannot be started.
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::Dispatcher;
    ///
    /// # #[rt::main]
    /// # async fn main() {
    /// let sum = rt::scope(|s| async move {
    ///     let sum = s.spawn_on(Dispatcher::Cpu, async { (1..=1000_u64).sum::<u64>() });
    ///     sum.await.unwrap()
    /// });
    /// assert_eq!(sum.await, 500_500);
    /// # }
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

    #[track_caller]
    fn spawn_at<F>(
        &self,
        dispatcher: Dispatcher,
        future: F,
        location: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let child = Child(Arc::clone(&self.node));
        let runtime = &self.runtime.inner;
        runtime.spawn_as(child, dispatcher, future, location)
    }

    /// Runs a closure that may block, as a child, on a thread of its own.
    ///
    /// A job that has not started is dropped when the scope is cancelled. One that runs cannot be
    /// stopped: the scope waits for it. It can ask [`is_cancelled`](rt::is_cancelled).
    ///
    /// # Panics
    ///
    /// If the operating system refuses a thread while there is none to run the job.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let name = rt::scope(|s| async move {
    ///     let name = s.spawn_blocking(|| std::fs::read_to_string("/proc/self/comm"));
    ///     name.await.unwrap()
    /// });
    /// assert!(name.await.is_ok());
    /// # }
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (location, child) = (Location::caller(), Child(Arc::clone(&self.node)));
        let runtime = &self.runtime.inner;
        if size_of::<F>() > BOX_ABOVE {
            runtime.spawn_blocking_as(child, Box::new(job), location)
        } else {
            runtime.spawn_blocking_as(child, job, location)
        }
    }

    /// Cancels the scope: aborts all its children, and those of the scopes inside them, and refuses
    /// new ones.
    ///
    /// The scope's own future, the closure's, goes on: it is told by its handles, by
    /// [`is_cancelled`](Scope::is_cancelled) and by [`cancelled`](Scope::cancelled).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let ended = rt::scope(|s| async move {
    ///     let endless = s.spawn(std::future::pending::<()>());
    ///     s.cancel();
    ///     assert!(endless.await.unwrap_err().is_cancelled());
    ///     s.spawn(async { "too late" }).await.is_err()
    /// });
    /// assert!(ended.await);
    /// # }
    /// ```
    pub fn cancel(&self) {
        self.node.cancel(Reason::Cancelled);
    }

    /// Asks the children to stop, refuses new ones, and aborts after `grace` those that are still
    /// there.
    ///
    /// Asking means that [`rt::is_cancelled`], [`rt::cancelled`] and the scope's tokens say so from
    /// now on, in the children, and in the scopes inside them, which may still spawn to finish their
    /// work.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # #[rt::main]
    /// # async fn main() {
    /// rt::scope(|s| async move {
    ///     let polite = s.spawn(async {
    ///         rt::cancelled().await;
    ///         "saved"
    ///     });
    ///     let deaf = s.spawn(std::future::pending::<()>());
    ///     s.cancel_graceful(Duration::from_millis(20));
    ///     assert_eq!(polite.await.unwrap(), "saved");
    ///     assert!(deaf.await.unwrap_err().is_cancelled());
    /// })
    /// .await;
    /// # }
    /// ```
    pub fn cancel_graceful(&self, grace: Duration) {
        self.node.request();
        if grace.is_zero() {
            return self.cancel();
        }
        let end = {
            let _its_clock = self.runtime.enter();
            Instant::now() + grace
        };
        alarm::set(&self.node, &self.runtime, end, Reason::Cancelled);
    }

    /// Whether the scope was asked to stop: cancelled, in its grace, past its deadline, failed, or
    /// inside another one of which this is true.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// rt::scope(|s| async move {
    ///     assert!(!s.is_cancelled());
    ///     s.cancel();
    ///     assert!(s.is_cancelled());
    /// })
    /// .await;
    /// # }
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.node.is_cancelled()
    }

    /// Waits until [`is_cancelled`](Scope::is_cancelled).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// rt::scope(|s| async move {
    ///     let scope = s.clone();
    ///     s.spawn(async move { scope.cancel() });
    ///     s.cancelled().await;
    /// })
    /// .await;
    /// # }
    /// ```
    pub fn cancelled(&self) -> Cancelled {
        Cancelled::new(Arc::clone(&self.node))
    }

    /// The scope's token. Cancelling it is cancelling the scope; its child tokens are cancelled with
    /// the scope, and not the other way round.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// rt::scope(|s| async move {
    ///     let endless = s.spawn(std::future::pending::<()>());
    ///     let token = s.token();
    ///     std::thread::spawn(move || token.cancel());
    ///     assert!(endless.await.unwrap_err().is_cancelled());
    /// })
    /// .await;
    /// # }
    /// ```
    pub fn token(&self) -> CancelToken {
        CancelToken::of(Arc::clone(&self.node))
    }

    /// How many children have not ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// rt::scope(|s| async move {
    ///     let endless = s.spawn(std::future::pending::<()>());
    ///     assert_eq!(s.child_count(), 1);
    ///     endless.abort();
    ///     endless.await.unwrap_err();
    ///     // The handle may resolve a moment before the scope hears of it.
    ///     while s.child_count() > 0 {
    ///         rt::yield_now().await;
    ///     }
    /// })
    /// .await;
    /// # }
    /// ```
    pub fn child_count(&self) -> usize {
        self.node.child_count()
    }

    /// Cancels the scope at `at`, in place of a deadline that was set before.
    ///
    /// Scopes inside inherit it: whichever deadline is the earliest, of a scope or of those around
    /// it, ends it. The children that it ends say so: [`JoinError::is_deadline`]. One that has passed
    /// cancels at once.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use rt::time::Instant;
    ///
    /// # #[rt::main]
    /// # async fn main() {
    /// rt::scope(|s| async move {
    ///     s.deadline(Instant::now() + Duration::from_millis(10));
    ///     let endless = s.spawn(std::future::pending::<()>());
    ///     assert!(endless.await.unwrap_err().is_deadline());
    /// })
    /// .await;
    /// # }
    /// ```
    ///
    /// [`JoinError::is_deadline`]: crate::task::JoinError::is_deadline
    pub fn deadline(&self, at: Instant) {
        self.node.set_deadline(at.to_deadline().as_nanos());
        alarm::set(&self.node, &self.runtime, at, Reason::Deadline);
    }

    /// When the scope ends at the latest: the earliest deadline of it and of those around it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use rt::time::Instant;
    ///
    /// # #[rt::main]
    /// # async fn main() {
    /// let soon = Instant::now() + Duration::from_secs(60);
    /// rt::scope(|outer| async move {
    ///     outer.deadline(soon);
    ///     rt::scope(|inner| async move {
    ///         inner.deadline(soon + Duration::from_secs(60));
    ///         assert_eq!(inner.effective_deadline(), Some(soon));
    ///     })
    ///     .await;
    /// })
    /// .await;
    /// # }
    /// ```
    pub fn effective_deadline(&self) -> Option<Instant> {
        self.node.deadline().map(Instant::from_nanos)
    }

    /// Calls `hook` with each failure that would be lost, in this scope or in one inside it that has no
    /// hook of its own. A second hook takes the place of the first.
    ///
    /// A failure reaches exactly one of three: the scope's caller, who gets the first; else the handle of
    /// the child that has failed; else, when that handle is dropped unread, this hook. Without a hook an
    /// error is dropped there, and a panic is [unhandled](crate::runtime::UnhandledPanic), as it is of a task
    /// outside of scopes. What the scope has failed with goes to the hook as well if the scope's future is
    /// dropped before it could tell.
    ///
    /// The hook runs on the thread that ends the child, or drops the handle; it should be quick. A panic of
    /// its own ends there.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// # #[rt::main]
    /// # async fn main() {
    /// let lost = Arc::new(Mutex::new(Vec::new()));
    /// let list = Arc::clone(&lost);
    /// let first = rt::try_scope(|s| async move {
    ///     s.on_lost_failure(move |failure| {
    ///         list.lock().unwrap().push(failure.try_into_error::<&str>().unwrap());
    ///     });
    ///     for disk in ["sda", "sdb"] {
    ///         // It cannot be cut, so both errors come.
    ///         s.spawn_blocking(move || Err::<(), _>(disk));
    ///     }
    ///     s.cancelled().await;
    ///     Ok(())
    /// });
    /// let first = first.await.unwrap_err();
    /// // The second job may have been dropped before it began.
    /// assert!(lost.lock().unwrap().iter().all(|other| *other != first));
    /// # }
    /// ```
    pub fn on_lost_failure(&self, hook: impl Fn(JoinError) + Send + Sync + 'static) {
        self.node.on_lost(Arc::new(hook));
    }

    /// Gives the scope a name, for what is printed of it.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// rt::scope(|s| async move {
    ///     s.name("uploads");
    ///     assert!(format!("{s:?}").contains("uploads"));
    /// })
    /// .await;
    /// # }
    /// ```
    pub fn name(&self, name: &str) {
        self.node.set_name(name);
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scope").field(&self.node).finish()
    }
}

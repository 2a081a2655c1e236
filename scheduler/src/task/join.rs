//! What a spawner keeps of a task: its output to come, and the right to abort it.

#![expect(
    unsafe_code,
    reason = "the output and the join waker pass through the task's cell"
)]

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use super::Id;
use super::cell::{Output, TaskRef};
use super::state::Join;
use super::trace::{Waits, note};
use crate::coop;
use crate::scope::{Blow, Own};

/// Why a task ended without a value.
///
/// One word beside the tag: the place of each task's output has room for it. So what a panic leaves is boxed
/// once more.
pub(crate) enum Failure {
    Cancelled,
    /// Cancelled because its scope's time was over.
    Deadline,
    Panic(Box<Box<dyn Any + Send>>),
    /// A panic that its scope has, too: it is told whether anybody joins or not.
    Told(Box<Box<dyn Any + Send>>),
    /// It returned an error, which its scope has.
    Error,
    /// A child has failed, and its scope does not have it: another was first.
    Own(Box<Own>),
}

/// An owned permission to await a task's output.
///
/// Dropping the handle detaches the task: it runs on, and its output is dropped when it ends.
///
/// # Cancel safety
///
/// Awaiting `&mut handle` is cancel safe: the output stays with the task until the poll that
/// returns it.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let task = rt::spawn(async { "done" });
/// assert_eq!(task.await.unwrap(), "done");
///
/// let endless = rt::spawn(std::future::pending::<()>());
/// endless.abort();
/// assert!(endless.await.unwrap_err().is_cancelled());
/// # }
/// ```
pub struct JoinHandle<T> {
    task: TaskRef,
    /// The output was returned; only the task's name and its end remain to ask for.
    taken: bool,
    _output: PhantomData<T>,
}

// SAFETY: the handle moves one `T` out of the task, whichever thread it is on by then, and hands
// out no reference to it.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: `&JoinHandle` reaches only the state word and immutable fields.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// # Safety
    ///
    /// `task` is the handle's counted reference, and the task's output has type `T`.
    pub(super) unsafe fn new(task: TaskRef) -> Self {
        JoinHandle {
            task,
            taken: false,
            _output: PhantomData,
        }
    }

    /// Asks the task to end at its next suspension point.
    ///
    /// The task's future is dropped by the pool that runs it; then the handle resolves to an error
    /// that says [`is_cancelled`](JoinError::is_cancelled). A task that is complete keeps its value,
    /// and a task that is being polled may still complete in that poll. Calling it again, from any
    /// thread, or after the runtime is gone, does nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::spawn(std::future::pending::<()>());
    /// task.abort();
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// # }
    /// ```
    pub fn abort(&self) {
        self.task.abort();
    }

    /// A handle that can only abort, to keep elsewhere.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::spawn(std::future::pending::<()>());
    /// let abort: rt::task::AbortHandle = task.abort_handle();
    /// abort.abort();
    /// assert!(task.await.is_err());
    /// # }
    /// ```
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle {
            task: self.task.clone(),
        }
    }

    /// Whether the task has ended and its future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::spawn(async {});
    /// while !task.is_finished() {
    ///     rt::yield_now().await;
    /// }
    /// # }
    /// ```
    pub fn is_finished(&self) -> bool {
        self.task.header().state.is_complete()
    }

    /// The task's id.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::spawn(async { rt::task::id() });
    /// let id = task.id();
    /// assert_eq!(task.await.unwrap(), id);
    /// # }
    /// ```
    pub fn id(&self) -> Id {
        self.task.header().id
    }

    /// Puts `waker` into the join cell. `Complete` means that the output is there instead.
    pub(super) fn register(&self, waker: &Waker) -> Join {
        let header = self.task.header();
        // The clone runs foreign code, so it comes before the cell is taken.
        let fresh = waker.clone();
        if header.state.take_join_cell() == Join::Complete {
            return Join::Complete;
        }
        // SAFETY: JOIN_WAKER is clear, so the cell is the handle's (T4).
        let old = header
            .join_waker
            .with_mut(|cell| unsafe { (*cell).replace(fresh) });
        let join = header.state.give_join_cell();
        if join == Join::Complete {
            // SAFETY: the task completed while JOIN_WAKER was clear: the cell stays ours.
            drop(header.join_waker.with_mut(|cell| unsafe { (*cell).take() }));
        }
        drop(old);
        join
    }
}

impl<T> JoinHandle<T> {
    /// Takes the output, if the task is complete and it was not taken before.
    pub(super) fn take(&mut self) -> Poll<Result<T, JoinError>> {
        if self.taken || !self.is_finished() {
            return Poll::Pending;
        }
        self.taken = true;
        let mut output: Poll<Output<T>> = Poll::Pending;
        // SAFETY: the task is complete, the output was still there, and `new`'s caller vouched for
        // its type.
        unsafe { self.task.take_output(&mut output) };
        let id = self.id();
        output.map(|output| output.map_err(|failure| JoinError::new(id, failure)))
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(
            !self.taken,
            "a JoinHandle was polled after it had returned the output"
        );
        let budget = ready!(coop::poll_proceed(cx));
        if !self.is_finished() && self.register(cx.waker()) == Join::Pending {
            note(Waits::end_of(self.task.id()));
            return Poll::Pending;
        }
        budget.made_progress();
        self.take()
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if self.taken {
            return;
        }
        let header = self.task.header();
        match header.state.drop_join_interest() {
            Join::Pending => {
                // SAFETY: JOIN_WAKER is clear, so the cell is the handle's (T4).
                drop(header.join_waker.with_mut(|cell| unsafe { (*cell).take() }));
            }
            // SAFETY: complete, and not taken.
            Join::Complete => unsafe { self.task.drop_output() },
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("task", self.task.header())
            .finish_non_exhaustive()
    }
}

/// The right to abort a task, without a claim to its output.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let task = rt::spawn(std::future::pending::<()>());
/// let abort = task.abort_handle();
/// std::thread::spawn(move || abort.abort());
/// assert!(task.await.unwrap_err().is_cancelled());
/// # }
/// ```
#[derive(Clone)]
pub struct AbortHandle {
    task: TaskRef,
}

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    /// Asks the task to end, as [`JoinHandle::abort`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::spawn(std::future::pending::<()>());
    /// let abort = task.abort_handle();
    /// abort.abort();
    /// abort.abort(); // does nothing more
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// # }
    /// ```
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Whether the task has ended and its future is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::spawn(async { 1 });
    /// let abort = task.abort_handle();
    /// task.await.unwrap();
    /// assert!(abort.is_finished());
    /// # }
    /// ```
    pub fn is_finished(&self) -> bool {
        self.task.header().state.is_complete()
    }

    /// The task's id.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::spawn(async {});
    /// assert_eq!(task.abort_handle().id(), task.id());
    /// # }
    /// ```
    pub fn id(&self) -> Id {
        self.task.header().id
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle")
            .field("task", self.task.header())
            .finish_non_exhaustive()
    }
}

/// A task ended without a value: it was cancelled, it panicked, or its error went to its scope.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let task = rt::spawn(async { panic!("on purpose") });
/// let error: rt::task::JoinError = task.await.unwrap_err();
/// assert!(error.is_panic());
/// assert_eq!(error.into_panic().downcast_ref(), Some(&"on purpose"));
/// # }
/// ```
pub struct JoinError {
    id: Id,
    kind: Kind,
}

enum Kind {
    Cancelled,
    Deadline,
    /// In a mutex so that the error is `Sync` whatever the payload is.
    Panic(Mutex<Box<dyn Any + Send>>),
    /// As above. Gone if it is what the scope has returned.
    Error(Option<Mutex<Box<dyn Any + Send>>>),
}

impl JoinError {
    pub(crate) fn new(id: Id, failure: Failure) -> Self {
        let kind = match failure {
            Failure::Cancelled => Kind::Cancelled,
            Failure::Deadline => Kind::Deadline,
            Failure::Error => Kind::Error(None),
            Failure::Panic(payload) | Failure::Told(payload) => Kind::Panic(Mutex::new(*payload)),
            Failure::Own(own) => match own.into_blow() {
                Blow::Panic(payload) => Kind::Panic(Mutex::new(payload)),
                Blow::Error(error) => Kind::Error(Some(Mutex::new(error))),
            },
        };
        JoinError { id, kind }
    }

    /// Whether the task was aborted, by whomever, or its runtime was shut down before it ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::spawn(std::future::pending::<()>());
    /// task.abort();
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// # }
    /// ```
    pub fn is_cancelled(&self) -> bool {
        matches!(self.kind, Kind::Cancelled | Kind::Deadline)
    }

    /// Whether the task was cancelled because its scope's deadline had come.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # #[rt::main]
    /// # async fn main() {
    /// rt::scope(|scope| async move {
    ///     scope.deadline(rt::time::Instant::now() + Duration::from_millis(1));
    ///     let child = scope.spawn(std::future::pending::<()>());
    ///     let error = child.await.unwrap_err();
    ///     assert!(error.is_cancelled() && error.is_deadline());
    /// })
    /// .await;
    /// # }
    /// ```
    pub fn is_deadline(&self) -> bool {
        matches!(self.kind, Kind::Deadline)
    }

    /// Whether the task has returned an error to its scope; see
    /// [`try_into_error`](JoinError::try_into_error).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// # #[rt::main]
    /// # async fn main() {
    /// let kept = Arc::new(Mutex::new(None));
    /// let keep = Arc::clone(&kept);
    /// let result = rt::try_scope(|scope| async move {
    ///     let child = scope.spawn(async { Err::<(), _>("no luck") });
    ///     *keep.lock().unwrap() = Some(child);
    ///     std::future::pending::<Result<(), &str>>().await
    /// })
    /// .await;
    /// assert_eq!(result, Err("no luck"));
    ///
    /// let child = kept.lock().unwrap().take().unwrap();
    /// assert!(child.await.unwrap_err().is_error());
    /// # }
    /// ```
    pub fn is_error(&self) -> bool {
        matches!(self.kind, Kind::Error(_))
    }

    /// Whether the task panicked.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::spawn(async { panic!("on purpose") });
    /// assert!(task.await.unwrap_err().is_panic());
    /// # }
    /// ```
    pub fn is_panic(&self) -> bool {
        matches!(self.kind, Kind::Panic(_))
    }

    /// The panic's payload, for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    ///
    /// If the task did not panic; [`try_into_panic`](JoinError::try_into_panic) does not.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::spawn(async { panic!("on purpose") });
    /// let payload = task.await.unwrap_err().into_panic();
    /// assert_eq!(payload.downcast_ref(), Some(&"on purpose"));
    /// # }
    /// ```
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(error) => panic!("into_panic on a task that did not panic: {error}"),
        }
    }

    /// The panic's payload.
    ///
    /// # Errors
    ///
    /// Gives the error back if the task did not panic.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::spawn(std::future::pending::<()>());
    /// task.abort();
    /// let error = task.await.unwrap_err().try_into_panic().unwrap_err();
    /// assert!(error.is_cancelled());
    /// # }
    /// ```
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self.kind {
            // A mutex is poisoned by a panic of its holder; this one is never locked.
            Kind::Panic(payload) => {
                Ok(payload.into_inner().unwrap_or_else(PoisonError::into_inner))
            }
            _ => Err(self),
        }
    }

    /// The error that the task has returned, if its scope returns another one: the first.
    ///
    /// # Errors
    ///
    /// Gives the `JoinError` back if there is no error of type `E` in it.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::spawn(std::future::pending::<()>());
    /// task.abort();
    /// let error = task.await.unwrap_err();
    /// // No error that it has returned: the `JoinError` comes back.
    /// let error = error.try_into_error::<std::io::Error>().unwrap_err();
    /// assert!(error.is_cancelled());
    /// # }
    /// ```
    pub fn try_into_error<E: 'static>(self) -> Result<E, JoinError> {
        let Kind::Error(Some(error)) = self.kind else {
            return Err(self);
        };
        let error = error.into_inner().unwrap_or_else(PoisonError::into_inner);
        error.downcast().map(|error| *error).map_err(|other| {
            let kind = Kind::Error(Some(Mutex::new(other)));
            JoinError { id: self.id, kind }
        })
    }

    /// The id of the task that failed.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main]
    /// # async fn main() {
    /// let task = rt::spawn(std::future::pending::<()>());
    /// let id = task.id();
    /// task.abort();
    /// assert_eq!(task.await.unwrap_err().id(), id);
    /// # }
    /// ```
    pub fn id(&self) -> Id {
        self.id
    }

    /// The message that the task panicked with, when it is text.
    fn panic_message(&self) -> Option<String> {
        let Kind::Panic(payload) = &self.kind else {
            return None;
        };
        let payload = payload.lock().unwrap_or_else(PoisonError::into_inner);
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned())
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.kind, self.panic_message()) {
            (Kind::Cancelled, _) => write!(f, "task {} was cancelled", self.id),
            (Kind::Deadline, _) => {
                write!(f, "task {} was cancelled at its scope's deadline", self.id)
            }
            (Kind::Error(_), _) => write!(f, "task {} returned an error to its scope", self.id),
            (_, Some(message)) => write!(f, "task {} panicked with message {message:?}", self.id),
            (_, None) => write!(f, "task {} panicked", self.id),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> Self {
        io::Error::other(error)
    }
}

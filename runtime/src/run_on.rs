//! Moving a piece of work to another pool and its value back.

use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::{Location, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rt_scheduler::JoinHandle;

use crate::context;
use crate::dispatcher::Dispatcher;
use crate::handle::Handle;

/// Runs `future` on the pool that `dispatcher` names, and gives its value back to the caller.
///
/// Nothing happens until the returned future is polled. It then becomes a task of that pool; if the
/// caller runs on that pool already, it is polled where it is, as part of the caller's task: no task
/// is made and no thread is woken. The same holds for a [limited](Dispatcher::limited) dispatcher inside a task
/// of its own.
///
/// # Panics
///
/// A panic of `future` resumes here. Outside a runtime, when it is first polled. In a `block_on`, if
/// the runtime is shut down before the work has ended; a task ends with its runtime anyway.
///
/// # Cancel safety
///
/// Dropping the returned future cancels the work: it ends at its next suspension point, and is
/// dropped on its own pool.
///
/// # Examples
///
/// ```
/// use rt::Dispatcher;
///
/// # #[rt::main]
/// # async fn main() {
/// let words = vec!["to", "be", "or", "not", "to", "be"];
/// let (words, sorted) = rt::run_on(Dispatcher::Cpu, async move {
///     let mut sorted = words.clone();
///     sorted.sort_unstable();
///     (words, sorted)
/// })
/// .await;
/// assert_eq!((words[0], sorted[0]), ("to", "be"));
/// # }
/// ```
#[track_caller]
pub fn run_on<F>(dispatcher: Dispatcher, future: F) -> RunOn<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    // Boxed at once: it may be large, the caller's own future need not have room for it, and it
    // can still be moved to where it is to run.
    RunOn(State::New(Start {
        dispatcher,
        location: Location::caller(),
        work: Box::pin(future),
    }))
}

/// The future of [`run_on`].
#[must_use = "the work starts when this is awaited"]
pub struct RunOn<T>(State<T>);

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

enum State<T> {
    New(Start<T>),
    Here(Work<T>),
    There(Moved<T>),
    /// In the first poll, and for good if that panics.
    Gone,
}

/// What is known before the first poll.
struct Start<T> {
    dispatcher: Dispatcher,
    location: &'static Location<'static>,
    work: Work<T>,
}

impl<T: Send + 'static> Start<T> {
    /// Decides where the work goes, and sends it there.
    fn go(self) -> State<T> {
        let Start {
            dispatcher,
            location,
            work,
        } = self;
        let go = |handle: &Handle| {
            if dispatcher.is_here(&handle.inner) {
                State::Here(work)
            } else {
                State::There(Moved(handle.spawn_at(dispatcher, work, location)))
            }
        };
        match context::try_with(go) {
            Ok(state) => state,
            Err(error) => panic!("`run_on` at {location}: {error}"),
        }
    }
}

impl<T: Send + 'static> Future for RunOn<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        if let State::New(_) = self.0
            && let State::New(start) = mem::replace(&mut self.0, State::Gone)
        {
            self.0 = start.go();
        }
        match &mut self.0 {
            State::Here(work) => work.as_mut().poll(cx),
            State::There(task) => task.poll(cx),
            State::New(_) | State::Gone => panic!("`run_on` was polled after a panic"),
        }
    }
}

/// A task that ends with the one that waits for it.
struct Moved<T>(JoinHandle<T>);

impl<T> Moved<T> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        let error = match ready!(Pin::new(&mut self.0).poll(cx)) {
            Ok(value) => return Poll::Ready(value),
            Err(error) => error,
        };
        if let Ok(panic) = error.try_into_panic() {
            resume_unwind(panic);
        }
        assert!(
            context::ends_here(),
            "the runtime was shut down before the work of `run_on` had ended"
        );
        // A task of a runtime that ends is not polled again: it is about to be dropped.
        Poll::Pending
    }
}

impl<T> Drop for Moved<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T> fmt::Debug for RunOn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.0 {
            State::New(_) => "new",
            State::Here(_) => "here",
            State::There(_) => "moved",
            State::Gone => "gone",
        };
        f.debug_struct("RunOn").field("state", &state).finish()
    }
}

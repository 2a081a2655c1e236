//! What becomes of a runtime when a task panics and nobody is there to be told.

use std::task::{Context, Waker};

use parking_lot::Mutex;

/// What a panic does that no handle tells of.
///
/// A panic of a task, or of a blocking job, is its handle's: awaiting that gives a
/// [`JoinError`](crate::task::JoinError), and the runtime goes on, whatever is chosen here. Unhandled
/// are the panics that nobody can learn of in this way: of a task whose handle is dropped, before the
/// panic or after it without being awaited, and of a destructor of a future or an output beside
/// which the task has a value or a panic already.
///
/// A panic of a hook or of a foreign waker is never the runtime's end.
///
/// # Examples
///
/// ```
/// use std::panic::{AssertUnwindSafe, catch_unwind};
///
/// use rt::runtime::UnhandledPanic;
///
/// let runtime = rt::Runtime::builder()
///     .unhandled_panic(UnhandledPanic::ShutdownRuntime)
///     .build()?;
/// let ended = catch_unwind(AssertUnwindSafe(|| {
///     runtime.block_on(async {
///         drop(rt::spawn(async { panic!("on purpose") }));
///         std::future::pending::<()>().await;
///     })
/// }));
/// assert!(ended.is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnhandledPanic {
    /// Nothing: the panic hook has told of it, and the runtime goes on.
    #[default]
    Ignore,
    /// It ends the runtime: every task is cancelled, spawns give handles that are already cancelled,
    /// and every [`block_on`](crate::Runtime::block_on), under way or later, panics.
    ShutdownRuntime,
}

/// Whether an unhandled panic has ended the runtime, and which `block_on`s to tell.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ended: bool,
    waiting: Vec<Waker>,
}

impl Verdict {
    /// Ends it: whoever waits is woken.
    pub(crate) fn end(&self) {
        let waiting = {
            let mut state = self.state.lock();
            state.ended = true;
            std::mem::take(&mut state.waiting)
        };
        for waker in waiting {
            waker.wake();
        }
    }

    /// Whether it has ended; if not, the caller will be woken when it does.
    pub(crate) fn has_ended(&self, cx: &Context<'_>) -> bool {
        let mut state = self.state.lock();
        let known = |waker: &Waker| waker.will_wake(cx.waker());
        if !state.ended && !state.waiting.iter().any(known) {
            // The wakers of `block_on` are the runtime's own: cloning one runs no foreign code.
            state.waiting.push(cx.waker().clone());
        }
        state.ended
    }

    /// The caller does not wait any more.
    pub(crate) fn forget(&self, waker: &Waker) {
        let mut state = self.state.lock();
        state.waiting.retain(|waiting| !waiting.will_wake(waker));
    }
}

//! The future that a `block_on` runs, and what the runtime adds to it: local tasks, and reasons to
//! give up.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use pin_project_lite::pin_project;

use crate::handle::Inner;
use crate::task::RootTasks;
use crate::unhandled::Verdict;

pin_project! {
    /// The future of a `block_on`.
    ///
    /// * `spawn_local` works in it: its tasks run here, while it waits, and end with it.
    /// * An unhandled panic ends it, if that is the policy.
    /// * In a forked child it panics where it would wait for threads that are not there.
    pub(crate) struct Root<'a, F> {
        inner: &'a Inner,
        waits: Option<Waits<'a>>,
        tasks: RootTasks,
        #[pin]
        future: F,
    }
}

/// Takes this `block_on` off the list of those to be told.
struct Waits<'a> {
    verdict: &'a Verdict,
    waker: Waker,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.verdict.forget(&self.waker);
    }
}

impl<'a, F> Root<'a, F> {
    pub(crate) fn new(inner: &'a Inner, future: F) -> Self {
        Root {
            inner,
            waits: None,
            tasks: RootTasks::default(),
            future,
        }
    }
}

impl<F: Future> Future for Root<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let inner = *this.inner;
        if let Some(verdict) = &inner.verdict {
            assert!(
                !verdict.has_ended(cx),
                "this runtime has ended: a task panicked with nobody to tell, and that is its \
                 policy (`UnhandledPanic::ShutdownRuntime`)"
            );
            this.waits.get_or_insert_with(|| Waits {
                verdict,
                waker: cx.waker().clone(),
            });
        }
        let future = this.future;
        let polled = this.tasks.enter(|| future.poll(cx));
        if polled.is_pending() {
            this.tasks.poll(cx);
            inner.check_process();
        }
        polled
    }
}

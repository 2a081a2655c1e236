//! Giving way.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::context;

/// Lets every other runnable task go first, once.
///
/// The task goes behind the local queue and the injector, and behind tasks that fresh IO makes
/// runnable, as far as the worker has looked: tasks that do nothing but yield make it look once in
/// sixteen polls.
///
/// # Cancel safety
///
/// Cancel safe: there is nothing to lose.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let other = rt::spawn(async { 1 });
/// while !other.is_finished() {
///     rt::yield_now().await;
/// }
/// assert_eq!(other.await.unwrap(), 1);
/// # }
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// The future of [`yield_now`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        context::with_worker(|worker| {
            if let Some(worker) = worker {
                worker.yield_running();
            }
        });
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

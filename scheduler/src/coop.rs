//! The cooperative budget: how many operations one poll may do before it must let others run.
//!
//! A task whose sockets and channels are always ready would otherwise never suspend. Each operation
//! that completes costs one unit; when the units of a poll are spent, operations answer `Pending`
//! and wake the task, which goes behind the rest. Timers do not ask: an expired one is ready.

use std::cell::Cell;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

/// Operations a poll.
const BUDGET: u64 = 128;

/// No limit: outside tasks, and in [`unconstrained`]. These units are counted like others, as that
/// takes no question; in a thousand years they are not used up. There is room above for a unit that
/// was taken elsewhere and is given back here.
const UNLIMITED: u64 = u64::MAX / 2;

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(UNLIMITED) };
}

/// One unit, taken. Dropped unused it goes back; [`made_progress`](Coop::made_progress) spends it.
#[must_use = "a unit that is dropped is not spent"]
#[derive(Debug)]
pub struct Coop(());

impl Coop {
    /// Spends the unit: the operation did something.
    #[inline]
    pub fn made_progress(self) {
        mem::forget(self);
    }
}

impl Drop for Coop {
    #[inline]
    fn drop(&mut self) {
        LEFT.with(|left| left.set(left.get() + 1));
    }
}

/// Takes a unit for one operation, or schedules the task anew when there is none left.
#[inline]
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<Coop> {
    LEFT.with(|left| match left.get() {
        0 => come_again(cx),
        units => {
            left.set(units - 1);
            Poll::Ready(Coop(()))
        }
    })
}

#[cold]
fn come_again(cx: &mut Context<'_>) -> Poll<Coop> {
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// Whether the current poll has units left.
pub fn has_budget_remaining() -> bool {
    LEFT.with(|left| left.get() != 0)
}

/// Puts the previous budget back, also when the poll panics.
struct Restore(u64);

impl Drop for Restore {
    fn drop(&mut self) {
        LEFT.with(|left| left.set(self.0));
    }
}

/// Runs one poll with a fresh budget.
#[inline]
pub(crate) fn with_budget<R>(f: impl FnOnce() -> R) -> R {
    let _restore = Restore(LEFT.with(|left| left.replace(BUDGET)));
    f()
}

/// Spends one unit, and suspends if there is none: for long computations between awaits.
///
/// # Cancel safety
///
/// Cancel safe: nothing is lost but the unit.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let mut sum = 0;
/// for number in 0..1000u64 {
///     sum += number;
///     rt::task::consume_budget().await;
/// }
/// assert_eq!(sum, 499_500);
/// # }
/// ```
pub async fn consume_budget() {
    std::future::poll_fn(|cx| poll_proceed(cx).map(Coop::made_progress)).await;
}

pin_project! {
    /// A future that is polled without a budget; see [`unconstrained`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Unconstrained<F> {
        #[pin]
        future: F,
    }
}

/// Exempts `future` from the budget. It can then keep its worker for as long as it is ready.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let busy = rt::task::unconstrained(async {
///     for _ in 0..1000 {
///         rt::task::consume_budget().await;
///     }
///     "in one poll"
/// });
/// assert_eq!(busy.await, "in one poll");
/// # }
/// ```
pub fn unconstrained<F>(future: F) -> Unconstrained<F> {
    Unconstrained { future }
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let _restore = Restore(LEFT.with(|left| left.replace(UNLIMITED)));
        self.project().future.poll(cx)
    }
}

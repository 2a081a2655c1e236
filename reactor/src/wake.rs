//! Running wakers: always after the locks are released, first in first out.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

use crate::primitive::assert_unlocked;

#[cfg(all(test, not(loom)))]
mod tests;

/// Wakes and removes all of `wakers`, in order, and says how many there were.
///
/// A waker is foreign code and may panic. That concerns its owner, not the others of the batch
/// nor the thread that happens to deliver it: the panic has been reported by the panic hook, and
/// the rest are woken.
pub(crate) fn wake_all(wakers: &mut Vec<Waker>) -> usize {
    assert_unlocked();
    let count = wakers.len();
    for waker in wakers.drain(..) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
            discard(payload);
        }
    }
    count
}

/// Drops what a panic carried. That is foreign code once more; what it may throw in turn is leaked,
/// as somewhere it must end.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(again);
    }
}

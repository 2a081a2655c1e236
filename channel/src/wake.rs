//! Running wakers: always after the lock is released, first in first out.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

use crate::primitive::assert_unlocked;

/// Wakes.
///
/// A waker is foreign code and may panic. That concerns its owner, not whoever happens to deliver
/// it: the panic has been reported by the panic hook.
#[inline]
pub(crate) fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        wake_one(waker);
    }
}

/// Apart, so that the way of an item that nobody waits for is short.
#[inline(never)]
fn wake_one(waker: Waker) {
    assert_unlocked();
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        // What it threw is foreign too, and may throw once more; somewhere it must end.
        mem::forget(catch_unwind(AssertUnwindSafe(|| drop(payload))));
    }
}

/// Wakes all, in order.
pub(crate) fn wake_all(wakers: Vec<Waker>) {
    for waker in wakers {
        wake(Some(waker));
    }
}

//! Calls of foreign code whose panic is its owner's affair alone: the panic hook has told of it.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a waker, a destructor or the like, and goes on whatever it does.
pub(crate) fn contain(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // One whose own destructor panics is leaked.
        let again = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        mem::forget(again);
    }
}

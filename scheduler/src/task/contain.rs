//! Calls of user code that must not unwind into the runtime.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::primitive::sync::assert_no_lock;

/// Runs user code that must not unwind into the runtime, and gives its panic back.
pub(crate) fn contain(f: impl FnOnce()) -> Result<(), Box<dyn Any + Send>> {
    assert_no_lock();
    catch_unwind(AssertUnwindSafe(f))
}

/// Drops the payload of a panic that ends here. A payload whose own destructor panics is leaked
/// from there on: somewhere it must end.
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(again);
    }
}

/// Runs user code whose panic nobody wants to know of; the panic hook has told the user.
pub(crate) fn contain_all(f: impl FnOnce()) {
    if let Err(payload) = contain(f) {
        discard(payload);
    }
}

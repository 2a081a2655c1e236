//! Which runtime the current thread belongs to.
//!
//! Asked at every spawn, so it is one plain cell: a pointer that owns one count of the runtime's
//! `Arc`, lent out for the time of a call without touching the count. The cell has no destructor,
//! so it can be asked also while the thread ends.
//!
//! # Invariants
//!
//! * **C1** A pointer in the cell, or kept by a guard as the previous one, owns one count.
//! * **C2** While a call has the pointer on loan, no count is given up on this thread: a guard that
//!   is dropped in there leaves its count behind.

#![expect(unsafe_code, reason = "the current runtime is lent from a raw pointer")]

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rt_reactor::{Deadline, Reactor, Wheel};

use crate::handle::{Handle, Inner, TryCurrentError};

thread_local! {
    /// The runtime that calls without a handle mean (C1); null for none.
    static CURRENT: Cell<*const Inner> = const { Cell::new(ptr::null()) };
    /// How many calls have it on loan (C2).
    static LOANS: Cell<u32> = const { Cell::new(0) };
    /// The runtime that started this thread, for as long as the thread lives. Only compared.
    static STARTED_BY: Cell<*const Inner> = const { Cell::new(ptr::null()) };
}

/// The runtime of threads that belong to none.
static DEFAULT: OnceLock<Handle> = OnceLock::new();

/// Keeps a runtime current on this thread; see [`Handle::enter`].
#[must_use = "the runtime is current only while the guard lives"]
pub struct EnterGuard<'a> {
    previous: *const Inner,
    #[cfg(feature = "tokio-context")]
    _tokio: Option<tokio::runtime::EnterGuard<'static>>,
    /// Tied to the handle, and by the pointer to this thread, whose cell it restores.
    _handle: PhantomData<&'a Handle>,
}

impl Drop for EnterGuard<'_> {
    fn drop(&mut self) {
        release(CURRENT.replace(self.previous));
    }
}

impl fmt::Debug for EnterGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnterGuard").finish_non_exhaustive()
    }
}

/// Makes `handle` current until the guard goes.
pub(crate) fn enter(handle: &Handle) -> EnterGuard<'_> {
    let previous = CURRENT.replace(Arc::into_raw(Arc::clone(&handle.inner)));
    EnterGuard {
        previous,
        #[cfg(feature = "tokio-context")]
        _tokio: handle
            .inner
            .tokio_context
            .then(crate::compat::enter)
            .flatten(),
        _handle: PhantomData,
    }
}

/// Gives up the count behind a pointer that has left the cell.
fn release(inner: *const Inner) {
    if !inner.is_null() && LOANS.get() == 0 {
        // SAFETY: the pointer owned a count (C1), and nobody has it on loan.
        drop(unsafe { Arc::from_raw(inner) });
    }
}

/// Makes `handle` current on a thread that its runtime has started, for the thread's life.
pub(crate) fn adopt_thread(handle: Handle) {
    #[cfg(feature = "tokio-context")]
    if handle.inner.tokio_context {
        crate::compat::adopt_thread();
    }
    let inner = Arc::into_raw(handle.inner);
    STARTED_BY.set(inner);
    release(CURRENT.replace(inner));
}

/// The end of an adopted thread.
pub(crate) fn leave_thread() {
    #[cfg(feature = "tokio-context")]
    crate::compat::leave_thread();
    release(CURRENT.replace(ptr::null()));
}

/// Whether `inner`'s runtime started this thread, so that waiting for its threads would be waiting
/// for this one.
pub(crate) fn started_by(inner: &Inner) -> bool {
    ptr::eq(STARTED_BY.get(), inner)
}

/// While it lives, this thread counts as one that `inner`'s runtime has started.
#[cfg(feature = "rayon")]
pub(crate) struct Lent(*const Inner);

/// Lends this thread to a runtime that waits for what it does now.
#[cfg(feature = "rayon")]
pub(crate) fn lend_thread(inner: &Arc<Inner>) -> Lent {
    Lent(STARTED_BY.replace(Arc::as_ptr(inner)))
}

#[cfg(feature = "rayon")]
impl Drop for Lent {
    fn drop(&mut self) {
        STARTED_BY.set(self.0);
    }
}

/// Whether this code is part of a task of a runtime that is being shut down: that will be dropped. The future of a
/// `block_on` is no task, also on a thread that runs tasks.
pub(crate) fn ends_here() -> bool {
    try_with(|handle| handle.inner.ends_here()).is_ok_and(|ends| ends)
}

/// Makes `handle` the process's default, if it is the first.
pub(crate) fn set_default(handle: &Handle) {
    let _ = DEFAULT.set(handle.clone());
}

/// Ends a loan, also when the call panics.
struct Loan;

impl Drop for Loan {
    fn drop(&mut self) {
        LOANS.set(LOANS.get() - 1);
    }
}

/// Calls `f` with the current runtime.
#[inline]
pub(crate) fn try_with<R>(f: impl FnOnce(&Handle) -> R) -> Result<R, TryCurrentError> {
    let current = CURRENT.get();
    if current.is_null() {
        return DEFAULT.get().map(f).ok_or_else(TryCurrentError::missing);
    }
    LOANS.set(LOANS.get() + 1);
    let _loan = Loan;
    // SAFETY: the pointer owns a count (C1) that is not given up during the loan (C2), and the
    // `Handle` below does not give it up either.
    let inner = unsafe { Arc::from_raw(current) };
    let handle = ManuallyDrop::new(Handle { inner });
    Ok(f(&handle))
}

/// Calls `f` with the current runtime; panics where there is none.
#[inline]
#[track_caller]
pub(crate) fn with<R>(f: impl FnOnce(&Handle) -> R) -> R {
    match try_with(f) {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

/// The reactor of the current runtime, if there is one.
pub(crate) fn try_reactor() -> Option<Arc<Reactor>> {
    try_with(|handle| Arc::clone(&handle.inner.reactor)).ok()
}

/// The reactor of the current runtime; panics where there is none.
#[track_caller]
pub(crate) fn reactor() -> Arc<Reactor> {
    with(|handle| {
        handle.inner.check_process();
        Arc::clone(&handle.inner.reactor)
    })
}

/// Whether there is a current runtime.
#[inline]
pub(crate) fn is_current() -> bool {
    !CURRENT.get().is_null() || DEFAULT.get().is_some()
}

/// The present by the clock of the current runtime.
#[inline]
pub(crate) fn try_now() -> Result<Deadline, TryCurrentError> {
    try_with(|handle| handle.inner.reactor.clock().now())
}

/// The present by the clock of the current runtime; outside a runtime by the monotonic clock.
#[inline]
pub(crate) fn now() -> Deadline {
    try_now().unwrap_or_else(|_| Deadline::now())
}

/// How far the clock of the current runtime is ahead of the monotonic one.
pub(crate) fn ahead() -> Duration {
    try_with(|handle| handle.inner.reactor.clock().ahead()).unwrap_or_default()
}

/// How far that clock is ahead of the monotonic one because the machine was suspended.
pub(crate) fn suspended() -> Duration {
    try_with(|handle| handle.inner.reactor.clock().suspended()).unwrap_or_default()
}

/// The timer wheel of this worker, or the one for all other threads.
#[track_caller]
pub(crate) fn wheel() -> Arc<Wheel> {
    with(|handle| {
        handle.inner.check_process();
        handle.inner.wheel()
    })
}

//! The real primitives: `parking_lot`'s mutex with a held-lock count, and thread parking.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::thread::{self, Thread};
use std::time::Duration;

thread_local! {
    /// How many runtime locks this thread holds. Only debug builds count.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// Panics, in debug builds, when this thread holds a runtime lock.
///
/// Called in front of user code: a waker or a destructor that runs under a runtime lock can come
/// back for the same lock.
#[inline]
#[track_caller]
pub(crate) fn assert_no_lock() {
    if cfg!(debug_assertions) {
        let held = HELD.with(Cell::get);
        assert!(
            held == 0,
            "user code was about to run under {held} runtime lock(s)"
        );
    }
}

/// A mutex of the runtime's own; never held across user code.
pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

/// Access to the contents of a [`Mutex`].
pub(crate) struct MutexGuard<'a, T>(parking_lot::MutexGuard<'a, T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Mutex(parking_lot::const_mutex(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        let guard = self.0.lock();
        if cfg!(debug_assertions) {
            HELD.with(|held| held.set(held.get() + 1));
        }
        MutexGuard(guard)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            HELD.with(|held| held.set(held.get() - 1));
        }
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

/// `std`'s cell behind the interface that loom gives its own.
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// A place where one thread sleeps until another wakes it. Either side may be spurious.
#[derive(Debug, Default)]
pub(crate) struct Token(parking_lot::Mutex<Option<Thread>>);

impl Token {
    /// Says that the calling thread is the one that will wait here.
    pub(crate) fn bind(&self) {
        *self.0.lock() = Some(thread::current());
    }

    /// Sleeps until [`wake`](Token::wake), or for no reason.
    #[expect(
        clippy::unused_self,
        reason = "a thread waits at its own token; the model's needs it"
    )]
    pub(crate) fn wait(&self) {
        thread::park();
    }

    /// As [`wait`](Token::wait), for `timeout` at most.
    #[expect(
        clippy::unused_self,
        reason = "a thread waits at its own token; the model's needs it"
    )]
    pub(crate) fn wait_timeout(&self, timeout: Duration) {
        thread::park_timeout(timeout);
    }

    /// Ends the current or the next [`wait`](Token::wait).
    pub(crate) fn wake(&self) {
        if let Some(thread) = &*self.0.lock() {
            thread.unpark();
        }
    }
}

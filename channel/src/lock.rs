//! A lock for work of a few nanoseconds: what a channel does with one message.
//!
//! The lock is one of the two atomic operations that a message costs, so it gives up what would
//! need another: it is not fair and keeps no list of those who wait. Its holder runs no foreign
//! code and never sleeps. Who finds it held spins, a little longer each time. If the holder has lost
//! its CPU, the others offer theirs, and then sleep.
//!
//! Threads that do nothing but send and receive would pass the lock to and fro with each message, and
//! with it all that it guards from one cache to the other, which takes several times as long as the message.
//! So a thread that finds it held twice within microseconds leaves it alone for as long as a good many
//! messages take (`primitive/native.rs`).
//!
//! **Orderings**: one edge, from the `Release` store that gives the lock up to the `Acquire`
//! exchange that takes it next.

#![expect(unsafe_code, reason = "the lock gives out what it holds")]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::primitive::cell::UnsafeCell;
use crate::primitive::sync::atomic::AtomicBool;
use crate::primitive::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::primitive::{Held, relax};

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

/// The lock and what it holds.
pub(crate) struct SpinLock<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the lock gives its contents to one thread at a time, so they are sent, never shared.
unsafe impl<T: Send> Sync for SpinLock<T> {}
// SAFETY: whoever owns the lock owns its contents.
unsafe impl<T: Send> Send for SpinLock<T> {}

/// The lock, held.
pub(crate) struct Guard<'a, T> {
    lock: &'a SpinLock<T>,
    _held: Held,
    /// It is as good as a reference to the contents, and may be shared only where that may.
    _contents: PhantomData<&'a mut T>,
}

impl<T> SpinLock<T> {
    pub(crate) fn new(value: T) -> Self {
        SpinLock {
            locked: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Takes the lock, for work that is short and does not come back for it.
    #[inline]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        if !self.try_acquire() {
            self.acquire();
        }
        self.acquired()
    }

    /// As [`lock`](SpinLock::lock), unless somebody holds it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.try_acquire().then(|| self.acquired())
    }

    /// The caller has set the flag.
    #[inline]
    fn acquired(&self) -> Guard<'_, T> {
        Guard {
            lock: self,
            _held: Held::new(),
            _contents: PhantomData,
        }
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        self.locked
            .compare_exchange(false, true, Acquire, Relaxed)
            .is_ok()
    }

    #[cold]
    #[inline(never)]
    fn acquire(&self) {
        let mut turn = 0;
        loop {
            relax(turn);
            // Looking first leaves the line to the holder until it is done with it.
            if !self.locked.load(Relaxed) && self.try_acquire() {
                return;
            }
            turn += 1;
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: whoever made the guard turned the flag from false to true: this thread alone has
        // the contents until the guard goes.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        self.lock.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.locked.store(false, Release);
    }
}

//! A lock for work of a few nanoseconds: what a channel does with one message.
//!
//! The lock is one of the two atomic operations that a message costs, so it gives up what would
//! need another: it is not fair and keeps no list of those who wait. Its holder runs no foreign
//! code and never sleeps. Who finds it held spins, a little longer each time: a thread that sends
//! or receives in a row gets through a good many messages meanwhile with everything in its own
//! cache. If the holder has lost its CPU, the others offer theirs, and then sleep.
//!
//! **Orderings**: one edge, from the `Release` store that gives the lock up to the `Acquire`
//! exchange that takes it next.

#![expect(unsafe_code, reason = "the lock gives out what it holds")]

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

/// Gives the lock up, also when the work panics.
struct Unlock<'a>(&'a AtomicBool);

impl Drop for Unlock<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.store(false, Release);
    }
}

impl<T> SpinLock<T> {
    pub(crate) fn new(value: T) -> Self {
        SpinLock {
            locked: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Does `work` with the contents. It must be short, and must not come back for the lock.
    #[inline]
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        if !self.try_acquire() {
            self.acquire();
        }
        let _unlock = Unlock(&self.locked);
        let _held = Held::new();
        // SAFETY: the flag was false and is true: this thread alone is here until `_unlock` goes.
        self.value.with_mut(|value| work(unsafe { &mut *value }))
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        self.locked
            .compare_exchange(false, true, Acquire, Relaxed)
            .is_ok()
    }

    #[cold]
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

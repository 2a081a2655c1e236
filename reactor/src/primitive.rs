//! The one door to atomics, cells and locks.
//!
//! Nothing else in this crate names `std::sync`, so a model sees every operation. `Arc` and
//! `OnceLock` are std's in a model too: public signatures name the first, and no protocol here
//! rests on the edges of either.
//!
//! The lock counts, in debug builds, how many of these locks the thread holds, so that the code
//! which runs wakers can assert that it holds none (see [`assert_unlocked`]).

pub(crate) mod sync {
    #[cfg(loom)]
    pub(crate) use loom::sync::atomic;
    #[cfg(not(loom))]
    pub(crate) use std::sync::atomic;
    pub(crate) use std::sync::{Arc, OnceLock};

    pub(crate) use super::lock::Mutex;
}

pub(crate) mod cell {
    #[cfg(loom)]
    pub(crate) use loom::cell::UnsafeCell;

    #[cfg(not(loom))]
    pub(crate) use super::plain_cell::UnsafeCell;
}

/// Asserts, in debug builds, that this thread holds no lock of the crate: foreign code (a waker's
/// clone, wake or drop) is about to run.
#[inline]
pub(crate) fn assert_unlocked() {
    debug_assert_eq!(lock::held(), 0, "foreign code would run under a lock");
}

/// The shape of loom's cell over the plain one.
#[cfg(not(loom))]
mod plain_cell {
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> Self {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        #[inline]
        pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        #[inline]
        pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            write(self.0.get())
        }
    }
}

mod lock {
    use std::cell::Cell;
    use std::ops::{Deref, DerefMut};

    #[cfg(loom)]
    use loom::sync as raw;
    #[cfg(not(loom))]
    use parking_lot as raw;

    /// A lock that never poisons.
    pub(crate) struct Mutex<T>(raw::Mutex<T>);

    /// Access to what a [`Mutex`] holds.
    pub(crate) struct Guard<'a, T> {
        guard: raw::MutexGuard<'a, T>,
        _held: Held,
    }

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(raw::Mutex::new(value))
        }

        #[inline]
        pub(crate) fn lock(&self) -> Guard<'_, T> {
            #[cfg(not(loom))]
            let guard = self.0.lock();
            #[cfg(loom)]
            let guard = self.0.lock().expect("a model that panicked has ended");
            Guard {
                guard,
                _held: Held::new(),
            }
        }
    }

    impl<T> Deref for Guard<'_, T> {
        type Target = T;

        #[inline]
        fn deref(&self) -> &T {
            &self.guard
        }
    }

    impl<T> DerefMut for Guard<'_, T> {
        #[inline]
        fn deref_mut(&mut self) -> &mut T {
            &mut self.guard
        }
    }

    thread_local! {
        static HELD: Cell<u32> = const { Cell::new(0) };
    }

    /// How many locks this thread holds; always 0 where nobody counts.
    pub(super) fn held() -> u32 {
        HELD.try_with(Cell::get).unwrap_or(0)
    }

    /// One lock held, in the count of a debug build.
    struct Held;

    /// Models run many threads on one, so only real threads count.
    const COUNTS: bool = cfg!(all(debug_assertions, not(loom)));

    impl Held {
        #[inline]
        fn new() -> Held {
            if COUNTS {
                // A thread whose locals are gone is not counted; the check passes there.
                let _ = HELD.try_with(|held| held.set(held.get() + 1));
            }
            Held
        }
    }

    impl Drop for Held {
        #[inline]
        fn drop(&mut self) {
            if COUNTS {
                let _ = HELD.try_with(|held| held.set(held.get() - 1));
            }
        }
    }
}

//! The real primitives.

use std::cell::Cell;
use std::hint;
use std::thread::{sleep, yield_now};
use std::time::Duration;

/// `std`'s cell behind the interface that loom gives its own.
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// Turns that only spin, each twice as long as the one before.
const SPINS: u32 = 7;
/// Turns up to which the CPU is offered to others, the holder among them.
const YIELDS: u32 = SPINS + 16;
/// What a thread sleeps in each turn after that: the holder has lost its CPU.
const SLEEP: Duration = Duration::from_micros(50);

/// Waits a little for a lock that others hold; longer with each turn.
#[cold]
pub(crate) fn relax(turn: u32) {
    if turn < SPINS {
        for _ in 0..1 << turn {
            hint::spin_loop();
        }
    } else if turn < YIELDS {
        yield_now();
    } else {
        sleep(SLEEP);
    }
}

thread_local! {
    /// How many locks of this crate the thread holds. Only debug builds count.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// One lock held, in the count of a debug build.
pub(crate) struct Held;

impl Held {
    #[inline]
    pub(crate) fn new() -> Held {
        if cfg!(debug_assertions) {
            // A thread whose locals are gone is not counted; the check passes there.
            let _ = HELD.try_with(|held| held.set(held.get() + 1));
        }
        Held
    }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            let _ = HELD.try_with(|held| held.set(held.get() - 1));
        }
    }
}

/// Asserts, in debug builds, that this thread holds no lock of the crate: foreign code is about to
/// run, a waker's or a value's destructor.
#[inline]
pub(crate) fn assert_unlocked() {
    if cfg!(debug_assertions) {
        let held = HELD.try_with(Cell::get).unwrap_or(0);
        assert!(held == 0, "foreign code would run under a channel's lock");
    }
}

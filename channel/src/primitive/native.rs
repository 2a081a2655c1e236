//! The real primitives.

use std::cell::Cell;
use std::hint;
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

/// `std`'s cell behind the interface that loom gives its own.
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

/// Turns that only spin, each twice as long as the one before.
const SPINS: u32 = 7;
/// Turns up to which the CPU is offered to others, the holder among them.
const YIELDS: u32 = SPINS + 16;
/// What a thread sleeps in each turn after that: the holder has lost its CPU.
const SLEEP: Duration = Duration::from_micros(50);

/// A thread that finds locks held twice within this time is in a dispute.
const DISPUTE: Duration = Duration::from_micros(4);
/// How long it then leaves the lock to the others.
const STAY_AWAY: Duration = Duration::from_micros(20);

thread_local! {
    /// When the thread last waited for a lock.
    static WAITED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Waits a little for a lock that others hold; longer with each turn.
#[cold]
pub(crate) fn relax(turn: u32) {
    if turn == 0 {
        let now = Instant::now();
        let before = WAITED.replace(Some(now));
        if before.is_some_and(|before| now.duration_since(before) < DISPUTE) {
            return stay_away(now);
        }
    }
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

/// Leaves a lock that threads take in turns, each time with all that it guards, to the others.
#[cold]
fn stay_away(start: Instant) {
    let mut now = start;
    while now.duration_since(start) < STAY_AWAY {
        (0..32).for_each(|_| hint::spin_loop());
        now = Instant::now();
    }
    WAITED.set(Some(now));
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

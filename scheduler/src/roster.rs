//! How many spares serve, and how many should.
//!
//! The guard, or a worker that blocks in place, calls a spare and counts it at once; how many are
//! wanted is said separately, and changes. A spare asks between two tasks whether it is one too
//! many, and the one that lowers the count is the one that goes. So nobody names the spare that
//! must go: a spare that is in a long poll stays, and another one, which is free, goes in its
//! place.
//!
//! # Invariants
//!
//! * **R1** `serving` counts every spare from its call to its dismissal.
//! * **R2** A dismissal never leaves fewer than are wanted at that moment.
//! * **R3** While more serve than are wanted, one that sleeps is woken to ask. One that falls
//!   asleep at that moment is missed: the guard says how many it wants at each look.
//!
//! # Orderings
//!
//! Relaxed throughout: the counts are all there is to know, each change is one read-modify-write, and
//! the wake-up of R3 carries what was said before it.

use crate::parking::Parking;
use crate::primitive::sync::atomic::AtomicUsize;
use crate::primitive::sync::atomic::Ordering::Relaxed;

#[cfg(all(test, loom))]
mod model;

/// The account of one pool's spares.
pub(crate) struct Roster {
    serving: AtomicUsize,
    wanted: AtomicUsize,
}

impl Roster {
    pub(crate) fn new() -> Self {
        Roster {
            serving: AtomicUsize::new(0),
            wanted: AtomicUsize::new(0),
        }
    }

    /// How many spares serve.
    pub(crate) fn serving(&self) -> usize {
        self.serving.load(Relaxed)
    }

    /// Counts one more spare, before its thread can ask to go.
    pub(crate) fn call(&self) {
        self.serving.fetch_add(1, Relaxed);
    }

    /// Undoes a call that no thread will answer.
    pub(crate) fn take_back(&self) {
        self.serving.fetch_sub(1, Relaxed);
    }

    /// Says how many should serve; if that is too many, and one of them, in `seats`, sleeps, it is
    /// woken.
    pub(crate) fn want(
        &self,
        spares: usize,
        parking: &Parking,
        seats: impl IntoIterator<Item = usize>,
    ) {
        self.wanted.store(spares, Relaxed);
        if self.serving() > spares {
            let sleeper = seats.into_iter().find(|&seat| parking.idle.is_parked(seat));
            if let Some(seat) = sleeper {
                parking.notify_worker(seat);
            }
        }
    }

    /// Says that at least so many should serve.
    pub(crate) fn want_at_least(&self, spares: usize) {
        self.wanted.fetch_max(spares, Relaxed);
    }

    /// Whether the calling spare is one too many; then it counts no more.
    pub(crate) fn dismiss_one(&self) -> bool {
        let wanted = self.wanted.load(Relaxed);
        if self.serving() <= wanted {
            return false;
        }
        self.serving
            .fetch_update(Relaxed, Relaxed, |serving| {
                (serving > wanted).then(|| serving - 1)
            })
            .is_ok()
    }
}

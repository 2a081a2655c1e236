//! The alarm: one kernel timer for the earliest deadline of all wheels.
//!
//! Arming costs a system call, so it is done only for a deadline earlier than the one it is armed
//! for. Nobody re-arms it for a later one: when the earliest timer is cancelled, the alarm goes off
//! once for nothing.
//!
//! # Protocol
//!
//! * **insert** (any thread): link the entry under its wheel's lock, unlock; then [`Alarm::ensure`]
//!   its deadline: if it is earlier than `armed`, lock the alarm, look again, set the timerfd.
//! * **fire** (whoever got the timer's event): [`Alarm::went_off`] **first**, which makes `armed`
//!   `NEVER`; then take the due entries out of each wheel under its lock; then `ensure` the
//!   earliest that is left, or a moment later if others have just fired (see `timers.rs`).
//!
//! * **resume** (any thread): let the clock run; then fire. While the clock stands still the timerfd
//!   is left alone, and whoever moves the clock fires. An insert that saw it stand still has linked
//!   and set `armed` by then, or sees it run: the fire's lock in `went_off` comes between.
//!
//! # Invariants
//!
//! * **A1** Whenever no insert and no fire is under way, `armed` is not later than any linked
//!   entry (but for that moment), and the timerfd of a clock that runs expires at `armed` or has an
//!   event that nobody has fired for.
//! * **A2** `armed` is written, and the timerfd set, under the lock only.
//!
//! Take an entry, and the last fire that went off. If the entry was linked before that fire had
//! locked its wheel, the fire saw it, and its `ensure` covers it. If it was linked after, then the
//! wheel's lock puts `went_off` before the insert's look at `armed`, which sees `NEVER` or what an
//! `ensure` made of it since: either that is early enough, or the insert sets the alarm itself.
//!
//! # Orderings
//!
//! All edges are those of the locks. So `armed` is `Relaxed`, also where it is read without the
//! lock: the wheel's lock orders that look, as just said. `alarm/model.rs` fails when `went_off`
//! comes after the wheels, when the second look or the lock of `set` is left out, when an insert
//! looks before it links, or when a fire does not arm. The lock in `went_off` is there to make A2
//! plain: the fire's own `ensure` would make up for its absence.

use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::primitive::sync::Mutex;
use crate::primitive::sync::atomic::Ordering::Relaxed;
use crate::primitive::sync::atomic::{AtomicBool, AtomicU64};
use crate::sys::TimerFd;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

/// The alarm. Every insert reads it and few write, so it keeps its cache lines to itself.
#[repr(align(128))]
pub(crate) struct Alarm {
    clock: Clock,
    /// What the kernel timer is armed for, in nanoseconds of the deadlines' scale.
    armed: AtomicU64,
    setting: Mutex<()>,
    /// Nobody will fire any more.
    closed: AtomicBool,
    /// There is none for a clock that the kernel does not know.
    timer: Option<TimerFd>,
}

impl Alarm {
    pub(crate) fn new(timer: Option<TimerFd>, clock: Clock) -> Alarm {
        Alarm {
            clock,
            armed: AtomicU64::new(Deadline::NEVER.as_nanos()),
            setting: Mutex::new(()),
            closed: AtomicBool::new(false),
            timer,
        }
    }

    #[inline]
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Says that nobody will fire any more. The wheels are fired for the last time afterwards: their
    /// locks carry this to whoever links later.
    pub(crate) fn close(&self) {
        self.closed.store(true, Relaxed);
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// What it is armed for.
    #[inline]
    pub(crate) fn armed(&self) -> Deadline {
        Deadline::from_nanos(self.armed.load(Relaxed))
    }

    /// Sees to it that the alarm goes off at `deadline` or earlier.
    ///
    /// # Panics
    ///
    /// If the kernel refuses, which it does only if foreign code has closed the timerfd.
    #[inline]
    pub(crate) fn ensure(&self, deadline: Deadline) {
        if deadline < self.armed() {
            self.set(deadline);
        }
    }

    #[cold]
    fn set(&self, deadline: Deadline) {
        let _setting = self.setting.lock();
        // Another insert may have been faster, with an earlier deadline.
        if deadline >= self.armed() {
            return;
        }
        self.armed.store(deadline.as_nanos(), Relaxed);
        if let (Some(timer), Some(at_ns)) = (&self.timer, self.clock.kernel_ns(deadline)) {
            timer
                .set(at_ns)
                .expect("the timerfd is open and the time is in range");
        }
    }

    /// Notes that it has gone off, so that the next `ensure` sets it again.
    pub(crate) fn went_off(&self) {
        let _setting = self.setting.lock();
        self.armed.store(Deadline::NEVER.as_nanos(), Relaxed);
    }
}

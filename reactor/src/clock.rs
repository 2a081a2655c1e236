//! The clock that decides whether a deadline has passed.
//!
//! Timers never read the time themselves. They ask the clock of the reactor they belong to. It
//! follows one of the kernel's clocks, and a *pausable* one can be told to stand still: then it is
//! moved by hand, from one deadline to the next, and no kernel timer has a part in it.
//!
//! # States of a pausable clock
//!
//! * **runs**: it reads what its *basis*, the kernel's clock, reads, shifted by what it has gained or lost while
//!   it stood still.
//! * **stands still** (*paused*): it reads `held`, which only grows.
//!
//! # Orderings
//!
//! One edge: [`Clock::resume`] stores the shift before it releases `held`, so whoever sees that the
//! clock runs sees a shift that is right. All else is in each value alone.

use std::fmt;
use std::time::{Duration, Instant};

use crate::deadline::Deadline;
use crate::primitive::sync::atomic::AtomicU64;
use crate::primitive::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::primitive::sync::{Arc, OnceLock};
use crate::sys;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

/// How far the coarse clock may lag behind the exact one: more than a tick of the slowest usual
/// kernel (10 ms). Should it ever lag more, an expired timer waits for the alarm, which is exact.
const COARSE_LAG: Duration = Duration::from_millis(16);

/// [`Hand::held`] of a clock that runs.
const RUNS: u64 = Deadline::NEVER.as_nanos();

/// A source of the present time. Copies of one share their time.
#[derive(Clone)]
pub struct Clock {
    basis: Basis,
    /// What stops it and moves it.
    hand: Option<Arc<Hand>>,
}

/// What a clock follows while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// Counts while the machine is awake.
    Monotonic,
    /// Counts also while the machine is suspended.
    Boottime,
    /// Nothing: it never runs.
    Hand,
}

struct Hand {
    /// Where it stands, or [`RUNS`].
    held: AtomicU64,
    /// How far it is ahead of its basis while it runs, in wrapping arithmetic.
    shift: AtomicU64,
}

/// How a clock goes at one moment.
enum Pace {
    Stands(Deadline),
    RunsAhead(u64),
}

impl Clock {
    /// The machine's monotonic clock, which stops while the machine is suspended.
    pub fn monotonic() -> Clock {
        Clock::follow(Basis::Monotonic)
    }

    /// The machine's monotonic clock that goes on while the machine is suspended.
    pub fn boottime() -> Clock {
        Clock::follow(Basis::Boottime)
    }

    fn follow(basis: Basis) -> Clock {
        Clock { basis, hand: None }
    }

    /// A clock that stands at `start` for ever, but for [`advance_to`](Clock::advance_to).
    pub fn manual(start: Deadline) -> Clock {
        Clock {
            basis: Basis::Hand,
            hand: Some(Arc::new(Hand {
                held: AtomicU64::new(start.as_nanos()),
                shift: AtomicU64::new(0),
            })),
        }
    }

    /// The same clock, but one that can be [`pause`](Clock::pause)d. It runs.
    #[must_use = "the clock itself stays as it is"]
    pub fn pausable(self) -> Clock {
        let hand = Hand {
            held: AtomicU64::new(RUNS),
            shift: AtomicU64::new(0),
        };
        Clock {
            hand: Some(self.hand.unwrap_or_else(|| Arc::new(hand))),
            ..self
        }
    }

    pub(crate) fn basis(&self) -> Basis {
        self.basis
    }

    #[inline]
    fn pace(&self) -> Pace {
        let Some(hand) = &self.hand else {
            return Pace::RunsAhead(0);
        };
        // ORDERING: Acquire, the edge from `resume`.
        match hand.held.load(Acquire) {
            RUNS => Pace::RunsAhead(hand.shift.load(Relaxed)),
            held => Pace::Stands(Deadline::from_nanos(held)),
        }
    }

    /// The present.
    #[inline]
    pub fn now(&self) -> Deadline {
        match self.pace() {
            Pace::RunsAhead(shift) => self.basis.now().shifted(shift),
            Pace::Stands(held) => held,
        }
    }

    /// The point that lies `duration` after now.
    #[inline]
    pub fn after(&self, duration: Duration) -> Deadline {
        self.now().saturating_add(duration)
    }

    /// Whether `deadline` has passed.
    ///
    /// A deadline further away than a kernel tick is told by the coarse clock, which is cheap;
    /// only a near one needs an exact reading.
    #[inline]
    pub fn has_passed(&self, deadline: Deadline) -> bool {
        let shift = match self.pace() {
            Pace::RunsAhead(shift) => shift,
            Pace::Stands(held) => return deadline <= held,
        };
        if self.basis == Basis::Monotonic {
            let coarse = base().monotonic(sys::monotonic_coarse_ns()).shifted(shift);
            if deadline > coarse.saturating_add(COARSE_LAG) {
                return false;
            }
            if deadline <= coarse {
                return true;
            }
        }
        deadline <= self.basis.now().shifted(shift)
    }

    /// Whether [`pause`](Clock::pause) works.
    pub fn is_pausable(&self) -> bool {
        self.hand.is_some()
    }

    /// Whether it stands still.
    #[inline]
    pub fn is_paused(&self) -> bool {
        matches!(self.pace(), Pace::Stands(_))
    }

    /// Makes it stand still. `false`: it does already, or it cannot be paused.
    pub fn pause(&self) -> bool {
        let now = self.now().as_nanos();
        self.hand.as_ref().is_some_and(|hand| {
            // ORDERING: Relaxed. The value stands for itself.
            hand.held
                .compare_exchange(RUNS, now, Relaxed, Relaxed)
                .is_ok()
        })
    }

    /// Lets it run on from where it stands. `false`: it runs already, or never does.
    ///
    /// Kernel timers know nothing of it: see [`Reactor::resume`](crate::Reactor::resume).
    pub(crate) fn resume(&self) -> bool {
        let (Some(hand), Pace::Stands(held)) = (&self.hand, self.pace()) else {
            return false;
        };
        if self.basis == Basis::Hand {
            return false;
        }
        let ahead = held.as_nanos().wrapping_sub(self.basis.now().as_nanos());
        hand.shift.store(ahead, Relaxed);
        // ORDERING: Release, the edge to `pace`.
        hand.held
            .compare_exchange(held.as_nanos(), RUNS, Release, Relaxed)
            .is_ok()
    }

    /// Moves a clock that stands still forward to `now`; it never goes back.
    ///
    /// Timers do not fire by themselves then: see [`Reactor::fire_timers`].
    ///
    /// [`Reactor::fire_timers`]: crate::Reactor::fire_timers
    ///
    /// # Panics
    ///
    /// If it runs.
    #[track_caller]
    pub fn advance_to(&self, now: Deadline) {
        assert!(
            self.try_advance_to(now),
            "only a clock that stands still can be moved"
        );
    }

    /// As [`advance_to`](Clock::advance_to). `false`: it runs.
    pub fn try_advance_to(&self, now: Deadline) -> bool {
        let Some(hand) = &self.hand else { return false };
        // ORDERING: Relaxed. The value stands for itself; one that runs stays as it is.
        hand.held.fetch_max(now.as_nanos().min(RUNS - 1), Relaxed) != RUNS
    }

    /// How far it has come ahead of the monotonic clock because the machine was suspended: whole
    /// milliseconds, rounded up.
    pub fn suspended(&self) -> Duration {
        if self.basis != Basis::Boottime {
            return Duration::ZERO;
        }
        let monotonic = base().monotonic(sys::monotonic_ns());
        let ahead = self.basis.now().saturating_duration_since(monotonic);
        // Less than a microsecond passes between the two readings, or a millisecond too much counts.
        let micros = u64::try_from(ahead.as_micros()).unwrap_or(u64::MAX);
        Duration::from_millis(micros.div_ceil(1_000))
    }

    /// How far it is ahead of the monotonic clock, for whatever reason.
    pub fn ahead(&self) -> Duration {
        if self.basis == Basis::Monotonic && matches!(self.pace(), Pace::RunsAhead(0)) {
            return Duration::ZERO;
        }
        // In this order: it is rather a few nanoseconds too many.
        let monotonic = base().monotonic(sys::monotonic_ns());
        self.now().saturating_duration_since(monotonic)
    }

    /// What a kernel timer on the clock's basis is to be set to for `deadline`, in nanoseconds;
    /// `None` while the basis has no part in the time.
    pub(crate) fn kernel_ns(&self, deadline: Deadline) -> Option<u64> {
        match self.pace() {
            Pace::RunsAhead(shift) => Some(self.basis.kernel_ns(deadline, shift)),
            // A model may give it a timer, to see what that is told.
            Pace::Stands(_) if self.basis == Basis::Hand => Some(deadline.as_nanos()),
            Pace::Stands(_) => None,
        }
    }
}

impl Basis {
    #[inline]
    fn now(self) -> Deadline {
        match self {
            Basis::Monotonic => Deadline::now(),
            Basis::Boottime => base().boottime(sys::boottime_ns()),
            Basis::Hand => Deadline::ZERO,
        }
    }

    /// What it reads at `deadline` of a clock that is ahead of it by `shift`.
    fn kernel_ns(self, deadline: Deadline, shift: u64) -> u64 {
        let begin = match self {
            Basis::Monotonic => base().monotonic_ns,
            Basis::Boottime => base().boottime_ns,
            Basis::Hand => 0,
        };
        deadline
            .shifted(shift.wrapping_neg())
            .as_nanos()
            .saturating_add(begin)
    }
}

impl Deadline {
    /// The point that lies `shift` later, which is negative if its highest bit is set; as near to it
    /// as there is one. What is never, is never.
    #[inline]
    fn shifted(self, shift: u64) -> Deadline {
        if self.is_never() {
            return self;
        }
        Deadline::from_nanos(self.as_nanos().saturating_add_signed(shift.cast_signed()))
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pace() {
            Pace::RunsAhead(_) => write!(f, "Clock::{:?}", self.basis),
            Pace::Stands(held) => write!(f, "Clock::Paused({held:?})"),
        }
    }
}

/// Where the scale of deadlines begins, on std's clock and on the kernel's.
pub(crate) struct Base {
    pub(crate) instant: Instant,
    /// Never less than the true readings at `instant`, so that what is computed from them errs
    /// towards late.
    monotonic_ns: u64,
    boottime_ns: u64,
}

impl Base {
    /// The point at which the kernel's monotonic clock reads `monotonic_ns`.
    #[inline]
    pub(crate) fn monotonic(&self, monotonic_ns: u64) -> Deadline {
        Deadline::from_nanos(monotonic_ns.saturating_sub(self.monotonic_ns))
    }

    /// The point at which the kernel's boottime clock reads `boottime_ns`.
    #[inline]
    fn boottime(&self, boottime_ns: u64) -> Deadline {
        Deadline::from_nanos(boottime_ns.saturating_sub(self.boottime_ns))
    }
}

/// The process's base, taken at the first use.
#[inline]
pub(crate) fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(take_base)
}

/// Reads all clocks in one go; of a few attempts the least disturbed one counts.
#[cold]
fn take_base() -> Base {
    let attempt = |_| {
        let instant = Instant::now();
        let monotonic_ns = sys::monotonic_ns();
        let boottime_ns = sys::boottime_ns();
        (instant.elapsed(), instant, monotonic_ns, boottime_ns)
    };
    let (_, instant, monotonic_ns, boottime_ns) = (0..5)
        .map(attempt)
        .min()
        .expect("five attempts have a least one");
    Base {
        instant,
        monotonic_ns,
        boottime_ns,
    }
}

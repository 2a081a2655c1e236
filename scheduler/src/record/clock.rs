//! The clock of what is recorded or measured: the processor's counter where the kernel itself goes by that, as it
//! costs a third of asking the kernel, and else the kernel's clock.

#![expect(unsafe_code, reason = "the counter is read by an instruction")]

use std::hint;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

#[cfg(test)]
mod tests;

/// How often both clocks are read to find a pair that belongs together.
const ATTEMPTS: usize = 20;

/// Nanoseconds after which ticks can be measured.
const SHORTEST: u64 = 50_000;

/// After so many there is nothing more to be learned.
const LONGEST: u64 = 1_000_000_000;

/// A clock that begins at 0.
pub(super) struct Clock {
    began: Instant,
    /// What the counter said then, if it can be used.
    counter: Option<u64>,
}

/// What a clock's ticks are in nanoseconds, as far as the clock has come.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    ticks: u64,
    nanos: u64,
}

impl Clock {
    pub(super) fn new() -> Self {
        let counter = is_trusted().then(counter);
        Clock {
            began: Instant::now(),
            counter,
        }
    }

    /// The time, in ticks.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        match self.counter {
            Some(began) => counter().saturating_sub(began),
            None => self.nanos(),
        }
    }

    fn nanos(&self) -> u64 {
        let passed = self.began.elapsed();
        passed.as_secs() * 1_000_000_000 + u64::from(passed.subsec_nanos())
    }

    /// Measures the ticks, all those until now.
    pub(super) fn scale(&self) -> Scale {
        // This thread may lose its processor between the two readings: the pair that took the shortest time is
        // the best one.
        let read = || {
            let (before, nanos, after) = (self.now(), self.nanos(), self.now());
            (after.saturating_sub(before), before, nanos)
        };
        let best = (1..ATTEMPTS).fold(read(), |best, _| best.min(read()));
        let (lasted, before, nanos) = best;
        Scale {
            ticks: (before + lasted / 2).max(1),
            nanos: nanos.max(1),
        }
    }
}

/// A clock whose ticks can be told in nanoseconds while they come, not only afterwards.
///
/// The longer it has run, the better it knows how long its ticks are, so that is measured anew each time that it has come
/// twice as far, during its first second.
pub(crate) struct Stopwatch {
    clock: Clock,
    began: Scale,
    /// Nanoseconds a tick, times two to the power of 32.
    ///
    /// ORDERING: Relaxed, as for the other: threads that measure at the same time find the same, but for errors.
    per_tick: AtomicU64,
    /// When to measure again.
    again: AtomicU64,
}

impl Stopwatch {
    /// Takes the time that it needs to be right by a thousandth.
    pub(crate) fn new() -> Self {
        let clock = Clock::new();
        let began = clock.scale();
        let watch = Stopwatch {
            clock,
            began,
            per_tick: AtomicU64::new(1 << 32),
            again: AtomicU64::new(u64::MAX),
        };
        if watch.clock.counter.is_some() {
            while watch.clock.nanos() < began.nanos + SHORTEST {
                hint::spin_loop();
            }
            watch.measure();
        }
        watch
    }

    /// The time, in ticks.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.clock.now()
    }

    #[cold]
    fn measure(&self) {
        let Scale { ticks, nanos } = self.clock.scale();
        let passed = u128::from(nanos.saturating_sub(self.began.nanos)) << 32;
        let per_tick = passed / u128::from(ticks.saturating_sub(self.began.ticks).max(1));
        let per_tick = u64::try_from(per_tick).unwrap_or(u64::MAX);
        self.per_tick.store(per_tick, Relaxed);
        let again = if nanos < LONGEST { 2 * ticks } else { u64::MAX };
        self.again.store(again, Relaxed);
    }

    /// The nanoseconds of a difference in ticks, at the time `now`.
    #[inline]
    pub(crate) fn nanos(&self, ticks: u64, now: u64) -> u64 {
        if now >= self.again.load(Relaxed) {
            self.measure();
        }
        let nanos = u128::from(ticks) * u128::from(self.per_tick.load(Relaxed));
        (nanos >> 32) as u64
    }
}

impl Scale {
    /// The nanoseconds of a time in ticks.
    pub(super) fn nanos(self, ticks: u64) -> u64 {
        let nanos = u128::from(ticks) * u128::from(self.nanos) / u128::from(self.ticks);
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

/// Whether the counter runs evenly and alike on all processors. The kernel has found that out.
fn is_trusted() -> bool {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    cfg!(target_arch = "x86_64")
        && std::fs::read_to_string(source).is_ok_and(|source| source.trim() == "tsc")
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

//! The clock of a recorder: the processor's counter where the kernel itself goes by that, as it
//! costs a third of asking the kernel, and else the kernel's clock.

#![expect(unsafe_code, reason = "the counter is read by an instruction")]

use std::time::Instant;

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
        Scale {
            ticks: self.now().max(1),
            nanos: self.nanos().max(1),
        }
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

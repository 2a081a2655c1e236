//! The manual clock, and the coarse one against the exact one.

use std::time::Duration;

use super::{COARSE_LAG, Clock, base};
use crate::deadline::Deadline;
use crate::sys;

#[test]
fn a_manual_clock_stands_until_it_is_moved_and_never_goes_back() {
    let clock = Clock::manual(Deadline::from_nanos(5));
    let same = clock.clone();
    assert_eq!(clock.now(), Deadline::from_nanos(5));
    assert!(clock.has_passed(Deadline::from_nanos(5)));
    assert!(!clock.has_passed(Deadline::from_nanos(6)));
    same.advance_to(Deadline::from_nanos(9));
    same.advance_to(Deadline::from_nanos(7));
    assert_eq!(clock.now(), Deadline::from_nanos(9));
    assert_eq!(
        clock.after(Duration::from_nanos(1)),
        Deadline::from_nanos(10)
    );
}

#[test]
#[should_panic(expected = "only a clock that stands still")]
fn the_monotonic_clock_cannot_be_moved() {
    Clock::monotonic().advance_to(Deadline::NEVER);
}

#[test]
fn what_has_passed_is_told_exactly_near_the_present() {
    let clock = Clock::monotonic();
    for distance in [0, 1, 1_000, 1_000_000] {
        let distance = Duration::from_nanos(distance);
        let deadline = clock.now();
        assert!(clock.has_passed(deadline));
        let deadline = clock.after(distance);
        while !clock.has_passed(deadline) {}
        assert!(clock.now() >= deadline, "never early");
    }
    assert!(!clock.has_passed(clock.after(COARSE_LAG * 4)));
    assert!(!clock.has_passed(Deadline::NEVER));
    assert!(clock.has_passed(Deadline::ZERO));
}

#[test]
fn the_coarse_clock_is_behind_but_hardly_ever_by_more_than_is_allowed_for() {
    let mut close = 0;
    for _ in 0..1_000 {
        let before = Deadline::now();
        let coarse = base().monotonic(sys::monotonic_coarse_ns());
        assert!(coarse <= Deadline::now());
        // A machine that takes the processor away for a while delays its ticks too.
        close += u32::from(before.saturating_duration_since(coarse) < COARSE_LAG);
    }
    assert!(close > 500);
}

#[test]
fn the_kernel_is_given_its_own_time() {
    let clock = Clock::monotonic();
    let now = clock.kernel_ns(clock.now()).unwrap();
    let kernel = sys::monotonic_ns();
    assert!(kernel.abs_diff(now) < 1_000_000_000);
    assert_eq!(clock.kernel_ns(Deadline::NEVER), Some(u64::MAX));
    let clock = Clock::boottime();
    let now = clock.kernel_ns(clock.now()).unwrap();
    assert!(sys::boottime_ns().abs_diff(now) < 1_000_000_000);
}

#[test]
fn the_clock_that_counts_suspensions_goes_as_the_other_while_there_are_none() {
    let clock = Clock::boottime();
    let deadline = clock.now();
    assert!(clock.has_passed(deadline));
    assert!(!clock.has_passed(clock.after(Duration::from_mins(1))));
    assert!(clock.now() >= deadline);
    // The machine that tests this does not sleep meanwhile, or wakes up again.
    let monotonic = Deadline::now().saturating_add(clock.suspended());
    let rest = monotonic.saturating_duration_since(clock.now());
    assert!(rest < Duration::from_mins(1));
    assert_eq!(Clock::monotonic().suspended(), Duration::ZERO);
}

#[test]
fn a_paused_clock_stands_and_runs_on_from_there() {
    for clock in [Clock::monotonic(), Clock::boottime()] {
        assert!(!clock.is_pausable() && !clock.pause());
        let clock = clock.pausable();
        assert!(clock.is_pausable() && !clock.is_paused());
        assert!(!clock.resume(), "it runs already");
        let before = clock.now();
        assert!(clock.pause());
        assert!(!clock.pause(), "it stands already");
        let held = clock.now();
        assert!(held >= before && clock.now() == held);
        assert_eq!(clock.kernel_ns(held), None);

        let hour = Duration::from_hours(1);
        clock.advance_to(held.saturating_add(hour));
        assert_eq!(clock.now().saturating_duration_since(held), hour);
        let source = clock.basis.now();
        assert!(clock.resume());
        let ran = clock.now().saturating_duration_since(held);
        let real = clock.basis.now().saturating_duration_since(source);
        assert!(ran >= hour && ran <= hour + real);
        // The kernel's clock is an hour behind this one.
        let kernel = clock.kernel_ns(clock.now()).unwrap();
        let plain = clock.basis.kernel_ns(clock.basis.now(), 0);
        assert!(plain.abs_diff(kernel) < 60_000_000_000);
        // Once more: what was gained stays.
        assert!(clock.pause() && clock.resume());
        assert!(clock.now().saturating_duration_since(held) >= hour);
        assert!(clock.has_passed(held.saturating_add(hour)));
    }
}

#[test]
fn a_clock_that_stood_behind_stays_behind() {
    let clock = Clock::monotonic().pausable();
    clock.pause();
    let held = clock.now();
    while Deadline::now() <= held.saturating_add(COARSE_LAG) {}
    clock.resume();
    assert!(!clock.has_passed(clock.after(Duration::from_mins(1))));
    assert!(clock.now() < Deadline::now(), "it has lost time");
    assert!(!clock.has_passed(Deadline::NEVER));
}

#[test]
fn the_end_of_time_does_not_set_a_paused_clock_going() {
    let clock = Clock::monotonic().pausable();
    clock.pause();
    clock.advance_to(Deadline::NEVER);
    assert!(clock.is_paused() && !clock.now().is_never());
}

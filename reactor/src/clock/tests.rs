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
#[should_panic(expected = "only a manual clock")]
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
        let coarse = base().deadline_at(sys::monotonic_coarse_ns());
        assert!(coarse <= Deadline::now());
        // A machine that takes the processor away for a while delays its ticks too.
        close += u32::from(before.saturating_duration_since(coarse) < COARSE_LAG);
    }
    assert!(close > 500);
}

#[test]
fn the_kernel_is_given_its_own_time() {
    let clock = Clock::monotonic();
    let now = clock.kernel_ns(clock.now());
    let kernel = sys::monotonic_ns();
    assert!(kernel.abs_diff(now) < 1_000_000_000);
    assert_eq!(clock.kernel_ns(Deadline::NEVER), u64::MAX);
}

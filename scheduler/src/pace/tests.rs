//! The interval follows the polls, within its bounds, unless it is fixed.

use super::*;

/// Turns from one look to the next.
fn interval(pace: &Pace) -> u32 {
    while !pace.turn() {}
    let mut turns = 1;
    while !pace.turn() {
        turns += 1;
    }
    turns
}

#[test]
fn the_first_turn_looks_and_the_last_one_before_a_look_is_a_sample() {
    for interval in [2, 3, 127] {
        let pace = Pace::new(Some(interval));
        for _ in 0..3 {
            assert!(pace.turn());
            assert!(!pace.samples(), "what comes from outside is no sample");
            for left in (0..interval - 1).rev() {
                assert!(!pace.turn());
                assert_eq!(pace.samples(), left == 0);
                assert!(!pace.samples(), "one poll a sample");
            }
        }
    }
    let pace = Pace::new(Some(1));
    assert!(pace.turn() && pace.samples() && pace.turn() && pace.samples());
}

#[test]
fn short_polls_make_looks_rare_and_long_ones_make_them_frequent() {
    let pace = Pace::new(None);
    for (took, expected) in [
        (0, 127),
        (10_000, 20),
        (1_000_000, 2),
        (u64::MAX / 8, 2),
        (100, 127),
        (5_000, 40),
    ] {
        for _ in 0..1000 {
            pace.record(took);
        }
        let interval = interval(&pace);
        let near = expected - expected / 20..=expected + expected / 20;
        assert!(near.contains(&interval), "{took} ns: {interval}");
    }
}

#[test]
fn a_fixed_interval_stays() {
    for fixed in [1, 2, 61, 1000] {
        let pace = Pace::new(Some(fixed));
        for took in [0, 100, 20_000_000] {
            pace.record(took);
            assert_eq!(interval(&pace), fixed);
        }
    }
}

#[test]
fn a_turn_that_is_skipped_counts_and_never_passes_over_a_look() {
    let pace = Pace::new(Some(3));
    assert!(!pace.skip());
    assert!(pace.turn());
    assert!(pace.skip() && pace.skip() && !pace.skip());
    assert!(pace.turn());
}

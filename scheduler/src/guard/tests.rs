//! When polls count as short.

use super::*;

/// Whether polls are short after looks a tick apart, each of which saw a long poll or did not.
fn after(looks: &[bool]) -> bool {
    let start = Instant::now();
    let mut polls = Polls::new(start);
    let quiet = start + LINGER;
    assert!(!polls.are_short(false, start) && polls.are_short(false, quiet));
    let mut short = true;
    for (tick, long) in (0..).zip(looks) {
        short = polls.are_short(*long, quiet + TICK * tick);
    }
    short
}

#[test]
fn one_long_poll_counts_for_three_ticks() {
    assert!(!after(&[true]));
    assert!(!after(&[true, false, false]));
    assert!(after(&[true, false, false, false]));
}

#[test]
fn two_in_a_row_count_for_longer() {
    let two_then = |quiet: usize| {
        let mut looks = vec![true, true];
        looks.resize(2 + quiet, false);
        after(&looks)
    };
    assert!(!two_then(39));
    assert!(two_then(40));
    assert!(after(&[true, false, true, false, false, false]));
}

//! Medians and ranges of small samples.

use super::{Spread, median};

#[test]
fn the_median_of_an_odd_count_is_the_middle_value() {
    assert_eq!(
        Spread::of(&[9.0, 1.0, 5.0]),
        Some(Spread {
            median: 5.0,
            low: 1.0,
            high: 9.0
        })
    );
}

#[test]
fn the_median_of_an_even_count_lies_between_the_two_middle_values() {
    assert!((median(&[4.0, 1.0, 2.0, 100.0]) - 3.0).abs() < 1e-12);
}

#[test]
fn one_disturbed_round_moves_the_range_but_not_the_median() {
    let spread = Spread::of(&[1.0, 1.0, 1.0, 1.0, 50.0]).expect("five values");
    assert!((spread.median - 1.0).abs() < 1e-12);
    assert!((spread.high - 50.0).abs() < 1e-12);
}

#[test]
fn no_rounds_have_no_spread() {
    assert_eq!(Spread::of(&[]), None);
    assert!(median(&[]).abs() < 1e-12);
}

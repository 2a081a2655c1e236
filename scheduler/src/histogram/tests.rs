//! That every duration finds its bucket, and what is read from them.

use std::time::Duration;

use super::{BUCKETS, Counts, Histogram, index_of, least_of};

fn of(nanos: &[u64]) -> Histogram {
    let counts = Counts::default();
    for &nanos in nanos {
        counts.record(nanos);
    }
    let mut histogram = Histogram::default();
    counts.add_to(&mut histogram);
    histogram
}

#[test]
fn the_buckets_leave_no_gap() {
    for index in 0..BUCKETS {
        let least = least_of(index);
        assert_eq!(index_of(least), index);
        if let Some(before) = least.checked_sub(1) {
            assert_eq!(index_of(before), index - 1);
        }
    }
    assert_eq!(index_of(u64::MAX), BUCKETS - 1);
}

#[test]
fn a_bucket_is_at_most_a_quarter_of_its_length_wide() {
    for index in 1..BUCKETS - 1 {
        let width = least_of(index + 1) - least_of(index);
        assert!(width * 4 <= least_of(index), "bucket {index}");
    }
}

#[test]
fn a_quantile_is_the_end_of_its_bucket() {
    let histogram = of(&[1000; 98]);
    assert_eq!(histogram.quantile(0.5), Duration::from_nanos(1024));
    let histogram = of(&[&[1000; 98][..], &[1_000_000, 5_000_000]].concat());
    assert_eq!(histogram.count(), 100);
    assert_eq!(histogram.quantile(0.0), Duration::from_nanos(1024));
    assert_eq!(histogram.quantile(0.98), Duration::from_nanos(1024));
    assert_eq!(histogram.quantile(0.99), Duration::from_nanos(1 << 20));
    let longest = histogram.quantile(1.0).as_nanos();
    assert!((5_000_000..6_250_000).contains(&longest), "{longest}");
    assert_eq!(histogram.sum(), Duration::from_micros(6098));
    assert_eq!(histogram.mean(), Duration::from_nanos(60_980));
}

#[test]
fn nothing_and_far_too_much_have_quantiles_too() {
    let nothing = Histogram::default();
    assert_eq!(nothing.quantile(0.5), Duration::ZERO);
    assert_eq!(nothing.mean(), Duration::ZERO);
    let for_ever = of(&[u64::MAX]);
    assert_eq!(for_ever.quantile(2.0), Duration::from_nanos(1 << 35));
    assert_eq!(for_ever.quantile(f64::NAN), Duration::from_nanos(1 << 35));
}

#[test]
fn a_difference_is_what_came_in_between() {
    let (earlier, later) = (of(&[10, 1000]), of(&[10, 1000, 1000, 7]));
    let between = later.since(&earlier);
    assert_eq!(between, of(&[1000, 7]));
    assert_eq!(earlier.since(&later), Histogram::default());
}

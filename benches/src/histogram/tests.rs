//! Bucket edges, and quantiles against the true ones.

use super::{BUCKETS, Histogram, bucket, upper_edge};

#[test]
fn buckets_are_in_order_without_gaps_and_their_edges_belong_to_them() {
    for value in (1..5_000).chain((1..64).map(|bit| 1 << bit)) {
        let (before, index) = (bucket(value - 1), bucket(value));
        assert!(
            index == before || index == before + 1,
            "a gap below {value}"
        );
        assert!(upper_edge(index) >= value);
        assert_eq!(bucket(upper_edge(index)), index);
    }
}

#[test]
fn the_largest_value_has_a_bucket() {
    assert!(bucket(u64::MAX) < BUCKETS);
    assert_eq!(upper_edge(bucket(u64::MAX)), u64::MAX);
}

#[test]
fn a_quantile_is_never_below_the_truth_and_at_most_one_step_above() {
    let mut histogram = Histogram::new();
    for value in 1..=100_000_u64 {
        histogram.record(value);
    }
    for (share, truth) in [(0.5, 50_000.0), (0.99, 99_000.0), (0.999, 99_900.0)] {
        let found = histogram.quantile(share) as f64;
        assert!(found >= truth && found <= truth * 1.017, "{share}: {found}");
    }
    assert_eq!(histogram.quantile(1.0), 100_000);
}

#[test]
fn count_and_maximum_are_exact() {
    let mut histogram = Histogram::new();
    for value in [10, 20, 1_000_003] {
        histogram.record(value);
    }
    assert_eq!(histogram.total(), 3);
    assert_eq!(histogram.max(), 1_000_003);
}

#[test]
fn an_empty_histogram_answers_zero() {
    let histogram = Histogram::new();
    assert_eq!(histogram.quantile(0.99), 0);
}

//! When polls count as long.

use super::*;

/// A worker whose thread has run for 100 ms until the last look.
fn worker() -> Seen {
    let mut seen = Seen::anew(0, Instant::now());
    let ran = Some(Duration::from_millis(100));
    assert!(!seen.has_long(LONG_POLLS, ran, || unreachable!()));
    seen
}

/// Whether it has long polls, if it has ended so many and has run for so much longer at the next look.
fn has_long(ended: u64, micros: u64, asleep: bool) -> bool {
    worker().has_long(ended, ran(micros), || asleep)
}

#[expect(clippy::unnecessary_wraps, reason = "as the kernel tells it")]
fn ran(micros: u64) -> Option<Duration> {
    Some(Duration::from_millis(100) + Duration::from_micros(micros))
}

#[test]
fn few_polls_in_much_time_on_a_cpu_are_long() {
    assert!(has_long(0, 4000, false));
    assert!(has_long(0, 1000, false));
    assert!(has_long(12, 1000, false));
    assert!(has_long(20, 1600, false));
}

#[test]
fn few_polls_of_a_worker_that_had_no_cpu_are_not() {
    assert!(!has_long(0, 0, false));
    assert!(!has_long(0, 999, false));
    assert!(!has_long(20, 1599, false));
    assert!(!has_long(63, 4000, false));
}

#[test]
fn one_that_sleeps_in_a_poll_has_a_long_one() {
    assert!(has_long(0, 10, true));
}

#[test]
fn many_polls_are_not_long() {
    assert!(!worker().has_long(64, ran(100_000), || unreachable!()));
}

#[test]
fn few_polls_are_long_where_the_kernel_does_not_tell() {
    assert!(worker().has_long(63, None, || unreachable!()));
    let mut seen = worker();
    assert!(!seen.has_long(64, None, || unreachable!()));
    // What the next look has nothing to compare with.
    assert!(seen.has_long(0, ran(10), || unreachable!()));
    assert!(!seen.has_long(0, ran(20), || false));
}

#[test]
fn a_new_poll_does_not_make_it_another_worker() {
    let mut seen = worker();
    seen.renew(7, Instant::now());
    assert_eq!(seen.polls, 7);
    assert!(!seen.has_long(0, ran(10), || false));
}

#[test]
fn one_that_gets_a_little_of_a_cpu_at_a_time_has_a_long_one_in_the_end() {
    let mut seen = worker();
    assert!(!seen.has_long(0, ran(400), || false));
    assert!(!seen.has_long(0, ran(800), || false));
    assert!(seen.has_long(0, ran(1200), || false));
    // The look after it sees some short ones, too.
    assert!(seen.has_long(10, ran(1600), || false));
    assert!(!seen.has_long(10, ran(2000), || false));
}

#[test]
fn what_another_thread_has_run_for_hides_no_long_poll() {
    let mut seen = worker();
    // A new thread in this place, which has run for less.
    let new = |micros| Some(Duration::from_micros(micros));
    assert!(seen.has_long(0, new(50), || false));
    assert!(!seen.has_long(0, new(900), || false));
    assert!(seen.has_long(0, new(1100), || false));
}

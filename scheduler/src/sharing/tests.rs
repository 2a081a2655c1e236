//! When the CPUs count as contended, by a count of preemptions that the tests make up.

use super::*;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static LOOKS: Cell<u32> = const { Cell::new(0) };
}

fn count() -> u64 {
    LOOKS.set(LOOKS.get() + 1);
    COUNT.get()
}

/// Looks every millisecond, from `from` on until `to`; the count grows before each look by `preempted`.
fn look(sharing: &Sharing, start: Instant, millis: std::ops::Range<u64>, preempted: u64) {
    for milli in millis {
        COUNT.set(COUNT.get() + preempted);
        sharing.look(start + Duration::from_millis(milli));
    }
}

fn contended(sharing: &Sharing) -> bool {
    assert!(!Sharing::is_worth(WORTH_NS - 1) && Sharing::is_worth(WORTH_NS));
    assert!(!sharing.is_worth_after_events(WORTH_NS - 1));
    assert!(sharing.is_worth_after_events(WORTH_CONTENDED_NS));
    !sharing.is_worth_after_events(WORTH_NS)
}

#[test]
fn a_worker_that_is_preempted_shares_less_for_a_while() {
    let (sharing, start) = (Sharing::new(Some(count)), Instant::now());
    COUNT.set(7);
    look(&sharing, start, 0..10, 0);
    assert!(!contended(&sharing), "what was counted before says nothing");
    look(&sharing, start, 10..11, 1);
    assert!(contended(&sharing));
    look(&sharing, start, 11..60, 0);
    assert!(contended(&sharing));
    look(&sharing, start, 60..61, 0);
    assert!(!contended(&sharing));
    look(&sharing, start, 61..500, 3);
    assert!(contended(&sharing));
}

#[test]
fn a_preemption_of_long_ago_is_none() {
    let (sharing, start) = (Sharing::new(Some(count)), Instant::now());
    look(&sharing, start, 0..1, 0);
    look(&sharing, start, 50..51, 1);
    assert!(!contended(&sharing));
    look(&sharing, start, 99..100, 1);
    assert!(contended(&sharing));
}

#[test]
fn the_kernel_is_asked_once_a_millisecond_at_most() {
    let (sharing, start) = (Sharing::new(Some(count)), Instant::now());
    for micros in 0..5_000 {
        sharing.look(start + Duration::from_micros(micros));
    }
    assert_eq!(LOOKS.get(), 5);
}

#[test]
fn without_a_count_the_cpus_are_never_contended() {
    let (sharing, start) = (Sharing::new(None), Instant::now());
    look(&sharing, start, 0..100, 1);
    assert!(!contended(&sharing));
    assert_eq!(LOOKS.get(), 0);
}

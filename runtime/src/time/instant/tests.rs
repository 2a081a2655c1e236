//! The arithmetic at its edges.

use std::time::{self, Duration};

use rt_reactor::Deadline;

use super::{Instant, NEVER, ORIGIN};

const YEAR: Duration = Duration::from_hours(365 * 24);

#[test]
fn sums_saturate() {
    let now = Instant::now();
    assert_eq!(now + Duration::MAX, NEVER);
    assert_eq!(NEVER + Duration::from_nanos(1), NEVER);
    assert_eq!(now - Duration::MAX, Instant { nanos: 0 });
    assert_eq!(now - (now + YEAR), Duration::ZERO);
    assert_eq!((now + YEAR) - now, YEAR);
    let mut moved = now;
    moved += YEAR;
    moved -= YEAR;
    assert_eq!(moved, now);
}

#[test]
fn the_past_is_told_apart() {
    let now = Instant::now();
    for years in [1, 50, 140] {
        let past = now - YEAR * years;
        assert_eq!(now - past, YEAR * years);
        assert!(past.elapsed() >= YEAR * years);
        assert_eq!(Instant::from_std(past.into_std()), past);
    }
}

#[test]
fn checked_sums_know_their_range() {
    let now = Instant::now();
    assert_eq!(now.checked_add(YEAR * 400), Some(now + YEAR * 400));
    assert_eq!(now.checked_add(YEAR * 600), None);
    assert_eq!(now.checked_sub(YEAR * 200), None);
    assert_eq!(now.checked_duration_since(now), Some(Duration::ZERO));
    assert_eq!(
        Instant {
            nanos: u64::MAX - 1
        }
        .checked_add(Duration::from_nanos(1)),
        None
    );
}

#[test]
fn deadlines_and_instants_turn_into_each_other() {
    assert_eq!(NEVER.to_deadline(), Deadline::NEVER);
    assert_eq!(Instant::from_deadline(Deadline::NEVER), NEVER);
    let now = Instant::now();
    assert_eq!(Instant::from_deadline(now.to_deadline()), now);
    assert_eq!((now - YEAR).to_deadline(), Deadline::ZERO, "it has passed");
    assert_eq!(Instant::from_deadline(Deadline::ZERO).nanos, ORIGIN);
    let std = time::Instant::now();
    assert_eq!(Instant::from(std).to_deadline(), Deadline::from(std));
    assert_eq!(time::Instant::from(Instant::from(std)), std);
}

#[test]
fn debug_tells_the_distance_from_the_start() {
    let start = Instant { nanos: ORIGIN };
    assert_eq!(
        format!("{:?}", start + Duration::from_millis(1500)),
        "Instant(+1.5s)"
    );
    assert_eq!(
        format!("{:?}", start - Duration::from_millis(2)),
        "Instant(-2ms)"
    );
    assert_eq!(format!("{NEVER:?}"), "Instant(never)");
}

//! Arithmetic at the ends of the scale, and the way to an `Instant` and back.

use std::time::{Duration, Instant};

use super::Deadline;

#[test]
fn any_duration_can_be_added() {
    assert_eq!(Deadline::after(Duration::MAX), Deadline::NEVER);
    assert_eq!(
        Deadline::NEVER.saturating_add(Duration::MAX),
        Deadline::NEVER
    );
    assert_eq!(
        Deadline::ZERO.saturating_add(Duration::from_nanos(u64::MAX)),
        Deadline::NEVER
    );
    assert_eq!(
        Deadline::ZERO.saturating_add(Duration::new(1, 5)),
        Deadline::from_nanos(1_000_000_005)
    );
    assert!(Deadline::after(Duration::from_secs(u64::from(u32::MAX))) < Deadline::NEVER);
}

#[test]
fn an_instant_survives_the_way_there_and_back() {
    let instant = Instant::now() + Duration::new(31_557_600, 123_456_789);
    let deadline = Deadline::from(instant);
    assert_eq!(Instant::from(deadline), instant);
    assert_eq!(
        Deadline::from(Instant::from(Deadline::NEVER)),
        Deadline::NEVER
    );
}

#[test]
fn an_instant_before_the_scale_begins_has_passed() {
    Deadline::now();
    let Some(past) = Instant::now().checked_sub(Duration::from_secs(30)) else {
        return;
    };
    assert!(Deadline::from(past) <= Deadline::now());
}

#[test]
fn time_goes_forward() {
    let earlier = Deadline::now();
    let later = Deadline::now();
    assert!(earlier <= later);
    assert_eq!(
        earlier.saturating_duration_since(Deadline::NEVER),
        Duration::ZERO
    );
}

#[test]
fn debug_tells_never_from_late() {
    assert_eq!(format!("{:?}", Deadline::NEVER), "Deadline(never)");
    assert_eq!(
        format!("{:?}", Deadline::from_nanos(1500)),
        "Deadline(1.5µs)"
    );
}

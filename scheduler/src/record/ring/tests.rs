//! A ring on one thread.

use super::{CHUNK, Kind, Ring};
use crate::task::Id;

fn moments(ring: &Ring) -> Vec<u64> {
    ring.read().iter().map(|event| event.at).collect()
}

#[test]
fn the_oldest_is_overwritten() {
    let ring = Ring::new(1);
    let rounds = 3 * CHUNK as u64;
    for at in 0..rounds {
        ring.note(Kind::Steal, at, None, None, None);
    }
    let kept = moments(&ring);
    assert_eq!(
        kept,
        (rounds - kept.len() as u64..rounds).collect::<Vec<_>>()
    );
    // The slot that comes next might be half written.
    assert_eq!(kept.len(), CHUNK - 1);
}

#[test]
fn what_lasts_goes_on_until_its_end() {
    let ring = Ring::new(1);
    let poll = ring.note(Kind::Poll, 10, Id::from_number(7), None, Some("seven"));
    assert_eq!(ring.read()[0].lasts, None);
    ring.end(poll, 35);
    let event = &ring.read()[0];
    assert_eq!((event.at, event.lasts), (10, Some(25)));
    assert_eq!(event.id, Id::from_number(7));
    assert_eq!(event.name.as_deref(), Some("seven"));
    assert!(event.place.is_none());
}

#[test]
fn an_end_that_comes_too_late_changes_nothing() {
    let ring = Ring::new(1);
    let poll = ring.note(Kind::Poll, 0, None, None, None);
    for at in 1..=CHUNK as u64 {
        ring.note(Kind::Poll, at, None, None, None);
    }
    ring.end(poll, 1000);
    assert!(ring.read().iter().all(|event| event.lasts.is_none()));
}

#[test]
fn a_long_name_is_cut_between_characters() {
    let ring = Ring::new(1);
    ring.note(Kind::Poll, 0, None, None, Some(&"é".repeat(40)));
    ring.note(Kind::Poll, 1, None, None, None);
    let events = ring.read();
    assert_eq!(events[0].name.as_deref(), Some("é".repeat(15).as_str()));
    assert_eq!(events[1].name, None);
}

#[test]
fn a_kind_comes_back_from_its_number() {
    for kind in Kind::ALL {
        assert_eq!(Kind::from_number(kind as u8), kind);
    }
}

//! Whom a leader wakes, step by step on one thread.

use super::*;

/// A driver that has `0` events each time it is asked.
struct Full(usize);

impl Driver for Full {
    fn poll(&self, _buffer: usize, _wait: Wait) -> usize {
        self.0
    }

    fn dispatch(&self, _buffer: usize) -> usize {
        self.0
    }

    fn kick(&self) {}
}

/// Nothing to run until somebody has slept.
struct Woken {
    worth_sharing: bool,
}

impl Queues for Woken {
    fn any_work(&self) -> bool {
        false
    }

    fn local_work(&self) -> bool {
        true
    }

    fn worth_sharing(&self) -> bool {
        self.worth_sharing
    }
}

/// Two workers at a free gate, the second one asleep; the first one parks and finds `events` events.
fn lead(events: usize, worth_sharing: bool) -> (Parking, bool) {
    let parking = Parking::new(2, 2, Some(Box::new(Full(events))), Guard::Nobody);
    parking.idle.announce(1, false);
    let searching = parking.park(0, false, &Woken { worth_sharing });
    (parking, searching)
}

#[test]
fn a_leader_wakes_another_worker_for_more_than_it_should_run_alone_and_not_itself() {
    let (parking, searching) = lead(2, true);
    assert!(!searching, "it claimed itself");
    assert_eq!(parking.idle.parked(), 0, "the other one was not claimed");
    assert!(parking.idle.stop_searching(), "nobody counts as searching");
}

#[test]
fn a_leader_runs_alone_what_is_worth_nobodys_wake_up() {
    let (parking, searching) = lead(2, false);
    assert!(!searching);
    assert_eq!(parking.idle.parked(), 1);
    let (parking, searching) = lead(1, true);
    assert!(!searching);
    assert_eq!(parking.idle.parked(), 1, "woken for a lone task");
}

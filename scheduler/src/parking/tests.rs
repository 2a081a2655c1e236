//! Whom a leader wakes, step by step on one thread.

use std::sync::Arc;

use super::*;

/// A driver that has `0` events each time it is asked, and counts how often that is.
struct Full(usize, Arc<AtomicUsize>);

impl Driver for Full {
    fn poll(&self, _buffer: usize, _wait: Wait) -> usize {
        self.1.fetch_add(1, Relaxed);
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

    fn loose_work(&self) -> bool {
        self.any_work()
    }

    fn worth_sharing(&self) -> bool {
        self.worth_sharing
    }

    fn stands_back(&self) -> bool {
        false
    }
}

/// Two workers at a free gate, and how often one has polled.
fn full(events: usize) -> (Parking, Arc<AtomicUsize>) {
    let polls = Arc::default();
    let driver = Box::new(Full(events, Arc::clone(&polls)));
    (Parking::new(2, 2, Some(driver), Guard::Nobody), polls)
}

/// Two workers at a free gate, the second one asleep; the first one parks and finds `events` events.
fn lead(events: usize, worth_sharing: bool) -> (Parking, bool) {
    let (parking, _polls) = full(events);
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

/// The queues of a worker whose CPUs are contended. It has nothing until it has slept.
struct Contended {
    others_have_work: bool,
}

impl Queues for Contended {
    fn any_work(&self) -> bool {
        self.others_have_work
    }

    fn local_work(&self) -> bool {
        true
    }

    fn loose_work(&self) -> bool {
        false
    }

    fn worth_sharing(&self) -> bool {
        false
    }

    fn stands_back(&self) -> bool {
        true
    }
}

#[test]
fn a_worker_stands_back_while_another_one_is_active() {
    let (parking, polls) = full(1);
    let queues = Contended {
        others_have_work: true,
    };
    assert!(!parking.try_search(&queues));
    // Else it would sleep on.
    parking.unpark(0);
    assert!(!parking.park(0, false, &queues));
    assert_eq!(polls.load(Relaxed), 0);
}

#[test]
fn the_last_active_worker_does_not_stand_back() {
    let (parking, polls) = full(1);
    parking.idle.announce(1, false);
    let mut queues = Contended {
        others_have_work: true,
    };
    assert!(parking.try_search(&queues));
    assert!(
        parking.park(0, true, &queues),
        "it did not look at the queues"
    );
    assert_eq!(polls.load(Relaxed), 0);
    queues.others_have_work = false;
    assert!(!parking.park(0, true, &queues));
    assert_eq!(polls.load(Relaxed), 1, "it did not poll");
}

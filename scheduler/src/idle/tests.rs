//! The account, one thread at a time.

use super::{Claim, Idle};

#[test]
fn sleepers_are_claimed_lowest_first_and_once() {
    let idle = Idle::new(3, 3);
    for worker in [2, 0, 1] {
        idle.announce(worker, false);
    }
    assert_eq!(idle.claim(), Claim::Worker(0));
    assert_eq!(
        idle.claim(),
        Claim::Searched,
        "the claimed worker counts as searching"
    );
    assert!(idle.stop_searching());
    assert_eq!(idle.claim(), Claim::Worker(1));
    assert!(!idle.retract(1, false), "it was claimed");
    assert!(idle.retract(2, false));
    assert!(idle.stop_searching());
    assert_eq!(idle.claim(), Claim::AllBusy);
}

#[test]
fn at_most_half_of_the_workers_search() {
    let idle = Idle::new(4, 4);
    assert!(idle.try_search());
    assert!(idle.try_search());
    assert!(!idle.try_search());
    assert!(!idle.stop_searching(), "another one still searches");
    assert!(idle.stop_searching());
    assert!(Idle::new(1, 1).try_search(), "a lone worker may search");
}

#[test]
fn bits_beyond_one_word_are_found() {
    let idle = Idle::new(200, 200);
    idle.announce(150, false);
    assert!(idle.is_parked(150));
    assert_eq!(idle.parked(), 1);
    assert_eq!(idle.claim(), Claim::Worker(150));
    assert!(!idle.is_parked(150));
}

#[test]
fn one_worker_can_be_claimed_by_name() {
    let idle = Idle::new(2, 2);
    idle.announce(0, false);
    idle.announce(1, false);
    assert!(idle.claim_worker(1));
    assert!(!idle.claim_worker(1));
    assert_eq!(idle.parked(), 1);
}

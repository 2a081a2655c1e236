//! The account on one thread: who may run, in which order, and how many threads that takes.

use super::{Call, Lane, Lanes};

/// Pushes and returns what is to be done.
fn push(lanes: &mut Lanes<u32>, lane: Lane, job: u32) -> Call {
    lanes.push(lane, job).unwrap()
}

#[test]
fn threads_are_started_up_to_the_limit_and_jobs_run_in_order() {
    let mut lanes = Lanes::new(2);
    assert_eq!(push(&mut lanes, Lane::User, 0), Call::Start);
    assert_eq!(push(&mut lanes, Lane::User, 1), Call::Start);
    for job in 2..10 {
        assert_eq!(push(&mut lanes, Lane::User, job), Call::Nobody);
    }
    assert_eq!(lanes.take(), Some((Lane::User, 0)));
    assert_eq!(lanes.take(), Some((Lane::User, 1)));
    for job in 2..10 {
        assert_eq!(lanes.take(), None);
        assert_eq!(lanes.done(Lane::User), Call::Nobody);
        assert_eq!(lanes.take(), Some((Lane::User, job)));
    }
    assert_eq!(lanes.threads(), 2);
}

#[test]
fn an_idle_thread_is_claimed_once() {
    let mut lanes = Lanes::new(8);
    assert_eq!(push(&mut lanes, Lane::User, 0), Call::Start);
    assert_eq!(lanes.take(), Some((Lane::User, 0)));
    assert_eq!(lanes.done(Lane::User), Call::Nobody);
    lanes.rest();
    assert_eq!(push(&mut lanes, Lane::User, 1), Call::Wake);
    assert_eq!(push(&mut lanes, Lane::User, 2), Call::Start);
    assert!(lanes.answer());
    assert!(!lanes.answer());
}

#[test]
fn a_lane_without_a_job_that_runs_goes_beyond_the_limit_once() {
    let mut lanes = Lanes::new(1);
    assert_eq!(push(&mut lanes, Lane::User, 0), Call::Start);
    assert_eq!(push(&mut lanes, Lane::Dns, 1), Call::Start);
    assert_eq!(push(&mut lanes, Lane::Dns, 2), Call::Nobody);
    assert_eq!(push(&mut lanes, Lane::Files, 3), Call::Start);
    assert_eq!(push(&mut lanes, Lane::Files, 4), Call::Nobody);
    assert_eq!(lanes.threads(), 3);
    while lanes.take().is_some() {}
    // The place of a lookup goes to the next lookup, since there is no other.
    assert_eq!(lanes.done(Lane::Dns), Call::Nobody);
    assert_eq!(lanes.take(), Some((Lane::Dns, 2)));
}

#[test]
fn lookups_get_half_of_the_threads() {
    let mut lanes = Lanes::new(8);
    for job in 0..20 {
        let call = push(&mut lanes, Lane::Dns, job);
        assert_eq!(call == Call::Start, job < 4);
    }
    for job in 0..4 {
        assert_eq!(push(&mut lanes, Lane::Files, job), Call::Start);
    }
}

#[test]
fn an_end_that_makes_room_for_two_calls_a_thread() {
    // One lookup runs, one waits for it; the user's jobs fill the rest.
    let mut lanes = Lanes::new(2);
    assert_eq!(push(&mut lanes, Lane::Dns, 0), Call::Start);
    assert_eq!(push(&mut lanes, Lane::User, 1), Call::Start);
    assert_eq!(push(&mut lanes, Lane::User, 2), Call::Nobody);
    assert_eq!(push(&mut lanes, Lane::Dns, 3), Call::Nobody);
    while lanes.take().is_some() {}
    assert_eq!(lanes.done(Lane::Dns), Call::Start);
    assert_eq!(lanes.take(), Some((Lane::User, 2)));
    assert_eq!(lanes.take(), Some((Lane::Dns, 3)));
    assert_eq!(lanes.threads(), 3);
}

#[test]
fn a_thread_that_cannot_be_started_gives_the_job_back_only_if_nobody_else_comes() {
    let mut lanes = Lanes::new(2);
    assert_eq!(push(&mut lanes, Lane::User, 0), Call::Start);
    assert_eq!(lanes.not_started(), Some(0));
    assert_eq!(push(&mut lanes, Lane::User, 1), Call::Start);
    assert_eq!(push(&mut lanes, Lane::User, 2), Call::Start);
    assert_eq!(lanes.not_started(), None);
    assert_eq!(lanes.take(), Some((Lane::User, 1)));
    // The next push tries again.
    assert_eq!(push(&mut lanes, Lane::Files, 3), Call::Start);
    assert_eq!(lanes.not_started(), None);
    assert_eq!(lanes.done(Lane::User), Call::Nobody);
    assert_eq!(lanes.take(), Some((Lane::User, 2)));
    assert_eq!(lanes.done(Lane::User), Call::Nobody);
    assert_eq!(lanes.take(), Some((Lane::Files, 3)));
}

#[test]
fn a_closed_account_gives_everything_back() {
    let mut lanes = Lanes::new(1);
    assert_eq!(push(&mut lanes, Lane::User, 0), Call::Start);
    assert_eq!(push(&mut lanes, Lane::User, 1), Call::Nobody);
    assert_eq!(push(&mut lanes, Lane::Dns, 2), Call::Start);
    assert_eq!(lanes.close(), [0, 2, 1]);
    assert!(lanes.take().is_none());
    assert_eq!(lanes.push(Lane::User, 3), Err(3));
}

#[test]
fn weeds_go_and_the_others_keep_their_order() {
    let mut lanes = Lanes::new(1);
    for job in 0..10 {
        let _ = push(&mut lanes, Lane::User, job);
    }
    assert_eq!(lanes.weed(Lane::User, |job| job % 2 == 0), [1, 3, 5, 7, 9]);
    assert_eq!(
        lanes.queued(Lane::User).copied().collect::<Vec<_>>(),
        [0, 2, 4, 6, 8]
    );
}

#[test]
fn threads_that_were_refused_are_called_with_the_next_one() {
    let mut lanes = Lanes::new(8);
    assert_eq!(push(&mut lanes, Lane::User, 0), Call::Start);
    assert_eq!(lanes.catch_up(), Call::Nobody);
    for job in 1..3 {
        assert_eq!(push(&mut lanes, Lane::User, job), Call::Start);
        assert_eq!(lanes.not_started(), None, "the first one will come to it");
    }
    assert_eq!(push(&mut lanes, Lane::User, 3), Call::Start);
    assert_eq!(lanes.catch_up(), Call::Start);
    assert_eq!(lanes.catch_up(), Call::Start);
    assert_eq!(lanes.catch_up(), Call::Nobody);
    assert_eq!(lanes.threads(), 4);
}

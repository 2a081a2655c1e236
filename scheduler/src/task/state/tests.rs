//! The transitions one by one.

use crate::task::TaskState;

use super::{Completed, Held, Join, Pause, Schedule, Start, State};

fn idle() -> State {
    let state = State::new();
    assert_eq!(state.start_poll(), Start::Poll);
    assert_eq!(state.finish_pending(false, false), Pause::Idle);
    state
}

#[test]
fn a_new_task_is_scheduled_with_three_references() {
    let state = State::new();
    assert_eq!(state.look(), TaskState::Scheduled);
    assert!(!state.ref_dec(2));
    assert!(state.ref_dec(1));
}

#[test]
fn only_the_first_wake_of_an_idle_task_pushes() {
    let state = idle();
    assert_eq!(state.wake(), Schedule::Push);
    assert_eq!(state.wake(), Schedule::Nothing);
    assert_eq!(state.abort(), Schedule::Nothing);
}

#[test]
fn a_wake_during_a_poll_requeues_it() {
    let state = State::new();
    assert_eq!(state.start_poll(), Start::Poll);
    assert_eq!(state.wake(), Schedule::Nothing);
    assert_eq!(state.finish_pending(false, false), Pause::Requeue);
    assert_eq!(state.start_poll(), Start::Poll);
    assert_eq!(state.finish_pending(false, false), Pause::Idle);
}

#[test]
fn a_task_that_woke_itself_is_scheduled_after_its_poll() {
    let state = State::new();
    assert_eq!(state.start_poll(), Start::Poll);
    assert_eq!(state.finish_pending(true, false), Pause::Requeue);
    assert_eq!(state.look(), TaskState::Scheduled);
    assert_eq!(state.wake(), Schedule::Nothing);
    assert_eq!(state.start_poll(), Start::Poll);
    assert_eq!(state.abort(), Schedule::Nothing);
    assert_eq!(state.finish_pending(true, false), Pause::Cancel);
}

#[test]
fn an_abort_before_the_first_poll_cancels_it() {
    let state = State::new();
    assert_eq!(state.abort(), Schedule::Nothing);
    assert_eq!(state.start_poll(), Start::Cancel);
}

#[test]
fn a_complete_task_ignores_wakes_and_aborts() {
    let state = State::new();
    assert_eq!(state.start_poll(), Start::Poll);
    assert_eq!(
        state.complete(),
        Completed {
            wake_joiner: false,
            drop_output: false,
            leave_scope: false
        }
    );
    assert_eq!(state.wake(), Schedule::Nothing);
    assert_eq!(state.abort(), Schedule::Nothing);
    assert!(!state.claim_to_cancel());
    assert_eq!(state.start_poll(), Start::Gone);
    assert_eq!(state.drop_join_interest(), Join::Complete);
}

#[test]
fn a_task_without_a_handle_drops_its_own_output() {
    let state = State::new();
    assert_eq!(state.drop_join_interest(), Join::Pending);
    assert_eq!(state.start_poll(), Start::Poll);
    assert_eq!(
        state.complete(),
        Completed {
            wake_joiner: false,
            drop_output: true,
            leave_scope: false
        }
    );
}

#[test]
fn shutdown_claims_a_queued_task_and_its_runnable_finds_it_gone() {
    let state = State::new();
    assert!(state.claim_to_cancel());
    assert_eq!(state.start_poll(), Start::Gone);
    assert!(!state.claim_to_cancel());
}

#[test]
fn a_claimed_task_is_polled_or_ended_by_who_has_it() {
    let state = idle();
    assert_eq!(state.wake_claimed(), Schedule::Push);
    assert!(!state.claim_to_cancel());
    assert_eq!(state.start_poll(), Start::Cancel);
    let state = idle();
    assert_eq!(state.wake_claimed(), Schedule::Push);
    assert!(state.claim_as_holder());
    assert_eq!(state.start_poll(), Start::Gone);
}

#[test]
fn a_second_wake_of_a_claimed_task_is_one_with_the_first() {
    for second in [State::wake, State::wake_claimed] {
        let state = idle();
        assert_eq!(state.wake_claimed(), Schedule::Push);
        assert_eq!(second(&state), Schedule::Nothing);
        assert_eq!(state.start_poll(), Start::Poll);
        assert_eq!(state.finish_pending(false, false), Pause::Idle);
    }
}

#[test]
fn a_claiming_wake_of_a_queued_task_leaves_it_to_its_runnable() {
    let state = idle();
    assert_eq!(state.wake(), Schedule::Push);
    assert_eq!(state.wake_claimed(), Schedule::Nothing);
    assert_eq!(state.start_poll(), Start::Poll);
    assert_eq!(state.wake_claimed(), Schedule::Nothing);
    assert_eq!(state.finish_pending(false, false), Pause::Requeue);
}

#[test]
fn a_lent_reference_stays_with_the_waker() {
    let state = idle();
    // The list's and the handle's, and now the `Runnable`'s.
    state.ref_inc();
    assert_eq!(state.wake(), Schedule::Push);
    assert_eq!(state.start_poll(), Start::Poll);
    assert_eq!(state.finish_pending(false, true), Pause::Idle);
    assert!(!state.ref_dec(2));
    assert!(state.ref_dec(1));
}

#[test]
fn a_held_task_is_completed_by_its_last_hold() {
    let state = State::new();
    assert_eq!(state.start_poll(), Start::Poll);
    state.add_hold();
    state.add_hold();
    assert_eq!(state.drop_hold(), Held::Yes);
    assert!(state.may_be_held());
    assert_eq!(state.start_completing(), Held::Yes);
    assert_eq!(state.look(), TaskState::Completing);
    assert_eq!(state.wake(), Schedule::Nothing);
    assert_eq!(state.abort(), Schedule::Nothing);
    assert!(!state.claim_to_cancel());
    assert!(!state.is_complete());
    assert_eq!(state.drop_hold(), Held::No);
    assert!(state.complete_quietly(1));
    assert_eq!(state.look(), TaskState::Complete);
}

#[test]
fn a_hold_that_is_gone_before_the_body_ends_leaves_the_end_to_the_body() {
    let state = State::new();
    assert_eq!(state.start_poll(), Start::Poll);
    state.add_hold();
    assert_eq!(state.drop_hold(), Held::Yes);
    assert!(!state.may_be_held());
    assert_eq!(state.start_completing(), Held::No);
}

#[test]
fn a_child_never_completes_quietly() {
    let state = State::new_scoped();
    assert!(state.is_scoped());
    assert_eq!(state.start_poll(), Start::Poll);
    assert!(!state.complete_quietly(1));
    assert!(state.complete().leave_scope);
}

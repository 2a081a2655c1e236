//! Slots and list: whose waker is kept, who is woken, and in which order.

#![expect(unsafe_code, reason = "a waiter's contract is the caller's to keep")]

use std::sync::{Arc, Mutex};

use super::{Waiter, Waiters};
use crate::interest::{Direction, Interest};
use crate::probe::Probe;
use crate::readiness::{READABLE, WRITABLE};
use crate::wake::wake_all;

fn never() -> Option<()> {
    None
}

fn wait(waiters: &Waiters, waiter: &Waiter, probe: &Probe) {
    // SAFETY: the tests keep their waiters in place, and withdraw them.
    assert!(unsafe { waiters.wait_in_list(waiter, probe.waker(), never) }.is_none());
}

fn withdraw(waiters: &Waiters, waiter: &Waiter) {
    // SAFETY: each test has one set of waiters.
    unsafe { waiters.withdraw(waiter) };
}

fn wake(waiters: &Waiters, bits: u8) -> usize {
    let mut wakers = Vec::new();
    waiters.collect(bits, &mut wakers);
    wake_all(&mut wakers)
}

#[test]
fn the_last_to_leave_a_waker_in_a_slot_is_woken() {
    let (waiters, first, last) = (Waiters::new(), Probe::new(), Probe::new());
    for probe in [&first, &last] {
        let found = waiters.wait_in_slot(Direction::Read, probe.waker(), never);
        assert!(found.is_none());
    }
    assert_eq!(first.wakers(), 0, "a waker that was replaced is dropped");
    assert_eq!(wake(&waiters, WRITABLE), 0);
    assert_eq!(wake(&waiters, READABLE), 1);
    assert_eq!((first.wakes(), last.wakes()), (0, 1));
    assert_eq!(wake(&waiters, READABLE), 0);
}

#[test]
fn the_second_look_spares_the_wait() {
    let (waiters, probe) = (Waiters::new(), Probe::new());
    let found = waiters.wait_in_slot(Direction::Read, probe.waker(), || Some(7));
    assert_eq!(found, Some(7));
    let waiter = Waiter::new(Interest::READABLE);
    wait(&waiters, &waiter, &probe);
    // SAFETY: as in `wait`.
    let found = unsafe { waiters.wait_in_list(&waiter, probe.waker(), || Some(8)) };
    assert_eq!(found, Some(8));
    assert_eq!(probe.wakers(), 0);
    assert_eq!(wake(&waiters, READABLE), 0);
}

#[test]
fn an_event_wakes_all_whom_it_concerns_in_the_order_they_came() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let waiters = Waiters::new();
    let list: Vec<_> = (0..6)
        .map(|number| {
            let order = Arc::clone(&order);
            let interest = [Interest::READABLE, Interest::WRITABLE][number % 2];
            let probe = Probe::with(move || order.lock().unwrap().push(number));
            (Waiter::new(interest), probe)
        })
        .collect();
    for (waiter, probe) in &list {
        wait(&waiters, waiter, probe);
    }
    assert_eq!(wake(&waiters, READABLE), 3);
    assert_eq!(wake(&waiters, WRITABLE | READABLE), 3);
    assert_eq!(*order.lock().unwrap(), [0, 2, 4, 1, 3, 5]);
}

#[test]
fn a_waiter_can_leave_at_any_time_and_takes_its_waker_along() {
    let (waiters, probe) = (Waiters::new(), Probe::new());
    let list: Vec<_> = (0..3).map(|_| Waiter::new(Interest::READABLE)).collect();
    for waiter in &list {
        wait(&waiters, waiter, &probe);
    }
    withdraw(&waiters, &list[1]);
    assert_eq!(probe.wakers(), 2);
    assert_eq!(wake(&waiters, READABLE), 2);
    withdraw(&waiters, &list[0]);
    wait(&waiters, &list[1], &probe);
    withdraw(&waiters, &list[1]);
    assert_eq!(probe.wakers(), 0);
}

#[test]
fn waiting_again_changes_the_waker_and_not_the_place() {
    let (waiters, old, new) = (Waiters::new(), Probe::new(), Probe::new());
    let waiter = Waiter::new(Interest::READABLE);
    wait(&waiters, &waiter, &old);
    wait(&waiters, &waiter, &new);
    assert_eq!(old.wakers(), 0);
    assert_eq!(wake(&waiters, READABLE), 1);
    assert_eq!(new.wakes(), 1);
}

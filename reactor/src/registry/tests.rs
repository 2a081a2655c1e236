//! How entries are reused, and that nothing of one source reaches the next.

#![expect(unsafe_code, reason = "a waiter's contract is the caller's to keep")]

use std::task::Context;

use super::{LARGE, Registry, Token};
use crate::interest::{Direction, Interest};
use crate::probe::Probe;
use crate::readiness::READABLE;
use crate::waiters::Waiter;
use crate::wake::wake_all;

fn deliver(registry: &Registry, token: Token) -> usize {
    let mut wakers = Vec::new();
    registry.deliver(token, READABLE, &mut wakers);
    wake_all(&mut wakers)
}

fn wait(registry: &Registry, token: Token, probe: &Probe) {
    let waker = probe.waker();
    let mut cx = Context::from_waker(&waker);
    let polled = registry.entry(token).poll_ready(&mut cx, Direction::Read);
    assert!(polled.is_pending());
}

#[test]
fn an_entry_rests_until_the_next_poll() {
    let registry = Registry::new();
    let first = registry.acquire().unwrap();
    registry.release(first);
    let second = registry.acquire().unwrap();
    assert_ne!(second.index, first.index);
    registry.reclaim();
    let third = registry.acquire().unwrap();
    assert_eq!(third.index, first.index);
    assert_ne!(third.generation, first.generation);
    assert_eq!(registry.live(), 2);
}

#[test]
fn an_event_of_a_closed_file_does_not_reach_the_next_in_its_entry() {
    let registry = Registry::new();
    let old = registry.acquire().unwrap();
    registry.release(old);
    registry.reclaim();
    let new = registry.acquire().unwrap();
    assert_eq!(new.index, old.index);
    let probe = Probe::new();
    wait(&registry, new, &probe);
    assert_eq!(deliver(&registry, old), 0);
    assert!(registry.entry(new).word.check(Interest::READABLE).is_none());
    assert_eq!(deliver(&registry, new), 1);
    assert_eq!(probe.wakes(), 1);
}

#[test]
fn wakers_left_in_an_entry_go_with_it() {
    let registry = Registry::new();
    let token = registry.acquire().unwrap();
    let probe = Probe::new();
    wait(&registry, token, &probe);
    assert_eq!(probe.wakers(), 1);
    registry.release(token);
    assert_eq!((probe.wakers(), probe.wakes()), (0, 0));
}

#[test]
fn a_shut_down_registry_wakes_all_and_takes_nobody_in() {
    let registry = Registry::new();
    let tokens: Vec<_> = (0..200).map(|_| registry.acquire().unwrap()).collect();
    let probe = Probe::new();
    for &token in &tokens {
        wait(&registry, token, &probe);
    }
    let mut wakers = Vec::new();
    registry.shut_down(&mut wakers);
    assert_eq!(wake_all(&mut wakers), 200);
    assert!(registry.acquire().is_err());
    let polled = registry.entry(tokens[7]).word.check(Interest::READABLE);
    assert!(polled.unwrap().is_err());
    for token in tokens {
        registry.release(token);
    }
    assert_eq!(registry.live(), 0);
}

#[test]
fn what_is_fetched_for_events_stays_as_it_was() {
    let registry = Registry::new();
    let tokens: Vec<_> = (0..LARGE).map(|_| registry.acquire().unwrap()).collect();
    assert!(!registry.is_large());
    let probe = Probe::new();
    let waker = probe.waker();
    let waiter = Waiter::new(Interest::READABLE);
    let (polled, listed, old) = (tokens[0], tokens[1], tokens[2]);
    wait(&registry, polled, &probe);
    let waiters = &registry.entry(listed).waiters;
    // SAFETY: the waiter stays in place, waits for one source, and is taken out by the event.
    assert!(unsafe { waiters.wait_in_list(&waiter, waker, || None::<()>) }.is_none());
    registry.release(old);
    let batch = [polled, old, listed, tokens[3]];
    registry.fetch(batch.into_iter());
    assert_eq!((probe.wakes(), probe.wakers()), (0, 2));
    assert_eq!(batch.map(|token| deliver(&registry, token)), [1, 0, 1, 0]);
    let _one_more = registry.acquire().unwrap();
    assert!(registry.is_large());
}

#[test]
fn a_token_survives_the_way_through_the_kernel() {
    let token = Token {
        index: 0x0123_4567,
        generation: 0x89ab_cdef,
    };
    assert_eq!(Token::from_bits(token.to_bits()), token);
}

#[test]
fn churn_uses_the_same_entries_again() {
    let registry = Registry::new();
    for _ in 0..10_000 {
        let tokens = [registry.acquire().unwrap(), registry.acquire().unwrap()];
        for token in tokens {
            registry.release(token);
        }
        registry.reclaim();
    }
    assert!(registry.book.lock().fresh <= 2);
}

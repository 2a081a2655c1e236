//! The list against a queue of `std`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Wake, Waker};

use super::{KEEP, Visitor, Waiters, Waiting};

/// Wakes nobody.
struct Quiet;

impl Wake for Quiet {
    fn wake(self: Arc<Self>) {}
}

fn wait(waiters: &mut Waiters<u32>, place: &mut Waiting, value: u32) {
    let mut visitor = Visitor::new(Waker::noop());
    visitor.copy();
    assert!(waiters.wait(place, &mut visitor, || Some(value)));
}

#[test]
fn it_is_a_queue_from_whose_middle_one_may_leave() {
    let mut waiters = Waiters::new();
    let mut twin: VecDeque<(u32, Waiting)> = VecDeque::new();
    let mut random = 88_172_645_463_325_252_u64;
    for number in 0..20_000_u32 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        match random % 4 {
            0 | 1 => {
                let mut place = Waiting::new();
                wait(&mut waiters, &mut place, number);
                twin.push_back((number, place));
            }
            2 => {
                let served = waiters.serve().map(|(value, _)| value);
                let first = twin.pop_front();
                assert_eq!(served, first.as_ref().map(|(value, _)| *value));
                if let Some((_, mut place)) = first {
                    assert!(waiters.was_served(&place));
                    assert!(waiters.remove(&mut place).is_some_and(|left| left.called));
                }
            }
            _ if !twin.is_empty() => {
                let at = random as usize / 4 % twin.len();
                let (value, mut place) = twin.remove(at).unwrap();
                let left = waiters.remove(&mut place).unwrap();
                assert_eq!((left.value, left.called), (Some(value), false));
            }
            _ => {}
        }
        assert_eq!(waiters.waiting(), twin.len());
        assert_eq!(waiters.registered(), twin.len());
    }
}

#[test]
fn who_was_called_in_vain_is_the_first_again() {
    let mut waiters = Waiters::new();
    let mut places = [const { Waiting::new() }; 3];
    for (place, value) in places.iter_mut().zip(0..) {
        wait(&mut waiters, place, value);
    }
    assert!(waiters.call().is_some());
    wait(&mut waiters, &mut places[0], 9);
    assert_eq!(waiters.serve().map(|(value, _)| value), Some(0));
}

#[test]
fn a_copy_of_the_waker_is_made_only_for_who_needs_one() {
    let mut waiters = Waiters::<()>::new();
    let waker = Waker::from(Arc::new(Quiet));
    let mut place = Waiting::new();
    let mut visitor = Visitor::new(&waker);
    assert!(!waiters.wait(&mut place, &mut visitor, || None));
    visitor.copy();
    assert!(waiters.wait(&mut place, &mut visitor, || None));
    assert!(
        waiters.wait(&mut place, &mut visitor, || None),
        "it has one"
    );
}

#[test]
fn a_crowd_that_has_left_leaves_no_memory() {
    let mut waiters = Waiters::new();
    let mut places: Vec<_> = (0..10 * KEEP).map(|_| Waiting::new()).collect();
    for place in &mut places {
        wait(&mut waiters, place, 0);
    }
    for place in &mut places {
        waiters.remove(place);
    }
    assert_eq!(waiters.entries.capacity(), 0);
}

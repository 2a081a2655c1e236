//! The slot against a queue of std that does the same.

#![expect(unsafe_code, reason = "the slot's operations are unsafe to call")]

use std::collections::VecDeque;
use std::ptr::NonNull;

use super::{LANES, Slot};
use crate::list::tests::{Item, items};

/// Walks through all, and takes out those that `takes` wants.
fn walk(slot: &mut Slot<Item>, mut takes: impl FnMut(usize) -> bool) -> Vec<usize> {
    let mut numbers = Vec::new();
    let mut walk = slot.walk();
    // SAFETY: the items outlive the slot, and only what the walk has given is taken out.
    unsafe {
        while let Some((lane, node)) = walk.next(slot) {
            let number = node.as_ref().number;
            numbers.push(number);
            if takes(number) {
                assert_eq!(slot.remove(lane, node), slot.is_empty());
            }
        }
    }
    numbers
}

#[test]
fn it_is_walked_in_the_order_of_arrival() {
    for count in 0..40 {
        let items = items(count);
        let mut slot = Slot::new();
        // Twice: an empty slot begins anew.
        for _ in 0..2 {
            for item in &items {
                // SAFETY: the item is in no list, and stays where it is.
                unsafe { slot.push(NonNull::from(item)) };
            }
            let all: Vec<_> = (0..count).collect();
            assert_eq!(walk(&mut slot, |_| false), all);
            assert_eq!(walk(&mut slot, |_| true), all);
            assert!(slot.is_empty());
        }
    }
}

#[test]
fn nothing_is_lost_whoever_leaves() {
    let items = items(32);
    let mut slot = Slot::new();
    let mut twin = VecDeque::new();
    let mut random = 88_172_645_463_325_252_u64;
    for _ in 0..10_000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let number = random as usize % items.len();
        let node = NonNull::from(&items[number]);
        if let Some(at) = twin.iter().position(|&(other, _)| other == number) {
            let (_, lane) = twin.remove(at).unwrap();
            // SAFETY: the twin shows that the node is in this list.
            let empty = unsafe { slot.remove(lane, node) };
            assert_eq!(empty, twin.is_empty());
        } else {
            // SAFETY: the twin shows that the node is in no list; the items stay.
            let lane = unsafe { slot.push(node) };
            twin.push_back((number, lane));
        }
        if random.is_multiple_of(61) {
            twin.retain(|&(number, _)| number % 2 == 0);
            walk(&mut slot, |number| number % 2 == 1);
        }
        let mut walked = walk(&mut slot, |_| false);
        for lane in 0..LANES {
            let of_lane = twin.iter().filter(|&&(_, other)| other == lane);
            let expected: Vec<_> = of_lane.map(|&(number, _)| number).collect();
            let in_order = walked.iter().filter(|number| expected.contains(number));
            assert_eq!(in_order.copied().collect::<Vec<_>>(), expected);
        }
        walked.sort_unstable();
        let mut expected: Vec<_> = twin.iter().map(|&(number, _)| number).collect();
        expected.sort_unstable();
        assert_eq!(walked, expected);
    }
}

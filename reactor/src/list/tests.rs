//! The list against a queue of std that does the same.

#![expect(unsafe_code, reason = "the list's operations are unsafe to call")]

use std::collections::VecDeque;
use std::ptr::NonNull;

use super::{Links, List, Node};

/// What stands in the lists of tests.
pub(crate) struct Item {
    links: Links<Item>,
    pub(crate) number: usize,
}

// SAFETY: the links are the item's own field.
unsafe impl Node for Item {
    fn links(&self) -> &Links<Item> {
        &self.links
    }
}

pub(crate) fn items(count: usize) -> Box<[Item]> {
    (0..count)
        .map(|number| Item {
            links: Links::new(),
            number,
        })
        .collect()
}

fn numbers(list: &List<Item>) -> Vec<usize> {
    let mut numbers = Vec::new();
    let mut cursor = list.first();
    while let Some(node) = cursor {
        // SAFETY: the node is in the list, and its items outlive it.
        unsafe {
            numbers.push(node.as_ref().number);
            cursor = list.after(node);
        }
    }
    numbers
}

#[test]
fn it_behaves_as_a_queue_from_whose_middle_one_may_take() {
    let items = items(16);
    let mut list = List::new();
    let mut twin = VecDeque::new();
    let mut random = 88_172_645_463_325_252_u64;
    for _ in 0..10_000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let number = random as usize % items.len();
        let node = NonNull::from(&items[number]);
        if let Some(at) = twin.iter().position(|&other| other == number) {
            twin.remove(at);
            // SAFETY: the twin shows that the node is in the list.
            unsafe { list.remove(node) };
        } else {
            twin.push_back(number);
            // SAFETY: the twin shows that the node is not in the list; the items stay.
            unsafe { list.push_back(node) };
        }
        assert_eq!(numbers(&list), Vec::from(twin.clone()));
        assert_eq!(list.first().is_none(), twin.is_empty());
    }
}

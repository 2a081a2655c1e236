//! The queue against a queue of `std`.

use std::collections::VecDeque;

use super::{CHUNK, Queue};

#[test]
fn it_is_a_queue_whatever_its_length() {
    let mut queue = Queue::new();
    let mut twin = VecDeque::new();
    let mut random = 88_172_645_463_325_252_u64;
    for number in 0..200_000_u64 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Long stretches of growing, then of shrinking, so that all lengths come up.
        let grows = (number / (8 * CHUNK as u64)).is_multiple_of(2);
        if (random % 8 < 5) == grows {
            queue.push(number);
            twin.push_back(number);
        } else {
            assert_eq!(queue.pop(), twin.pop_front());
        }
        assert_eq!(queue.len(), twin.len());
    }
    while let Some(number) = queue.pop() {
        assert_eq!(Some(number), twin.pop_front());
    }
    assert!(twin.is_empty());
}

#[test]
fn a_ring_is_moved_to_the_front_whole() {
    let mut queue = Queue::new();
    let mut ring = VecDeque::new();
    let mut twin = VecDeque::new();
    let mut next = 0;
    for round in 0..40 {
        for _ in 0..(round * CHUNK / 2) {
            queue.push(next);
            twin.push_back(next);
            next += 1;
        }
        for _ in 0..round / 4 {
            queue.swap_ring(&mut ring);
            while let Some(item) = ring.pop_front() {
                assert_eq!(Some(item), twin.pop_front());
            }
            assert_eq!(queue.len(), twin.len());
        }
        assert_eq!(queue.pop(), twin.pop_front());
    }
}

#[test]
fn what_is_pushed_below_a_stop_ends_there() {
    let mut queue = Queue::new();
    queue.push(0);
    let stop = queue.stop(2);
    for item in 1..10 {
        let mut item = Some(item);
        let pushed = queue.push_below(stop, &mut item);
        assert_eq!(pushed.is_none(), item.is_some());
    }
    assert_eq!((queue.len(), stop), (3, 3));
    (0..CHUNK).for_each(|item| queue.push(item));
    assert!(
        queue.stop(usize::MAX) <= CHUNK,
        "a full ring is one more question"
    );
}

#[test]
fn a_burst_leaves_two_rings() {
    let mut queue = Queue::new();
    (0..100 * CHUNK).for_each(|number| queue.push(number));
    while queue.pop().is_some() {}
    assert!(queue.rest.is_empty());
    assert_eq!(queue.rest.capacity(), 0);
    assert!(queue.back.capacity() <= CHUNK);
    assert!(queue.spare.is_none_or(|ring| ring.capacity() <= CHUNK));
}

//! The order of a batch of wakers, and one in it that panics.

use std::sync::{Arc, Mutex};

use super::wake_all;
use crate::probe::Probe;

#[test]
fn the_first_in_is_the_first_woken() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let probes: Vec<_> = (0..5)
        .map(|number| {
            let order = Arc::clone(&order);
            Probe::with(move || order.lock().unwrap().push(number))
        })
        .collect();
    let mut wakers = probes.iter().map(Probe::waker).collect();
    assert_eq!(wake_all(&mut wakers), 5);
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
    assert!(wakers.is_empty());
}

#[test]
fn a_waker_that_panics_does_not_cost_the_others_theirs() {
    let bad = Probe::with(|| panic!("this panic is part of the test"));
    let good = Probe::new();
    let mut wakers = vec![good.waker(), bad.waker(), bad.waker(), good.waker()];
    assert_eq!(wake_all(&mut wakers), 4);
    assert_eq!(good.wakes(), 2);
    assert_eq!(bad.wakes(), 2);
    assert_eq!(good.wakers() + bad.wakers(), 0);
}

//! Where each index lies, and that elements never move.

use std::cell::Cell;

use super::{CAPACITY, CHUNKS, FIRST, Slab, locate};

#[test]
fn every_index_has_one_place_in_order() {
    let mut expected = (0, 0);
    for index in 0..100_000 {
        assert_eq!(locate(index), Some(expected));
        expected.1 += 1;
        if expected.1 == 1 << (FIRST as usize - 2 + expected.0 / 4) {
            expected = (expected.0 + 1, 0);
        }
    }
    let last = (CHUNKS - 1, (1 << 29) - 1);
    assert_eq!(locate(CAPACITY - 1), Some(last));
    assert_eq!(locate(CAPACITY), None);
    assert_eq!(locate(u32::MAX), None);
}

#[test]
fn each_element_is_made_for_its_index() {
    let slab = Slab::new();
    for index in [0, 63, 64, 200, 191, 5_000] {
        assert_eq!(*slab.get_or_make(index, |index| index), index);
    }
    assert_eq!(slab.get(90), Some(&90));
}

#[test]
fn a_quarter_more_than_needed_is_made_at_most() {
    let slab = Slab::new();
    let made = Cell::new(0);
    for index in 0..100_000 {
        slab.get_or_make(index, |_| made.set(made.get() + 1));
        assert!(
            made.get() <= index + index / 4 + 16,
            "{} for {index}",
            made.get()
        );
    }
}

#[test]
fn elements_stay_where_they_are_while_others_are_made() {
    let slab = Slab::new();
    let first: *const u8 = slab.get_or_make(0, |_| 7);
    assert_eq!(slab.get(15), Some(&7));
    assert_eq!(slab.get(16), None);
    for index in 0..10_000 {
        slab.get_or_make(index, |_| 8);
    }
    assert!(std::ptr::eq(first, slab.get(0).unwrap()));
    assert_eq!(slab.get(0), Some(&7));
    assert_eq!(slab.get(9_999), Some(&8));
}

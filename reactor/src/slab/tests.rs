//! Where each index lies, and that elements never move.

use super::{CAPACITY, CHUNKS, FIRST, Slab, locate};

#[test]
fn every_index_has_one_place_in_order() {
    let mut expected = (0, 0);
    for index in 0..100_000 {
        assert_eq!(locate(index), Some(expected));
        expected.1 += 1;
        if expected.1 == 1 << (FIRST as usize + expected.0) {
            expected = (expected.0 + 1, 0);
        }
    }
    let last = (CHUNKS - 1, (1 << 31) - 1);
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
    assert_eq!(slab.get(100), Some(&100));
}

#[test]
fn elements_stay_where_they_are_while_others_are_made() {
    let slab = Slab::new();
    let first: *const u8 = slab.get_or_make(0, |_| 7);
    assert_eq!(slab.get(63), Some(&7));
    assert_eq!(slab.get(64), None);
    for index in 0..10_000 {
        slab.get_or_make(index, |_| 8);
    }
    assert!(std::ptr::eq(first, slab.get(0).unwrap()));
    assert_eq!(slab.get(0), Some(&7));
    assert_eq!(slab.get(9_999), Some(&8));
}

//! That a stamp is its own task's.

use super::{Stamps, TIMES};

const PLACES: usize = 1 << 10;

#[test]
fn a_task_finds_its_own_stamp() {
    let stamps = Stamps::<PLACES>::new();
    assert_eq!(stamps.waited(7, 100), None);
    stamps.put(7, 101);
    assert_eq!(stamps.waited(7, 151), Some(50));
    // Queued again.
    stamps.put(7, 201);
    assert_eq!(stamps.waited(7, 211), Some(10));
}

#[test]
fn the_last_of_two_tasks_in_one_place_has_it() {
    let stamps = Stamps::<PLACES>::new();
    let (first, second) = (7, 7 + PLACES as u64);
    stamps.put(first, 101);
    stamps.put(second, 103);
    assert_eq!(stamps.waited(first, 203), None);
    assert_eq!(stamps.waited(second, 203), Some(100));
}

#[test]
fn time_that_comes_round_again_is_no_wait_of_an_hour() {
    let stamps = Stamps::<PLACES>::new();
    stamps.put(7, TIMES - 4);
    assert_eq!(stamps.waited(7, TIMES + 6), Some(10));
    // The same moment, by an even clock.
    stamps.put(7, 200);
    assert_eq!(stamps.waited(7, 200), Some(0));
}

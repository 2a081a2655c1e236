//! Who stays in the table.

use super::*;

fn id(number: u64) -> Id {
    Id::from_number(number).expect("not zero")
}

fn time_of(hot: &Hot, task: u64) -> Option<u64> {
    let mut found = hot.read().filter(|&(found, _)| found == id(task));
    found.next().map(|(_, time)| time.as_nanos() as u64)
}

#[test]
fn the_times_of_a_task_add_up() {
    let hot = Hot::default();
    hot.record(id(5), 10);
    hot.record(id(6), 1);
    hot.record(id(5), 7);
    assert_eq!(time_of(&hot, 5), Some(17));
    assert_eq!(time_of(&hot, 6), Some(1));
}

#[test]
fn of_two_in_one_place_the_busier_one_stays() {
    let hot = Hot::default();
    let (busy, small) = (3, 3 + PLACES as u64);
    hot.record(id(small), 5);
    hot.record(id(busy), 100);
    assert_eq!(time_of(&hot, small), None);
    hot.record(id(small), 5);
    assert_eq!(time_of(&hot, busy), Some(95));
}

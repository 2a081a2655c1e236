//! Turns on one thread: the limit, the order, the end.

use super::{Entry, Turns};

#[test]
fn items_beyond_the_limit_wait_and_come_out_in_order() {
    let turns = Turns::new(2);
    assert_eq!(turns.enter(0), Entry::Go(0));
    assert_eq!(turns.enter(1), Entry::Go(1));
    for item in 2..10 {
        assert_eq!(turns.enter(item), Entry::Waits);
    }
    for item in 2..10 {
        assert_eq!(turns.leave(), Some(item));
    }
    assert_eq!(turns.leave(), None);
    assert_eq!(turns.enter(10), Entry::Go(10));
    assert_eq!(turns.enter(11), Entry::Waits);
}

#[test]
fn a_closed_line_keeps_nothing() {
    let turns = Turns::new(1);
    assert_eq!(turns.enter(0), Entry::Go(0));
    assert_eq!(turns.enter(1), Entry::Waits);
    assert_eq!(turns.close(), [1]);
    assert_eq!(turns.leave(), None);
    assert_eq!(turns.enter(2), Entry::Closed(2));
    assert!(turns.state.lock().waiting.is_empty());
}

#[test]
fn a_long_line_gives_its_memory_back() {
    let turns = Turns::new(1);
    assert_eq!(turns.enter(0), Entry::Go(0));
    for item in 0..10_000 {
        assert_eq!(turns.enter(item), Entry::Waits);
    }
    while turns.leave().is_some() {}
    assert_eq!(turns.state.lock().waiting.capacity(), 0);
}

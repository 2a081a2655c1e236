//! What each event and each clear does to the word, in one thread.

use super::{
    ERROR, PRIORITY, READ_CLOSED, READABLE, Snapshot, TICK_MASK, WRITABLE, WRITE_CLOSED, Word,
    bits_of,
};
use crate::interest::{Direction, Interest};
use crate::sys::{ERR, HUP, IN, OUT, PRI, RDHUP};

const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

#[test]
fn each_kernel_flag_reaches_the_directions_it_concerns() {
    assert_eq!(bits_of(IN), READABLE);
    assert_eq!(bits_of(PRI), READABLE | PRIORITY);
    assert_eq!(bits_of(OUT), WRITABLE);
    assert_eq!(bits_of(RDHUP), READABLE | READ_CLOSED);
    let all = READABLE | WRITABLE | READ_CLOSED | WRITE_CLOSED;
    assert_eq!(bits_of(HUP), all);
    assert_eq!(bits_of(ERR), READABLE | WRITABLE | ERROR);
    assert_eq!(bits_of(0), 0);
}

#[test]
fn a_clear_takes_one_direction_only() {
    let word = Word::new();
    assert!(word.set(0, READABLE | WRITABLE));
    word.clear(word.ready(BOTH), Direction::Read);
    assert!(!word.ready(BOTH).is_readable());
    assert!(word.ready(BOTH).is_writable());
    word.clear_would_block(word.ready(BOTH), Direction::Write);
    assert!(word.ready(BOTH).is_empty());
}

#[test]
fn a_clear_under_an_older_event_tick_does_nothing() {
    let word = Word::new();
    assert!(word.set(0, READABLE));
    let ready = word.ready(BOTH);
    assert!(word.set(0, READABLE));
    word.clear(ready, Direction::Read);
    word.clear_would_block(ready, Direction::Read);
    assert!(word.ready(BOTH).is_readable());
}

#[test]
fn the_end_of_a_stream_survives_a_short_transfer() {
    let word = Word::new();
    assert!(word.set(0, bits_of(IN | RDHUP)));
    word.clear(word.ready(BOTH), Direction::Read);
    assert!(
        word.ready(BOTH).is_readable(),
        "the end is still to be read"
    );
    word.clear_would_block(word.ready(BOTH), Direction::Read);
    assert!(
        word.ready(BOTH).is_empty(),
        "a call that blocks proves that it is not over"
    );
}

#[test]
fn after_urgent_data_only_a_read_that_would_block_clears() {
    let word = Word::new();
    assert!(word.set(0, bits_of(IN | PRI | OUT)));
    for _ in 0..2 {
        word.clear(word.ready(BOTH), Direction::Read);
        assert!(word.ready(BOTH).is_readable());
        word.clear_would_block(word.ready(BOTH), Direction::Read);
        assert!(!word.ready(BOTH).is_readable());
        // The mark may still lie ahead, behind bytes that were lost on the way.
        assert!(word.set(0, bits_of(IN)));
    }
    word.clear(word.ready(BOTH), Direction::Write);
    assert!(!word.ready(BOTH).is_writable());
}

#[test]
fn a_stream_that_failed_stays_ready() {
    let word = Word::new();
    assert!(word.set(0, bits_of(IN | OUT | RDHUP | HUP | ERR)));
    word.clear_would_block(word.ready(BOTH), Direction::Read);
    word.clear_would_block(word.ready(BOTH), Direction::Write);
    assert!(word.ready(BOTH).is_readable());
    assert!(word.ready(BOTH).is_writable());
    assert!(word.ready(BOTH).is_error());
}

#[test]
fn a_hang_up_without_an_error_does_not_spin() {
    let word = Word::new();
    assert!(word.set(0, bits_of(OUT | HUP)));
    word.clear_would_block(word.ready(BOTH), Direction::Write);
    assert!(!word.ready(BOTH).is_writable());
    assert!(word.ready(BOTH).is_readable());
    word.clear_would_block(word.ready(BOTH), Direction::Read);
    assert!(word.ready(BOTH).is_empty());
}

#[test]
fn events_of_another_generation_change_nothing() {
    let word = Word::new();
    assert!(word.set(0, READABLE));
    word.renew();
    assert_eq!(word.generation(), 1);
    assert!(word.ready(BOTH).is_empty());
    assert!(!word.set(0, READABLE));
    assert!(!word.set(2, READABLE));
    assert!(word.ready(BOTH).is_empty());
    assert!(word.set(1, READABLE));
}

#[test]
fn tick_and_generation_wrap_without_touching_their_neighbours() {
    let word = Word::new();
    word.0.store(
        Snapshot::new(u32::MAX, TICK_MASK, WRITABLE).0,
        super::Relaxed,
    );
    let before = word.ready(BOTH);
    assert!(word.set(u32::MAX, READABLE));
    let after = word.ready(BOTH);
    assert_eq!((before.tick(), after.tick()), (TICK_MASK, 0));
    assert!(after.is_readable() && after.is_writable());
    assert_eq!(word.generation(), u32::MAX);
    word.clear(before, Direction::Read);
    assert!(word.ready(BOTH).is_readable());
    word.renew();
    assert_eq!(word.generation(), 0);
}

#[test]
fn shutting_down_ends_waits_of_each_kind_with_an_error() {
    let word = Word::new();
    assert!(word.check(Interest::READABLE).is_none());
    word.shut_down();
    assert!(word.check(Interest::READABLE).unwrap().is_err());
    assert!(word.set(0, READABLE));
    let error = word.check(Interest::WRITABLE).unwrap().unwrap_err();
    assert_eq!(error.to_string(), "runtime is shutting down");
}

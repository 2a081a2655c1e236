//! Every interleaving of events, clears and looks at one word.

#![expect(unsafe_code, reason = "loom's cells are accessed through pointers")]

// Outlives the runs of a model, so it is not one of loom's.
use std::sync::atomic::AtomicBool as Reached;

use loom::cell::UnsafeCell;
use loom::thread;

use super::{READABLE, Snapshot, WRITABLE, Word};
use crate::interest::{Direction, Interest, Ready};
use crate::primitive::sync::Arc;
use crate::primitive::sync::atomic::AtomicUsize;
use crate::primitive::sync::atomic::Ordering::Relaxed;

/// What the kernel has shown. Loom watches who reads and writes it.
struct Shown(UnsafeCell<u32>);

// SAFETY: that the accesses are ordered is what the model is to show; loom reports it if not.
unsafe impl Sync for Shown {}

const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

/// What the kernel showed to the thread with the event is visible to the task that sees the bit,
/// also if the other direction has been cleared in between.
#[test]
fn an_event_publishes_what_the_kernel_showed() {
    for clears in [false, true] {
        // A model in which the task never sees the bit would show nothing.
        let reached = Arc::new(Reached::new(false));
        let reach = Arc::clone(&reached);
        loom::model(move || {
            reach.fetch_or(publishes(clears), Relaxed);
        });
        assert!(reached.load(Relaxed));
    }
}

/// Whether the task saw the bit.
///
/// The task is the spawned thread: loom remembers one access to a word, and the look that begins
/// `set` would hide a load that came before it.
fn publishes(clears: bool) -> bool {
    let word = Arc::new(Word::new());
    assert!(word.set(0, WRITABLE));
    let shown = Arc::new(Shown(UnsafeCell::new(0)));
    let task = {
        let (word, shown) = (Arc::clone(&word), Arc::clone(&shown));
        thread::spawn(move || look(&word, &shown, clears))
    };
    // SAFETY: this is the only writer, and readers come behind the edge.
    shown.0.with_mut(|shown| unsafe { *shown = 1 });
    assert!(word.set(0, READABLE));
    task.join().unwrap()
}

fn look(word: &Word, shown: &Shown, clears: bool) -> bool {
    if clears {
        // Reads the event's value, if it has come, without an edge, and replaces it.
        let tick = Snapshot(word.0.load(Relaxed)).tick();
        word.clear(Ready::new(WRITABLE, tick), Direction::Write);
    }
    let sees = word.ready(Interest::READABLE).is_readable();
    if sees {
        // SAFETY: nothing writes after the event was set.
        assert_eq!(shown.0.with(|shown| unsafe { *shown }), 1);
    }
    sees
}

/// A task that finds nothing and clears does not take away the event that came meanwhile.
#[test]
fn a_clear_does_not_take_a_newer_event() {
    for clear in [Word::clear, Word::clear_would_block] {
        loom::model(move || {
            let word = Arc::new(Word::new());
            assert!(word.set(0, READABLE));
            let bytes = Arc::new(AtomicUsize::new(0));

            let event = {
                let (word, bytes) = (Arc::clone(&word), Arc::clone(&bytes));
                thread::spawn(move || {
                    bytes.store(1, Relaxed);
                    assert!(word.set(0, READABLE));
                })
            };
            let ready = word.ready(BOTH);
            let found = bytes.load(Relaxed);
            if found == 0 {
                clear(&word, ready, Direction::Read);
            }
            event.join().unwrap();
            assert!(
                found == 1 || word.ready(BOTH).is_readable(),
                "the event is lost"
            );
        });
    }
}

/// Two events at once: both are counted, and neither takes the other's bits.
#[test]
fn two_events_at_once_are_both_kept() {
    loom::model(|| {
        let word = Arc::new(Word::new());
        let other = {
            let word = Arc::clone(&word);
            thread::spawn(move || assert!(word.set(0, READABLE)))
        };
        assert!(word.set(0, WRITABLE));
        other.join().unwrap();
        let ready = word.ready(BOTH);
        assert!(ready.is_readable() && ready.is_writable());
        assert_eq!(ready.tick(), 2);
    });
}

/// An event of the source that was here before does not reach the next, at whatever moment it comes.
#[test]
fn a_late_event_does_not_reach_the_next_generation() {
    loom::model(|| {
        let word = Arc::new(Word::new());
        let late = {
            let word = Arc::clone(&word);
            thread::spawn(move || word.set(0, READABLE))
        };
        word.renew();
        let _ = late.join().unwrap();
        assert_eq!(word.generation(), 1);
        assert!(word.ready(BOTH).is_empty());
    });
}

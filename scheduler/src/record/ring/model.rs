//! Every interleaving of a ring's writer and a reader.

use loom::sync::Arc;
use loom::thread;

use super::{Kind, Ring};
use crate::primitive::check;
use crate::task::Id;

/// The writer overwrites what is read just now: the reader gets whole events only.
#[test]
fn a_reader_sees_whole_events() {
    check(2, || {
        let ring = Arc::new(Ring::in_chunks(1, 2));
        let write = |ring: &Ring, event| {
            ring.note(Kind::Wake, event, Id::from_number(event), None, None);
        };
        write(&ring, 1);
        write(&ring, 2);
        let writer = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                write(&ring, 3);
                write(&ring, 4);
            })
        };
        let events = ring.read();
        for event in &events {
            assert_eq!(Id::from_number(event.at), event.id);
            assert!(event.at >= 2, "1 can be overwritten at any moment");
        }
        writer.join().unwrap();
        assert_eq!(ring.read().len(), 1);
    });
}

/// A reader that sees the count of an event sees the event. It is the writer that goes first here: a
/// model in which it comes second misses interleavings, as loom holds a thread's store against the
/// last load before it, and that is the writer's own.
#[test]
fn an_event_that_is_counted_is_there() {
    check(3, || {
        let ring = Arc::new(Ring::in_chunks(2, 2));
        // The reader finds the slots made, and empty.
        ring.slot(0);
        let reader = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || ring.read())
        };
        ring.note(Kind::Wake, 1, Id::from_number(1), None, None);
        for event in reader.join().unwrap() {
            assert_eq!((event.at, event.id), (1, Id::from_number(1)));
        }
    });
}

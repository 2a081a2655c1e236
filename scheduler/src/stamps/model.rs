//! Every interleaving of tasks that share a place.

use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::{AcqRel, Acquire};
use loom::thread;

use crate::primitive::check;

use super::Stamps;

/// Two tasks of one place are queued by two threads, at 10 and at 20, and a third one takes them out: it finds
/// the wait of each, or none, and in the end that of the last one.
#[test]
fn a_stamp_is_never_taken_for_another_tasks() {
    check(2, || {
        let stamps = Arc::new(Stamps::<1>::new());
        // A bit for each task that is queued.
        let queue = Arc::new(AtomicUsize::new(0));
        let queued = [10, 20].map(|now| {
            let (stamps, queue) = (Arc::clone(&stamps), Arc::clone(&queue));
            thread::spawn(move || {
                stamps.put(now / 10, now);
                queue.fetch_or(now as usize / 10, AcqRel);
            })
        });
        let taken = queue.load(Acquire);
        for now in [10, 20] {
            if taken & (now as usize / 10) != 0 {
                let waited = stamps.waited(now / 10, 100);
                // The lowest bit of a stamp is set.
                assert!(waited.is_none_or(|waited| waited == 100 - (now | 1)));
            }
        }
        for thread in queued {
            thread.join().unwrap();
        }
        let found = [1, 2].map(|id| stamps.waited(id, 100));
        assert!(found.iter().flatten().count() == 1);
    });
}

/// Who takes a task out of a queue sees the stamp that was written before it was put in.
#[test]
fn a_queued_task_has_its_stamp() {
    check(2, || {
        let stamps = Arc::new(Stamps::<2>::new());
        let queue = Arc::new(AtomicUsize::new(0));
        // From when it was queued the last time.
        stamps.put(7, 3);
        let queuing = {
            let (stamps, queue) = (Arc::clone(&stamps), Arc::clone(&queue));
            thread::spawn(move || {
                stamps.put(7, 51);
                queue.fetch_or(1, AcqRel);
            })
        };
        if queue.load(Acquire) != 0 {
            assert_eq!(stamps.waited(7, 61), Some(10));
        }
        queuing.join().unwrap();
    });
}

//! Every interleaving of threads that come for turns, give them up, and close.

use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::SeqCst;
use loom::thread;

use crate::primitive::check;

use super::{Entry, Turns};

/// Uses the turn of one item, and of all that follow it on the way.
fn work(turns: &Turns<usize>, inside: &AtomicUsize, limit: usize) -> usize {
    let mut done = 0;
    loop {
        assert!(inside.fetch_add(1, SeqCst) < limit, "more than the limit");
        inside.fetch_sub(1, SeqCst);
        done += 1;
        if turns.leave().is_none() {
            return done;
        }
    }
}

#[test]
fn turns_are_never_exceeded_and_nobody_is_left_waiting() {
    check(3, || {
        let turns = Arc::new(Turns::new(1));
        let inside = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (turns, inside) = (Arc::clone(&turns), Arc::clone(&inside));
                thread::spawn(move || {
                    let mut done = 0;
                    for item in 0..2 {
                        if let Entry::Go(_) = turns.enter(item) {
                            done += work(&turns, &inside, 1);
                        }
                    }
                    done
                })
            })
            .collect();
        let done: usize = threads.into_iter().map(|t| t.join().unwrap()).sum();
        assert_eq!(done, 4, "an item was left waiting");
        assert!(turns.state.lock().waiting.is_empty());
    });
}

#[test]
fn an_item_that_meets_the_end_is_kept_by_nobody() {
    check(3, || {
        let turns = Arc::new(Turns::new(1));
        assert_eq!(turns.enter(0), Entry::Go(0));
        let other = {
            let turns = Arc::clone(&turns);
            thread::spawn(move || match turns.enter(1) {
                Entry::Go(_) => 1 + usize::from(turns.leave().is_some()),
                Entry::Closed(_) => 1,
                Entry::Waits => 0,
            })
        };
        let left = turns.close().len();
        assert!(turns.leave().is_none(), "an item waited after the end");
        assert_eq!(left + other.join().unwrap(), 1);
        assert!(turns.state.lock().waiting.is_empty());
    });
}

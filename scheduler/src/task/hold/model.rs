//! Tasks that are freed by a worker, by another thread, and after the pool: the home goes once, last.

#![expect(unsafe_code, reason = "the model reads what the count guards")]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::primitive::check;

use super::Holds;

/// What the home guards: a place for each thread, written while its task lives.
struct Home {
    holds: Holds,
    places: [UnsafeCell<usize>; 3],
    freed: UnsafeCell<bool>,
}

impl Home {
    fn use_place(&self, task: usize) {
        // SAFETY: the place is this thread's as long as its hold lasts.
        self.places[task].with_mut(|place| unsafe { *place += 1 });
    }

    /// What freeing would do: it touches everything, so loom reports a use that is not over.
    fn free(&self) {
        for place in &self.places {
            // SAFETY: the last one has everything; loom checks it.
            place.with_mut(|place| unsafe { *place = 0 });
        }
        // SAFETY: as above.
        self.freed.with_mut(|freed| unsafe {
            assert!(!*freed, "freed twice");
            *freed = true;
        });
    }
}

/// Three tasks: one dies on the worker, two on other threads, before, while or after it settles.
#[test]
fn the_home_goes_once_and_last() {
    check(3, || {
        let home = Arc::new(Home {
            holds: Holds::new(),
            places: [UnsafeCell::new(0), UnsafeCell::new(0), UnsafeCell::new(0)],
            freed: UnsafeCell::new(false),
        });
        let outside: Vec<_> = (0..2)
            .map(|task| {
                let home = Arc::clone(&home);
                thread::spawn(move || {
                    home.use_place(task);
                    if home.holds.release() {
                        home.free();
                    }
                })
            })
            .collect();
        // The worker's book: three born, one freed here.
        let (born, freed) = (3_usize, 1);
        home.use_place(2);
        if home.holds.settle(born - freed) {
            home.free();
        }
        for thread in outside {
            thread.join().unwrap();
        }
        // SAFETY: the threads are joined.
        home.freed
            .with(|freed| unsafe { assert!(*freed, "never freed") });
    });
}

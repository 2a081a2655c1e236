//! Work that goes from one part to another and back, while somebody asks whether anything can run.

use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;
use loom::sync::atomic::Ordering::{Acquire, Release};
use loom::thread;

use crate::primitive::check;
use crate::primitive::sync::Mutex;

use super::{Activity, at_rest};

#[derive(Default)]
struct Parts([Part; 2]);

struct Part(Mutex<Activity>);

impl Default for Part {
    fn default() -> Self {
        Part(Mutex::new(Activity::default()))
    }
}

impl Part {
    fn begin(&self) {
        let mut activity = self.0.lock();
        activity.busy += 1;
        activity.turns += 1;
    }

    fn end(&self) {
        self.0.lock().busy -= 1;
    }
}

impl Parts {
    fn at_rest(&self) -> bool {
        let look = || self.0.each_ref().map(|part| *part.0.lock());
        at_rest(look, |parts| parts.iter().all(|part| part.busy == 0))
    }
}

/// A job of the second part has the first part do something, and that the second one, and so on; the last one
/// wakes the worker that asks. As long as the worker has not been woken, something can run: time must stand.
#[test]
fn time_stands_while_work_goes_round() {
    // Each switch from one to the other is one preemption, and what must be seen takes six.
    check(6, || {
        let parts = Arc::new(Parts::default());
        let woken = Arc::new(AtomicBool::new(false));
        parts.0[1].begin();
        let work = {
            let (parts, woken) = (Arc::clone(&parts), Arc::clone(&woken));
            thread::spawn(move || {
                for from in [1, 0, 1] {
                    parts.0[1 - from].begin();
                    parts.0[from].end();
                }
                woken.store(true, Release);
                parts.0[0].end();
            })
        };
        // In the order of the driver: whatever ended before the question has woken by the look.
        let at_rest = parts.at_rest();
        if !woken.load(Acquire) {
            assert!(!at_rest, "time would go on beside work");
        }
        work.join().unwrap();
        assert!(parts.at_rest());
    });
}

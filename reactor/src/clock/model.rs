//! Every interleaving of a clock that is let go with a thread that reads it.

use std::time::Duration;

use loom::thread;

use super::Clock;

/// Whoever sees it run sees what it had gained: it does not go back.
#[test]
fn a_clock_that_is_let_go_does_not_go_back() {
    loom::model(|| {
        let clock = Clock::monotonic().pausable();
        assert!(clock.pause());
        clock.advance_to(clock.after(Duration::from_hours(24)));
        let held = clock.now();
        let reader = {
            let clock = clock.clone();
            thread::spawn(move || clock.now())
        };
        assert!(clock.resume());
        assert!(reader.join().unwrap() >= held, "the time went back");
    });
}

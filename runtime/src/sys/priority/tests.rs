//! What the kernel says of threads that were changed.

use std::thread;
use std::time::Duration;

use super::{nice, set_nice, set_slice, slice};

/// Changes concern one thread, so each test has one of its own.
fn on_a_thread(body: impl FnOnce() + Send + 'static) {
    thread::spawn(body).join().unwrap();
}

#[test]
fn giving_way_needs_no_privilege_and_concerns_one_thread() {
    let before = nice().unwrap();
    on_a_thread(move || {
        let lower = before.saturating_add(1).min(19);
        set_nice(lower).unwrap();
        assert_eq!(nice().unwrap(), lower);
    });
    assert_eq!(nice().unwrap(), before);
}

#[test]
fn a_slice_is_taken_or_left_and_the_nice_value_stays() {
    on_a_thread(|| {
        set_nice(7.max(nice().unwrap())).unwrap();
        let (nice_before, slice_before) = (nice().unwrap(), slice().unwrap());
        let short = Duration::from_micros(200);
        set_slice(short).unwrap();
        let now = slice().unwrap();
        assert!(now == short || now == slice_before, "{now:?}");
        assert_eq!(nice().unwrap(), nice_before);
    });
}

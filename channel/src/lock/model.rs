//! The lock under loom.

use std::sync::Arc;

use super::SpinLock;
use crate::primitive::check;

#[test]
fn the_lock_lets_one_in_and_shows_what_the_last_one_did() {
    check(3, || {
        let lock = Arc::new(SpinLock::new(0));
        let other = Arc::clone(&lock);
        let thread = loom::thread::spawn(move || *other.lock() += 1);
        *lock.lock() += 1;
        thread.join().unwrap();
        assert_eq!(*lock.lock(), 2);
    });
}

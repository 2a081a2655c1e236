//! The lock with real threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

use super::SpinLock;

#[test]
fn no_count_is_lost() {
    const EACH: u32 = 20_000;
    let lock = SpinLock::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..EACH).for_each(|_| *lock.lock() += 1));
        }
    });
    assert_eq!(*lock.lock(), 4 * EACH);
}

#[test]
fn others_wait_for_a_holder_that_sleeps() {
    let lock = SpinLock::new(0);
    let lock = &lock;
    let (entered, has_entered) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut count = lock.lock();
            entered.send(()).unwrap();
            may_leave.recv().unwrap();
            *count += 1;
        });
        has_entered.recv().unwrap();
        let others: Vec<_> = (0..4).map(|_| scope.spawn(|| *lock.lock())).collect();
        leave.send(()).unwrap();
        for other in others {
            assert_eq!(other.join().unwrap(), 1);
        }
    });
}

#[test]
fn a_panic_inside_gives_the_lock_up() {
    let lock = SpinLock::new(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _guard = lock.lock();
        panic!("inside")
    }));
    assert!(panicked.is_err());
    assert_eq!(*lock.lock(), 1);
}

//! What the kernel says of threads that were pinned.

use std::io;
use std::thread;

use super::{CPUS, allowed, pin};

#[test]
fn a_pinned_thread_may_run_on_that_cpu_alone_and_others_as_before() {
    let before = allowed().unwrap();
    assert!(!before.is_empty());
    for &cpu in &before {
        let pinned = thread::spawn(move || {
            pin(cpu).unwrap();
            allowed().unwrap()
        });
        assert_eq!(pinned.join().unwrap(), [cpu]);
    }
    assert_eq!(allowed().unwrap(), before);
}

#[test]
fn a_cpu_that_is_not_there_is_refused() {
    for cpu in [CPUS - 1, CPUS, usize::MAX] {
        assert_eq!(pin(cpu).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}

//! A job that nothing ends.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::{Dump, find, text};
use crate::Runtime;

#[test]
fn what_still_runs_is_named_with_its_place() {
    let runtime = Runtime::builder().io_threads(1).build().unwrap();
    let (release, hold) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    let line = line!() + 1;
    let job = runtime.spawn_blocking(move || {
        begin.send(()).unwrap();
        hold.recv()
    });
    begun.recv().unwrap();
    let queued = runtime.spawn(std::future::pending::<()>());
    let left = find_running(&runtime, 1).expect("a job runs");
    let text = text(&left, Duration::from_secs(10));
    assert!(
        text.starts_with("rt: the end of a runtime has waited 10s"),
        "{text}"
    );
    let place = format!("task {} at {}:{line}:", job.id(), file!());
    assert!(text.contains(&place), "{text}");
    assert!(!text.contains(&format!("task {} ", queued.id())), "{text}");
    drop(release);
    let _told = runtime.block_on(job).unwrap();
    assert!(find_running(&runtime, 0).is_none());
}

/// Waits for the others: a task runs until its poll has ended, which is after it has done what it does.
fn find_running(runtime: &Runtime, running: usize) -> Option<Dump> {
    loop {
        let left = find(runtime.handle());
        if left.as_ref().map_or(0, |dump| dump.tasks.len()) == running {
            return left;
        }
        thread::yield_now();
    }
}

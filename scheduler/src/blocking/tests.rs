//! Blocking threads: growth, limits, aborts, and the end.

use std::panic::Location;
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

use super::{Blocking, BlockingConfig};
use crate::block_on;
use crate::hooks::Hooks;

fn blocking(max_threads: usize, keep_alive: Duration) -> Blocking {
    Blocking::new(BlockingConfig {
        name: "test".into(),
        max_threads,
        keep_alive,
        stack_size: None,
        hooks: Hooks::default(),
    })
}

#[test]
fn as_many_jobs_as_threads_run_at_once() {
    let blocking = blocking(8, Duration::from_secs(10));
    for _ in 0..2000 {
        let barrier = Arc::new(Barrier::new(8));
        let jobs: Vec<_> = (0..8)
            .map(|_| {
                let barrier = Arc::clone(&barrier);
                blocking.spawn(move || barrier.wait(), Location::caller())
            })
            .collect();
        for job in jobs {
            block_on(job).unwrap();
        }
    }
    assert!(blocking.metrics().threads <= 8);
}

#[test]
fn a_queued_job_can_be_aborted_while_the_only_thread_is_busy() {
    let blocking = blocking(1, Duration::from_secs(10));
    let (release, blocked) = mpsc::channel::<()>();
    let busy = blocking.spawn(move || blocked.recv(), Location::caller());
    let queued = blocking.spawn(|| (), Location::caller());
    queued.abort();
    assert!(block_on(queued).unwrap_err().is_cancelled());
    release.send(()).unwrap();
    block_on(busy).unwrap().unwrap();
}

#[test]
fn threads_that_give_up_waiting_never_strand_a_job() {
    let blocking = blocking(1, Duration::ZERO);
    for i in 0..2000 {
        assert_eq!(
            block_on(blocking.spawn(move || i, Location::caller())).unwrap(),
            i
        );
    }
}

#[test]
fn close_cancels_queued_jobs_and_waits_for_the_running_one() {
    let blocking = blocking(1, Duration::from_secs(10));
    let (release, blocked) = mpsc::channel::<()>();
    let (started, running) = mpsc::channel::<()>();
    let busy = blocking.spawn(
        move || {
            started.send(()).unwrap();
            blocked.recv().unwrap();
            5
        },
        Location::caller(),
    );
    running.recv().unwrap();
    let queued = blocking.spawn(|| (), Location::caller());
    blocking.close();
    assert!(block_on(queued).unwrap_err().is_cancelled());
    assert!(!blocking.join(Some(Instant::now())), "one job still runs");
    release.send(()).unwrap();
    assert!(blocking.join(Some(Instant::now() + Duration::from_mins(1))));
    assert_eq!(block_on(busy).unwrap(), 5);
    assert!(
        block_on(blocking.spawn(|| (), Location::caller()))
            .unwrap_err()
            .is_cancelled()
    );
}

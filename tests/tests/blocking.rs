//! Blocking jobs: as many at once as there may be threads, in order, and what is told of them.

use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use rt::Runtime;
use rt::net::lookup_host;
use rt_tests::{FLAVOURS, Watchdog, until};

#[test]
fn two_thousand_rounds_of_jobs_that_wait_for_one_another() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.builder().max_blocking_threads(8).build().unwrap();
        for round in 0..2000 {
            let together = Arc::new(Barrier::new(8));
            let jobs: Vec<_> = (0..8)
                .map(|job| {
                    let together = Arc::clone(&together);
                    runtime.spawn_blocking(move || {
                        together.wait();
                        (round, job)
                    })
                })
                .collect();
            runtime.block_on(async {
                for (job, handle) in jobs.into_iter().enumerate() {
                    assert_eq!(handle.await.unwrap(), (round, job));
                }
            });
        }
        assert!(runtime.metrics().blocking_threads <= 8);
    }
}

/// A runtime with one blocking thread, and what holds that up.
fn stuck() -> (Runtime, mpsc::Sender<()>) {
    let runtime = Runtime::builder()
        .io_threads(1)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let (release, blocked) = mpsc::channel::<()>();
    let (started, running) = mpsc::channel();
    drop(runtime.spawn_blocking(move || {
        started.send(()).unwrap();
        blocked.recv().unwrap_err();
    }));
    running.recv().unwrap();
    (runtime, release)
}

#[test]
fn a_lookup_does_not_wait_for_the_users_jobs() {
    let _watchdog = Watchdog::new();
    let (runtime, release) = stuck();
    let waiting = runtime.spawn_blocking(|| 1);
    let mut found = runtime.block_on(lookup_host("localhost:80")).unwrap();
    assert!(found.all(|address| address.ip().is_loopback()));
    assert!(!waiting.is_finished());
    drop(release);
    assert_eq!(runtime.block_on(waiting).unwrap(), 1);
}

#[test]
fn the_queue_and_the_longest_wait_are_told() {
    let _watchdog = Watchdog::new();
    let (runtime, release) = stuck();
    let jobs: Vec<_> = (0..10)
        .map(|job| runtime.spawn_blocking(move || job))
        .collect();
    let metrics = runtime.metrics();
    assert_eq!(metrics.blocking_queue_depth, 10);
    assert_eq!(metrics.blocking_jobs.queued, 10);
    assert_eq!(
        metrics.blocking_files.queued + metrics.blocking_lookups.queued,
        0
    );
    assert!(metrics.blocking_jobs.longest_wait > Duration::ZERO);
    assert_eq!(metrics.blocking_threads, 1);
    assert_eq!(metrics.idle_blocking_threads, 0);
    // An aborted one is gone from the queue at once.
    jobs[0].abort();
    assert_eq!(runtime.metrics().blocking_queue_depth, 9);
    drop(release);
    for (job, handle) in jobs.into_iter().enumerate().skip(1) {
        assert_eq!(runtime.block_on(handle).unwrap(), job);
    }
    until(|| runtime.metrics().idle_blocking_threads == 1);
    assert_eq!(runtime.metrics().blocking_queue_depth, 0);
    assert!(runtime.metrics().blocking_jobs.longest_wait >= metrics.blocking_jobs.longest_wait);
}

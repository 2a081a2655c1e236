//! Blocking threads: growth, limits, aborts, and the end.

use std::panic::Location;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::{Duration, Instant};

use super::{Blocking, BlockingConfig};
use crate::block_on;
use crate::hooks::Hooks;
use crate::lanes::Lane;
use crate::task::JoinHandle;

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
                blocking.spawn(Lane::User, move || barrier.wait(), Location::caller())
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
    let busy = blocking.spawn(Lane::User, move || blocked.recv(), Location::caller());
    let queued = blocking.spawn(Lane::User, || (), Location::caller());
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
            block_on(blocking.spawn(Lane::User, move || i, Location::caller())).unwrap(),
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
        Lane::User,
        move || {
            started.send(()).unwrap();
            blocked.recv().unwrap();
            5
        },
        Location::caller(),
    );
    running.recv().unwrap();
    let queued = blocking.spawn(Lane::User, || (), Location::caller());
    blocking.close();
    assert!(block_on(queued).unwrap_err().is_cancelled());
    assert!(!blocking.join(Some(Instant::now())), "one job still runs");
    release.send(()).unwrap();
    assert!(blocking.join(Some(Instant::now() + Duration::from_mins(1))));
    assert_eq!(block_on(busy).unwrap(), 5);
    assert!(
        block_on(blocking.spawn(Lane::User, || (), Location::caller()))
            .unwrap_err()
            .is_cancelled()
    );
}

/// Fills a lane with jobs that block until the sender goes.
fn fill(blocking: &Blocking, lane: Lane, jobs: usize) -> (mpsc::Sender<()>, Vec<JoinHandle<()>>) {
    let (release, blocked) = mpsc::channel::<()>();
    let blocked = Arc::new(Mutex::new(blocked));
    let job = |_| {
        let blocked = Arc::clone(&blocked);
        let wait = move || assert!(blocked.lock().unwrap().recv().is_err());
        blocking.spawn(lane, wait, Location::caller())
    };
    let jobs = (0..jobs).map(job).collect();
    (release, jobs)
}

#[test]
fn slow_jobs_of_one_lane_keep_no_other_lane_waiting() {
    for max in [1, 2, 8] {
        for slow in [Lane::Dns, Lane::Files, Lane::User] {
            let blocking = blocking(max, Duration::from_secs(10));
            let (release, stuck) = fill(&blocking, slow, 100);
            for lane in Lane::ALL.into_iter().filter(|lane| *lane != slow) {
                for i in 0..100 {
                    let job = blocking.spawn(lane, move || i, Location::caller());
                    assert_eq!(block_on(job).unwrap(), i, "{lane:?} beside {slow:?}");
                }
            }
            assert!(blocking.metrics().threads <= max + 2);
            drop(release);
            for job in stuck {
                block_on(job).unwrap();
            }
        }
    }
}

#[test]
fn jobs_run_in_order_and_the_wait_is_measured() {
    let blocking = blocking(1, Duration::from_secs(10));
    let (release, stuck) = fill(&blocking, Lane::User, 1);
    let order = Arc::new(Mutex::new(Vec::new()));
    let jobs: Vec<_> = (0..100)
        .map(|i| {
            let order = Arc::clone(&order);
            let job = move || order.lock().unwrap().push(i);
            blocking.spawn(Lane::User, job, Location::caller())
        })
        .collect();
    let metrics = blocking.metrics();
    assert!(metrics.user.queued >= 100);
    assert_eq!((metrics.files.queued, metrics.dns.queued), (0, 0));
    assert!(metrics.user.longest_wait > Duration::ZERO);
    assert_eq!(metrics.files.longest_wait, Duration::ZERO);
    drop(release);
    for job in stuck.into_iter().chain(jobs) {
        block_on(job).unwrap();
    }
    assert!(order.lock().unwrap().iter().copied().eq(0..100));
    assert_eq!(blocking.metrics().user.queued, 0);
    assert!(blocking.metrics().user.longest_wait >= metrics.user.longest_wait);
}

#[test]
fn aborted_jobs_leave_the_queue() {
    let blocking = blocking(1, Duration::from_secs(10));
    let (release, stuck) = fill(&blocking, Lane::User, 1);
    let jobs: Vec<_> = (0..10_000)
        .map(|i| blocking.spawn(Lane::User, move || i, Location::caller()))
        .collect();
    for job in jobs.iter().skip(1) {
        job.abort();
    }
    assert!(
        blocking.metrics().user.queued <= 2,
        "the first one, and perhaps the stuck one"
    );
    let entries = blocking.shared.lock().lanes.waiting(Lane::User);
    assert!(entries < 200, "{entries} entries");
    drop(release);
    for (i, job) in jobs.into_iter().enumerate() {
        match block_on(job) {
            Ok(value) => assert_eq!((value, i), (0, 0)),
            Err(error) => assert!(error.is_cancelled()),
        }
    }
    for job in stuck {
        block_on(job).unwrap();
    }
}

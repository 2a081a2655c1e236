//! Pools without a driver, on real threads.

use std::future::poll_fn;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;
use std::time::{Duration, Instant};

use super::{Config, Pool};
use crate::scope::Free;
use crate::task;
use crate::{block_on, yield_now};

fn pool(workers: usize) -> Pool {
    Pool::start(Config::new("test", "cpu", workers), None).unwrap()
}

/// A generous limit: reached only when something hangs.
fn watchdog() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

/// Looks again until it is so, or panics.
fn until(is_so: impl Fn() -> bool) {
    let limit = watchdog();
    while !is_so() {
        assert!(Instant::now() < limit, "that does not come to be");
        std::thread::yield_now();
    }
}

fn close(pool: &Pool) {
    pool.close();
    assert!(pool.join(Some(watchdog())), "the workers did not end");
}

#[test]
fn a_value_comes_back_from_a_worker() {
    for workers in [1, 2, 8] {
        let pool = pool(workers);
        let name = pool.spawn(
            async { std::thread::current().name().map(str::to_owned) },
            Location::caller(),
        );
        let name = block_on(name).unwrap().unwrap();
        assert!(name.starts_with("test-cpu-"), "{name}");
        close(&pool);
        assert_eq!(pool.live_tasks(), 0);
    }
}

#[test]
fn many_tasks_from_inside_and_outside_all_end() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    for workers in [1, 2, 8] {
        let pool = Arc::new(pool(workers));
        let dropped = Arc::new(AtomicUsize::new(0));
        let outer = (0..100).map(|_| {
            let (inner_pool, dropped) = (Arc::clone(&pool), Arc::clone(&dropped));
            pool.spawn(
                async move {
                    let mut sum = 0;
                    let spawn = |i: usize| {
                        let counted = Counted(Arc::clone(&dropped));
                        inner_pool.spawn(
                            async move {
                                yield_now().await;
                                let _counted = counted;
                                i
                            },
                            Location::caller(),
                        )
                    };
                    for handle in (0..100).map(spawn).collect::<Vec<_>>() {
                        sum += handle.await.unwrap();
                    }
                    sum
                },
                Location::caller(),
            )
        });
        let outer: Vec<_> = outer.collect();
        let sum: usize = block_on(async {
            let mut sum = 0;
            for handle in outer {
                sum += handle.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 100 * (99 * 100 / 2));
        close(&pool);
        assert_eq!((dropped.load(Relaxed), pool.live_tasks()), (10_000, 0));
        assert_eq!(pool.spawned_tasks(), 10_100);
    }
}

#[test]
fn a_closed_pool_gives_cancelled_handles() {
    let pool = pool(2);
    let pending = pool.spawn(std::future::pending::<()>(), Location::caller());
    close(&pool);
    assert!(block_on(pending).unwrap_err().is_cancelled());
    let late = pool.spawn(async {}, Location::caller());
    assert!(late.is_finished());
    assert!(block_on(late).unwrap_err().is_cancelled());
}

#[test]
fn a_waker_that_outlives_the_pool_does_nothing() {
    let pool = pool(1);
    let (tx, rx) = std::sync::mpsc::channel();
    let task = pool.spawn(
        poll_fn(move |cx| {
            tx.send(cx.waker().clone()).unwrap();
            Poll::<()>::Pending
        }),
        Location::caller(),
    );
    let waker = rx.recv().unwrap();
    close(&pool);
    drop(pool);
    waker.wake_by_ref();
    waker.wake();
    assert!(block_on(task).unwrap_err().is_cancelled());
}

/// Tasks that have been polled, that are queued and that nobody knows any more, freed by workers, by
/// this thread, and after the pool: what they share with it goes with the last of them.
#[test]
fn what_tasks_keep_of_their_pool_goes_with_the_last_of_them() {
    for workers in [1, 2, 8] {
        let pool = pool(workers);
        let shared = Arc::downgrade(&pool.shared);
        let (tx, rx) = std::sync::mpsc::channel();
        for _ in 0..100 {
            let tx = tx.clone();
            drop(pool.spawn(
                async move { tx.send(std::thread::current().id()) },
                Location::caller(),
            ));
        }
        assert_eq!(rx.iter().take(100).count(), 100);
        let (tx, rx) = std::sync::mpsc::channel();
        let waits = poll_fn(move |cx| {
            tx.send(cx.waker().clone()).unwrap();
            Poll::<()>::Pending
        });
        let handle = pool.spawn(waits, Location::caller());
        let waker = rx.recv().unwrap();
        close(&pool);
        assert_eq!(pool.live_tasks(), 0);
        drop(pool);
        assert!(shared.upgrade().is_some(), "a waker keeps it");
        assert!(block_on(handle).unwrap_err().is_cancelled());
        assert!(shared.upgrade().is_some(), "a waker keeps it");
        drop(waker);
        // The workers' threads may still be on their way out of it.
        while shared.upgrade().is_some() {
            std::thread::yield_now();
        }
    }
}

/// A worker is stuck in a poll and never comes back: the others cancel what it has queued.
#[test]
fn what_is_queued_behind_a_stuck_worker_is_cancelled_by_the_others() {
    let pool = Arc::new(pool(2));
    let (stuck, is_stuck) = std::sync::mpsc::channel();
    let (let_go, held) = std::sync::mpsc::channel::<()>();
    let spawner = Arc::downgrade(&pool);
    let task = pool.spawn(
        async move {
            let queued = (0..10).map(|_| {
                let pool = spawner.upgrade().unwrap();
                pool.spawn(std::future::pending::<()>(), Location::caller())
            });
            stuck.send(queued.collect::<Vec<_>>()).unwrap();
            let _ = held.recv();
        },
        Location::caller(),
    );
    let queued = is_stuck.recv().unwrap();
    pool.close();
    for handle in queued {
        assert!(block_on(handle).unwrap_err().is_cancelled());
    }
    drop(let_go);
    assert!(block_on(task).is_ok());
    close(&pool);
}

/// What a spare has queued is found by the workers, though nobody looks at the places of spares that were
/// never called.
#[test]
fn what_a_spare_has_queued_is_stolen_from_it() {
    let pool = Arc::new(pool(1));
    assert_eq!(pool.shared.used_remotes().len(), 1);
    let spawner = Arc::downgrade(&pool);
    let task = pool.spawn(
        async move {
            let pool = spawner.upgrade().unwrap();
            let (queued, is_queued) = std::sync::mpsc::channel();
            let inner = Arc::clone(&pool);
            // Run by the spare: this worker blocks until then.
            let on_spare = pool.spawn(
                async move {
                    let (run, has_run) = std::sync::mpsc::channel();
                    let first = inner.spawn(async move { run.send(()) }, Location::caller());
                    // Drives the first one out of the slot, into the queue.
                    let second = inner.spawn(async {}, Location::caller());
                    queued.send(()).unwrap();
                    has_run.recv_timeout(Duration::from_mins(1)).unwrap();
                    (first, second)
                },
                Location::caller(),
            );
            crate::block_in_place(|| is_queued.recv().unwrap());
            (pool, on_spare)
        },
        Location::caller(),
    );
    let (pool, on_spare) = block_on(task).unwrap();
    let (first, second) = block_on(on_spare).unwrap();
    assert_eq!(block_on(first).unwrap(), Ok(()));
    block_on(second).unwrap();
    // The guard of a slow machine may have called another one.
    assert!((2..pool.shared.places()).contains(&pool.shared.used_remotes().len()));
    close(&pool);
}

#[test]
fn a_panic_in_a_task_is_its_join_error() {
    let pool = pool(2);
    let task = pool.spawn(async { panic!("boom {}", 7) }, Location::caller());
    let error = block_on(task).unwrap_err();
    assert!(error.is_panic());
    assert_eq!(
        format!("{error}"),
        format!("task {} panicked with message \"boom 7\"", error.id())
    );
    let after = pool.spawn(async { 1 }, Location::caller());
    assert_eq!(block_on(after).unwrap(), 1);
    close(&pool);
}

#[test]
fn of_more_tasks_than_a_header_has_numbers_for_each_is_found_and_leaves() {
    const TASKS: usize = 3 * crate::task::FAR;
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    for workers in [1, 2] {
        let pool = pool(workers);
        let (polled, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let waits = |_| {
            let (polled, counted) = (Arc::clone(&polled), Counted(Arc::clone(&dropped)));
            let wait = poll_fn(move |_| {
                let _counted = &counted;
                polled.fetch_add(1, Relaxed);
                Poll::<()>::Pending
            });
            pool.spawn(wait, Location::caller())
        };
        let mut handles: Vec<_> = (0..TASKS).map(|task| Some(waits(task))).collect();
        while polled.load(Relaxed) < TASKS {
            std::thread::yield_now();
        }
        // Every third, in another order than they came.
        let third = TASKS / 3;
        for turn in 0..third {
            let handle = handles[3 * (turn * 7 % third)].take().unwrap();
            handle.abort();
            assert!(block_on(handle).unwrap_err().is_cancelled());
        }
        assert_eq!(dropped.load(Relaxed), third);
        // The worker may not have put down the last one yet.
        let limit = watchdog();
        while pool.list_tasks().tasks.len() != TASKS - third {
            assert!(Instant::now() < limit, "a task is not found, or twice");
            std::thread::yield_now();
        }
        // Some of their numbers are dealt again.
        let more: Vec<_> = (0..third / 2).map(waits).collect();
        while polled.load(Relaxed) < TASKS + more.len() {
            std::thread::yield_now();
        }
        close(&pool);
        assert_eq!(dropped.load(Relaxed), TASKS + more.len());
        for handle in handles.into_iter().flatten().chain(more) {
            assert!(block_on(handle).unwrap_err().is_cancelled());
        }
        assert_eq!(pool.live_tasks(), 0);
    }
}

/// A worker that does not search takes a batch, of which nobody else has heard, as when a searcher looked
/// too early: it wakes another worker for all but the first task.
#[test]
fn who_takes_a_batch_shares_it() {
    let config = Config {
        stall_threshold: None,
        // Not one at a time.
        global_queue_interval: Some(127),
        ..Config::new("test", "cpu", 2)
    };
    let pool = Arc::new(Pool::start(config, None).unwrap());
    let met = Arc::new(AtomicUsize::new(0));
    let outer = {
        let (pool, met) = (Arc::downgrade(&pool), Arc::clone(&met));
        async move {
            let pool = pool.upgrade().unwrap();
            until(|| pool.shared.parking.idle.parked() == 1);
            let home = &**pool.crew.home;
            let queued = |()| {
                let met = Arc::clone(&met);
                let meets = async move {
                    met.fetch_add(1, Relaxed);
                    until(|| met.load(Relaxed) >= 2);
                };
                home.count_spawn_outside();
                let (handle, task) = task::spawn(Free, meets, home, Location::caller());
                pool.shared.injector.push(task);
                handle
            };
            // A batch is half of what there is.
            [(); 4].map(queued)
        }
    };
    for handle in block_on(pool.spawn(outer, Location::caller())).unwrap() {
        block_on(handle).unwrap();
    }
    close(&pool);
}

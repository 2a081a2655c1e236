//! Memory, CPU and threads that are kept without need.

use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use rt::Runtime;
use rt::task::{JoinHandle, JoinSet};
use rt_tests::{
    Census, Flavour, Watchdog, alone, counting_waker, everywhere, memory_in_use, until, with,
};
use tokio::sync::oneshot;

/// Whoever still has a handle or a waker of a finished task keeps a small block of memory, and
/// nothing that the task had.
#[test]
fn a_finished_task_lets_go_of_all_it_had() {
    everywhere(|runtime| {
        let census = Census::new();
        let one = census.one();
        let kept = Arc::new(Mutex::new(None));
        let waker = Arc::clone(&kept);
        let mut task = runtime.spawn(poll_fn(move |cx| {
            let _one = &one;
            *waker.lock().unwrap() = Some(cx.waker().clone());
            Poll::Ready(5)
        }));
        // Who waited for it is forgotten as well.
        let (waiter, woken) = counting_waker();
        let _ = Pin::new(&mut task).poll(&mut Context::from_waker(&waiter));
        drop(waiter);
        let abort = task.abort_handle();
        runtime.block_on(rt_tests::until_yielding(|| abort.is_finished()));
        assert_eq!(census.alive(), 0);
        until(|| Arc::strong_count(&woken) == 1);
        let waker = kept.lock().unwrap().take().unwrap();
        waker.wake_by_ref();
        drop(task);
        waker.wake();
    });
}

/// A task that holds its own waker, and its own handle, is no cycle once it has ended.
#[test]
fn a_task_that_knows_itself_is_freed() {
    everywhere(|runtime| {
        let census = Census::new();
        let (tell, told) = oneshot::channel::<JoinHandle<()>>();
        let one = census.one();
        let task = runtime.spawn(async move {
            let _one = one;
            let mut own_waker = None;
            poll_fn(|cx| {
                own_waker = Some(cx.waker().clone());
                Poll::Ready(())
            })
            .await;
            let _own_handle = told.await.unwrap();
        });
        let abort = task.abort_handle();
        tell.send(task).unwrap();
        runtime.block_on(rt_tests::until_yielding(|| abort.is_finished()));
        assert_eq!(census.alive(), 0);
    });
}

/// One piece of work wakes one worker, not all of them.
#[test]
fn one_task_wakes_one_worker() {
    const ROUNDS: u64 = 1000;
    with(Flavour::Workers(8), |runtime| {
        let parks = |runtime: &Runtime| -> u64 {
            runtime
                .metrics()
                .io_workers
                .iter()
                .map(|worker| worker.parks)
                .sum()
        };
        let before = parks(runtime);
        for _ in 0..ROUNDS {
            runtime.block_on(runtime.spawn(async {})).unwrap();
        }
        let parks = parks(runtime) - before;
        assert!(parks <= 3 * ROUNDS, "{parks} sleeps for {ROUNDS} tasks");
    });
}

/// Each task waits for the next one: it ends, or is ended, without a deep stack.
#[test]
fn a_long_chain_of_tasks_ends_without_a_deep_stack() {
    const LENGTH: usize = 100_000;
    let chain = |runtime: &Runtime| {
        let (end, ended) = oneshot::channel::<()>();
        let mut last = runtime.spawn(async move { ended.await.is_ok() });
        for _ in 0..LENGTH {
            last = runtime.spawn(async move { last.await.unwrap() });
        }
        (end, last)
    };
    for flavour in [Flavour::CurrentThread, Flavour::Workers(2)] {
        let _watchdog = Watchdog::new();
        let runtime = flavour
            .builder()
            .thread_stack_size(128 << 10)
            .build()
            .unwrap();
        let (end, last) = chain(&runtime);
        end.send(()).unwrap();
        assert!(runtime.block_on(last).unwrap());
        let (_end, last) = chain(&runtime);
        last.abort();
        assert!(runtime.block_on(last).unwrap_err().is_cancelled());
        let (_end, _last) = chain(&runtime);
        drop(runtime);
    }
}

/// After a burst the counts are back to nothing.
#[test]
fn a_burst_leaves_nothing_behind() {
    everywhere(|runtime| {
        let census = Census::new();
        let tasks: Vec<_> = (0..20_000)
            .map(|_| {
                let one = census.one();
                runtime.spawn(async move {
                    let _one = one;
                    pending::<()>().await;
                })
            })
            .collect();
        for task in &tasks {
            task.abort();
        }
        runtime.block_on(async {
            for task in tasks {
                assert!(task.await.unwrap_err().is_cancelled());
            }
        });
        assert_eq!(census.alive(), 0);
        until(|| runtime.metrics().live_tasks == 0);
        assert_eq!(runtime.metrics().injected, 0);
    });
}

/// Queues, lists and sets give the room back that a burst has taken.
#[test]
fn a_million_tasks_at_once_leave_no_memory_behind() {
    const TASKS: usize = 1_000_000;
    alone(|| {
        let runtime = Flavour::Workers(2).build();
        let burst = |tasks: usize| {
            let spawner = runtime.spawn(async move {
                let mut set: JoinSet<()> = (0..tasks).map(|_| async {}).collect();
                while let Some(ended) = set.join_next().await {
                    ended.unwrap();
                }
                // Kept to the end: it has given its room back by itself.
                assert!(set.is_empty());
                set
            });
            let _set = runtime.block_on(spawner).unwrap();
            for _ in 0..tasks {
                drop(runtime.spawn(async {}));
            }
            runtime.block_on(rt_tests::until_yielding(|| {
                runtime.metrics().live_tasks == 0
            }));
            memory_in_use()
        };
        let before = burst(1000);
        burst(TASKS);
        // A queue's old room is given back when no worker can still look at it, which the next tasks bring
        // about. What stays must be within a twentieth of what the tasks have taken.
        until(|| burst(1000).saturating_sub(before) < TASKS * 6);
    });
}

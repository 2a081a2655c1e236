//! `JoinSet`: tasks that are waited for together.

use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll};

use rt::Dispatcher;
use rt::task::{self, JoinSet};
use rt_tests::{
    Census, Fault, FaultyWaker, Flavour, counting_waker, everywhere, poll_once, until,
    until_yielding, with,
};
use tokio::sync::oneshot;

#[test]
fn sets_may_go_anywhere() {
    fn check<T: Send + Sync + Unpin + std::fmt::Debug + Default>() {}
    check::<JoinSet<u8>>();
}

#[test]
fn tasks_come_out_in_the_order_in_which_they_end() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            let mut ends = Vec::new();
            for number in 0..100 {
                let (end, ended) = oneshot::channel::<()>();
                let abort = set.spawn(async move {
                    ended.await.unwrap();
                    number
                });
                ends.push((end, abort));
            }
            assert_eq!(set.len(), 100);
            assert!(set.try_join_next().is_none());
            // Not in the order in which they were spawned.
            for number in 0..100 {
                let (end, abort) = ends.swap_remove((number * 7) % (100 - number));
                end.send(()).unwrap();
                let (id, _) = set.join_next_with_id().await.unwrap().unwrap();
                assert_eq!(id, abort.id());
                assert!(abort.is_finished());
            }
            assert!(set.is_empty());
            assert!(set.join_next().await.is_none());
            assert!(set.try_join_next().is_none());
        });
    });
}

#[test]
fn every_kind_of_task_may_be_in_a_set() {
    everywhere(|runtime| {
        let handle = runtime.handle().clone();
        runtime.block_on(async {
            let local = task::LocalSet::new();
            let mut set = JoinSet::new();
            set.spawn(async { 0 });
            set.spawn_on(Dispatcher::Cpu, async { 1 });
            set.spawn_on_handle(async { 2 }, &handle);
            set.spawn_blocking(|| 3);
            set.spawn_blocking_on(|| 4, &handle);
            set.spawn_local(async { 5 });
            set.spawn_local_on(async { 6 }, &local);
            let name = || task::try_name().is_some_and(|name| &*name == "seven");
            set.build_task()
                .name("seven")
                .dispatcher(Dispatcher::Cpu)
                .spawn(async move { if name() { 7 } else { 0 } });
            set.build_task().spawn_on(async { 8 }, &handle);
            set.build_task().spawn_blocking(|| 9);
            set.build_task().spawn_blocking_on(|| 10, &handle);
            set.build_task().spawn_local(async { 11 });
            set.build_task().spawn_local_on(async { 12 }, &local);
            set.extend([async { 13 }]);
            let mut outputs = local.run_until(set.join_all()).await;
            outputs.sort_unstable();
            assert_eq!(outputs, (0..14).collect::<Vec<_>>());
        });
    });
}

#[test]
fn a_dropped_set_aborts_all_and_a_detached_one_none() {
    everywhere(|runtime| {
        let census = Census::new();
        let finished = Arc::new(AtomicUsize::new(0));
        let (go, gone) = oneshot::channel::<()>();
        runtime.block_on(async {
            let mut set = JoinSet::new();
            for _ in 0..10 {
                let one = census.one();
                set.spawn(async move {
                    let _one = one;
                    pending::<()>().await;
                });
            }
            rt::yield_now().await;
            drop(set);
            until_yielding(|| census.alive() == 0).await;

            let mut set = JoinSet::new();
            let (one, counter) = (census.one(), Arc::clone(&finished));
            set.spawn(async move {
                let _one = one;
                gone.await.unwrap();
                counter.fetch_add(1, SeqCst);
            });
            set.detach_all();
            assert!(set.is_empty());
            drop(set);
            rt::yield_now().await;
            go.send(()).unwrap();
            until_yielding(|| census.alive() == 0).await;
            assert_eq!(finished.load(SeqCst), 1);
        });
    });
}

#[test]
fn aborted_tasks_come_out_as_cancelled_and_finished_ones_with_their_value() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            let finished = set.spawn(async { 1 });
            until_yielding(|| finished.is_finished()).await;
            let one = set.spawn(pending());
            set.spawn(pending());
            one.abort();
            set.abort_all();
            let mut cancelled = 0;
            let mut value = None;
            while let Some(output) = set.join_next().await {
                match output {
                    Ok(output) => value = Some(output),
                    Err(error) => {
                        assert!(error.is_cancelled());
                        cancelled += 1;
                    }
                }
            }
            assert_eq!((cancelled, value), (2, Some(1)));
            // It is used again.
            set.spawn(async { 2 });
            assert_eq!(set.join_next().await.unwrap().unwrap(), 2);
        });
    });
}

#[test]
fn shutdown_returns_when_every_future_is_dropped() {
    everywhere(|runtime| {
        let census = Census::new();
        runtime.block_on(async {
            let mut set = JoinSet::new();
            for _ in 0..100 {
                let one = census.one();
                set.spawn(async move {
                    let _one = one;
                    pending::<()>().await;
                });
            }
            set.shutdown().await;
            assert_eq!(census.alive(), 0);
            assert!(set.is_empty());
            set.shutdown().await;
        });
    });
}

#[test]
fn join_all_passes_a_panic_on_and_aborts_the_others() {
    everywhere(|runtime| {
        let census = Census::new();
        let mut set = JoinSet::new();
        let one = census.one();
        set.spawn_on_handle(
            async move {
                let _one = one;
                pending::<()>().await;
            },
            runtime.handle(),
        );
        set.spawn_on_handle(async { panic!("on purpose") }, runtime.handle());
        let joined = catch_unwind(AssertUnwindSafe(|| runtime.block_on(set.join_all())));
        assert_eq!(
            joined.unwrap_err().downcast_ref::<&str>(),
            Some(&"on purpose")
        );
        runtime.block_on(until_yielding(|| census.alive() == 0));
    });
}

/// Giving up a wait loses no task, and leaves no waker behind.
#[test]
fn a_wait_that_is_given_up_loses_nothing() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            let (end, ended) = oneshot::channel::<u8>();
            set.spawn(ended);
            let (waker, count) = counting_waker();
            {
                let mut waits = pin!(set.join_next());
                let polled = waits.as_mut().poll(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
            }
            drop(waker);
            assert_eq!(Arc::strong_count(&count), 1);
            end.send(5).unwrap();
            assert_eq!(set.join_next().await.unwrap().unwrap(), Ok(5));
            assert_eq!(count.load(SeqCst), 0);
        });
    });
}

/// The last one who polls is woken, once a task, whatever the others' wakers do.
#[test]
fn the_last_poll_is_the_one_that_is_woken() {
    with(Flavour::Workers(2), |runtime| {
        for fault in [Fault::Clone, Fault::Wake, Fault::Drop] {
            let mut set = JoinSet::new();
            let (end, ended) = oneshot::channel::<()>();
            set.spawn_on_handle(async move { ended.await.is_ok() }, runtime.handle());
            let faulty = FaultyWaker::new(fault);
            let waker = faulty.waker();
            faulty.arm(fault == Fault::Clone);
            let polled = catch_unwind(AssertUnwindSafe(|| {
                set.poll_join_next(&mut Context::from_waker(&waker))
            }));
            assert_eq!(polled.is_err(), fault == Fault::Clone);
            faulty.arm(true);
            let (counting, count) = counting_waker();
            let polled = catch_unwind(AssertUnwindSafe(|| {
                set.poll_join_next(&mut Context::from_waker(&counting))
            }));
            assert_eq!(polled.is_err(), fault == Fault::Drop);
            faulty.arm(false);
            end.send(()).unwrap();
            until(|| count.load(SeqCst) == 1);
            let joined = set.try_join_next();
            assert!(joined.unwrap().unwrap());
        }
    });
}

/// Each end costs the same: a wake costs one poll, and no other task is looked at.
#[test]
fn the_end_of_one_task_is_found_without_a_search() {
    const TASKS: usize = 50_000;
    with(Flavour::CurrentThread, |runtime| {
        runtime.block_on(async {
            let mut set = JoinSet::new();
            let mut ends = Vec::new();
            for _ in 0..TASKS {
                let (end, ended) = oneshot::channel::<()>();
                set.spawn(ended);
                ends.push(end);
            }
            let mut polls = 0;
            let mut joined = 0;
            while let Some(end) = ends.pop() {
                end.send(()).unwrap();
                let next = poll_fn(|cx| {
                    polls += 1;
                    set.poll_join_next(cx)
                });
                next.await.unwrap().unwrap().unwrap();
                joined += 1;
            }
            assert_eq!(joined, TASKS);
            // With a square number of looks this test would not end.
            assert!(polls <= 4 * TASKS, "{polls} polls for {TASKS} tasks");
        });
    });
}

#[test]
fn a_set_that_is_always_ready_lets_others_run() {
    with(Flavour::CurrentThread, |runtime| {
        runtime.block_on(async {
            let (tell, told) = oneshot::channel::<()>();
            rt::spawn(async move { tell.send(()) });
            let mut told = pin!(told);
            let mut set: JoinSet<()> = (0..10_000).map(|_| async {}).collect();
            let mut before = 0;
            while set.join_next().await.is_some() {
                if poll_once(&mut told).await.is_ready() {
                    break;
                }
                before += 1;
            }
            assert!(before < 10_000);
        });
    });
}

#[test]
fn a_set_outlives_its_runtime() {
    let runtime = Flavour::Workers(2).build();
    let handle = runtime.handle().clone();
    let mut set = JoinSet::new();
    set.spawn_on_handle(pending::<()>(), &handle);
    drop(runtime);
    set.spawn_on_handle(pending(), &handle);
    set.abort_all();
    let mut cx = Context::from_waker(std::task::Waker::noop());
    for _ in 0..2 {
        let Poll::Ready(Some(output)) = set.poll_join_next(&mut cx) else {
            panic!("a task of a runtime that is gone has ended");
        };
        assert!(output.unwrap_err().is_cancelled());
    }
}

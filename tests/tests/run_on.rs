//! `run_on`: where work runs, and that its value, its panic and its cancellation come across.

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use rt::{Dispatcher, Runtime, run_on, spawn_on};
use rt_tests::{Census, FLAVOURS, Watchdog, everywhere, poll_once, until};

fn thread_name() -> String {
    thread::current().name().unwrap_or("?").to_owned()
}

fn runtime(threads: usize) -> Runtime {
    Runtime::builder()
        .io_threads(threads)
        .cpu_threads(threads)
        .build()
        .unwrap()
}

#[test]
fn work_runs_on_the_pool_that_it_is_moved_to_from_wherever_it_comes() {
    for threads in [1, 2, 8] {
        let _watchdog = Watchdog::new();
        let runtime = runtime(threads);
        let pools = [
            (Dispatcher::Io, "rt-io-"),
            (Dispatcher::Cpu, "rt-cpu-"),
            (Dispatcher::Io.limited(1), "rt-io-"),
            (Dispatcher::Cpu.limited(2), "rt-cpu-"),
        ];
        for (from, home) in pools.clone() {
            for (to, there) in pools.clone() {
                let to = to.clone();
                let task = runtime.spawn_on(from.clone(), async move {
                    let before = thread_name();
                    let inside = run_on(to, async {
                        let first = thread_name();
                        rt::yield_now().await;
                        rt::time::sleep(Duration::from_micros(10)).await;
                        [first, thread_name()]
                    });
                    (before, inside.await, thread_name())
                });
                let (before, inside, after) = runtime.block_on(task).unwrap();
                assert!(
                    before.starts_with(home) && after.starts_with(home),
                    "{before}, {after}"
                );
                assert!(
                    inside.iter().all(|name| name.starts_with(there)),
                    "{inside:?}"
                );
            }
        }
        // And from a thread that is no worker.
        for (to, there) in pools {
            let name = runtime.block_on(run_on(to, async { thread_name() }));
            assert!(name.starts_with(there), "{name}");
        }
    }
}

#[test]
fn a_move_to_where_one_is_costs_no_task() {
    everywhere(|runtime| {
        let limited = Dispatcher::Cpu.limited(1);
        for here in [Dispatcher::Io, Dispatcher::Cpu, limited] {
            let inner = here.clone();
            let task = runtime.spawn_on(here, async move {
                let before = rt::Handle::current().metrics().spawned_tasks;
                let outside = thread::current().id();
                let inside = run_on(inner, async { thread::current().id() }).await;
                assert_eq!(inside, outside);
                rt::Handle::current().metrics().spawned_tasks - before
            });
            assert_eq!(runtime.block_on(task).unwrap(), 0);
        }
    });
}

#[test]
fn a_panic_resumes_at_the_caller() {
    everywhere(|runtime| {
        for to in [Dispatcher::Io, Dispatcher::Cpu, Dispatcher::Cpu.limited(1)] {
            let work = || async {
                rt::yield_now().await;
                std::panic::resume_unwind(Box::new(17_u32));
            };
            let blocked = catch_unwind(AssertUnwindSafe(|| {
                runtime.block_on(run_on(to.clone(), work()));
            }));
            assert_eq!(*blocked.unwrap_err().downcast::<u32>().unwrap(), 17);
            let task = runtime.spawn(run_on(to, work()));
            let error = runtime.block_on(task).unwrap_err();
            assert_eq!(*error.into_panic().downcast::<u32>().unwrap(), 17);
        }
    });
}

#[test]
fn dropping_it_cancels_the_work() {
    everywhere(|runtime| {
        for to in [Dispatcher::Io, Dispatcher::Cpu, Dispatcher::Io.limited(1)] {
            let census = Census::new();
            let one = census.one();
            let started = census.clone();
            let mut work = Box::pin(run_on(to.clone(), async move {
                let _one = one;
                drop(started.one());
                pending::<()>().await;
            }));
            runtime.block_on(async {
                assert!(poll_once(&mut work).await.is_pending());
                while census.made() < 2 {
                    rt::yield_now().await;
                }
            });
            assert_eq!(census.alive(), 1);
            drop(work);
            // On the current thread somebody must run it.
            until(|| {
                runtime.block_on(rt::yield_now());
                census.alive() == 0
            });
            // Aborting the caller is dropping it.
            let one = census.one();
            let task = runtime.spawn(run_on(to, async move {
                let _one = one;
                pending::<()>().await;
            }));
            runtime.block_on(rt::yield_now());
            task.abort();
            assert!(runtime.block_on(task).unwrap_err().is_cancelled());
            until(|| {
                runtime.block_on(rt::yield_now());
                census.alive() == 0
            });
        }
    });
}

#[test]
fn work_that_is_never_polled_never_starts() {
    everywhere(|runtime| {
        let census = Census::new();
        let one = census.one();
        let before = runtime.metrics().spawned_tasks;
        drop(run_on(Dispatcher::Cpu, async move { drop(one) }));
        assert_eq!(census.alive(), 0);
        assert_eq!(runtime.metrics().spawned_tasks, before);
    });
}

#[test]
fn the_end_of_the_runtime_ends_moved_work_and_who_waits_for_it() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.build();
        let census = Census::new();
        let tasks: Vec<_> = (0..20)
            .map(|index| {
                let one = census.one();
                let (from, to) = if index % 2 == 0 {
                    (Dispatcher::Io, Dispatcher::Cpu)
                } else {
                    (Dispatcher::Cpu, Dispatcher::Io)
                };
                let moved = async move {
                    let _one = one;
                    pending::<()>().await;
                };
                runtime.spawn_on(from, run_on(to, moved))
            })
            .collect();
        // A plain thread is told so.
        let handle = runtime.handle().clone();
        let (started, running) = mpsc::channel();
        let plain = thread::spawn(move || {
            handle.block_on(run_on(Dispatcher::Cpu, async move {
                started.send(()).unwrap();
                pending::<()>().await;
            }));
        });
        running.recv().unwrap();
        runtime.shutdown_timeout(Duration::MAX);
        assert_eq!(census.alive(), 0);
        let panic = plain.join().unwrap_err();
        let message = panic.downcast_ref::<&str>().unwrap();
        assert!(message.contains("shut down"), "{message}");
        let other = Runtime::new().unwrap();
        for task in tasks {
            assert!(other.block_on(task).unwrap_err().is_cancelled());
        }
    }
}

/// The future of a `block_on` is no task of the runtime, also where its thread runs those: it is told, also by a
/// poll that goes on while the runtime ends.
#[test]
fn the_end_of_the_runtime_is_told_to_a_block_on_whose_thread_runs_the_tasks() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.build();
        let handle = runtime.handle().clone();
        let census = Census::new();
        let one = census.one();
        let (panic, end) = handle.block_on(async move {
            let mut moved = run_on(Dispatcher::Cpu, async move {
                let _one = one;
                pending::<()>().await;
            });
            assert!(poll_once(&mut moved).await.is_pending());
            let end = thread::spawn(move || runtime.shutdown_timeout(Duration::MAX));
            until(|| census.alive() == 0);
            let panic = poll_fn(|cx| {
                loop {
                    let poll = AssertUnwindSafe(|| Pin::new(&mut moved).poll(cx));
                    match catch_unwind(poll) {
                        Ok(Poll::Pending) => thread::yield_now(),
                        Ok(Poll::Ready(())) => unreachable!(),
                        Err(panic) => return Poll::Ready(panic),
                    }
                }
            });
            (panic.await, end)
        });
        end.join().unwrap();
        let message = panic.downcast_ref::<&str>().unwrap();
        assert!(message.contains("shut down"), "{message}");
    }
}

#[test]
fn moves_may_be_nested_and_many() {
    everywhere(|runtime| {
        let sum = runtime.block_on(async {
            let tasks: Vec<_> = (0..200_u64)
                .map(|value| {
                    spawn_on(Dispatcher::Io, async move {
                        run_on(Dispatcher::Cpu, async move {
                            value + run_on(Dispatcher::Io, async move { 1 }).await
                        })
                        .await
                    })
                })
                .collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 199 * 200 / 2 + 200);
    });
}

#[test]
fn outside_a_runtime_it_says_so() {
    let _watchdog = Watchdog::new();
    let mut work = Box::pin(run_on(Dispatcher::Cpu, async {}));
    let waker = std::task::Waker::noop();
    let mut cx = std::task::Context::from_waker(waker);
    let polled = catch_unwind(AssertUnwindSafe(|| {
        assert_eq!(work.as_mut().poll(&mut cx), Poll::Pending);
    }));
    let panic = polled.unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(
        message.contains("run_on.rs") && message.contains("no `rt` runtime"),
        "{message}"
    );
}

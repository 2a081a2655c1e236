//! The CPU pool beside tasks that do not let go of their worker: what lies behind them runs.
//!
//! A long poll is what the pool is for, so a worker that computes keeps its CPU. One that is blocked leaves it free,
//! and another one stands in for it.

use std::hint;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rt::{Dispatcher, Runtime};
use rt_tests::{Flavour, Watchdog, threads_named, until, with};

const SIZES: [usize; 3] = [1, 2, 8];

/// How a task comes to lie behind the one that keeps its worker.
#[derive(Clone, Copy, Debug)]
enum Behind {
    /// It would run next.
    Slot,
    /// In the queue, behind others.
    Queue,
    /// It has run there, and gave way.
    Yielded,
    /// It comes from another thread.
    Outside,
}

const WAYS: [Behind; 4] = [
    Behind::Slot,
    Behind::Queue,
    Behind::Yielded,
    Behind::Outside,
];

/// Runs a test on runtimes with CPU pools of some sizes. The runtime's end is part of it.
fn sized(sizes: impl IntoIterator<Item = usize>, test: impl Fn(&Runtime, usize)) {
    for size in sizes {
        for flavour in [Flavour::CurrentThread, Flavour::Workers(1)] {
            let _watchdog = Watchdog::new();
            eprintln!("{size} threads, {flavour:?}");
            let runtime = flavour.builder().cpu_threads(size).build().unwrap();
            test(&runtime, size);
            runtime.shutdown_timeout(Duration::MAX);
        }
    }
}

/// On the CPU pool, queues a task that calls `f` in the given way, behind the running task.
async fn queue(way: Behind, f: impl FnOnce() + Send + 'static) {
    let on_cpu = |yields| async move {
        if yields {
            rt::yield_now().await;
        }
        f();
    };
    match way {
        Behind::Slot | Behind::Queue => drop(rt::spawn_on(Dispatcher::Cpu, on_cpu(false))),
        Behind::Yielded => drop(rt::spawn_on(Dispatcher::Cpu, on_cpu(true))),
        Behind::Outside => {
            let runtime = rt::runtime::Handle::current();
            let spawn = move || drop(runtime.spawn_on(Dispatcher::Cpu, on_cpu(false)));
            thread::spawn(spawn).join().unwrap();
        }
    }
    match way {
        Behind::Slot | Behind::Outside => {}
        Behind::Queue => (0..10).for_each(|_| drop(rt::spawn_on(Dispatcher::Cpu, async {}))),
        Behind::Yielded => rt::yield_now().await,
    }
}

/// A task computes until another one has run that lies behind it.
#[test]
fn what_lies_behind_a_task_that_computes_runs_beside_it() {
    for way in WAYS {
        eprintln!("{way:?}");
        sized([2, 8], |runtime, _| {
            let parent = runtime.spawn_on(Dispatcher::Cpu, async move {
                let ran = Arc::new(AtomicUsize::new(0));
                let runs = Arc::clone(&ran);
                queue(way, move || runs.store(1, SeqCst)).await;
                while ran.load(SeqCst) == 0 {
                    hint::spin_loop();
                }
            });
            runtime.block_on(parent).unwrap();
        });
    }
}

/// Every worker is blocked by a task that waits for one that lies behind it.
#[test]
fn what_lies_behind_tasks_that_block_runs_in_the_end() {
    for way in WAYS {
        eprintln!("{way:?}");
        sized(SIZES, |runtime, size| {
            let blocked = Arc::new(std::sync::Barrier::new(size));
            let parents = (0..size).map(|_| {
                let blocked = Arc::clone(&blocked);
                runtime.spawn_on(Dispatcher::Cpu, async move {
                    let (tell, told) = mpsc::channel();
                    // All are on their workers before the first child may run.
                    blocked.wait();
                    queue(way, move || tell.send(()).unwrap()).await;
                    told.recv().unwrap();
                })
            });
            for parent in parents.collect::<Vec<_>>() {
                runtime.block_on(parent).unwrap();
            }
        });
    }
}

/// A spare that blocks in its turn is stood in for like a worker, as far as there are any.
#[test]
fn a_chain_of_tasks_that_wait_for_one_another_ends() {
    fn link(left: usize) -> usize {
        if left == 0 {
            return 0;
        }
        let (tell, told) = mpsc::channel();
        drop(rt::spawn_on(Dispatcher::Cpu, async move {
            tell.send(link(left - 1)).unwrap();
        }));
        told.recv().unwrap() + 1
    }
    sized([1], |runtime, _| {
        let chain = runtime.spawn_on(Dispatcher::Cpu, async { link(8) });
        assert_eq!(runtime.block_on(chain).unwrap(), 8);
    });
}

/// The threads that stood in go when they are not needed any more.
#[test]
fn who_stood_in_goes_again() {
    let _watchdog = Watchdog::new();
    let builder = Flavour::Workers(1).builder().cpu_threads(1);
    let runtime = builder
        .thread_name("stands")
        .thread_keep_alive(Duration::from_millis(1))
        .build()
        .unwrap();
    until(|| threads_named("stands-cpu-") == 1);
    // (Where other threads come and go, a list of them may miss one: then it stands in twice.)
    while runtime.metrics().spare_workers_started < 3 {
        let blocks = runtime.spawn_on(Dispatcher::Cpu, async {
            let (tell, told) = mpsc::channel();
            drop(rt::spawn_on(Dispatcher::Cpu, async move { tell.send(()) }));
            told.recv().unwrap();
        });
        runtime.block_on(blocks).unwrap();
        until(|| threads_named("stands-cpu-") == 1);
    }
}

/// There is no CPU for another thread while every worker computes.
#[test]
fn nobody_stands_in_for_tasks_that_compute() {
    with(Flavour::Workers(1), |runtime| {
        let computes = |_| {
            runtime.spawn_on(Dispatcher::Cpu, async {
                let started = Instant::now();
                while started.elapsed() < Duration::from_millis(100) {
                    hint::spin_loop();
                }
            })
        };
        // Two run, the others wait.
        for task in (0..6).map(computes).collect::<Vec<_>>() {
            runtime.block_on(task).unwrap();
        }
        assert_eq!(runtime.metrics().spare_workers_started, 0);
        assert_eq!(runtime.metrics().stalls, 0);
    });
}

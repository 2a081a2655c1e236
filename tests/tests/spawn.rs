//! Tasks start, run where they should, and end: as many as were spawned.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use rt::{Dispatcher, Handle, Runtime};
use rt_tests::{
    Census, FLAVOURS, Flavour, Watchdog, alone, everywhere, until, until_yielding, with,
};
use tokio::sync::{Notify, mpsc, oneshot};

const MILLION: usize = 1_000_000;

fn thread_name() -> String {
    thread::current().name().unwrap_or("?").to_owned()
}

#[test]
fn a_task_spawned_from_outside_gives_its_value() {
    everywhere(|runtime| {
        let task = runtime.spawn(async { 6 * 7 });
        assert_eq!(runtime.block_on(task).unwrap(), 42);
    });
}

#[test]
fn tasks_spawn_tasks_which_spawn_tasks() {
    everywhere(|runtime| {
        let sum = runtime.block_on(async {
            let task = rt::spawn(async {
                let task = rt::spawn(async { rt::spawn(async { 1 }).await.unwrap() + 1 });
                task.await.unwrap() + 1
            });
            task.await.unwrap() + 1
        });
        assert_eq!(sum, 4);
    });
}

#[test]
fn tasks_run_on_the_threads_of_their_pool_and_wakes_return_them_there() {
    everywhere(|runtime| {
        let caller = thread_name();
        let single = runtime.metrics().io_workers.len() == 1 && is_current_thread(runtime);
        for (dispatcher, kind) in [(Dispatcher::Io, "rt-io-"), (Dispatcher::Cpu, "rt-cpu-")] {
            let (ask, asked) = oneshot::channel();
            let (answer, answered) = oneshot::channel();
            let task = runtime.spawn_on(dispatcher.clone(), async move {
                let mut names = vec![thread_name()];
                ask.send(()).unwrap();
                answered.await.unwrap();
                names.push(thread_name());
                rt::time::sleep(Duration::from_millis(1)).await;
                names.push(thread_name());
                rt::yield_now().await;
                names.push(thread_name());
                names
            });
            let names = runtime.block_on(async move {
                asked.await.unwrap();
                answer.send(()).unwrap();
                task.await.unwrap()
            });
            for name in names {
                if single && matches!(dispatcher, Dispatcher::Io) {
                    assert_eq!(name, caller);
                } else {
                    assert!(name.starts_with(kind), "{name} for {dispatcher:?}");
                }
            }
        }
    });
}

/// Whether tasks run on the thread that blocks.
fn is_current_thread(runtime: &Runtime) -> bool {
    let here = thread::current().id();
    runtime.block_on(async move { rt::spawn(async { thread::current().id() }).await.unwrap() })
        == here
}

/// As many tasks end as were spawned, and nothing of them is left.
fn check_books(runtime: &Runtime, census: &Census, tasks: usize) {
    assert_eq!(census.made(), tasks);
    assert_eq!(census.alive(), 0);
    // The last task is counted out just after it has told its handle.
    until(|| runtime.metrics().live_tasks == 0);
}

fn spawn_from_outside(runtime: &Runtime, tasks: usize) {
    let census = Census::new();
    let handles: Vec<_> = (0..tasks)
        .map(|index| {
            let one = census.one();
            runtime.spawn(async move {
                drop(one);
                index
            })
        })
        .collect();
    runtime.block_on(async {
        for (index, handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.await.unwrap(), index);
        }
    });
    check_books(runtime, &census, tasks);
    assert!(runtime.metrics().spawned_tasks >= tasks as u64);
}

#[test]
fn a_million_tasks_spawned_from_outside_all_end() {
    with(Flavour::Workers(2), |runtime| {
        spawn_from_outside(runtime, MILLION);
    });
}

#[test]
fn many_tasks_spawned_from_outside_all_end_everywhere() {
    everywhere(|runtime| spawn_from_outside(runtime, MILLION / 20));
}

fn spawn_from_inside(runtime: &Runtime, parents: usize, children: usize) {
    let census = Census::new();
    let counted = census.clone();
    let sum = runtime.block_on(async move {
        let mut families = Vec::new();
        for _ in 0..parents {
            let census = counted.clone();
            families.push(rt::spawn(async move {
                let spawn = |index| {
                    let one = census.one();
                    rt::spawn(async move {
                        drop(one);
                        index
                    })
                };
                let handles: Vec<_> = (0..children).map(spawn).collect();
                let mut sum = 0;
                for handle in handles {
                    sum += handle.await.unwrap();
                }
                sum
            }));
        }
        let mut sum = 0;
        for family in families {
            sum += family.await.unwrap();
        }
        sum
    });
    assert_eq!(sum, parents * children * (children - 1) / 2);
    check_books(runtime, &census, parents * children);
}

#[test]
fn a_million_tasks_spawned_from_inside_all_end() {
    with(Flavour::Workers(2), |runtime| {
        spawn_from_inside(runtime, 1000, MILLION / 1000);
    });
}

#[test]
fn many_tasks_spawned_from_inside_all_end_everywhere() {
    everywhere(|runtime| spawn_from_inside(runtime, 50, MILLION / 1000));
}

#[test]
fn detached_tasks_run_to_their_end() {
    everywhere(|runtime| {
        let census = Census::new();
        let (done, mut all_done) = mpsc::channel::<()>(1);
        for _ in 0..1000 {
            let (one, done) = (census.one(), done.clone());
            drop(runtime.spawn(async move {
                rt::yield_now().await;
                drop(one);
                drop(done);
            }));
        }
        drop(done);
        assert_eq!(runtime.block_on(all_done.recv()), None);
        check_books(runtime, &census, 1000);
    });
}

#[test]
fn tasks_spawned_by_many_threads_at_once_all_end() {
    everywhere(|runtime| {
        let census = Census::new();
        let (done, mut all_done) = mpsc::channel::<()>(1);
        thread::scope(|scope| {
            for _ in 0..8 {
                let (census, done, handle) = (&census, done.clone(), runtime.handle().clone());
                scope.spawn(move || {
                    for _ in 0..2000 {
                        let (one, done) = (census.one(), done.clone());
                        drop(handle.spawn(async move {
                            drop(one);
                            drop(done);
                        }));
                    }
                });
            }
        });
        drop(done);
        assert_eq!(runtime.block_on(all_done.recv()), None);
        check_books(runtime, &census, 16_000);
    });
}

/// Tasks of both pools that wake one another across pools and from plain threads, many times over:
/// the number of wakes that arrive is the number sent.
#[test]
fn no_wake_is_lost_between_the_pools_and_plain_threads() {
    everywhere(|runtime| {
        let (to_cpu, mut from_io) = mpsc::channel::<u32>(1);
        let (to_thread, mut from_cpu) = mpsc::channel::<u32>(1);
        let (to_io, mut from_thread) = mpsc::channel::<u32>(1);
        let cpu = runtime.spawn_on(Dispatcher::Cpu, async move {
            while let Some(number) = from_io.recv().await {
                to_thread.send(number + 1).await.unwrap();
            }
        });
        let plain = thread::spawn(move || {
            while let Some(number) = from_cpu.blocking_recv() {
                to_io.blocking_send(number + 1).unwrap();
            }
        });
        let io = runtime.spawn(async move {
            for round in 0..1000 {
                to_cpu.send(round).await.unwrap();
                assert_eq!(from_thread.recv().await, Some(round + 2));
            }
        });
        runtime.block_on(io).unwrap();
        runtime.block_on(cpu).unwrap();
        plain.join().unwrap();
    });
}

#[test]
fn two_runtimes_in_one_process_keep_their_tasks_apart() {
    let _watchdog = Watchdog::new();
    let build = |name| {
        Runtime::builder()
            .io_threads(2)
            .thread_name(name)
            .build()
            .unwrap()
    };
    let (left, right) = (build("left"), build("right"));
    let far = right.handle().clone();
    let task = left.spawn(async move {
        let here = rt::spawn(async { thread_name() });
        let there = far.spawn(async {
            (
                thread_name(),
                rt::spawn(async { thread_name() }).await.unwrap(),
            )
        });
        (here.await.unwrap(), there.await.unwrap(), thread_name())
    });
    let (here, (there, child_of_there), back) = right.block_on(task).unwrap();
    assert!(here.starts_with("left-io-"), "{here}");
    assert!(there.starts_with("right-io-"), "{there}");
    assert!(child_of_there.starts_with("right-io-"), "{child_of_there}");
    assert!(back.starts_with("left-io-"), "{back}");
}

#[test]
fn enter_decides_which_runtime_spawn_means() {
    let _watchdog = Watchdog::new();
    let build = |name| {
        Runtime::builder()
            .io_threads(1)
            .thread_name(name)
            .build()
            .unwrap()
    };
    let (left, right) = (build("left"), build("right"));
    let name_of = |runtime: &Runtime| {
        runtime
            .block_on(rt::spawn(async { thread_name() }))
            .unwrap()
    };
    let outer = left.enter();
    assert!(name_of(&right).starts_with("left-io-"));
    let inner = right.enter();
    assert!(name_of(&left).starts_with("right-io-"));
    drop(inner);
    assert!(name_of(&right).starts_with("left-io-"));
    drop(outer);
    assert!(rt::Handle::try_current().is_err());
}

#[test]
fn threads_of_no_runtime_use_the_default_one() {
    alone(|| {
        assert!(Handle::try_current().is_err());
        let build = |name| Runtime::builder().io_threads(1).thread_name(name);
        let first = build("first").default_runtime().build().unwrap();
        let second = build("second").default_runtime().build().unwrap();
        let other = build("other").build().unwrap();
        let here = rt::spawn(async { thread_name() });
        assert!(first.block_on(here).unwrap().starts_with("first-io-"));
        let there = thread::spawn(|| rt::spawn(async { thread_name() }));
        assert!(
            second
                .block_on(there.join().unwrap())
                .unwrap()
                .starts_with("first-io-")
        );
        // Where there is a runtime, that one is meant.
        let inside = other.block_on(async { rt::spawn(async { thread_name() }).await });
        assert!(inside.unwrap().starts_with("other-io-"));
        // It stays the default when it is gone.
        drop(first);
        let late = rt::spawn(async { thread_name() });
        assert!(other.block_on(late).unwrap_err().is_cancelled());
    });
}

#[test]
fn a_blocking_job_may_have_a_runtime_of_its_own() {
    everywhere(|runtime| {
        let job = runtime.spawn_blocking(|| {
            let inner = Flavour::Workers(1).build();
            let inside = inner.block_on(async { rt::spawn(async { 4 }).await.unwrap() });
            // Outside of it, the thread belongs to the outer one again.
            drop(inner);
            (inside, rt::spawn(async { 5 }))
        });
        runtime.block_on(async {
            let (inside, outside) = job.await.unwrap();
            assert_eq!((inside, outside.await.unwrap()), (4, 5));
        });
    });
}

#[test]
fn several_threads_may_block_on_one_runtime() {
    everywhere(|runtime| {
        let turn = Arc::new(Notify::new());
        let arrived = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let sum = runtime.block_on(async {
                        arrived.fetch_add(1, Relaxed);
                        until_yielding(|| arrived.load(Relaxed) == 4).await;
                        let tasks: Vec<_> = (0..100).map(|n| rt::spawn(async move { n })).collect();
                        let mut sum = 0;
                        for task in tasks {
                            sum += task.await.unwrap();
                        }
                        turn.notify_one();
                        sum
                    });
                    assert_eq!(sum, 4950);
                });
            }
            runtime.block_on(turn.notified());
        });
    });
}

#[test]
fn tasks_of_a_current_thread_runtime_wait_while_nobody_blocks() {
    let _watchdog = Watchdog::new();
    let runtime = Flavour::CurrentThread.build();
    let census = Census::new();
    let one = census.one();
    let task = runtime.spawn(async move { drop(one) });
    assert_eq!(census.alive(), 1);
    assert!(!task.is_finished());
    runtime.block_on(task).unwrap();
    assert_eq!(census.alive(), 0);
}

#[test]
fn blocking_jobs_run_beside_one_another_and_give_their_values() {
    everywhere(|runtime| {
        // Each of the two waits for the other.
        let (to_second, from_first) = std::sync::mpsc::channel();
        let (to_first, from_second) = std::sync::mpsc::channel();
        let first = runtime.spawn_blocking(move || {
            to_second.send(thread_name()).unwrap();
            from_second.recv().unwrap()
        });
        let second = runtime.spawn_blocking(move || {
            to_first.send(thread_name()).unwrap();
            from_first.recv().unwrap()
        });
        let names = runtime.block_on(async { [first.await.unwrap(), second.await.unwrap()] });
        assert!(
            names.iter().all(|name| name.starts_with("rt-blk-")),
            "{names:?}"
        );
        assert_ne!(names[0], names[1]);
    });
}

#[test]
fn blocking_jobs_beyond_the_limit_wait_in_order() {
    let _watchdog = Watchdog::new();
    for flavour in FLAVOURS {
        let runtime = flavour.builder().max_blocking_threads(1).build().unwrap();
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let first = runtime.spawn_blocking(move || wait.recv());
        let rest: Vec<_> = (0..100)
            .map(|number| {
                let order = Arc::clone(&order);
                runtime.spawn_blocking(move || order.lock().unwrap().push(number))
            })
            .collect();
        // The first has its thread, or is on its way to it.
        until(|| runtime.metrics().blocking_queue_depth == 100);
        assert_eq!(runtime.metrics().blocking_threads, 1);
        drop(go);
        runtime.block_on(async {
            assert!(first.await.unwrap().is_err());
            for job in rest {
                job.await.unwrap();
            }
        });
        assert_eq!(*order.lock().unwrap(), (0..100).collect::<Vec<_>>());
    }
}

#[test]
fn a_blocking_job_may_run_the_runtime_itself() {
    everywhere(|runtime| {
        let handle = runtime.handle().clone();
        let job = runtime.spawn_blocking(move || {
            handle.block_on(async {
                let task = rt::spawn(async { 20 });
                rt::time::sleep(Duration::from_millis(1)).await;
                task.await.unwrap() + 1
            })
        });
        assert_eq!(runtime.block_on(job).unwrap(), 21);
    });
}

#[test]
fn task_ids_are_unique_and_stay_the_same() {
    everywhere(|runtime| {
        let tasks: Vec<_> = (0..100).map(|_| runtime.spawn(async {})).collect();
        let ids: HashSet<_> = tasks.iter().map(rt::task::JoinHandle::id).collect();
        assert_eq!(ids.len(), 100);
        for task in tasks {
            let id = task.id();
            let abort = task.abort_handle();
            runtime.block_on(task).unwrap();
            assert_eq!(abort.id(), id);
        }
    });
}

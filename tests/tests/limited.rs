//! Limited dispatchers: how many of their tasks are polled at once, in which order, and that no
//! turn is lost.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use rt::{Dispatcher, Runtime};
use rt_tests::{Census, Flavour, Watchdog, alone, everywhere, fds, until};
use tokio::sync::{Barrier, oneshot};

/// Counts who is inside, and the most that ever were.
#[derive(Clone, Default)]
struct Room(Arc<(AtomicUsize, AtomicUsize)>);

impl Room {
    /// Inside for a little while.
    fn visit(&self) {
        let inside = self.0.0.fetch_add(1, SeqCst) + 1;
        self.0.1.fetch_max(inside, SeqCst);
        thread::yield_now();
        self.0.0.fetch_sub(1, SeqCst);
    }

    fn most(&self) -> usize {
        self.0.1.load(SeqCst)
    }
}

/// Visits the room again and again, in many polls.
async fn visitor(room: Room, polls: usize) {
    for poll in 0..polls {
        room.visit();
        if poll % 5 == 0 {
            rt::time::sleep(Duration::from_micros(10)).await;
        } else {
            rt::yield_now().await;
        }
    }
}

fn runtime_with_cpu_threads(threads: usize) -> Runtime {
    Runtime::builder()
        .io_threads(2)
        .cpu_threads(threads)
        .build()
        .unwrap()
}

/// A task that keeps its turn, inside one poll, until the sender goes.
fn blocker(
    runtime: &Runtime,
    dispatcher: &Dispatcher,
) -> (mpsc::Sender<()>, rt::task::JoinHandle<()>) {
    let (release, blocked) = mpsc::channel::<()>();
    let (started, running) = mpsc::channel();
    let task = runtime.spawn_on(dispatcher.clone(), async move {
        started.send(()).unwrap();
        let _ = blocked.recv();
    });
    running.recv().unwrap();
    (release, task)
}

#[test]
fn no_more_tasks_are_polled_at_once_than_the_limit() {
    for threads in [1, 2, 8] {
        let _watchdog = Watchdog::new();
        let runtime = runtime_with_cpu_threads(threads);
        for (base, kind) in [(Dispatcher::Io, "rt-io-"), (Dispatcher::Cpu, "rt-cpu-")] {
            for limit in [1, 2, 3] {
                let room = Room::default();
                let dispatcher = base.limited(limit);
                let tasks: Vec<_> = (0..60)
                    .map(|_| {
                        let room = room.clone();
                        runtime.spawn_on(dispatcher.clone(), async move {
                            visitor(room, 20).await;
                            thread::current().name().unwrap().to_owned()
                        })
                    })
                    .collect();
                for task in tasks {
                    let name = runtime.block_on(task).unwrap();
                    assert!(name.starts_with(kind), "{name} for {dispatcher:?}");
                }
                assert!(room.most() <= limit, "{} for {dispatcher:?}", room.most());
            }
        }
        until(|| runtime.metrics().live_tasks == 0);
    }
}

#[test]
fn as_many_as_the_limit_do_run_at_once() {
    let _watchdog = Watchdog::new();
    let runtime = runtime_with_cpu_threads(4);
    let dispatcher = Dispatcher::Cpu.limited(3);
    let meeting = Arc::new(std::sync::Barrier::new(3));
    for _ in 0..200 {
        let tasks: Vec<_> = (0..3)
            .map(|_| {
                let meeting = Arc::clone(&meeting);
                runtime.spawn_on(dispatcher.clone(), async move { meeting.wait() })
            })
            .collect();
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
    }
}

#[test]
fn tasks_run_in_the_order_in_which_they_were_spawned() {
    everywhere(|runtime| {
        for base in [Dispatcher::Io, Dispatcher::Cpu] {
            let dispatcher = base.limited(1);
            let order = Arc::new(Mutex::new(Vec::new()));
            let spawn_all = {
                let order = Arc::clone(&order);
                move || {
                    (0..100)
                        .map(|index| {
                            let order = Arc::clone(&order);
                            rt::spawn_on(dispatcher.clone(), async move {
                                order.lock().unwrap().push(index);
                            })
                        })
                        .collect::<Vec<_>>()
                }
            };
            // From outside, and from a worker of the same pool.
            let outside = {
                let _current = runtime.enter();
                spawn_all()
            };
            runtime.block_on(async {
                for task in outside {
                    task.await.unwrap();
                }
                let inside = rt::spawn_on(base.clone(), async move { spawn_all() });
                for task in inside.await.unwrap() {
                    task.await.unwrap();
                }
            });
            let twice: Vec<_> = (0..100).chain(0..100).collect();
            assert_eq!(*order.lock().unwrap(), twice);
        }
    });
}

#[test]
fn a_task_that_yields_goes_behind_those_in_line() {
    // One worker: between the end of its turn and its place in the line a task may be overtaken on another one.
    for flavour in [Flavour::CurrentThread, Flavour::Workers(1)] {
        let _watchdog = Watchdog::new();
        let runtime = flavour.builder().stall_threshold(None).build().unwrap();
        let dispatcher = Dispatcher::Io.limited(1);
        let order = Arc::new(Mutex::new(Vec::new()));
        runtime.block_on(async {
            let start = Arc::new(Barrier::new(3));
            let tasks: Vec<_> = (0..2)
                .map(|task| {
                    let (order, start) = (Arc::clone(&order), Arc::clone(&start));
                    rt::spawn_on(dispatcher.clone(), async move {
                        start.wait().await;
                        for _ in 0..50 {
                            order.lock().unwrap().push(task);
                            rt::yield_now().await;
                        }
                    })
                })
                .collect();
            start.wait().await;
            for task in tasks {
                task.await.unwrap();
            }
        });
        let order = order.lock().unwrap();
        // Alternating, from where both are awake on.
        let both = order
            .windows(2)
            .position(|pair| pair[0] != pair[1])
            .unwrap();
        let last = order.len()
            - 1
            - order
                .iter()
                .rev()
                .position(|task| *task == order[both])
                .unwrap();
        for pair in order[both..last].windows(2) {
            assert_ne!(pair[0], pair[1], "{order:?}");
        }
    }
}

#[test]
fn tasks_in_line_occupy_no_worker() {
    let _watchdog = Watchdog::new();
    let runtime = runtime_with_cpu_threads(2);
    let dispatcher = Dispatcher::Cpu.limited(1);
    let (release, blocked) = blocker(&runtime, &dispatcher);
    let waiting: Vec<_> = (0..100)
        .map(|_| runtime.spawn_on(dispatcher.clone(), async {}))
        .collect();
    let free = runtime.spawn_on(Dispatcher::Cpu, async { 5 });
    assert_eq!(runtime.block_on(free).unwrap(), 5);
    assert!(waiting.iter().all(|task| !task.is_finished()));
    drop(release);
    runtime.block_on(blocked).unwrap();
    for task in waiting {
        runtime.block_on(task).unwrap();
    }
}

#[test]
fn aborts_in_every_state_leave_no_turn_behind() {
    everywhere(|runtime| {
        for base in [Dispatcher::Io, Dispatcher::Cpu] {
            let dispatcher = base.limited(2);
            let census = Census::new();
            for round in 0..100 {
                let tasks: Vec<_> = (0..10)
                    .map(|task| {
                        let one = census.one();
                        runtime.spawn_on(dispatcher.clone(), async move {
                            let _one = one;
                            for _ in 0..task {
                                rt::yield_now().await;
                            }
                            if task % 3 == 0 {
                                std::future::pending::<()>().await;
                            }
                        })
                    })
                    .collect();
                if round % 2 == 0 {
                    runtime.block_on(rt::yield_now());
                }
                for task in &tasks {
                    task.abort();
                }
                for task in tasks {
                    let _ = runtime.block_on(task);
                }
            }
            assert_eq!(census.alive(), 0);
            // Both turns are there.
            let (a, b) = (oneshot::channel(), oneshot::channel());
            let first = runtime.spawn_on(dispatcher.clone(), async move {
                a.0.send(()).unwrap();
                b.1.await.unwrap();
            });
            let second = runtime.spawn_on(dispatcher.clone(), async move {
                b.0.send(()).unwrap();
                a.1.await.unwrap();
            });
            runtime.block_on(async { (first.await.unwrap(), second.await.unwrap()) });
        }
    });
}

#[test]
fn a_task_that_is_aborted_in_line_lets_the_next_one_go() {
    let _watchdog = Watchdog::new();
    let runtime = runtime_with_cpu_threads(1);
    let dispatcher = Dispatcher::Io.limited(1);
    let (release, blocked) = blocker(&runtime, &dispatcher);
    let first = runtime.spawn_on(dispatcher.clone(), async {});
    let second = runtime.spawn_on(dispatcher.clone(), async { 2 });
    first.abort();
    drop(release);
    runtime.block_on(async {
        blocked.await.unwrap();
        assert!(first.await.unwrap_err().is_cancelled());
        assert_eq!(second.await.unwrap(), 2);
    });
}

#[test]
fn panics_leave_no_turn_behind() {
    everywhere(|runtime| {
        let dispatcher = Dispatcher::Cpu.limited(1);
        for _ in 0..20 {
            let task = runtime.spawn_on(dispatcher.clone(), async {
                rt::yield_now().await;
                std::panic::resume_unwind(Box::new("on purpose"));
            });
            assert!(runtime.block_on(task).unwrap_err().is_panic());
        }
        let task = runtime.spawn_on(dispatcher, async { 1 });
        assert_eq!(runtime.block_on(task).unwrap(), 1);
    });
}

#[test]
fn a_view_of_a_view_counts_for_both() {
    let _watchdog = Watchdog::new();
    let runtime = runtime_with_cpu_threads(8);
    let (outer_room, rooms) = (Room::default(), [Room::default(), Room::default()]);
    let outer = Dispatcher::Cpu.limited(3);
    let inner = [outer.limited(2), outer.limited(2)];
    let tasks: Vec<_> = (0..80)
        .map(|index| {
            let (outer_room, room) = (outer_room.clone(), rooms[index % 2].clone());
            runtime.spawn_on(inner[index % 2].clone(), async move {
                for _ in 0..30 {
                    outer_room.0.0.fetch_add(1, SeqCst);
                    outer_room
                        .0
                        .1
                        .fetch_max(outer_room.0.0.load(SeqCst), SeqCst);
                    room.visit();
                    outer_room.0.0.fetch_sub(1, SeqCst);
                    rt::yield_now().await;
                }
            })
        })
        .collect();
    for task in tasks {
        runtime.block_on(task).unwrap();
    }
    assert!(outer_room.most() <= 3);
    assert!(rooms.iter().all(|room| room.most() <= 2));
}

#[test]
fn the_end_of_the_runtime_ends_tasks_in_line() {
    for flavour in rt_tests::FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.build();
        let census = Census::new();
        let dispatchers = [
            Dispatcher::Io.limited(1),
            Dispatcher::Cpu.limited(2).limited(1),
        ];
        let tasks: Vec<_> = (0..100)
            .map(|index| {
                let one = census.one();
                runtime.spawn_on(dispatchers[index % 2].clone(), async move {
                    let _one = one;
                    if index % 4 < 2 {
                        std::future::pending::<()>().await;
                    }
                    loop {
                        rt::yield_now().await;
                    }
                })
            })
            .collect();
        let handle = runtime.handle().clone();
        runtime.block_on(rt::yield_now());
        runtime.shutdown_timeout(Duration::MAX);
        assert_eq!(census.alive(), 0);
        let late = handle.spawn_on(dispatchers[0].clone(), async {});
        let other = Runtime::new().unwrap();
        for task in tasks.into_iter().chain([late]) {
            assert!(other.block_on(task).unwrap_err().is_cancelled());
        }
    }
}

#[test]
fn tasks_in_the_line_of_a_dispatcher_that_is_gone_end_with_the_runtime() {
    let _watchdog = Watchdog::new();
    let runtime = runtime_with_cpu_threads(2);
    let census = Census::new();
    let outer = Dispatcher::Cpu.limited(1);
    let (release, _blocked) = blocker(&runtime, &outer);
    let inner = outer.limited(1);
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let one = census.one();
            runtime.spawn_on(inner.clone(), async move { drop(one) })
        })
        .collect();
    drop((outer, inner));
    let end = thread::spawn(move || runtime.shutdown_timeout(Duration::MAX));
    let other = Runtime::new().unwrap();
    for task in tasks {
        assert!(other.block_on(task).unwrap_err().is_cancelled());
    }
    drop(release);
    end.join().unwrap();
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_runtime_that_stands_still_keeps_no_turn_of_another_one() {
    let _watchdog = Watchdog::new();
    let dispatcher = Dispatcher::Io.limited(1);
    let still = Flavour::CurrentThread.build();
    let stuck = still.spawn_on(dispatcher.clone(), async {});
    let runtime = Flavour::Workers(2).build();
    let task = runtime.spawn_on(dispatcher, async { 1 });
    assert_eq!(runtime.block_on(task).unwrap(), 1);
    still.block_on(stuck).unwrap();
}

#[test]
fn a_dispatcher_that_outlives_its_runtimes_keeps_nothing_of_them() {
    alone(|| {
        let dispatcher = Dispatcher::Io.limited(1);
        let run = || {
            let runtime = Flavour::Workers(1).build();
            let task = runtime.spawn_on(dispatcher.clone(), async {});
            runtime.block_on(task).unwrap();
        };
        run();
        let before = fds();
        for _ in 0..20 {
            run();
        }
        assert_eq!(fds(), before);
    });
}

#[test]
#[should_panic(expected = "limited to 0")]
fn a_limit_of_nothing_is_refused() {
    let _ = Dispatcher::Cpu.limited(0);
}

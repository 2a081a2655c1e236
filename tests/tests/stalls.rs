//! Tasks that hold on to their worker: what waits behind them goes on elsewhere.

use std::hint;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use rt::net::{TcpListener, TcpStream, UnixStream};
use rt::time::{interval, sleep};
use rt::{Dispatcher, Runtime, block_in_place};
use rt_tests::{
    FLAVOURS, Flavour, Watchdog, allowed_cpus, everywhere, thread_names, threads_named, until, with,
};

/// Tasks that block their workers, until this is dropped.
struct Stuck {
    _release: mpsc::Sender<()>,
}

impl Stuck {
    fn new(runtime: &Runtime, workers: usize) -> Self {
        let (release, hold) = mpsc::channel::<()>();
        let hold = Arc::new(Mutex::new(hold));
        let (stuck, all_stuck) = mpsc::channel();
        for _ in 0..workers {
            let (hold, stuck) = (Arc::clone(&hold), stuck.clone());
            drop(runtime.spawn(async move {
                stuck.send(()).unwrap();
                let _ = hold.lock().unwrap().recv();
            }));
        }
        for _ in 0..workers {
            all_stuck.recv().unwrap();
        }
        Stuck { _release: release }
    }
}

/// Tasks, sockets and timers, all on the IO pool.
async fn life() {
    rt::spawn(async { rt::spawn(async {}).await })
        .await
        .unwrap()
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (far, _) = listener.accept().await.unwrap();
    let answer = rt::spawn(async move {
        sleep(Duration::from_millis(1)).await;
        far.write_all(b"pong").await
    });
    near.read_exact(&mut [0; 4]).await.unwrap();
    answer.await.unwrap().unwrap();
    rt::yield_now().await;
}

#[test]
fn when_all_workers_are_stuck_spare_ones_stand_in() {
    for workers in [1, 2, 8] {
        with(Flavour::Workers(workers), |runtime| {
            let stuck = Stuck::new(runtime, workers);
            for _ in 0..3 {
                runtime.block_on(runtime.spawn(life())).unwrap();
            }
            assert!(runtime.metrics().spare_workers_started > 0);
            drop(stuck);
            runtime.block_on(runtime.spawn(life())).unwrap();
        });
    }
}

/// The workers stay stuck until it has ticked: a gap has an end long before the blocks have. (How large it is at
/// most is `versus`'s row `blocked`.)
#[test]
fn a_ticker_goes_on_while_every_worker_is_stuck() {
    for workers in [1, 2] {
        with(Flavour::Workers(workers), |runtime| {
            let ticks = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&ticks);
            let ticker = runtime.spawn(async move {
                let mut ticker = interval(Duration::from_millis(5));
                loop {
                    ticker.tick().await;
                    counter.fetch_add(1, SeqCst);
                }
            });
            for _ in 0..3 {
                let stuck = Stuck::new(runtime, workers);
                let before = ticks.load(SeqCst);
                until(|| ticks.load(SeqCst) > before + 30);
                drop(stuck);
            }
            ticker.abort();
        });
    }
}

/// Plain threads that dispute the CPUs with everybody else, until this is dropped.
struct Burners(Arc<AtomicBool>);

impl Burners {
    fn new() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        for _ in 0..2 * allowed_cpus() {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                while !stop.load(SeqCst) {
                    hint::spin_loop();
                }
            });
        }
        Burners(stop)
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Bytes that go to and fro over a connection, counted.
async fn traffic(trips: Arc<AtomicUsize>) {
    let (near, far) = UnixStream::pair().unwrap();
    let echo = rt::spawn(async move {
        let mut byte = [0];
        while far.read(&mut byte).await.is_ok_and(|bytes| bytes > 0) {
            far.write_all(&byte).await.unwrap();
        }
    });
    loop {
        near.write_all(b"x").await.unwrap();
        if echo.is_finished() || near.read(&mut [0]).await.is_err() {
            return;
        }
        trips.fetch_add(1, SeqCst);
    }
}

/// Where the CPUs are contended, workers leave events to one another: not to one that has a long poll.
#[test]
fn a_worker_that_gets_stuck_where_cpus_are_contended_keeps_nobody_waiting() {
    for workers in [1, 2, 8] {
        with(Flavour::Workers(workers), |runtime| {
            let _burners = Burners::new();
            let trips = Arc::new(AtomicUsize::new(0));
            let connections: Vec<_> = (0..20)
                .map(|_| runtime.spawn(traffic(Arc::clone(&trips))))
                .collect();
            for stuck in [1, 1, workers, 1] {
                let goes_on = |for_trips: usize| {
                    let before = trips.load(SeqCst);
                    until(|| trips.load(SeqCst) > before + for_trips);
                };
                goes_on(10_000);
                let stuck = Stuck::new(runtime, stuck);
                goes_on(500);
                runtime.block_on(runtime.spawn(life())).unwrap();
                drop(stuck);
            }
            for connection in connections {
                connection.abort();
            }
        });
    }
}

/// The task that would run next, in the slot that nobody else looks into, is what the stuck one
/// waits for.
#[test]
fn a_task_in_the_slot_of_a_stuck_worker_runs_elsewhere() {
    for workers in [1, 2, 8] {
        with(Flavour::Workers(workers), |runtime| {
            for _ in 0..5 {
                let task = runtime.spawn(async {
                    let (tell, told) = mpsc::channel();
                    drop(rt::spawn(async move { tell.send(7).unwrap() }));
                    told.recv().unwrap()
                });
                assert_eq!(runtime.block_on(task).unwrap(), 7);
            }
        });
    }
}

/// As many as there are spares for, four a worker and four more, each waiting for all others.
#[test]
fn tasks_that_wait_for_one_another_on_their_threads_all_run() {
    with(Flavour::Workers(1), |runtime| {
        const TASKS: usize = 9;
        let barrier = Arc::new(Barrier::new(TASKS));
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let barrier = Arc::clone(&barrier);
                runtime.spawn(async move { barrier.wait().is_leader() })
            })
            .collect();
        let mut leaders = 0;
        runtime.block_on(async {
            for task in tasks {
                leaders += usize::from(task.await.unwrap());
            }
        });
        assert_eq!(leaders, 1);
    });
}

#[test]
fn a_stall_is_told_once_with_its_place() {
    let _watchdog = Watchdog::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let stalls = Arc::clone(&told);
    let runtime = Flavour::Workers(2)
        .builder()
        .stall_threshold(Duration::from_millis(20))
        .on_stall(move |stall| stalls.lock().unwrap().push(stall.clone()))
        .build()
        .unwrap();
    let here = |line: u32| {
        let told = told.lock().unwrap();
        let is_here = |stall: &&rt::runtime::Stall| {
            stall.location.file() == file!() && stall.location.line() == line
        };
        told.iter().filter(is_here).cloned().collect::<Vec<_>>()
    };
    let (release, hold) = mpsc::channel::<()>();
    let line = line!() + 1;
    let task = runtime.spawn(async move { hold.recv().is_err() });
    until(|| !here(line).is_empty());
    // Others stall meanwhile and are told of, too; this one no more.
    let (release_other, hold_other) = mpsc::channel::<()>();
    let other_line = line!() + 1;
    let other = runtime.spawn(async move { hold_other.recv().is_err() });
    until(|| !here(other_line).is_empty());
    let stalls = here(line);
    assert_eq!(stalls.len(), 1, "{stalls:?}");
    assert!(stalls[0].elapsed >= Duration::from_millis(20));
    assert!(stalls[0].worker < 2);
    drop((release, release_other));
    assert!(runtime.block_on(task).unwrap() && runtime.block_on(other).unwrap());
}

/// In its first poll already, when it is in no list yet; and a task without a name has none, although
/// one with a name was on that worker before.
#[test]
fn a_stall_tells_the_name_of_the_task() {
    let _watchdog = Watchdog::new();
    let (hook, told) = mpsc::channel();
    let hook = Mutex::new(hook);
    let runtime = Flavour::Workers(1)
        .builder()
        .stall_threshold(Duration::from_millis(20))
        .on_stall(move |stall| hook.lock().unwrap().send(stall.clone()).unwrap())
        .build()
        .unwrap();
    for name in [Some("digger"), None] {
        let (release, hold) = mpsc::channel::<()>();
        let stuck = async move { hold.recv().is_err() };
        let task = match name {
            Some(name) => {
                let builder = rt::task::Builder::new().name(name);
                builder.spawn_on(stuck, runtime.handle())
            }
            None => runtime.spawn(stuck),
        };
        let stall = told.iter().find(|stall| stall.id == task.id()).unwrap();
        assert_eq!(stall.name.as_deref(), name);
        drop(release);
        assert!(runtime.block_on(task).unwrap());
    }
}

#[test]
fn a_hook_that_panics_does_not_end_the_watch() {
    let _watchdog = Watchdog::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let runtime = Flavour::Workers(1)
        .builder()
        .on_stall(move |_| {
            counted.fetch_add(1, SeqCst);
            panic!("in a hook");
        })
        .build()
        .unwrap();
    for round in 1..4 {
        let stuck = Stuck::new(&runtime, 1);
        until(|| calls.load(SeqCst) >= round);
        runtime.block_on(runtime.spawn(life())).unwrap();
        drop(stuck);
    }
}

#[test]
fn spare_workers_end_when_they_are_not_needed() {
    let _watchdog = Watchdog::new();
    let runtime = Flavour::Workers(2)
        .builder()
        .thread_keep_alive(Duration::from_millis(1))
        .thread_name("spare")
        .build()
        .unwrap();
    let io_threads = || {
        let names = thread_names();
        names
            .iter()
            .filter(|name| name.starts_with("spare-io-"))
            .count()
    };
    for _ in 0..3 {
        let stuck = Stuck::new(&runtime, 2);
        runtime.block_on(runtime.spawn(life())).unwrap();
        assert!(io_threads() > 2);
        drop(stuck);
        until(|| io_threads() == 2);
    }
    // Those that were stuck are back at work.
    runtime.block_on(runtime.spawn(life())).unwrap();
}

#[test]
fn without_a_threshold_nobody_stands_in() {
    let _watchdog = Watchdog::new();
    let runtime = Flavour::Workers(2)
        .builder()
        .stall_threshold(None)
        .on_stall(|stall| panic!("told of {stall:?}"))
        .build()
        .unwrap();
    let stuck = Stuck::new(&runtime, 1);
    // The one that is left does it all.
    for _ in 0..5 {
        runtime.block_on(runtime.spawn(life())).unwrap();
    }
    assert_eq!(runtime.metrics().spare_workers_started, 0);
    drop(stuck);
}

/// The job waits for a task of the same pool: somebody else must run it.
#[test]
fn a_job_in_place_leaves_the_worker_to_the_others() {
    for workers in [1, 2, 8] {
        let _watchdog = Watchdog::new();
        // At once, not when the guard notices.
        let builder = Flavour::Workers(workers).builder().stall_threshold(None);
        let runtime = builder.build().unwrap();
        for dispatcher in [Dispatcher::Io, Dispatcher::Cpu] {
            let tasks: Vec<_> = (0..3)
                .map(|number| {
                    runtime.spawn_on(dispatcher.clone(), async move {
                        let (tell, told) = mpsc::channel();
                        drop(rt::spawn(async move {
                            life().await;
                            tell.send(number).unwrap();
                        }));
                        block_in_place(|| told.recv().unwrap())
                    })
                })
                .collect();
            runtime.block_on(async {
                for (number, task) in tasks.into_iter().enumerate() {
                    assert_eq!(task.await.unwrap(), number);
                }
            });
        }
    }
}

#[test]
fn a_job_in_place_may_block_on_the_runtime() {
    for workers in [1, 2, 8] {
        with(Flavour::Workers(workers), |runtime| {
            let handle = runtime.handle().clone();
            let task = runtime.spawn(async move {
                let inside = block_in_place(|| handle.block_on(async { rt::spawn(life()).await }));
                inside.unwrap();
                // Afterwards it is a worker again.
                rt::yield_now().await;
                thread::current().name().unwrap().to_owned()
            });
            let name = runtime.block_on(task).unwrap();
            assert!(name.starts_with("rt-io-"), "{name}");
        });
    }
}

#[test]
fn a_job_in_place_just_runs_where_there_is_no_worker_to_leave() {
    assert_eq!(block_in_place(|| 1), 1);
    everywhere(|runtime| {
        assert_eq!(runtime.block_on(async { block_in_place(|| 2) }), 2);
        let job = runtime.spawn_blocking(|| block_in_place(|| 3));
        assert_eq!(runtime.block_on(job).unwrap(), 3);
        let task = runtime.spawn(async { block_in_place(|| block_in_place(|| 4)) });
        assert_eq!(runtime.block_on(task).unwrap(), 4);
    });
}

#[test]
fn a_panic_in_a_job_in_place_is_the_handles_error() {
    let _watchdog = Watchdog::new();
    for flavour in FLAVOURS {
        let runtime = flavour.build();
        for _ in 0..20 {
            let task = runtime.spawn(async { block_in_place(|| panic!("in place")) });
            let error = runtime.block_on(task).unwrap_err();
            assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "in place");
        }
        runtime.block_on(runtime.spawn(life())).unwrap();
        runtime.shutdown_timeout(Duration::MAX);
    }
}

#[test]
fn a_runtime_ends_while_workers_are_stuck_and_spares_serve() {
    let _watchdog = Watchdog::new();
    for workers in [1, 4] {
        let runtime = Flavour::Workers(workers)
            .builder()
            .thread_name("ends")
            .build()
            .unwrap();
        let stuck = Stuck::new(&runtime, workers);
        runtime.block_on(runtime.spawn(life())).unwrap();
        runtime.shutdown_background();
        drop(stuck);
        until(|| threads_named("ends-") == 0);
    }
}

//! The end of a runtime: whoever drops it, wherever, and whatever its tasks do meanwhile.

use std::future::{pending, poll_fn};
use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use rt::net::{TcpListener, TcpStream};
use rt::task::JoinHandle;
use rt::time::sleep;
use rt::{Dispatcher, Handle, Runtime};
use rt_tests::{
    Census, FLAVOURS, Flavour, GOES_ON, Watchdog, alone, poll_once, threads_named, until,
    until_yielding,
};

/// Waits for a task with another runtime than its own.
fn join<T>(task: JoinHandle<T>) -> Result<T, rt::task::JoinError> {
    Flavour::CurrentThread.build().block_on(task)
}

/// Returns when no thread of a runtime with this name is left.
fn until_gone(name: &str) {
    until(|| threads_named(name) == 0);
}

#[test]
fn every_future_is_dropped_and_every_handle_resolves() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.build();
        let census = Census::new();
        let mut tasks = Vec::new();
        for dispatcher in [Dispatcher::Io, Dispatcher::Cpu] {
            for _ in 0..200 {
                let one = census.one();
                tasks.push(runtime.spawn_on(dispatcher.clone(), async move {
                    let _one = one;
                    pending::<()>().await;
                }));
                let one = census.one();
                tasks.push(runtime.spawn_on(dispatcher.clone(), async move {
                    let _one = one;
                    sleep(Duration::from_hours(1)).await;
                }));
                let one = census.one();
                tasks.push(runtime.spawn_on(dispatcher.clone(), async move {
                    let _one = one;
                    loop {
                        rt::yield_now().await;
                    }
                }));
                let one = census.one();
                tasks.push(runtime.spawn_on(dispatcher.clone(), async move {
                    let _one = one;
                    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                    let _ = listener.accept().await;
                }));
            }
        }
        // Some of them have been polled, some have not.
        runtime.block_on(rt::yield_now());
        let handle = runtime.handle().clone();
        runtime.shutdown_timeout(Duration::MAX);
        assert_eq!(census.alive(), 0, "{flavour:?}");
        for task in tasks {
            assert!(task.is_finished());
            assert!(join(task).unwrap_err().is_cancelled());
        }
        let metrics = handle.metrics();
        assert_eq!(
            (
                metrics.live_tasks,
                metrics.live_sources,
                metrics.live_timers
            ),
            (0, 0, 0)
        );
    }
}

/// Does what a destructor should not do, but may.
struct Unruly {
    neighbour: Arc<Mutex<Option<JoinHandle<()>>>>,
    wakers: Arc<Mutex<Vec<Waker>>>,
    census: Census,
}

impl Drop for Unruly {
    fn drop(&mut self) {
        // Its neighbour is aborted, and then detached.
        let neighbour = self.neighbour.lock().unwrap().take();
        if let Some(neighbour) = neighbour {
            neighbour.abort();
        }
        let wakers = self.wakers.lock().unwrap().clone();
        for waker in wakers {
            waker.wake();
        }
        // A thread that ends may have left its runtime already.
        if let Ok(handle) = Handle::try_current() {
            let (io, cpu, job) = (self.census.one(), self.census.one(), self.census.one());
            drop(handle.spawn(async move { drop(io) }));
            drop(handle.spawn_on(Dispatcher::Cpu, async move { drop(cpu) }));
            drop(handle.spawn_blocking(move || drop(job)));
        }
    }
}

#[test]
fn destructors_may_spawn_wake_abort_and_detach_while_the_runtime_ends() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.build();
        let census = Census::new();
        let wakers = Arc::new(Mutex::new(Vec::new()));
        let mut last = Arc::new(Mutex::new(None));
        for number in 0..100 {
            let (one, neighbour) = (census.one(), mem::take(&mut last));
            let unruly = Unruly {
                neighbour,
                wakers: Arc::clone(&wakers),
                census: census.clone(),
            };
            let wakers = Arc::clone(&wakers);
            let dispatcher = if number % 3 == 0 {
                Dispatcher::Cpu
            } else {
                Dispatcher::Io
            };
            let task = runtime.spawn_on(dispatcher, async move {
                let (_one, _unruly) = (one, unruly);
                poll_fn(|cx| {
                    wakers.lock().unwrap().push(cx.waker().clone());
                    Poll::Ready(())
                })
                .await;
                pending::<()>().await;
            });
            last = Arc::new(Mutex::new(Some(task)));
        }
        runtime.block_on(until_yielding(|| wakers.lock().unwrap().len() == 100));
        runtime.shutdown_timeout(Duration::MAX);
        // What the destructors spawned was refused, or was cancelled with the rest.
        assert_eq!(census.alive(), 0, "{flavour:?}");
        drop(last);
        // Wakers may come late.
        wakers.lock().unwrap().drain(..).for_each(Waker::wake);
    }
}

#[test]
fn threads_may_spawn_while_the_runtime_ends() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        for _ in 0..20 {
            let runtime = flavour.build();
            let census = Census::new();
            let (started, has_started) = mpsc::channel();
            let spawners: Vec<_> = (0..3)
                .map(|_| {
                    let (handle, census) = (runtime.handle().clone(), census.clone());
                    let started = started.clone();
                    thread::spawn(move || {
                        started.send(()).unwrap();
                        loop {
                            let (io, job) = (census.one(), census.one());
                            let task = handle.spawn(async move { drop(io) });
                            let job = handle.spawn_blocking(move || drop(job));
                            if task.is_finished()
                                && matches!(join(task), Err(error) if error.is_cancelled())
                            {
                                break drop(job);
                            }
                        }
                    })
                })
                .collect();
            for _ in &spawners {
                has_started.recv().unwrap();
            }
            runtime.shutdown_timeout(Duration::MAX);
            for spawner in spawners {
                spawner.join().unwrap();
            }
            until(|| census.alive() == 0);
        }
    }
}

/// A blocking job that runs until it is let go, and says when it has ended.
struct Stuck {
    release: mpsc::Sender<()>,
    ended: mpsc::Receiver<()>,
}

impl Stuck {
    fn new(runtime: &Runtime) -> Self {
        let (release, hold) = mpsc::channel::<()>();
        let (end, ended) = mpsc::channel();
        let (start, started) = mpsc::channel();
        drop(runtime.spawn_blocking(move || {
            start.send(()).unwrap();
            let _ = hold.recv();
            end.send(()).unwrap();
        }));
        started.recv().unwrap();
        Stuck { release, ended }
    }
}

#[test]
fn a_shutdown_with_no_time_waits_for_nothing() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let ends: [fn(Runtime); 2] = [Runtime::shutdown_background, |runtime| {
            runtime.shutdown_timeout(Duration::ZERO);
        }];
        for end in ends {
            let runtime = flavour.build();
            let stuck = Stuck::new(&runtime);
            let start = Instant::now();
            end(runtime);
            assert!(start.elapsed() < Duration::from_secs(9), "it waited");
            assert!(stuck.ended.try_recv().is_err());
            drop(stuck.release);
            stuck.ended.recv().unwrap();
        }
    }
}

#[test]
fn a_shutdown_with_a_limit_waits_that_long() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.build();
        let stuck = Stuck::new(&runtime);
        let start = Instant::now();
        runtime.shutdown_timeout(Duration::from_millis(50));
        let took = start.elapsed();
        assert!(
            Duration::from_millis(50) <= took && took < GOES_ON,
            "{took:?}"
        );
        drop(stuck.release);
        stuck.ended.recv().unwrap();
    }
}

#[test]
fn a_shutdown_without_a_limit_waits_for_the_last_job() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.build();
        let stuck = Stuck::new(&runtime);
        let handle = runtime.handle().clone();
        let release = stuck.release;
        let releaser = thread::spawn(move || {
            // Refused tasks tell that the end has begun.
            until(|| {
                let task = handle.spawn(pending::<()>());
                task.abort();
                task.is_finished()
            });
            drop(release);
        });
        runtime.shutdown_timeout(Duration::MAX);
        stuck.ended.try_recv().expect("the job has ended by then");
        releaser.join().unwrap();
    }
}

#[test]
fn jobs_that_wait_for_a_thread_are_cancelled() {
    let _watchdog = Watchdog::new();
    let runtime = Runtime::builder()
        .io_threads(1)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let stuck = Stuck::new(&runtime);
    let census = Census::new();
    let jobs: Vec<_> = (0..10)
        .map(|_| {
            let one = census.one();
            runtime.spawn_blocking(move || drop(one))
        })
        .collect();
    runtime.shutdown_background();
    for job in jobs {
        assert!(join(job).unwrap_err().is_cancelled());
    }
    assert_eq!(census.alive(), 0);
    drop(stuck.release);
}

/// The places where a runtime may be dropped, other than where it was made.
#[test]
fn a_runtime_may_be_dropped_by_a_task_of_its_own() {
    for (flavour, dispatcher) in [
        (Flavour::Workers(1), Dispatcher::Io),
        (Flavour::Workers(2), Dispatcher::Io),
        (Flavour::Workers(2), Dispatcher::Cpu),
        (Flavour::CurrentThread, Dispatcher::Cpu),
    ] {
        let _watchdog = Watchdog::new();
        let census = Census::new();
        let (one, other) = (census.one(), census.one());
        let runtime = flavour.builder().thread_name("own").build().unwrap();
        let handle = runtime.handle().clone();
        drop(runtime.spawn(async move {
            let _other = other;
            pending::<()>().await;
        }));
        let task = handle.spawn_on(dispatcher, async move {
            drop(runtime);
            drop(one);
            5
        });
        assert_eq!(join(task).unwrap(), 5);
        until(|| census.alive() == 0);
        until_gone("own-");
    }
}

#[test]
fn a_current_thread_runtime_may_be_dropped_by_the_task_that_it_runs() {
    let _watchdog = Watchdog::new();
    let runtime = Flavour::CurrentThread.build();
    let handle = runtime.handle().clone();
    let census = Census::new();
    let one = census.one();
    let task = handle.spawn(async move {
        let _one = one;
        drop(runtime);
        rt::yield_now().await;
    });
    let error = handle.block_on(task).unwrap_err();
    assert!(error.is_cancelled());
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_runtime_may_be_dropped_by_a_blocking_job_of_its_own() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.builder().thread_name("job").build().unwrap();
        let handle = runtime.handle().clone();
        let job = handle.spawn_blocking(move || drop(runtime));
        join(job).unwrap();
        until_gone("job-");
    }
}

#[test]
fn a_runtime_may_be_dropped_inside_its_own_block_on() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.builder().thread_name("self").build().unwrap();
        let handle = runtime.handle().clone();
        let task = runtime.spawn(pending::<()>());
        let cancelled = handle.block_on(async move {
            drop(runtime);
            task.await
        });
        assert!(cancelled.unwrap_err().is_cancelled());
        until_gone("self-");
    }
}

#[test]
fn a_runtime_may_be_dropped_inside_another_one() {
    for outer in FLAVOURS {
        for inner in FLAVOURS {
            let _watchdog = Watchdog::new();
            let outer = outer.build();
            let runtime = inner.builder().thread_name("inner").build().unwrap();
            drop(runtime.spawn(pending::<()>()));
            outer.block_on(async move { drop(runtime) });
            until_gone("inner-");
            let runtime = inner.builder().thread_name("inner").build().unwrap();
            outer
                .block_on(outer.spawn(async move { drop(runtime) }))
                .unwrap();
            until_gone("inner-");
        }
    }
}

#[test]
fn a_runtime_may_be_dropped_by_a_waker_that_its_own_reactor_calls() {
    struct Owner(Mutex<Option<Runtime>>);
    impl Wake for Owner {
        fn wake(self: Arc<Self>) {
            let runtime = self.0.lock().unwrap().take();
            drop(runtime);
        }
    }
    let _watchdog = Watchdog::new();
    let runtime = Flavour::Workers(1)
        .builder()
        .thread_name("waker")
        .build()
        .unwrap();
    let handle = runtime.handle().clone();
    let mut timer = Box::pin(sleep(Duration::from_millis(5)));
    let current = handle.enter();
    let owner = Arc::new(Owner(Mutex::new(Some(runtime))));
    let waker = Waker::from(Arc::clone(&owner));
    assert!(
        Pin::new(&mut timer)
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    until(|| owner.0.lock().unwrap().is_none());
    drop(current);
    until_gone("waker-");
}

#[test]
fn waits_for_sockets_end_with_an_error_when_the_runtime_ends() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.build();
        let handle = runtime.handle().clone();
        let (listener, stream, _far) = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap())
                .await
                .unwrap();
            let far = listener.accept().await.unwrap();
            (listener, stream, far)
        });
        let (waits, is_waiting) = mpsc::channel();
        let waiter = thread::spawn(move || {
            handle.block_on(async {
                let mut read = Box::pin(stream.readable());
                assert!(poll_once(&mut read).await.is_pending());
                waits.send(()).unwrap();
                let error: io::Error = read.await.unwrap_err();
                assert!(error.to_string().contains("shutting down"), "{error}");
                // And so does what comes later.
                assert!(listener.accept().await.is_err());
            });
        });
        is_waiting.recv().unwrap();
        runtime.shutdown_timeout(Duration::MAX);
        waiter.join().unwrap();
    }
}

#[test]
fn sockets_and_timers_outlive_their_runtime_harmlessly() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.build();
        let (stream, far, timer) = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap())
                .await
                .unwrap();
            let (far, _) = listener.accept().await.unwrap();
            let mut timer = Box::pin(sleep(Duration::from_hours(1)));
            assert!(poll_once(&mut timer).await.is_pending());
            (stream, far, timer)
        });
        runtime.shutdown_timeout(Duration::MAX);
        drop(timer);
        // The socket can still be taken out and used in another way.
        let stream = stream.into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        io::Write::write_all(&mut &stream, b"x").unwrap();
        drop((stream, far));
    }
}

#[test]
fn a_process_ends_although_a_runtime_was_forgotten() {
    alone(|| {
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            mem::forget(Stuck::new(&runtime));
            drop(runtime.spawn(async {
                loop {
                    rt::yield_now().await;
                }
            }));
            mem::forget(runtime);
        }
    });
}

/// Whether it ends in time or with a panic that says why: it ends.
#[test]
fn waiting_for_time_on_a_runtime_that_is_gone_ends() {
    alone(|| {
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            let handle = runtime.handle().clone();
            let (waits, is_waiting) = mpsc::channel();
            let before = thread::spawn(move || {
                handle.block_on(async {
                    let mut timer = Box::pin(sleep(Duration::from_millis(50)));
                    let _ = poll_once(&mut timer).await;
                    waits.send(()).unwrap();
                    timer.await;
                });
            });
            is_waiting.recv().unwrap();
            let handle = runtime.handle().clone();
            runtime.shutdown_timeout(Duration::MAX);
            let after = thread::spawn(move || handle.block_on(sleep(Duration::from_millis(1))));
            let _ = (before.join(), after.join());
        }
    });
}

/// A job that blocks on the runtime's clock is released when the runtime ends, not waited for.
#[test]
fn a_job_that_waits_for_the_runtime_does_not_hold_up_its_end() {
    for flavour in FLAVOURS {
        for in_place in [false, true] {
            let _watchdog = Watchdog::new();
            let runtime = flavour.build();
            let handle = runtime.handle().clone();
            let (started, running) = mpsc::channel();
            let wait = move || {
                started.send(()).unwrap();
                handle.block_on(sleep(Duration::from_hours(1)));
            };
            if in_place {
                runtime.spawn_on(Dispatcher::Cpu, async { rt::block_in_place(wait) });
            } else {
                runtime.spawn_blocking(wait);
            }
            running.recv().unwrap();
            runtime.shutdown_timeout(Duration::MAX);
        }
    }
}

/// A poll goes on while its runtime ends, without being waited for, and begins to wait for the time: that is no
/// error of the task's, which is dropped as soon as the poll has ended.
#[test]
fn a_task_that_begins_to_wait_as_its_runtime_ends_is_dropped() {
    for dispatcher in [Dispatcher::Io, Dispatcher::Cpu] {
        for flavour in FLAVOURS
            .into_iter()
            .filter(|flavour| flavour.runs_by_itself())
        {
            // A timer that is new, or one that the end finds waiting.
            for waits_before in [false, true] {
                let _watchdog = Watchdog::new();
                let runtime = flavour.build();
                let census = Census::new();
                let one = census.one();
                let (started, running) = mpsc::channel();
                let (ended, has_ended) = mpsc::channel::<()>();
                let task = runtime.spawn_on(dispatcher.clone(), async move {
                    let _one = one;
                    let mut wait = Box::pin(sleep(Duration::from_hours(1)));
                    if waits_before {
                        assert!(poll_once(&mut wait).await.is_pending());
                    }
                    started.send(()).unwrap();
                    let _ = has_ended.recv();
                    wait.await;
                });
                running.recv().unwrap();
                runtime.shutdown_background();
                drop(ended);
                let error = join(task).unwrap_err();
                assert!(error.is_cancelled(), "{error}");
                until(|| census.alive() == 0);
            }
        }
    }
}

//! A runtime that has nothing to do does nothing: it sleeps until there is an event.

use std::future::pending;
use std::thread;
use std::time::{Duration, Instant};

use rt::net::{TcpListener, TcpStream};
use rt::time::sleep;
use rt::{Dispatcher, Handle, Runtime};
use rt_tests::{Flavour, alone, alone_after, cpu_time, sleeps, until};

/// As many file descriptors as the process may have.
const ALL_DESCRIPTORS: &str = "ulimit -S -n $(ulimit -H -n)";

/// Connections on which nothing happens, with a task on each end of them.
async fn hold_connections(connections: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    for _ in 0..connections {
        let near = TcpStream::connect(address).await.unwrap();
        let (far, _) = listener.accept().await.unwrap();
        for stream in [near, far] {
            drop(rt::spawn(async move {
                stream.read(&mut [0; 8]).await.map(|_| stream)
            }));
        }
    }
    drop(rt::spawn(async move { listener.accept().await.map(drop) }));
    drop(rt::spawn(sleep(Duration::from_hours(1))));
    drop(rt::spawn_on(Dispatcher::Cpu, pending::<()>()));
    rt::spawn_blocking(|| ()).await.unwrap();
}

/// What must stay the same while nothing happens.
#[derive(Debug, PartialEq, Eq)]
struct Activity {
    /// Returns of `epoll_wait`.
    polls: u64,
    task_polls: u64,
    /// How often the runtime's threads have gone to sleep.
    sleeps: u64,
}

impl Activity {
    fn now(handle: &Handle) -> Self {
        let metrics = handle.metrics();
        let workers = metrics.io_workers.iter().chain(&metrics.cpu_workers);
        Activity {
            polls: metrics.reactor_polls,
            task_polls: workers.map(|worker| worker.polls).sum(),
            sleeps: sleeps("idle-"),
        }
    }
}

/// Time passes: here it is the point.
fn wait(duration: Duration) {
    let until = Instant::now() + duration;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        thread::park_timeout(left);
    }
}

fn assert_sleeps(handle: &Handle) {
    // What has just happened settles.
    let mut before = Activity::now(handle);
    until(|| {
        wait(Duration::from_millis(100));
        let now = Activity::now(handle);
        std::mem::replace(&mut before, now) == before
    });
    let before = (Activity::now(handle), cpu_time());
    wait(Duration::from_secs(1));
    let after = (Activity::now(handle), cpu_time());
    assert_eq!(after.0, before.0);
    let used = after.1.saturating_sub(before.1);
    assert!(
        used < Duration::from_millis(20),
        "{used:?} of CPU time, for doing nothing"
    );
}

#[test]
fn a_runtime_with_a_thousand_silent_connections_sleeps() {
    alone_after(ALL_DESCRIPTORS, || {
        let builder = Flavour::Workers(2).builder().thread_name("idle");
        let runtime = builder
            .thread_keep_alive(Duration::from_millis(1))
            .build()
            .unwrap();
        runtime.block_on(hold_connections(1000));
        assert_sleeps(runtime.handle());
        let metrics = runtime.metrics();
        assert_eq!((metrics.live_sources, metrics.live_timers), (2001, 1));
    });
}

#[test]
fn a_runtime_that_was_never_used_sleeps() {
    alone(|| {
        let runtime = Runtime::builder()
            .io_threads(8)
            .thread_name("idle")
            .build()
            .unwrap();
        assert_sleeps(runtime.handle());
    });
}

#[test]
fn a_current_thread_runtime_with_a_thousand_silent_connections_sleeps() {
    alone_after(ALL_DESCRIPTORS, || {
        let builder = Flavour::CurrentThread.builder().thread_name("idle");
        let runtime = builder
            .thread_keep_alive(Duration::from_millis(1))
            .build()
            .unwrap();
        runtime.block_on(hold_connections(1000));
        let handle = runtime.handle().clone();
        let blocked = thread::Builder::new().name("idle-blocked".to_owned());
        blocked
            .spawn(move || runtime.block_on(pending::<()>()))
            .unwrap();
        assert_sleeps(&handle);
    });
}

/// After every use the runtime goes back to sleep.
#[test]
fn a_runtime_sleeps_again_after_work() {
    alone(|| {
        let runtime = Flavour::Workers(4)
            .builder()
            .thread_name("idle")
            .build()
            .unwrap();
        for _ in 0..3 {
            runtime.block_on(async {
                let tasks: Vec<_> = (0..1000).map(|_| rt::spawn(rt::yield_now())).collect();
                for task in tasks {
                    task.await.unwrap();
                }
                rt::spawn_on(Dispatcher::Cpu, rt::yield_now())
                    .await
                    .unwrap();
                sleep(Duration::from_millis(1)).await;
            });
            assert_sleeps(runtime.handle());
        }
    });
}

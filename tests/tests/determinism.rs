//! The same seed, the same run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rt::Runtime;
use rt::macros_support::random_below;
use rt::time::{Instant, sleep};
use rt_tests::Watchdog;
use tokio::sync::{Mutex as AsyncMutex, mpsc};

/// What happened: who, in which step, and when in virtual time.
type Log = Vec<(u32, u32, Duration)>;

fn builder() -> rt::runtime::Builder {
    Runtime::builder().current_thread().start_paused(true)
}

/// Twenty tasks that sleep, yield, spawn, contend for a lock, send, and choose at random.
fn run(builder: rt::runtime::Builder) -> Log {
    async fn act(me: u32, log: &Mutex<Log>, lock: &AsyncMutex<()>, start: Instant) {
        for step in 0..8 {
            log.lock().unwrap().push((me, step, start.elapsed()));
            match random_below(5) {
                0 => sleep(Duration::from_millis(u64::from(random_below(3)))).await,
                1 => rt::yield_now().await,
                2 => rt::spawn(rt::yield_now()).await.unwrap(),
                3 => {
                    let _held = lock.lock().await;
                    rt::yield_now().await;
                }
                _ => rt::spawn(sleep(Duration::from_millis(1))).await.unwrap(),
            }
        }
    }
    let _watchdog = Watchdog::new();
    let log = Arc::new(Mutex::new(Log::new()));
    builder.build().unwrap().block_on(async {
        let (lock, start) = (Arc::new(AsyncMutex::new(())), Instant::now());
        let (done, mut ends) = mpsc::unbounded_channel();
        for me in 0..20 {
            let (log, lock, done) = (Arc::clone(&log), Arc::clone(&lock), done.clone());
            drop(rt::spawn(async move {
                act(me, &log, &lock, start).await;
                done.send(me).unwrap();
            }));
        }
        drop(done);
        while let Some(me) = ends.recv().await {
            log.lock().unwrap().push((me, 1_000, start.elapsed()));
        }
    });
    Arc::into_inner(log).unwrap().into_inner().unwrap()
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..50 {
        assert_eq!(run(builder().seed(seed)), run(builder().seed(seed)));
    }
}

#[test]
fn another_seed_gives_another_run() {
    let runs: BTreeSet<_> = (0..50).map(|seed| run(builder().seed(seed))).collect();
    assert_eq!(runs.len(), 50);
}

#[test]
fn how_long_the_polls_take_changes_nothing() {
    fn order(seed: Option<u64>, spin: Duration) -> Vec<(u32, u32)> {
        let builder = match seed {
            Some(seed) => builder().seed(seed),
            None => builder(),
        };
        let (runtime, order) = (builder.build().unwrap(), Arc::new(Mutex::new(Vec::new())));
        // From outside, so that they come by another way than what they wake.
        let tasks: Vec<_> = (0..200)
            .map(|me| {
                let order = Arc::clone(&order);
                runtime.spawn(async move {
                    for step in 0..5 {
                        let start = std::time::Instant::now();
                        while start.elapsed() < spin {}
                        order.lock().unwrap().push((me, step));
                        rt::spawn(rt::yield_now()).await.unwrap();
                    }
                })
            })
            .collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        Arc::into_inner(order).unwrap().into_inner().unwrap()
    }
    let _watchdog = Watchdog::new();
    for seed in [None, Some(1), Some(2)] {
        let quick = order(seed, Duration::ZERO);
        assert_eq!(quick, order(seed, Duration::from_micros(150)));
    }
}

/// Who comes first of three tasks, with nothing but the seed to decide it.
fn order_of_three(builder: rt::runtime::Builder) -> Vec<u32> {
    let order = Arc::new(Mutex::new(Vec::new()));
    builder.build().unwrap().block_on(async {
        let tasks = [0, 1, 2].map(|number| {
            let order = Arc::clone(&order);
            rt::spawn(async move {
                sleep(Duration::from_secs(1)).await;
                order.lock().unwrap().push(number);
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
    });
    Arc::into_inner(order).unwrap().into_inner().unwrap()
}

#[test]
fn every_order_comes_with_some_seed_and_always_the_same_without_one() {
    let orders: BTreeSet<_> = (0..200)
        .map(|seed| order_of_three(builder().seed(seed)))
        .collect();
    assert_eq!(orders.len(), 6);
    for _ in 0..10 {
        assert_eq!(order_of_three(builder()), order_of_three(builder()));
    }
}

#[test]
fn choices_follow_the_seed_also_while_real_time_and_blocking_jobs_interfere() {
    let choices = |seed| {
        let builder = Runtime::builder().current_thread().seed(seed);
        builder.build().unwrap().block_on(async {
            let mut choices = Vec::new();
            for _ in 0..20 {
                rt::spawn_blocking(|| ()).await.unwrap();
                sleep(Duration::from_micros(10)).await;
                choices.push(random_below(1_000));
            }
            choices
        })
    };
    assert_eq!(choices(3), choices(3));
    assert_ne!(choices(3), choices(4));
}

#[test]
fn a_random_order_starves_nobody() {
    let _watchdog = Watchdog::new();
    builder().seed(5).build().unwrap().block_on(async {
        let busy: Vec<_> = (0..100)
            .map(|_| {
                rt::spawn(async {
                    loop {
                        rt::task::consume_budget().await;
                        rt::spawn(async {}).await.unwrap();
                    }
                })
            })
            .collect();
        for _ in 0..100 {
            rt::spawn(rt::yield_now()).await.unwrap();
        }
        for task in busy {
            task.abort();
        }
    });
}

#[test]
fn a_seed_is_accepted_with_threads_too() {
    let runtime = Runtime::builder().io_threads(2).seed(9).build().unwrap();
    let task = runtime.spawn(async { random_below(10) });
    assert!(runtime.block_on(task).unwrap() < 10);
}

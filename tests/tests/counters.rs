//! The runtime's own counters: where tasks overflow to, histograms on request, and the table that people read.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use rt::runtime::{Builder, Histogram};
use rt::{Dispatcher, Runtime, RuntimeMetrics, block_in_place, task};
use rt_tests::{FLAVOURS, Flavour, Watchdog, alone, everywhere, until, until_yielding, with};

/// Long for a poll.
const LONG: Duration = Duration::from_millis(20);

/// Keeps its thread busy.
fn compute(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// Every flavour, with both histograms.
fn measured(test: impl Fn(&Runtime)) {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = both(flavour.builder()).build().unwrap();
        test(&runtime);
        runtime.shutdown_timeout(Duration::MAX);
    }
}

fn both(builder: Builder) -> Builder {
    builder
        .enable_metrics_poll_time_histogram()
        .enable_metrics_schedule_latency_histogram()
}

/// Polls on the IO pool and on the CPU pool.
fn polls(metrics: &RuntimeMetrics) -> (u64, u64) {
    let sum = |workers: &[rt::runtime::WorkerMetrics]| workers.iter().map(|w| w.polls).sum();
    (sum(&metrics.io_workers), sum(&metrics.cpu_workers))
}

fn count(histogram: Option<&Histogram>) -> u64 {
    histogram.map_or(0, Histogram::count)
}

/// Returns once each poll is in the histograms.
fn until_all_are_counted(runtime: &Runtime) {
    until(|| {
        let metrics = runtime.metrics();
        let (io, cpu) = polls(&metrics);
        count(metrics.io_poll_times.as_ref()) == io
            && count(metrics.io_schedule_latencies.as_ref()) == io
            && count(metrics.cpu_poll_times.as_ref()) == cpu
            && count(metrics.cpu_schedule_latencies.as_ref()) == cpu
    });
}

#[test]
fn what_a_worker_hands_over_before_it_blocks_has_overflowed() {
    let _watchdog = Watchdog::new();
    // The guard must not come first.
    let builder = Flavour::Workers(1).builder().stall_threshold(None);
    let runtime = builder.build().unwrap();
    let spawned = runtime.spawn(async {
        let tasks: Vec<_> = (0..10).map(|_| rt::spawn(async {})).collect();
        block_in_place(|| ());
        for task in tasks {
            task.await.unwrap();
        }
    });
    runtime.block_on(spawned).unwrap();
    let workers = runtime.metrics().io_workers;
    let overflow: u64 = workers.iter().map(|worker| worker.overflow).sum();
    // The spare that comes may be sent home before it has run them, and hands some over again.
    assert!((10..=20).contains(&overflow), "{overflow}");
}

#[test]
fn what_the_guard_takes_from_a_stuck_worker_has_overflowed() {
    for workers in [1, 2] {
        with(Flavour::Workers(workers), |runtime| {
            let blocked = runtime.spawn(async {
                let (ran, told) = mpsc::channel();
                drop(rt::spawn(async move { ran.send(()) }));
                told.recv().unwrap();
            });
            runtime.block_on(blocked).unwrap();
            let workers = runtime.metrics().io_workers;
            assert!(workers.iter().any(|worker| worker.overflow > 0));
        });
    }
}

#[test]
fn nothing_overflows_by_its_number() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        // On a busy machine the guard would take one or two.
        let builder = flavour.builder().stall_threshold(None);
        let runtime = builder.build().unwrap();
        let many = runtime.spawn(async {
            let tasks: Vec<_> = (0..1000).map(|_| rt::spawn(async {})).collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        runtime.block_on(many).unwrap();
        let workers = runtime.metrics().io_workers;
        assert!(workers.iter().all(|worker| worker.overflow == 0));
    }
}

#[test]
fn without_a_request_nothing_is_measured() {
    everywhere(|runtime| {
        runtime.block_on(runtime.spawn(async {})).unwrap();
        let metrics = runtime.metrics();
        assert_eq!(metrics.io_poll_times, None);
        assert_eq!(metrics.io_schedule_latencies, None);
        assert_eq!(metrics.cpu_poll_times, None);
        assert_eq!(metrics.cpu_schedule_latencies, None);
    });
}

#[test]
fn each_is_measured_by_itself() {
    let _watchdog = Watchdog::new();
    let build = |builder: Builder| builder.io_threads(1).build().unwrap();
    let times = build(Runtime::builder().enable_metrics_poll_time_histogram());
    let latencies = build(Runtime::builder().enable_metrics_schedule_latency_histogram());
    for runtime in [&times, &latencies] {
        runtime.block_on(runtime.spawn(async {})).unwrap();
    }
    until(|| count(times.metrics().io_poll_times.as_ref()) == 1);
    assert_eq!(times.metrics().io_schedule_latencies, None);
    until(|| count(latencies.metrics().io_schedule_latencies.as_ref()) == 1);
    assert_eq!(latencies.metrics().io_poll_times, None);
}

/// However a task is queued: by a spawn or a wake, from inside or outside, by itself, through a limit. Alone, as
/// tasks share stamps when so many others have come between that their ids are far apart.
#[test]
fn every_poll_is_in_both_histograms() {
    alone(|| measured(poll_in_every_way));
}

fn poll_in_every_way(runtime: &Runtime) {
    let handle = runtime.handle().clone();
    runtime.block_on(async move {
        let mut tasks = task::JoinSet::new();
        let limited = Dispatcher::Cpu.limited(1);
        for round in 0..20 {
            for dispatcher in [Dispatcher::Io, Dispatcher::Cpu, limited.clone()] {
                tasks.spawn_on(dispatcher.clone(), async move {
                    rt::spawn_on(dispatcher, task::yield_now()).await.unwrap();
                    rt::spawn(async {}).await.unwrap();
                    for _ in 0..round {
                        rt::yield_now().await;
                    }
                });
            }
            tasks.spawn(rt::time::sleep(Duration::from_millis(round)));
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
        let aborted = handle.spawn(std::future::pending::<()>());
        rt::yield_now().await;
        aborted.abort();
        assert!(aborted.await.unwrap_err().is_cancelled());
        until_yielding(|| handle.metrics().live_tasks == 0).await;
    });
    until_all_are_counted(runtime);
    let (io, cpu) = polls(&runtime.metrics());
    assert!(io >= 80 && cpu >= 80, "{io} {cpu}");
}

#[test]
fn a_long_poll_is_in_its_bucket() {
    measured(|runtime| {
        for dispatcher in [Dispatcher::Io, Dispatcher::Cpu] {
            let long = runtime.spawn_on(dispatcher, async { compute(LONG) });
            runtime.block_on(long).unwrap();
        }
        until_all_are_counted(runtime);
        let metrics = runtime.metrics();
        for times in [metrics.io_poll_times, metrics.cpu_poll_times] {
            let times = times.unwrap();
            assert!(times.quantile(1.0) >= LONG && times.sum() >= LONG);
            let long: u64 = times
                .buckets()
                .filter(|bucket| bucket.below > LONG)
                .map(|bucket| bucket.count)
                .sum();
            assert!(long >= 1);
        }
    });
}

#[test]
fn a_task_that_waits_behind_another_one_is_late() {
    let _watchdog = Watchdog::new();
    let builder = Runtime::builder().current_thread();
    let runtime = both(builder).build().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..2).map(|_| rt::spawn(async { compute(LONG) })).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    let latencies = runtime.metrics().io_schedule_latencies.unwrap();
    assert_eq!(latencies.count(), 2);
    assert!(latencies.quantile(1.0) >= LONG, "{latencies:?}");
}

/// More than the table of stamps has places.
#[test]
fn of_a_great_burst_some_waits_are_measured() {
    const TASKS: u64 = 100_000;
    let _watchdog = Watchdog::new();
    let runtime = both(Runtime::builder().current_thread()).build().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..TASKS).map(|_| rt::spawn(async {})).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    let metrics = runtime.metrics();
    assert_eq!(metrics.io_poll_times.unwrap().count(), TASKS);
    let measured = metrics.io_schedule_latencies.unwrap().count();
    assert!((TASKS / 2..=TASKS).contains(&measured), "{measured}");
}

#[test]
fn the_time_between_two_readings_has_a_histogram_too() {
    let _watchdog = Watchdog::new();
    let runtime = both(Runtime::builder().current_thread()).build().unwrap();
    let times = || runtime.metrics().io_poll_times.unwrap();
    runtime.block_on(async { rt::spawn(async { compute(LONG) }).await.unwrap() });
    let before = times();
    runtime.block_on(async {
        for _ in 0..10 {
            rt::spawn(async {}).await.unwrap();
        }
    });
    let between = times().since(&before);
    assert_eq!(between.count(), 10);
    assert_eq!(times().count(), 11);
    assert!(between.sum() < times().sum());
}

#[test]
fn the_table_has_a_line_for_each_worker_and_each_histogram() {
    measured(|runtime| {
        let both = async {
            rt::spawn(async {}).await.unwrap();
            rt::spawn_on(Dispatcher::Cpu, async {}).await.unwrap();
        };
        runtime.block_on(both);
        until_all_are_counted(runtime);
        let metrics = runtime.metrics();
        let table = metrics.to_string();
        let line = |name: &str| {
            let found = table.lines().find(|line| {
                let rest = line.strip_prefix(name);
                rest.is_some_and(|rest| rest.starts_with("  "))
            });
            found.unwrap_or_else(|| panic!("no line of {name} in\n{table}"))
        };
        for (pool, workers) in [("io", &metrics.io_workers), ("cpu", &metrics.cpu_workers)] {
            for (index, worker) in workers.iter().enumerate() {
                let cells: Vec<_> = line(&format!("{pool}-{index}"))
                    .split_whitespace()
                    .collect();
                assert_eq!(cells.len(), 8, "{table}");
                assert!(cells[1].parse::<u64>().unwrap() >= worker.polls);
            }
        }
        for pool in ["io polls", "io queued", "cpu polls", "cpu queued"] {
            assert!(line(pool).contains(" measured, mean "), "{table}");
        }
        for part in ["tasks", "guard", "kernel", "blocking", "reactor", "timers"] {
            line(part);
        }
    });
}

#[test]
fn a_histogram_is_json_with_the_buckets_that_have_something() {
    let _watchdog = Watchdog::new();
    let runtime = both(Runtime::builder().current_thread()).build().unwrap();
    runtime.block_on(async { rt::spawn(async {}).await.unwrap() });
    let json = serde_json::to_value(runtime.metrics()).unwrap();
    let times = &json["io_poll_times"];
    assert_eq!(times["count"], 1);
    assert_eq!(times["buckets"].as_array().unwrap().len(), 1);
    assert_eq!(times["buckets"][0]["count"], 1);
    assert!(json["cpu_poll_times"].is_null());
    assert!(json["io_workers"][0]["overflow"].is_u64());
}

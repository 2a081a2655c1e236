//! What the feature `metrics` gives to the facade of that name, as any exporter sees it.

use std::collections::BTreeMap;
use std::time::Duration;

use metrics::with_local_recorder;
use metrics_util::MetricKind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use rt::runtime::Builder;
use rt::{Dispatcher, Handle, Runtime, RuntimeMetrics};
use rt_tests::{Watchdog, until};
use serde_json::Value;

/// Series as Prometheus writes them, `name{label="value",…}`, labels by name.
type Series = BTreeMap<String, (MetricKind, f64)>;

/// What has arrived in `recorder`, all of it described.
fn series(recorder: &DebuggingRecorder) -> Series {
    let snapshot = recorder.snapshotter().snapshot().into_vec();
    let read = snapshot.into_iter().map(|(key, unit, description, value)| {
        let (kind, key) = key.into_parts();
        assert!(unit.is_some() && description.is_some(), "{key}");
        let mut labels: Vec<_> = key
            .labels()
            .map(|label| format!("{}=\"{}\"", label.key(), label.value()))
            .collect();
        labels.sort();
        #[expect(clippy::cast_precision_loss, reason = "counters of a short run")]
        let value = match value {
            DebugValue::Counter(count) => count as f64,
            DebugValue::Gauge(gauge) => *gauge,
            DebugValue::Histogram(_) => panic!("{key} is a histogram"),
        };
        let name = format!("{}{{{}}}", key.name(), labels.join(","));
        (name, (kind, value))
    });
    read.collect()
}

/// One export of `handle`, from this thread.
fn export(handle: &Handle) -> Series {
    let recorder = DebuggingRecorder::new();
    with_local_recorder(&recorder, || handle.export_metrics());
    series(&recorder)
}

fn both(builder: Builder) -> Runtime {
    builder
        .enable_metrics_poll_time_histogram()
        .enable_metrics_schedule_latency_histogram()
        .build()
        .unwrap()
}

/// A runtime that has done something of everything.
fn used() -> Runtime {
    let runtime = both(Runtime::builder().current_thread().cpu_threads(2));
    runtime.block_on(async {
        rt::spawn(rt::time::sleep(Duration::from_millis(1)))
            .await
            .unwrap();
        rt::spawn_on(Dispatcher::Cpu, async {}).await.unwrap();
        rt::spawn_blocking(|| ()).await.unwrap();
    });
    // A poll's time is taken after its task has ended.
    until(|| {
        let metrics = runtime.metrics();
        let times = [metrics.io_poll_times, metrics.cpu_poll_times];
        let timed = times.into_iter().flatten().all(|times| times.count() > 0);
        metrics.live_tasks == 0 && timed
    });
    runtime
}

/// An export while nothing changes, and what the runtime itself says.
fn export_at_rest(runtime: &Runtime) -> (Series, RuntimeMetrics) {
    let mut found = None;
    until(|| {
        let before = runtime.metrics();
        let series = export(runtime.handle());
        let at_rest = runtime.metrics() == before;
        found = Some((series, before));
        at_rest
    });
    found.unwrap()
}

/// The series in which a field arrives, by its path in the metrics' JSON.
fn series_of(path: &[&str]) -> String {
    let name = match path {
        ["io_threads"] => "rt_threads{pool=\"io\",",
        ["cpu_threads"] => "rt_threads{pool=\"cpu\",",
        ["live_tasks"] => "rt_live_tasks{",
        ["spawned_tasks"] => "rt_spawned_tasks_total{",
        ["injected"] => "rt_injected_tasks{",
        ["spare_workers_started"] => "rt_spare_workers_started_total{",
        ["stalls"] => "rt_stalls_total{",
        ["io_workers", index, field] => return worker("io", index, field),
        ["cpu_workers", index, field] => return worker("cpu", index, field),
        ["cpu_nice"] => "rt_cpu_nice{",
        ["cpu_slice"] => "rt_slice_seconds{pool=\"cpu\",",
        ["io_slice"] => "rt_slice_seconds{pool=\"io\",",
        ["blocking_threads"] => "rt_blocking_threads{",
        ["idle_blocking_threads"] => "rt_idle_blocking_threads{",
        ["blocking_queue_depth"] => "rt_blocking_queue_depth{",
        ["blocking_jobs", field] => return lane("jobs", field),
        ["blocking_files", field] => return lane("files", field),
        ["blocking_lookups", field] => return lane("lookups", field),
        ["reactor_polls"] => "rt_reactor_polls_total{",
        ["reactor_events"] => "rt_reactor_events_total{",
        ["live_sources"] => "rt_live_sources{",
        ["live_timers"] => "rt_live_timers{",
        ["timers_fired"] => "rt_timers_fired_total{",
        ["io_poll_times", field] => return histogram("rt_poll_time", "io", field),
        ["cpu_poll_times", field] => return histogram("rt_poll_time", "cpu", field),
        ["io_schedule_latencies", field] => return histogram("rt_schedule_latency", "io", field),
        ["cpu_schedule_latencies", field] => return histogram("rt_schedule_latency", "cpu", field),
        _ => panic!("{path:?} is not exported"),
    };
    format!("{name}runtime=\"rt\"}}")
}

fn worker(pool: &str, index: &str, field: &str) -> String {
    let field = match field {
        "busy" => "busy_nanoseconds",
        count => count,
    };
    format!("rt_worker_{field}_total{{pool=\"{pool}\",runtime=\"rt\",worker=\"{index}\"}}")
}

fn lane(lane: &str, field: &str) -> String {
    let field = match field {
        "queued" => "queue_depth",
        "longest_wait" => "longest_wait_seconds",
        other => panic!("{other} of a lane is not exported"),
    };
    format!("rt_blocking_lane_{field}{{lane=\"{lane}\",runtime=\"rt\"}}")
}

fn histogram(name: &str, pool: &str, field: &str) -> String {
    format!("{name}_nanoseconds_{field}{{pool=\"{pool}\",runtime=\"rt\"}}")
}

/// Calls `leaf` with the path and the value of each number in `json`, a duration being one in seconds.
fn leaves<'a>(json: &'a Value, path: &mut Vec<&'a str>, leaf: &mut impl FnMut(&[&str], f64)) {
    const INDICES: [&str; 3] = ["0", "1", "2"];
    let mut step = |key: &'a str, value| {
        path.push(key);
        leaves(value, path, leaf);
        path.pop();
    };
    match json {
        Value::Object(fields) => match (fields.get("secs"), fields.get("nanos")) {
            (Some(secs), Some(nanos)) => {
                let seconds = secs.as_f64().unwrap() + nanos.as_f64().unwrap() / 1e9;
                leaf(path, seconds);
            }
            _ => {
                // The buckets have a test of their own.
                for (key, value) in fields.iter().filter(|(key, _)| *key != "buckets") {
                    step(key, value);
                }
            }
        },
        Value::Array(items) => {
            for (index, value) in INDICES.iter().zip(items) {
                step(index, value);
            }
        }
        Value::Number(number) => leaf(path, number.as_f64().unwrap()),
        Value::Null => {}
        other => panic!("{other} at {path:?}"),
    }
}

#[test]
fn every_field_arrives_with_its_value() {
    let _watchdog = Watchdog::new();
    let (mut arrived, metrics) = export_at_rest(&used());
    let json = serde_json::to_value(&metrics).unwrap();
    leaves(&json, &mut Vec::new(), &mut |path, value| {
        let name = series_of(path);
        let (_, found) = arrived.remove(&name).unwrap_or_else(|| panic!("no {name}"));
        let value = if name.contains("_nanoseconds_") && !name.contains("_count{") {
            value * 1e9
        } else {
            value
        };
        assert!(
            (found - value).abs() < 1.0,
            "{name} is {found}, not {value}"
        );
    });
    arrived.retain(|name, _| !name.contains("_bucket{"));
    assert!(arrived.is_empty(), "made up: {arrived:?}");
}

#[test]
fn totals_are_counters_and_amounts_are_gauges() {
    let _watchdog = Watchdog::new();
    for (name, (kind, _)) in export(used().handle()) {
        let total = ["_total{", "_bucket{", "_sum{", "_count{"];
        let is_total = total.iter().any(|end| name.contains(end));
        assert_eq!(kind == MetricKind::Counter, is_total, "{name}");
    }
}

#[test]
fn buckets_count_all_that_is_not_longer() {
    let _watchdog = Watchdog::new();
    let (arrived, metrics) = export_at_rest(&used());
    for (pool, times) in [
        ("io", metrics.io_poll_times),
        ("cpu", metrics.cpu_poll_times),
    ] {
        let times = times.unwrap();
        let bucket = |le: &str| {
            let labels = format!("le=\"{le}\",pool=\"{pool}\",runtime=\"rt\"");
            arrived[&format!("rt_poll_time_nanoseconds_bucket{{{labels}}}")].1
        };
        let mut limits = 0;
        for power in 7..=35 {
            let le = Duration::from_nanos(1 << power);
            let below = times.buckets().filter(|bucket| bucket.below <= le);
            let count: u64 = below.map(|bucket| bucket.count).sum();
            let found = bucket(&(1_u64 << power).to_string());
            #[expect(clippy::cast_precision_loss, reason = "a few polls")]
            let count = count as f64;
            assert!((found - count).abs() < 0.5, "{found} {count}");
            limits += 1;
        }
        assert_eq!(limits, 29);
        let all = arrived[&histogram("rt_poll_time", pool, "count")].1;
        assert!((bucket("+Inf") - all).abs() < 0.5);
        assert!(all >= 1.0);
    }
}

#[test]
fn spares_are_one_series() {
    let _watchdog = Watchdog::new();
    let runtime = Runtime::builder().io_threads(1).build().unwrap();
    // Its worker is stuck until a spare runs what waits.
    let stuck = runtime.spawn(async {
        let (ran, told) = std::sync::mpsc::channel();
        drop(rt::spawn(async move { ran.send(()) }));
        told.recv().unwrap();
    });
    runtime.block_on(stuck).unwrap();
    let polls = |worker: &str| {
        format!("rt_worker_polls_total{{pool=\"io\",runtime=\"rt\",worker=\"{worker}\"}}")
    };
    let arrived = export(runtime.handle());
    assert!(arrived[&polls("spares")].1 >= 1.0);
    assert!(arrived.contains_key(&polls("0")) && !arrived.contains_key(&polls("1")));
}

#[test]
fn what_is_not_measured_does_not_arrive() {
    let _watchdog = Watchdog::new();
    let runtime = Runtime::builder().current_thread().build().unwrap();
    for name in export(runtime.handle()).keys() {
        assert!(
            !name.contains("poll_time") && !name.contains("latency"),
            "{name}"
        );
        assert!(!name.contains("rt_cpu_nice"), "{name}");
    }
}

#[test]
fn two_runtimes_are_told_apart_by_their_names() {
    let _watchdog = Watchdog::new();
    let named = |name: &str| {
        let builder = Runtime::builder().current_thread().thread_name(name);
        builder.build().unwrap()
    };
    let (busy, idle) = (named("busy"), named("idle"));
    busy.block_on(async { rt::spawn(async {}).await.unwrap() });
    let recorder = DebuggingRecorder::new();
    with_local_recorder(&recorder, || {
        busy.handle().export_metrics();
        idle.handle().export_metrics();
    });
    let arrived = series(&recorder);
    for (name, spawned) in [("busy", 1.0), ("idle", 0.0)] {
        let series = format!("rt_spawned_tasks_total{{runtime=\"{name}\"}}");
        assert_eq!(arrived[&series], (MetricKind::Counter, spawned));
    }
}

#[test]
fn without_a_recorder_nothing_happens() {
    let _watchdog = Watchdog::new();
    let runtime = Runtime::builder().current_thread().build().unwrap();
    runtime.handle().export_metrics();
}

#[test]
fn a_task_exports_once_in_a_period() {
    let _watchdog = Watchdog::new();
    let builder = Runtime::builder().current_thread().start_paused(true);
    let runtime = builder.build().unwrap();
    let recorder = DebuggingRecorder::new();
    let spawned = || series(&recorder)["rt_spawned_tasks_total{runtime=\"rt\"}"].1;
    with_local_recorder(&recorder, || {
        runtime.block_on(async {
            let handle = Handle::current();
            let exporter = rt::spawn(async move {
                handle.export_metrics_every(Duration::from_mins(1)).await;
            });
            let mut seen = Vec::new();
            for _ in 0..3 {
                rt::time::sleep(Duration::from_secs(30)).await;
                seen.push(spawned());
                rt::spawn(async {}).await.unwrap();
                rt::time::sleep(Duration::from_secs(30)).await;
                rt::yield_now().await;
            }
            exporter.abort();
            assert!(exporter.await.unwrap_err().is_cancelled());
            assert_eq!(seen, [1.0, 2.0, 3.0]);
        });
    });
}

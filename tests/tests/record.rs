//! The recorder: what it writes, that it is sound, and that it stays small.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use rt::dump::TaskState;
use rt::record::Recording;
use rt::{Dispatcher, Runtime, task};
use rt_tests::{FLAVOURS, Flavour, Watchdog, until, with};
use serde_json::Value;

/// A file that goes with the test.
struct TraceFile(PathBuf);

impl TraceFile {
    fn new(test: &str) -> Self {
        let name = format!("rt-record-{test}-{}.json", std::process::id());
        TraceFile(std::env::temp_dir().join(name))
    }

    fn read(&self) -> Trace {
        let text = fs::read_to_string(&self.0).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        Trace(json["traceEvents"].as_array().unwrap().clone())
    }

    /// What `runtime` has recorded until now.
    fn of(&self, runtime: &Runtime) -> Trace {
        runtime.handle().record_to(&self.0).unwrap();
        self.read()
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The events of a file.
struct Trace(Vec<Value>);

impl Trace {
    fn phase(&self, phase: &str) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(move |event| event["ph"] == phase)
    }

    fn named(&self, name: &str) -> Vec<&Value> {
        let named = self.0.iter().filter(|event| event["name"] == name);
        named.collect()
    }

    fn thread_name(&self, event: &Value) -> &str {
        let name = self
            .phase("M")
            .find(|meta| meta["name"] == "thread_name" && meta["tid"] == event["tid"]);
        name.unwrap()["args"]["name"].as_str().unwrap()
    }

    /// The arrow that ends where `poll` begins: its first end.
    fn cause(&self, poll: &Value) -> Option<&Value> {
        let end = self
            .phase("f")
            .find(|flow| flow["tid"] == poll["tid"] && flow["ts"] == poll["ts"])?;
        self.phase("s").find(|flow| flow["id"] == end["id"])
    }

    /// Whether a slice with this name is around `event`.
    fn is_within(&self, event: &Value, name: &str) -> bool {
        self.phase("X").any(|slice| {
            slice["name"] == name
                && slice["tid"] == event["tid"]
                && start(slice) <= start(event)
                && start(event) <= end(slice)
        })
    }

    /// What holds for every file.
    fn check(&self) {
        let mut slices: HashMap<u64, Vec<Slice>> = HashMap::new();
        let mut names = HashMap::new();
        for event in &self.0 {
            let thread = event["tid"].as_u64().unwrap();
            match event["ph"].as_str().unwrap() {
                "M" if event["name"] == "thread_name" => {
                    names.insert(thread, event["args"]["name"].as_str().unwrap());
                }
                "X" => {
                    let slices = slices.entry(thread).or_default();
                    let before = slices.last().map_or(0.0, |before| before.start);
                    assert!(before <= start(event), "{event}");
                    slices.push(Slice::new(event));
                }
                _ => {}
            }
        }
        assert!(slices.keys().all(|thread| names.contains_key(thread)));
        let any = |end: &Value, test: fn(f64, &Slice) -> bool| {
            let of_thread = &slices[&end["tid"].as_u64().unwrap()];
            of_thread.iter().any(|slice| test(start(end), slice))
        };
        let mut ends = HashMap::<u64, (u32, u32)>::new();
        for flow in self.phase("s") {
            ends.entry(flow["id"].as_u64().unwrap()).or_default().0 += 1;
            let around = any(flow, |at, slice| slice.start <= at && at <= slice.end);
            assert!(around, "an arrow from nowhere: {flow}");
        }
        for flow in self.phase("f") {
            ends.entry(flow["id"].as_u64().unwrap()).or_default().1 += 1;
            let begins = any(flow, |at, slice| {
                slice.poll && slice.start.to_bits() == at.to_bits()
            });
            assert!(begins, "an arrow to nowhere: {flow}");
        }
        assert!(ends.values().all(|ends| *ends == (1, 1)), "{ends:?}");
    }
}

/// Something that a thread did, in microseconds.
struct Slice {
    start: f64,
    end: f64,
    poll: bool,
}

impl Slice {
    fn new(event: &Value) -> Self {
        Slice {
            start: start(event),
            end: end(event),
            poll: event["cat"] == "poll",
        }
    }
}

fn start(event: &Value) -> f64 {
    event["ts"].as_f64().unwrap()
}

/// A nanosecond is lost in the last digit of a float.
fn end(slice: &Value) -> f64 {
    start(slice) + slice["dur"].as_f64().unwrap() + 0.001
}

fn recorded(flavour: Flavour, recording: Recording) -> Runtime {
    flavour.builder().record(recording).build().unwrap()
}

fn for_ever() -> Recording {
    Recording::last(Duration::MAX)
}

#[test]
fn a_poll_has_its_tasks_name_place_and_cause() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let file = TraceFile::new("names");
        let runtime = recorded(flavour, for_ever());
        runtime.block_on(async {
            let (send, receive) = rt::channel::oneshot();
            let named = task::Builder::new().name("a \"name\"\n");
            let named = named.spawn(async move { receive.await.unwrap() });
            let sender = rt::spawn(async move { send.send(5) });
            sender.await.unwrap().unwrap();
            assert_eq!(named.await.unwrap(), 5);
        });
        let trace = file.of(&runtime);
        trace.check();
        let polls = trace.named("a \"name\"\n");
        assert!(!polls.is_empty());
        for poll in polls {
            let place = poll["args"]["spawned"].as_str().unwrap();
            assert!(place.contains("tests/record.rs:"), "{place}");
            assert!(poll["args"]["task"].is_u64());
        }
        let unnamed = trace.phase("X").find(|slice| {
            let name = slice["name"].as_str().unwrap();
            name.starts_with("record.rs:") && slice["cat"] == "poll"
        });
        assert!(unnamed.is_some());
    }
}

#[test]
fn an_arrow_leads_from_the_waker_to_the_task() {
    let _watchdog = Watchdog::new();
    let file = TraceFile::new("arrows");
    let runtime = recorded(Flavour::Workers(1), for_ever());
    runtime.block_on(async {
        let (send, receive) = rt::channel::oneshot();
        let (waits, waiting) = rt::channel::oneshot();
        let builder = task::Builder::new().name("woken");
        let woken = builder.spawn(async move {
            let mut receive = receive;
            let first = rt_tests::poll_once(&mut receive).await;
            assert!(first.is_pending());
            waits.send(()).unwrap();
            receive.await.unwrap();
        });
        waiting.await.unwrap();
        // Its first poll has ended: what comes now wakes it.
        let handle = rt::Handle::current();
        rt_tests::until_yielding(|| {
            let dump = handle.dump();
            let mut tasks = dump.tasks.iter();
            tasks.any(|task| task.id == woken.id() && task.state == TaskState::Idle)
        })
        .await;
        let builder = task::Builder::new()
            .name("waker")
            .dispatcher(Dispatcher::Cpu);
        let waker = builder.spawn(async move { send.send(()) });
        waker.await.unwrap().unwrap();
        woken.await.unwrap();
    });
    let trace = file.of(&runtime);
    trace.check();
    let polls = trace.named("woken");
    let last = trace.cause(polls.last().unwrap()).expect("a cause");
    assert!(trace.is_within(last, "waker"));
    assert!(trace.thread_name(last).contains("-cpu-"));
}

#[test]
fn a_busy_runtime_is_recorded_soundly_while_it_goes_on() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let file = TraceFile::new("busy");
        let runtime = recorded(flavour, for_ever().events_per_thread(512));
        runtime.block_on(async {
            let storm: Vec<_> = (0..50)
                .map(|n| {
                    rt::spawn(async move {
                        for round in 0..20 {
                            rt::run_on(Dispatcher::Cpu, async {}).await;
                            if n == 0 && round % 5 == 0 {
                                rt::delay(Duration::from_millis(1)).await;
                            }
                            rt::yield_now().await;
                        }
                    })
                })
                .collect();
            let handle = rt::runtime::Handle::current();
            for _ in 0..3 {
                let (handle, path) = (handle.clone(), file.0.clone());
                let written = rt::spawn_blocking(move || handle.record_to(path));
                written.await.unwrap().unwrap();
                file.read().check();
            }
            for task in storm {
                task.await.unwrap();
            }
        });
        let trace = file.of(&runtime);
        trace.check();
        assert!(!trace.named("park").is_empty());
        assert!(!trace.named("lead").is_empty());
        assert!(!trace.named("dispatch").is_empty());
        assert!(trace.phase("f").next().is_some());
    }
}

#[test]
fn a_thread_keeps_no_more_than_it_may() {
    let _watchdog = Watchdog::new();
    let file = TraceFile::new("bounded");
    let runtime = recorded(Flavour::Workers(1), for_ever().events_per_thread(256));
    let yields = runtime.spawn(async {
        for _ in 0..100_000 {
            rt::yield_now().await;
        }
    });
    runtime.block_on(yields).unwrap();
    let mut events = HashMap::<u64, usize>::new();
    let trace = file.of(&runtime);
    trace.check();
    for event in trace.phase("X").chain(trace.phase("i")) {
        *events.entry(event["tid"].as_u64().unwrap()).or_default() += 1;
    }
    assert!(events.values().all(|events| *events <= 256), "{events:?}");
    assert!(events.values().any(|events| *events > 200), "{events:?}");
}

#[test]
fn a_poll_that_goes_on_and_its_stall_are_there() {
    with(Flavour::Workers(1), |_| {
        let file = TraceFile::new("stall");
        let runtime = recorded(Flavour::Workers(1), for_ever());
        let (release, hold) = mpsc::channel::<()>();
        let builder = task::Builder::new().name("stuck");
        let block = async move {
            let _ = hold.recv();
        };
        let stuck = builder.spawn_on(block, runtime.handle());
        until(|| !file.of(&runtime).named("stall").is_empty());
        let trace = file.of(&runtime);
        trace.check();
        let poll = trace.named("stuck")[0];
        assert_eq!(poll["args"]["goes on"], true);
        let stall = trace.named("stall")[0];
        assert_eq!(stall["args"]["task"], poll["args"]["task"]);
        // Not the first one, if that was so slow that another came.
        let worker = stall["args"]["worker"].as_str().unwrap();
        assert!(worker.starts_with("io-"), "{worker}");
        drop(release);
        runtime.block_on(stuck).unwrap();
        let trace = file.of(&runtime);
        assert!(trace.named("stuck")[0]["args"]["goes on"].is_null());
    });
}

#[test]
fn jobs_and_blocking_in_place_are_recorded() {
    let _watchdog = Watchdog::new();
    let file = TraceFile::new("jobs");
    let runtime = recorded(Flavour::Workers(1), for_ever());
    runtime.block_on(async {
        rt::spawn_blocking(|| {}).await.unwrap();
        rt::spawn(async { rt::block_in_place(|| {}) })
            .await
            .unwrap();
    });
    let trace = file.of(&runtime);
    trace.check();
    assert!(
        trace
            .phase("X")
            .any(|slice| { slice["cat"] == "poll" && trace.thread_name(slice).contains("-blk-") })
    );
    let in_place = trace.named("block_in_place");
    assert_eq!(in_place.len(), 1);
}

#[test]
fn what_is_older_than_asked_for_is_left_out() {
    let _watchdog = Watchdog::new();
    let file = TraceFile::new("old");
    let runtime = recorded(Flavour::CurrentThread, Recording::last(Duration::ZERO));
    runtime.block_on(async { rt::spawn(async {}).await.unwrap() });
    let trace = file.of(&runtime);
    assert!(trace.phase("X").next().is_none());
    assert!(trace.phase("M").next().is_some());
}

#[test]
fn the_file_that_was_asked_for_is_written_at_the_end() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let file = TraceFile::new("end");
        let runtime = recorded(flavour, Recording::to(&file.0));
        runtime.block_on(async {
            let builder = task::Builder::new().name("last words");
            builder.spawn(async {}).await.unwrap();
        });
        drop(runtime);
        let trace = file.read();
        trace.check();
        assert_eq!(trace.named("last words").len(), 1);
    }
}

#[test]
fn what_cannot_be_written_is_an_error_with_the_path() {
    let nowhere = "/nonexistent/trace.json";
    let built = Runtime::builder().record(Recording::to(nowhere)).build();
    let error = built.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains(nowhere), "{error}");

    let runtime = recorded(Flavour::CurrentThread, for_ever());
    let error = runtime.handle().record_to(nowhere).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains(nowhere), "{error}");
}

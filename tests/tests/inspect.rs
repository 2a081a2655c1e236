//! The socket of `Builder::inspect`: what it tells, to whom, and that nobody can make it a burden.

use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use rt::Runtime;
use rt::record::Recording;
use rt::runtime::Builder;
use rt::signal::unix::SignalKind;
use rt_tests::{FLAVOURS, Flavour, Watchdog, alone, fds, in_child, threads, until};
use serde_json::Value;

/// A name for a socket that goes with the test.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = format!("rt-inspect-{}-{number}.sock", std::process::id());
        Place(std::env::temp_dir().join(name))
    }

    fn runtime(&self) -> Runtime {
        Flavour::Workers(2)
            .builder()
            .inspect(&self.0)
            .build()
            .unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

struct Client(BufReader<UnixStream>);

impl Client {
    /// Connects, and reads the first line.
    fn new(path: &Path) -> Self {
        let mut client = Client(BufReader::new(UnixStream::connect(path).unwrap()));
        let hello = client.read().unwrap();
        assert_eq!(hello["rt_inspect"], rt::inspect::VERSION);
        assert_eq!(hello["process"], std::process::id());
        client
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    /// The next line; `None` at the end.
    fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => {
                assert!(line.ends_with('\n'), "half a line: {line}");
                Some(serde_json::from_str(&line).unwrap())
            }
            // It had not been read what this one wrote.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
            Err(error) => panic!("{error}"),
        }
    }

    fn ask(&mut self, request: &str) -> Value {
        self.write(format!("{request}\n").as_bytes()).unwrap();
        self.read().expect("an answer")
    }

    /// The answer, or `None` if the place was given to somebody else.
    fn ask_if_there(path: &Path, request: &str) -> Option<Value> {
        let mut stream = UnixStream::connect(path).unwrap();
        let _may_be_refused = stream.write_all(format!("{request}\n").as_bytes());
        let mut client = Client(BufReader::new(stream));
        client.read()?.get("rt_inspect")?;
        client.read().filter(|answer| answer.get("error").is_none())
    }
}

fn error(answer: &Value) -> &str {
    answer["error"].as_str().expect("an error")
}

#[track_caller]
fn refused(builder: Builder, kind: ErrorKind, says: &str) {
    let error = builder.build().unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(says), "{error}");
}

#[test]
fn it_tells_metrics_and_tasks() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let place = Place::new();
        let runtime = flavour.builder().inspect(&place.0).build().unwrap();
        let mode = fs::metadata(&place.0).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        runtime.block_on(async {
            let sleeper = rt::task::Builder::new().name("sleeper");
            drop(sleeper.spawn(rt::delay(Duration::from_hours(1))));
            rt::yield_now().await;
        });
        // Nobody blocks on the runtime now.
        let mut client = Client::new(&place.0);
        let first = client.ask("metrics");
        assert_eq!(first["metrics"]["live_tasks"], 1);
        let mut dump = Value::Null;
        until(|| {
            // It is known by its name once it has been polled.
            dump = client.ask("dump");
            dump["dump"]["tasks"][0]["name"] == "sleeper"
        });
        assert_eq!(dump["left_out"], 0);
        assert!(first["at"].as_f64().unwrap() < dump["at"].as_f64().unwrap());
        assert!(error(&client.ask("record 1s")).contains("not recorded"));
    }
}

#[test]
fn it_answers_while_every_worker_is_stuck() {
    let _watchdog = Watchdog::new();
    let place = Place::new();
    let builder = Flavour::Workers(2).builder().stall_threshold(None);
    let runtime = builder.inspect(&place.0).build().unwrap();
    let stuck = Arc::new(Barrier::new(3));
    for _ in 0..2 {
        let stuck = Arc::clone(&stuck);
        runtime.spawn(async move { stuck.wait() });
    }
    let mut client = Client::new(&place.0);
    until(|| {
        let dump = client.ask("dump");
        let tasks = dump["dump"]["tasks"].as_array().unwrap();
        tasks
            .iter()
            .filter(|task| task["state"] == "running")
            .count()
            == 2
    });
    assert_eq!(client.ask("metrics")["metrics"]["live_tasks"], 2);
    stuck.wait();
}

#[test]
fn it_gives_a_recording() {
    let _watchdog = Watchdog::new();
    let place = Place::new();
    let builder = Flavour::Workers(2).builder().inspect(&place.0);
    let last = Recording::last(Duration::from_mins(1));
    let runtime = builder.record(last).build().unwrap();
    let task = rt::task::Builder::new().name("recorded");
    runtime.block_on(async { task.spawn(rt::yield_now()).await.unwrap() });
    let mut client = Client::new(&place.0);
    for request in ["record", "record 50s", "record 50000ms"] {
        let answer = client.ask(request);
        let events = answer["recording"]["traceEvents"].as_array().unwrap();
        assert!(events.iter().any(|event| event["name"] == "recorded"));
    }
    let none = client.ask("record 0s");
    let events = none["recording"]["traceEvents"].as_array().unwrap();
    assert!(events.iter().all(|event| event["name"] != "recorded"));
}

#[test]
fn a_dump_can_be_limited() {
    let _watchdog = Watchdog::new();
    let place = Place::new();
    let runtime = place.runtime();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..100)
            .map(|_| rt::spawn(std::future::pending::<()>()))
            .collect();
        let (release, hold) = mpsc::channel::<()>();
        let job = rt::task::Builder::new().name("runs");
        let job = job.spawn_blocking(move || hold.recv());
        let runs = |task: &rt::dump::TaskDump| {
            task.id == job.id() && task.state == rt::dump::TaskState::Running
        };
        let idle = |task: &rt::dump::TaskDump| task.state == rt::dump::TaskState::Idle;
        until(|| {
            let dump = runtime.dump();
            dump.tasks.iter().filter(|task| idle(task)).count() == 100
                && dump.tasks.iter().any(runs)
        });
        let mut client = Client::new(&place.0);
        let answer = client.ask("dump 1");
        assert_eq!(answer["left_out"], 100);
        assert_eq!(answer["dump"]["tasks"].as_array().unwrap().len(), 1);
        assert_eq!(answer["dump"]["tasks"][0]["name"], "runs");
        assert_eq!(client.ask("dump 0")["left_out"], 101);
        assert_eq!(client.ask("dump 101")["left_out"], 0);
        drop((tasks, release));
    });
}

#[test]
fn rubbish_is_answered_and_harms_nobody() {
    let _watchdog = Watchdog::new();
    let place = Place::new();
    let runtime = place.runtime();
    let mut client = Client::new(&place.0);
    let rubbish = [
        "",
        "GET / HTTP/1.1",
        "dump x",
        "record 2",
        "metrics please",
        "\0",
    ];
    for request in rubbish {
        assert!(!error(&client.ask(request)).is_empty());
    }
    client.write(b"\xff\xfe\n").unwrap();
    assert!(error(&client.read().unwrap()).contains("UTF-8"));
    // Many at once, and then half of one, which the end completes.
    client.write(b"metrics\ndump\nx\nmet").unwrap();
    client.write(b"rics").unwrap();
    client
        .0
        .get_ref()
        .shutdown(std::net::Shutdown::Write)
        .unwrap();
    assert!(client.read().unwrap().get("metrics").is_some());
    assert!(client.read().unwrap().get("dump").is_some());
    assert!(client.read().unwrap().get("error").is_some());
    assert!(client.read().unwrap().get("metrics").is_some());
    assert!(client.read().is_none());

    // Without an end.
    let mut endless = Client::new(&place.0);
    let _until_it_is_left = endless.write(&b"m".repeat(100_000));
    assert!(error(&endless.read().unwrap()).contains("256 bytes"));
    assert!(endless.read().is_none());

    // Gone at once, or before the answer.
    drop(UnixStream::connect(&place.0).unwrap());
    let mut gone = Client::new(&place.0);
    gone.write(b"dump\n").unwrap();
    drop(gone);
    assert!(
        Client::new(&place.0)
            .ask("metrics")
            .get("metrics")
            .is_some()
    );
    drop(runtime);
}

#[test]
fn a_hundred_clients_are_served() {
    const CLIENTS: usize = 100;
    let _watchdog = Watchdog::new();
    let place = Place::new();
    let runtime = place.runtime();
    let together = Barrier::new(CLIENTS);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                together.wait();
                let mut answer = None;
                until(|| {
                    answer = Client::ask_if_there(&place.0, "metrics");
                    answer.is_some()
                });
                assert_eq!(answer.unwrap()["metrics"]["io_threads"], 2);
            });
        }
    });
    drop(runtime);
}

#[test]
fn the_one_silent_for_longest_makes_room() {
    let _watchdog = Watchdog::new();
    let place = Place::new();
    let runtime = place.runtime();
    let mut first = Client::new(&place.0);
    // As many as there are places, and more, until the first has lost its own.
    first.0.get_ref().set_nonblocking(true).unwrap();
    let mut told = String::new();
    let mut others = Vec::new();
    until(|| {
        others.push(Client::new(&place.0));
        first.0.read_to_string(&mut told).is_ok()
    });
    assert!(told.contains("another client"), "{told}");
    assert!(others.len() >= 32);
    // Who talks keeps the place.
    let mut talks = Client::new(&place.0);
    for _ in 0..100 {
        assert!(talks.ask("metrics").get("metrics").is_some());
        others.push(Client::new(&place.0));
    }
    drop(runtime);
}

#[test]
fn who_does_not_read_holds_up_nobody() {
    alone(|| {
        let place = Place::new();
        let threads_before = threads();
        let fds_before = fds();
        let runtime = place.runtime();
        runtime.block_on(async {
            for _ in 0..5000 {
                rt::spawn(std::future::pending::<()>());
            }
        });
        // More than a socket holds.
        let mut greedy = Client::new(&place.0);
        greedy.write(&b"dump\n".repeat(100)).unwrap();
        let mut other = Client::new(&place.0);
        // Once all of them have been polled.
        until(|| other.ask("dump")["dump"]["tasks"].as_array().unwrap().len() == 5000);
        runtime.block_on(runtime.spawn(async {})).unwrap();
        // Both are left, in the middle of an answer or not.
        runtime.shutdown_timeout(Duration::MAX);
        assert!(other.read().is_none());
        let mut rest = Vec::new();
        greedy.0.read_to_end(&mut rest).unwrap();
        assert!(!rest.is_empty());
        drop((greedy, other));
        until(|| threads() == threads_before && fds() == fds_before);
    });
}

#[test]
fn it_ends_with_the_runtime() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let place = Place::new();
        let runtime = flavour.builder().inspect(&place.0).build().unwrap();
        let mut attached = Client::new(&place.0);
        let handle = runtime.handle().clone();
        drop(runtime);
        assert!(attached.read().is_none());
        assert!(!place.0.exists());
        assert!(UnixStream::connect(&place.0).is_err());
        drop(handle);
    }
}

/// What keeps a runtime from its end can be seen.
#[test]
fn it_is_there_until_the_last_thread_has_ended() {
    let _watchdog = Watchdog::new();
    let place = Place::new();
    let runtime = place.runtime();
    let (release, hold) = mpsc::channel::<()>();
    let job = rt::task::Builder::new().name("holds on");
    {
        let _current = runtime.enter();
        drop(job.spawn_blocking(move || hold.recv()));
    }
    let mut client = Client::new(&place.0);
    until(|| client.ask("dump")["dump"]["tasks"][0]["state"] == "running");
    let ending = thread::spawn(move || runtime.shutdown_timeout(Duration::MAX));
    let dump = client.ask("dump");
    assert_eq!(dump["dump"]["tasks"][0]["name"], "holds on");
    drop(release);
    ending.join().unwrap();
    assert!(client.read().is_none());
}

#[test]
fn a_bad_path_is_an_error_of_the_build() {
    let _watchdog = Watchdog::new();
    let inspect = |path: &Path| Runtime::builder().io_threads(1).inspect(path);
    refused(
        inspect(Path::new("/nonexistent/rt.sock")),
        ErrorKind::NotFound,
        "/nonexistent/rt.sock",
    );
    for path in ["", "\0abstract", &"long".repeat(50)] {
        refused(inspect(Path::new(path)), ErrorKind::InvalidInput, "inspect");
    }
    let place = Place::new();
    fs::write(&place.0, "precious").unwrap();
    refused(inspect(&place.0), ErrorKind::AlreadyExists, "not a socket");
    assert_eq!(fs::read_to_string(&place.0).unwrap(), "precious");
}

#[test]
fn a_live_socket_is_left_alone_and_a_dead_one_replaced() {
    let _watchdog = Watchdog::new();
    let place = Place::new();
    // Nobody listens any more, and the name is still there.
    drop(UnixListener::bind(&place.0).unwrap());
    let runtime = place.runtime();
    let mut client = Client::new(&place.0);
    let second = Runtime::builder().io_threads(1).inspect(&place.0);
    refused(second, ErrorKind::AddrInUse, "listens there");
    assert!(client.ask("metrics").get("metrics").is_some());
    assert!(
        Client::new(&place.0)
            .ask("metrics")
            .get("metrics")
            .is_some()
    );

    // Somebody has taken the name: it is not ours to remove.
    fs::remove_file(&place.0).unwrap();
    let listener = UnixListener::bind(&place.0).unwrap();
    drop(runtime);
    assert!(UnixStream::connect(&place.0).is_ok());
    drop(listener);
}

#[test]
fn a_build_that_fails_leaves_no_path() {
    let _watchdog = Watchdog::new();
    let place = Place::new();
    let never = SignalKind::from_raw(libc::SIGKILL);
    let builder = Runtime::builder().io_threads(1).dump_on_signal(never);
    assert!(builder.inspect(&place.0).build().is_err());
    assert!(!place.0.exists());
}

#[test]
fn a_forked_child_leaves_it_to_its_parent() {
    alone(|| {
        let place = Place::new();
        let mut runtime = Some(place.runtime());
        let mut client = Client::new(&place.0);
        in_child(|| {
            let second = Runtime::builder().io_threads(1).inspect(&place.0);
            refused(second, ErrorKind::AddrInUse, "listens there");
            drop(runtime.take());
            assert!(place.0.exists());
        });
        assert!(client.ask("metrics").get("metrics").is_some());
        drop(runtime);
        assert!(client.read().is_none());
        assert!(!place.0.exists());
    });
}

//! `rtop` and runtimes that run, and whatever else may listen at a path.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use rt::Runtime;
use rt::record::Recording;
use rtop::client::Client;
use rtop::draw;
use rtop::view::View;

/// A name for a socket that goes with the test.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = format!("rtop-{}-{number}.sock", std::process::id());
        Place(std::env::temp_dir().join(name))
    }

    fn runtime(&self) -> Runtime {
        let last = Recording::last(Duration::from_secs(60)).events_per_thread(256);
        let builder = Runtime::builder().io_threads(2).record(last);
        builder.inspect(&self.0).build().unwrap()
    }

    /// Somebody else, who says `line` to the first who connects.
    fn says(&self, line: &'static [u8]) -> thread::JoinHandle<()> {
        let listener = UnixListener::bind(&self.0).unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _may_have_gone = stream.write_all(line);
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn rtop(args: &[&str], path: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rtop"));
    command.args(args).arg(path).output().unwrap()
}

#[track_caller]
fn refused(path: &Path, says: &str) {
    let error = Client::connect(path).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
    let output = rtop(&["--once"], path);
    assert_eq!(output.status.code(), Some(1));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn tasks_that_block_every_worker_are_shown() {
    let place = Place::new();
    let runtime = place.runtime();
    let stuck = Arc::new(Barrier::new(3));
    for number in 0..2 {
        let stuck = Arc::clone(&stuck);
        let _current = runtime.enter();
        let task = rt::task::Builder::new().name(format!("stuck {number}"));
        drop(task.spawn(async move {
            // A task is known by its name from its second poll on.
            rt::yield_now().await;
            stuck.wait();
        }));
    }
    let mut client = Client::connect(&place.0).unwrap();
    assert_eq!(client.hello().process, std::process::id());
    let mut view = View::new(client.hello().clone());
    loop {
        view.update(client.hello().clone(), client.look().unwrap());
        let text = draw::text(&view);
        let shown = ["stalls: polls", "now  stuck 0", "now  stuck 1"];
        if shown.iter().all(|line| text.contains(line)) {
            break;
        }
    }
    stuck.wait();
    drop(runtime);
    let ended = client.look().unwrap_err().to_string();
    assert_eq!(ended, "the runtime has ended");
}

#[test]
fn the_program_prints_once_and_records() {
    let place = Place::new();
    let runtime = place.runtime();
    let ticks = rt::task::Builder::new().name("ticks");
    let _current = runtime.enter();
    drop(ticks.spawn(async {
        loop {
            rt::delay(Duration::from_millis(1)).await;
        }
    }));
    let output = rtop(&["--once", "--interval", "0.1"], &place.0);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    let line = shown.lines().find(|line| line.contains("ticks"));
    assert!(
        line.is_some_and(|line| line.contains("live.rs:")),
        "{shown}"
    );

    let file = place.0.with_extension("json");
    let output = rtop(
        &["--interval", "30", "--record", file.to_str().unwrap()],
        &place.0,
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let recording: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    fs::remove_file(file).unwrap();
    let events = recording["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["name"] == "ticks"));

    // There is no terminal here.
    let output = rtop(&[], &place.0);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no terminal"));
}

#[test]
fn what_is_wrong_is_said() {
    let place = Place::new();
    refused(&place.0, "there is no socket at");
    fs::write(&place.0, "").unwrap();
    refused(&place.0, "is not a socket");
    fs::remove_file(&place.0).unwrap();
    drop(UnixListener::bind(&place.0).unwrap());
    refused(&place.0, "its process has ended");
}

#[test]
fn other_listeners_are_told_from_runtimes() {
    let cases: [(&[u8], &str); 5] = [
        (b"{\"rt_inspect\":2,\"later\":true}\n", "version 2"),
        (b"220 mail.example.org\n", "not an `rt` runtime"),
        (b"\xff\xfe\n", "not an `rt` runtime"),
        (b"", "has ended"),
        (
            b"{\"error\":\"there are too many clients\"}\n",
            "too many clients",
        ),
    ];
    for (line, says) in cases {
        let place = Place::new();
        let other = place.says(line);
        let error = Client::connect(&place.0).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        other.join().unwrap();
    }
}

#[test]
fn answers_that_are_none_are_an_error() {
    let place = Place::new();
    let other = place.says(b"{\"rt_inspect\":1}\nrubbish\n");
    let mut client = Client::connect(&place.0).unwrap();
    other.join().unwrap();
    assert!(client.look().is_err());
}

#[test]
fn options_that_are_wrong_are_told() {
    for args in [
        &["--bogus"][..],
        &["--interval", "x"],
        &["--interval", "0"],
        &["--interval", "-1"],
        &["one"],
    ] {
        let output = rtop(args, Path::new("two"));
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains("usage: rtop"));
    }
    let output = rtop(&["--help"], Path::new("x"));
    assert!(output.status.success());
    assert!(text(&output.stdout).starts_with("usage: rtop"));
}

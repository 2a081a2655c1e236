//! The process's own input and outputs. Each test is about a process of its own, which the test starts
//! with an input and outputs of its choice.

use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rt::io::{AsyncBufReadExt, AsyncReadExt};
use rt_tests::{Flavour, Watchdog, poll_once, until};

/// Names the part that a child process is to play.
const PART: &str = "RT_TESTS_STDIO";

/// Whether this is the child that is to play the part.
fn plays(part: &str) -> bool {
    env::var(PART).is_ok_and(|asked| asked == part)
}

/// Starts the test `name` again, to play a part.
fn start(name: &str, part: &str, stdin: Stdio, stdout: Stdio) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--test-threads=1", "-q"]);
    command.env(PART, part).stdin(stdin).stdout(stdout);
    command.stderr(Stdio::inherit()).spawn().unwrap()
}

/// What a child that has ended has written, without what the test harness adds.
fn said(child: &mut Child) -> String {
    let mut all = String::new();
    let output = child.stdout.take().unwrap();
    BufReader::new(output).read_to_string(&mut all).unwrap();
    all
}

fn flags_of(fd: u32) -> String {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.unwrap().trim().to_owned()
}

#[test]
fn input_and_outputs_are_never_made_non_blocking() {
    const NAME: &str = "input_and_outputs_are_never_made_non_blocking";
    let _watchdog = Watchdog::new();
    if plays(NAME) {
        let before = [0, 1, 2].map(flags_of);
        return Flavour::Workers(2).build().block_on(async {
            let mut input = rt::io::stdin();
            let mut output = rt::io::stdout();
            assert!(
                poll_once(&mut Box::pin(input.read(&mut [0; 8])))
                    .await
                    .is_pending()
            );
            output.write_all(b"<hello>").await.unwrap();
            output.flush().await.unwrap();
            rt::io::stderr().write_all(b"").await.unwrap();
            assert_eq!([0, 1, 2].map(flags_of), before);
            output.write_all(b"<unchanged>").await.unwrap();
            output.flush().await.unwrap();
        });
    }
    let mut child = start(NAME, NAME, Stdio::piped(), Stdio::piped());
    let _open = child.stdin.take();
    let said = said(&mut child);
    assert!(said.contains("<hello><unchanged>"), "{said}");
    assert!(child.wait().unwrap().success());
}

/// Nothing ever comes, and the process ends all the same, though a read waits.
#[test]
fn a_process_ends_although_its_input_is_stuck() {
    const NAME: &str = "a_process_ends_although_its_input_is_stuck";
    let _watchdog = Watchdog::new();
    if plays(NAME) {
        let runtime = Flavour::Workers(2).build();
        let (tell, told) = std::sync::mpsc::channel();
        drop(runtime.spawn(async move {
            let mut input = rt::io::stdin();
            assert!(
                poll_once(&mut Box::pin(input.read(&mut [0; 8])))
                    .await
                    .is_pending()
            );
            tell.send(()).unwrap();
            input.read(&mut [0; 8]).await
        }));
        told.recv().unwrap();
        // It has all the time there is, and needs none of it.
        return runtime.shutdown_timeout(Duration::MAX);
    }
    let mut child = start(NAME, NAME, Stdio::piped(), Stdio::null());
    let open = child.stdin.take();
    assert!(child.wait().unwrap().success());
    drop(open);
}

/// Lines come one at a time, and each is answered before the next.
#[test]
fn lines_are_read_as_they_come() {
    const NAME: &str = "lines_are_read_as_they_come";
    let _watchdog = Watchdog::new();
    if plays(NAME) {
        return Flavour::CurrentThread.build().block_on(async {
            let mut lines = rt::io::BufReader::new(rt::io::stdin()).lines();
            let mut output = rt::io::stdout();
            while let Some(line) = lines.next_line().await.unwrap() {
                output
                    .write_all(format!("<{line}>\n").as_bytes())
                    .await
                    .unwrap();
                output.flush().await.unwrap();
            }
            output.write_all(b"<end>\n").await.unwrap();
            output.flush().await.unwrap();
        });
    }
    let mut child = start(NAME, NAME, Stdio::piped(), Stdio::piped());
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut expect = |wanted: &str| until(|| output.next().unwrap().unwrap().ends_with(wanted));
    for line in ["one", "two", ""] {
        writeln!(input, "{line}").unwrap();
        expect(&format!("<{line}>"));
    }
    write!(input, "without an end").unwrap();
    drop(input);
    expect("<without an end>");
    expect("<end>");
    assert!(child.wait().unwrap().success());
}

/// From a file, through reads that are given up, to a file.
#[test]
fn files_are_copied_from_input_to_output() {
    const NAME: &str = "files_are_copied_from_input_to_output";
    const LEN: usize = 1 << 20;
    let _watchdog = Watchdog::new();
    if plays(NAME) {
        return Flavour::Workers(2).build().block_on(async {
            let mut all = Vec::new();
            let mut input = rt::io::stdin();
            let mut buf = [0; 100];
            let mut given_up = Box::pin(input.read(&mut buf));
            let read = poll_once(&mut given_up).await.is_ready();
            drop(given_up);
            assert!(!read, "the thread has not even begun");
            input.read_to_end(&mut all).await.unwrap();
            let mut output = rt::io::stdout();
            output.write_all(&all).await.unwrap();
            output.flush().await.unwrap();
        });
    }
    let bytes: Vec<u8> = (0..LEN).map(|at| b'a' + (at % 26) as u8).collect();
    let path = env::temp_dir().join(format!("rt-tests-stdio-{}", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    let input = File::open(&path).unwrap();
    let mut child = start(NAME, NAME, input.into(), Stdio::piped());
    let said = said(&mut child);
    std::fs::remove_file(&path).unwrap();
    assert!(said.contains(std::str::from_utf8(&bytes).unwrap()));
    assert!(child.wait().unwrap().success());
}

//! Telling, from outside, a process that makes system calls from one that makes none.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::syscalls;

const SETTLE: Duration = Duration::from_millis(20);
const WINDOW: Duration = Duration::from_millis(50);
/// A process takes a while to start, longer on a busy machine; this many looks are a watchdog only.
const LOOKS: usize = 200;

/// Whether a look at a running command finds what is wanted; true where tracing is not allowed.
fn shows(name: &str, arg: &str, wanted: fn(u64) -> bool) -> bool {
    let mut child: Child = Command::new(name)
        .arg(arg)
        .stdout(Stdio::null())
        .spawn()
        .expect("a command that is everywhere");
    let shown = (0..LOOKS).any(|_| syscalls(child.id(), SETTLE, WINDOW).map_or(true, wanted));
    child.kill().expect("it is this test's child");
    child.wait().expect("it is this test's child");
    shown
}

#[test]
fn a_sleeping_process_makes_no_calls() {
    assert!(shows("sleep", "60", |calls| calls == 0));
}

#[test]
fn a_process_that_writes_all_the_time_is_caught() {
    assert!(shows("yes", "y", |calls| calls > 10));
}

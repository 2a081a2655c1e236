//! Tests that need a process of their own: because they count what the whole process has, change
//! what the whole process shares, or end it.

use std::any;
use std::env;
use std::process::Command;
use std::time::Duration;

use crate::Watchdog;

/// Names the test that a child process is for.
const MARK: &str = "RT_TESTS_ALONE";

/// The child has a minute; then it is ended from within, and says so.
const LIMIT: Duration = Duration::from_mins(2);

/// Runs `body` in a process of its own. To be called by a test, as all that it does.
///
/// # Panics
///
/// If the child process fails; its output is part of the message.
#[track_caller]
pub fn alone(body: impl FnOnce()) {
    alone_after(":", body);
}

/// As [`alone`], with a line of shell to run first, for limits of the process.
///
/// # Panics
///
/// If the child process fails; its output is part of the message.
#[track_caller]
pub fn alone_after(shell: &str, body: impl FnOnce()) {
    let name = test_name(&body);
    if env::var(MARK).is_ok_and(|mark| mark == name) {
        let _watchdog = Watchdog::new();
        return body();
    }
    let _watchdog = Watchdog::with_limit(LIMIT);
    let script = format!("{shell} && exec \"$0\" \"$@\"");
    let this = env::current_exe().expect("the path of the test");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(this);
    command.args(["--exact", &name, "--nocapture", "--test-threads=1"]);
    let output = command.env(MARK, &name).output().expect("a child process");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "`{name}` alone: {}\n{stdout}\n{stderr}",
        output.status,
    );
}

/// The name by which the harness knows the test that `body` was written in: the path of the
/// closure, without the crate in front and the closure behind.
fn test_name<F>(_: &F) -> String {
    let path = any::type_name::<F>();
    let path = path.split_once("::").map_or(path, |(_crate, path)| path);
    path.split("::{{closure}}")
        .next()
        .unwrap_or(path)
        .to_owned()
}

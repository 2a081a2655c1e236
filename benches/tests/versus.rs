//! The program as it is called: what it prints, and its exit status.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn versus(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_versus"));
    command.args(args.split_whitespace());
    command
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A folder of this test's own, emptied.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

#[test]
fn a_quick_run_prints_a_row_for_each_peer_and_a_ratio_for_each_budget() {
    let folder = folder("quick");
    let output = versus("--quick --only spawn_join_internal,echo_50 --peers rt,tokio")
        .arg("--json")
        .arg(folder.join("out.json"))
        .arg("--svg")
        .arg(&folder)
        .output()
        .expect("versus runs");
    let text = printed(&output);
    assert!(output.status.success(), "{text}");
    let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    for row in ["spawn_join_internal", "echo_50"] {
        for peer in ["rt", "tokio"] {
            assert_eq!(lines(&format!("versus {row} {peer} ")), 1, "{text}");
        }
    }
    assert_eq!(lines("ratio spawn_join_internal tokio "), 1, "{text}");
    assert_eq!(lines("ratio echo_50 tokio "), 2, "{text}");
    for line in text.lines().filter(|line| line.starts_with("versus ")) {
        assert_eq!(line.split_whitespace().count(), 5, "{line}");
    }
    for line in text.lines().filter(|line| line.starts_with("ratio ")) {
        assert_eq!(line.split_whitespace().count(), 6, "{line}");
    }
    let json = fs::read_to_string(folder.join("out.json")).expect("the JSON file");
    let json: serde_json::Value = serde_json::from_str(&json).expect("valid JSON");
    assert_eq!(json["benches"][0]["name"], "spawn_join_internal");
    assert!(folder.join("spawn.svg").exists() && folder.join("echo.svg").exists());
}

/// A toolchain that "builds" a program which claims to be very fast and adds up wrongly.
const LYING_GO: &str = r#"#!/bin/sh
case "$1" in
version) echo "go version go0.0 linux/amd64" ;;
build)
    printf '#!/bin/sh\necho result 41 0.001\ncat >/dev/null\n' >versus-go
    chmod +x versus-go
    ;;
esac
"#;

#[test]
fn a_wrong_sum_fails_the_run_however_fast_it_was() {
    let folder = folder("liar");
    let go = folder.join("go");
    fs::write(&go, LYING_GO).expect("a script");
    fs::set_permissions(&go, fs::Permissions::from_mode(0o755)).expect("a runnable script");
    let path = format!("{}:{}", folder.display(), env!("PATH"));
    let output = versus("--quick --only yield_1 --peers go")
        .env("PATH", path)
        .output()
        .expect("versus runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(printed(&output).contains("versus yield_1 go failed ns"));
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(complaint.contains("wrong sum 41"), "{complaint}");
}

#[test]
fn a_mistake_on_the_command_line_is_its_own_status() {
    for args in ["--only nonsense", "--peers nobody", "--rounds 0"] {
        let output = versus(args).output().expect("versus runs");
        assert_eq!(output.status.code(), Some(2), "{args}");
    }
}

#[test]
fn every_bench_is_listed() {
    let text = printed(&versus("--list").output().expect("versus runs"));
    for bench in ["spawn_join_external", "echo_8000", "mixed_cpu", "fs_rand"] {
        assert!(text.contains(bench), "{bench} is missing");
    }
}

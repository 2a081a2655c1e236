//! What the macros accept, what they leave behind, and where their errors point.
//!
//! Each file in `tests/cases` is compiled as a user's crate, against a stand-in for `rt` that
//! records the builder's calls. A comment `//~ text` says that an error holding that text is
//! expected on its line. A file without such comments must compile, and pass when it is run.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[test]
fn every_case_compiles_or_fails_as_it_says() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let macros = build(
        &here.join("src/lib.rs"),
        "rt_macros",
        "proc-macro",
        &[],
        target,
    );
    let stand_in = here.join("tests/cases/stand_in/rt.rs");
    let rt = build(&stand_in, "rt", "rlib", &[("rt_macros", &macros)], target);

    let mut cases: Vec<PathBuf> = fs::read_dir(here.join("tests/cases"))
        .expect("the folder of cases is beside this file")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    cases.sort();
    assert!(!cases.is_empty());
    for case in cases {
        check(&case, &rt, target);
    }
}

fn check(case: &Path, rt: &Path, target: &Path) {
    let source = fs::read_to_string(case).expect("the case can be read");
    let expected: BTreeSet<(usize, String)> = source
        .lines()
        .enumerate()
        .filter_map(|(index, line)| Some((index + 1, line.split_once("//~ ")?.1.to_owned())))
        .collect();
    let name = case
        .file_stem()
        .and_then(|stem| stem.to_str())
        .expect("an ASCII name");
    let binary = target.join(name);
    let mut command = rustc(case, name, target);
    command.arg("--extern").arg(format!("rt={}", rt.display()));
    command.arg("-L").arg(target).arg("-o").arg(&binary);
    // A case with a `main` is a program, the others are tests.
    if !source.contains("fn main()") || source.contains("rt::test") {
        command.arg("--test");
    }
    let output = command.output().expect("rustc runs");

    let found = errors(&output);
    for (line, text) in &expected {
        let is_there = found
            .iter()
            .any(|(at, message)| at == line && message.contains(text));
        assert!(
            is_there,
            "{name}:{line}: no error says {text:?}, only {found:#?}"
        );
    }
    for (line, message) in &found {
        let is_expected = expected
            .iter()
            .any(|(at, text)| at == line && message.contains(text));
        assert!(is_expected, "{name}:{line}: unexpected error {message:?}");
    }
    if expected.is_empty() {
        assert!(
            output.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let run = Command::new(&binary).output().expect("the case runs");
        assert!(run.status.success(), "{name}: {run:#?}");
    }
}

/// The place and text of each error in rustc's short format, `path:line:column: error: text`.
fn errors(output: &Output) -> BTreeSet<(usize, String)> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let error = |line: &str| {
        let (place, message) = line.split_once(": error")?;
        let line = place.rsplit(':').nth(1)?.parse().ok()?;
        Some((line, message.to_owned()))
    };
    stderr.lines().filter_map(error).collect()
}

fn build(
    source: &Path,
    name: &str,
    kind: &str,
    dependencies: &[(&str, &Path)],
    target: &Path,
) -> PathBuf {
    let file = match kind {
        "proc-macro" => format!(
            "{}{name}{}",
            env::consts::DLL_PREFIX,
            env::consts::DLL_SUFFIX
        ),
        _ => format!("lib{name}.rlib"),
    };
    let path = target.join(file);
    let mut command = rustc(source, name, target);
    command.args(["--crate-type", kind, "--extern", "proc_macro"]);
    for (dependency, path) in dependencies {
        command
            .arg("--extern")
            .arg(format!("{dependency}={}", path.display()));
    }
    let output = command.arg("-o").arg(&path).output().expect("rustc runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    path
}

fn rustc(source: &Path, name: &str, target: &Path) -> Command {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.arg(source).args([
        "--edition",
        "2024",
        "--error-format",
        "short",
        "--crate-name",
        name,
    ]);
    command
        .arg("-C")
        .arg("prefer-dynamic=no")
        .current_dir(target);
    command
}

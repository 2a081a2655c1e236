//! Keeps the house tidy: what the compiler does not check about the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The longest file that can still be read in one go.
const MAX_LINES: usize = 600;

/// Where the program talks to the operating system by itself. A folder stands for its files.
const SYSCALLS: [&str; 9] = [
    "benches/src/sys",
    "benches/src/sys.rs",
    "examples/examples/tour.rs",
    "reactor/src/sys",
    "runtime/src/sys",
    "runtime/src/sys.rs",
    "tests/src/fork.rs",
    "tests/src/memory.rs",
    "tests/tests/injected/kernel.rs",
];

/// A file of the repository.
struct File {
    /// From the root.
    path: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        has_extension(&self.path, "rs")
    }

    /// The lines with their numbers, without comments and without what stands in quotes.
    fn code(&self) -> impl Iterator<Item = (usize, String)> {
        (1..).zip(self.text.lines().map(without_comments_and_strings))
    }

    /// The file itself, and the files of the modules that it is inside of: `a/b.rs` for `a/b/c.rs`.
    fn with_parents(&self) -> impl Iterator<Item = String> {
        std::iter::successors(Some(self.path.clone()), |path| {
            let (folder, _) = path.rsplit_once('/')?;
            Some(format!("{folder}.rs"))
        })
    }
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|found| found == extension)
}

fn without_comments_and_strings(line: &str) -> String {
    let mut code = String::new();
    let mut quoted = false;
    let mut before = ' ';
    for (at, character) in line.char_indices() {
        if !quoted && line[at..].starts_with("//") {
            break;
        }
        if character == '"' && before != '\\' && before != '\'' {
            quoted = !quoted;
        } else if !quoted {
            code.push(character);
        }
        before = character;
    }
    code
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the folder above")
        .to_owned()
}

/// Sources that a test feeds to the macros, odd ones on purpose.
const SAMPLES: &str = "runtime/macros/tests/cases";

/// Every text file of the repository that people write.
fn files() -> Vec<File> {
    let root = root();
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry of it").path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let path_in = path.strip_prefix(&root).expect("below the root");
            let path_in = path_in.to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && name != ".git" && path_in != SAMPLES {
                    folders.push(path);
                }
            } else if ["rs", "md", "sh", "toml", "mut"]
                .iter()
                .any(|end| has_extension(&name, end))
            {
                let text = fs::read_to_string(&path).expect("a text file");
                files.push(File {
                    path: path_in,
                    text,
                });
            }
        }
    }
    assert!(files.iter().any(|file| file.path == "tests/tests/tidy.rs"));
    files
}

/// Fails with the whole list, so that one run tells all.
fn assert_none(what: &str, found: impl IntoIterator<Item = String>) {
    let found: Vec<_> = found.into_iter().collect();
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

#[test]
fn no_file_is_too_long_to_be_read_in_one_go() {
    let long = files().into_iter().filter_map(|file| {
        let lines = file.text.lines().count();
        (lines > MAX_LINES && file.is_rust()).then(|| format!("{}: {lines} lines", file.path))
    });
    assert_none("too long", long);
}

#[test]
fn every_file_opens_by_saying_what_it_is() {
    let silent = files()
        .into_iter()
        .filter(|file| file.is_rust() && !file.text.starts_with("//! "));
    assert_none("does not open with `//!`", silent.map(|file| file.path));
}

#[test]
fn nothing_is_left_to_be_done() {
    let marks = ["todo!(", "unimplemented!(", "#[ignore", "dbg!("];
    let words = [
        concat!("FIX", "ME"),
        concat!("TO", "DO"),
        concat!("XX", "X"),
    ];
    let mut found = Vec::new();
    for file in files() {
        for (number, code) in file.code().filter(|_| file.is_rust()) {
            if marks.iter().any(|mark| code.contains(mark)) {
                found.push(format!("{}:{number}: {code}", file.path));
            }
        }
        for (number, line) in (1..).zip(file.text.lines()) {
            if words.iter().any(|word| {
                line.split(|c: char| !c.is_alphanumeric())
                    .any(|w| w == *word)
            }) {
                found.push(format!("{}:{number}: {line}", file.path));
            }
        }
    }
    assert_none("left to be done", found);
}

#[test]
fn no_test_waits_by_sleeping() {
    let mut found = Vec::new();
    for file in files() {
        let ours = ["channel/", "reactor/", "runtime/", "scheduler/", "tests/"];
        if ours.iter().any(|folder| file.path.starts_with(folder)) && file.is_rust() {
            for (number, _) in file
                .code()
                .filter(|(_, code)| code.contains("thread::sleep("))
            {
                found.push(format!("{}:{number}", file.path));
            }
        }
    }
    assert_none("sleeps", found);
}

#[test]
fn modules_are_files_with_names() {
    let nameless = [
        "mod.rs",
        "util.rs",
        "utils.rs",
        "misc.rs",
        "helpers.rs",
        "common.rs",
    ];
    let found = files().into_iter().filter(|file| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        nameless.contains(&name)
    });
    assert_none("says nothing by its name", found.map(|file| file.path));
}

/// The paths in backticks that begin the bullets under a heading of `ARCHITECTURE.md`.
fn listed_under(heading: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let section = text.lines().skip_while(|line| *line != heading).skip(1);
    let bullets = section.take_while(|line| !line.starts_with('#'));
    let paths = bullets.filter_map(|line| line.strip_prefix("- `")?.split('`').next());
    paths.map(str::to_owned).collect()
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.ends_with("/model.rs")
}

/// Whether the module as a whole says that it has unsafe code.
fn opens_for_unsafe(text: &str) -> bool {
    let attributes = text.split("\n#![expect(").skip(1);
    attributes
        .filter_map(|rest| rest.split(")]").next())
        .any(|lints| lints.contains("unsafe_code"))
}

#[test]
fn unsafe_code_is_where_the_architecture_says() {
    let listed = listed_under("## Unsafe");
    assert!(
        !listed.is_empty(),
        "ARCHITECTURE.md has a list under `## Unsafe`"
    );
    let files = files();
    let opened: BTreeSet<String> = files
        .iter()
        .filter(|file| file.is_rust() && opens_for_unsafe(&file.text))
        .map(|file| file.path.clone())
        .collect();
    // What a module's own tests and models do is no part of the list.
    let is_listed = |path: &String| listed.contains(path) || is_test(path);
    // A file may be listed beside the module that opens for it.
    let listed_only = listed
        .iter()
        .filter(|path| {
            let file = files.iter().find(|file| file.path == **path);
            !file.is_some_and(|file| file.with_parents().any(|path| opened.contains(&path)))
        })
        .map(|path| format!("{path}: only listed"));
    let opened_only = opened
        .iter()
        .filter(|path| !is_listed(path))
        .map(|path| format!("{path}: not listed"));
    let mut found: Vec<_> = listed_only.chain(opened_only).collect();
    for file in files.iter().filter(|file| file.is_rust()) {
        if file.with_parents().any(|path| opened.contains(&path)) {
            continue;
        }
        for (number, code) in file.code() {
            if code
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| word == "unsafe")
            {
                found.push(format!("{}:{number}: {code}", file.path));
            }
        }
    }
    assert_none("unsafe code", found);
}

#[test]
fn system_calls_are_made_in_a_few_places() {
    let mut found = Vec::new();
    for file in files()
        .iter()
        .filter(|file| file.is_rust() && !is_test(&file.path))
    {
        let allowed = SYSCALLS
            .iter()
            .any(|place| file.path == *place || file.path.starts_with(&format!("{place}/")));
        if allowed || file.path == "reactor/src/sys.rs" {
            continue;
        }
        for (number, code) in file.code() {
            // Constants are in capitals, functions are not.
            let calls = code.match_indices("libc::").any(|(at, libc)| {
                code[at + libc.len()..].starts_with(|c: char| c.is_ascii_lowercase())
            });
            if calls {
                found.push(format!("{}:{number}: {code}", file.path));
            }
        }
    }
    assert_none("system calls", found);
}

/// A model must run the code that ships, so `cfg(loom)` picks modules and primitives, and changes
/// nothing inside a function.
#[test]
fn models_change_which_modules_there_are_and_nothing_else() {
    let mut found = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        if file.path.ends_with("src/primitive.rs") || file.path.contains("src/primitive/") {
            continue;
        }
        let lines: Vec<_> = file.code().collect();
        for (at, (number, code)) in lines.iter().enumerate() {
            let conditional =
                code.contains("cfg(") || code.contains("cfg_attr(") || code.contains("cfg!(");
            if !conditional || !code.contains("loom") {
                continue;
            }
            let item = lines[at + 1..].iter().map(|(_, code)| code.trim_start());
            let item = item
                .clone()
                .find(|code| !code.is_empty() && !code.starts_with("#["));
            let allowed = item.is_some_and(|item| {
                let item = item.strip_prefix("pub(crate) ").unwrap_or(item);
                let item = item.strip_prefix("pub ").unwrap_or(item);
                item.starts_with("mod ") || item.starts_with("use ")
            });
            if !allowed || !code.trim_start().starts_with("#[") {
                found.push(format!("{}:{number}: {code}", file.path));
            }
        }
    }
    assert_none("`cfg(loom)` on something else than a module", found);
}

/// The list of traps names tests that there are.
#[test]
fn the_list_of_traps_names_tests_that_there_are() {
    let list = fs::read_to_string(root().join("tests/README.md")).expect("tests/README.md");
    let files = files();
    let mut tests = BTreeSet::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for (_, code) in file.code() {
            let code = code
                .trim_start()
                .trim_start_matches("pub ")
                .trim_start_matches("async ");
            if let Some(name) = code.strip_prefix("fn ") {
                tests.extend(name.split(['(', '<']).next().map(str::to_owned));
            }
        }
    }
    let rows = list.lines().filter(|line| line.starts_with("| ")).skip(2);
    let mut found = Vec::new();
    let mut named = 0;
    for row in rows {
        let column = row.split('|').nth(3).unwrap_or_default();
        for name in column.split('`').skip(1).step_by(2) {
            named += 1;
            let test = name.rsplit("::").next().unwrap_or(name);
            if !tests.contains(test) {
                found.push(name.to_owned());
            }
        }
    }
    assert!(named > 20, "the list names its tests");
    assert_none("no such test", found);
}

//! The line between `versus` and its children: text on standard input and output.
//!
//! A child says `ready PORT` (a server), `begin` and `end` (a load, around its measured part) and
//! `result SUM VALUE…` (anyone with a result). It ends when its input ends, so that none outlives a
//! `versus` that was killed; until then its `/proc` files can be read. A server answers each line of
//! input with `count N`, the pieces of work it has finished.

use std::io::{self, BufRead, Write};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Pieces finished. A plain count, which orders nothing.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Counts a finished piece of work.
pub(crate) fn count_one() {
    COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Says a line and makes sure that it leaves.
pub(crate) fn say(line: &str) {
    let mut out = io::stdout().lock();
    // A reader that has gone away is about to kill this process anyway.
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// Says that connections are accepted.
pub(crate) fn ready(port: u16) {
    say(&format!("ready {port}"));
}

/// Says a result.
pub(crate) fn result(sum: u64, values: &[f64]) {
    let values: Vec<_> = values.iter().map(|value| format!(" {value}")).collect();
    say(&format!("result {sum}{}", values.concat()));
}

/// Answers on a thread of its own, which ends the process when the input ends.
pub(crate) fn answer_in_background() {
    thread::spawn(|| {
        while next_line().is_some() {
            say(&format!("count {}", COUNT.load(Ordering::Relaxed)));
        }
        process::exit(0);
    });
}

/// Waits for the next line of input; `None` when there will be no more.
pub(crate) fn next_line() -> Option<String> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(1..) => Some(line.trim().to_owned()),
        _ => None,
    }
}

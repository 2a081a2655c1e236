//! Requests, and what they are answered. The protocol is in the module's documentation.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::Weak;
use std::time::Duration;

use serde::Serialize;

use crate::dump::{Dump, TaskDump, TaskState};
use crate::metrics::RuntimeMetrics;
use crate::record::{self, NOT_RECORDED};

use super::VERSION;
use super::server::Server;

#[cfg(test)]
mod tests;

/// How many tasks a dump has, unless told otherwise.
const TASKS: usize = 10_000;

/// What a client asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Metrics,
    Dump { limit: usize },
    Record { last: Duration },
}

#[derive(Serialize)]
struct Hello<'a> {
    rt_inspect: u32,
    process: u32,
    runtime: &'a str,
    rt: &'static str,
}

#[derive(Serialize)]
struct MetricsAnswer {
    at: f64,
    metrics: RuntimeMetrics,
}

#[derive(Serialize)]
struct DumpAnswer {
    at: f64,
    dump: Dump,
    left_out: usize,
}

#[derive(Serialize)]
struct ErrorAnswer<'a> {
    error: &'a str,
}

impl Request {
    /// The request in a line, or else what is wrong with it.
    pub(super) fn parse(line: &[u8]) -> Result<Request, String> {
        let line = str::from_utf8(line).map_err(|_| "a request is UTF-8".to_owned())?;
        let mut words = line.split_whitespace();
        let (name, argument) = (words.next(), words.next());
        if words.next().is_some() {
            return Err(format!("too many words: `{}`", line.trim()));
        }
        match (name, argument) {
            (Some("metrics"), None) => Ok(Request::Metrics),
            (Some("dump"), None) => Ok(Request::Dump { limit: TASKS }),
            (Some("dump"), Some(limit)) => match limit.parse() {
                Ok(limit) => Ok(Request::Dump { limit }),
                Err(_) => Err(format!("not a number of tasks: `{limit}`")),
            },
            (Some("record"), None) => Ok(Request::Record {
                last: Duration::MAX,
            }),
            (Some("record"), Some(time)) => match parse_time(time) {
                Some(last) => Ok(Request::Record { last }),
                None => Err(format!("not a time, as `2s` or `500ms` is one: `{time}`")),
            },
            _ => Err(format!(
                "not `metrics`, `dump [TASKS]` or `record [TIME]`: `{}`",
                line.trim()
            )),
        }
    }

    /// Writes the answer. Who reads it slowly keeps nothing of the runtime alive meanwhile.
    pub(super) fn answer(&self, server: &Server, out: &mut impl Write) -> io::Result<()> {
        let inner = server.home.wait();
        let inner = Weak::upgrade(inner).ok_or(io::ErrorKind::NotConnected)?;
        let at = server.begun.elapsed().as_secs_f64();
        match *self {
            Request::Metrics => {
                let metrics = RuntimeMetrics::read(&inner);
                drop(inner);
                write_line(out, &MetricsAnswer { at, metrics })
            }
            Request::Dump { limit } => {
                let mut dump = {
                    let _one_at_a_time = server.dumping.lock();
                    Dump::take(&inner)
                };
                drop(inner);
                let left_out = keep_busiest(&mut dump, limit);
                write_line(out, &DumpAnswer { at, dump, left_out })
            }
            Request::Record { last } => {
                let record = inner.record.as_ref();
                let record = record.map(|record| (record.recorder(), record.limit(last)));
                drop(inner);
                let Some((recorder, last)) = record else {
                    return error(out, NOT_RECORDED);
                };
                write!(out, "{{\"at\":{at},\"recording\":")?;
                record::write(&mut OneLine(&mut *out), &recorder, last)?;
                out.write_all(b"}\n")?;
                out.flush()
            }
        }
    }
}

/// The first line of each client.
pub(super) fn hello(server: &Server, out: &mut impl Write) -> io::Result<()> {
    let hello = Hello {
        rt_inspect: VERSION,
        process: std::process::id(),
        runtime: &server.name,
        rt: env!("CARGO_PKG_VERSION"),
    };
    write_line(out, &hello)
}

pub(super) fn error(out: &mut impl Write, message: &str) -> io::Result<()> {
    write_line(out, &ErrorAnswer { error: message })
}

fn write_line(out: &mut impl Write, answer: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, answer)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// A time like `2s`, `0.5s` or `500ms`.
fn parse_time(text: &str) -> Option<Duration> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (text.strip_suffix('s')?, 1.0),
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * unit).ok()
}

/// Leaves `limit` tasks in the dump, and the scopes above them. Returns how many it has taken out.
fn keep_busiest(dump: &mut Dump, limit: usize) -> usize {
    let left_out = dump.tasks.len().saturating_sub(limit);
    if left_out == 0 {
        return 0;
    }
    let rank = |task: &TaskDump| {
        let runs = task.state == TaskState::Running;
        Reverse((runs, task.busy, task.polls))
    };
    if limit > 0 {
        dump.tasks.select_nth_unstable_by_key(limit - 1, rank);
    }
    dump.tasks.truncate(limit);
    dump.tasks.sort_unstable_by_key(|task| task.id);

    let parents: HashMap<u64, Option<u64>> =
        (dump.scopes.iter().map(|scope| (scope.id, scope.parent))).collect();
    let mut kept = HashSet::new();
    for task in &dump.tasks {
        let mut above = task.scope;
        while let Some(scope) = above.filter(|scope| kept.insert(*scope)) {
            above = parents.get(&scope).copied().flatten();
        }
    }
    dump.scopes.retain(|scope| kept.contains(&scope.id));
    left_out
}

/// Passes all on but ends of lines, which are blanks in JSON as good as any.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match bytes.iter().position(|byte| *byte == b'\n') {
            Some(0) => self.0.write(b" "),
            Some(end) => self.0.write(&bytes[..end]),
            None => self.0.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

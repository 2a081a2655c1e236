//! The Chrome trace format: one JSON object, times in microseconds.

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use rt_scheduler::record::{Event, Kind, Recorder};

use super::flows::{self, Flow};

/// Writes what `recorder` holds of the last `time`.
pub(crate) fn write(out: &mut impl Write, recorder: &Recorder, last: Duration) -> io::Result<()> {
    let (mut threads, now) = recorder.threads();
    let last = u64::try_from(last.as_nanos()).unwrap_or(u64::MAX);
    let since = now.saturating_sub(last);
    for (_, events) in &mut threads {
        events.retain(|event| event.lasts.is_none_or(|lasts| event.at + lasts >= since));
    }
    let process = std::process::id();
    let mut list = List {
        out,
        process,
        empty: true,
    };
    list.begin()?;
    for (thread, (name, events)) in threads.iter().enumerate() {
        list.thread(thread, name)?;
        for event in events.iter().filter(|event| event.kind != Kind::Wake) {
            list.event(thread, event, now)?;
        }
    }
    for (number, flow) in flows::between(&threads).iter().enumerate() {
        list.flow(number, flow)?;
    }
    list.end()
}

struct List<'a, W> {
    out: &'a mut W,
    process: u32,
    empty: bool,
}

impl<W: Write> List<'_, W> {
    fn begin(&mut self) -> io::Result<()> {
        write!(self.out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")
    }

    fn end(&mut self) -> io::Result<()> {
        writeln!(self.out, "\n]}}")
    }

    /// Begins an entry: what every one has.
    fn entry(&mut self, phase: &str, thread: usize, name: &str) -> io::Result<()> {
        let comma = if self.empty { "" } else { "," };
        self.empty = false;
        let (process, thread, name) = (self.process, thread + 1, Json(name));
        write!(
            self.out,
            "{comma}\n{{\"ph\":\"{phase}\",\"pid\":{process},\"tid\":{thread},\"name\":{name}"
        )
    }

    fn thread(&mut self, thread: usize, name: &str) -> io::Result<()> {
        self.entry("M", thread, "thread_name")?;
        write!(self.out, ",\"args\":{{\"name\":{}}}}}", Json(name))?;
        self.entry("M", thread, "thread_sort_index")?;
        write!(self.out, ",\"args\":{{\"sort_index\":{thread}}}}}")
    }

    fn event(&mut self, thread: usize, event: &Event, now: u64) -> io::Result<()> {
        let phase = if event.kind.is_slice() { "X" } else { "i" };
        self.entry(phase, thread, &title(event))?;
        let (at, kind) = (Micros(event.at), label(event.kind));
        write!(self.out, ",\"cat\":\"{kind}\",\"ts\":{at}")?;
        if event.kind.is_slice() {
            let lasts = event.lasts.unwrap_or(now.saturating_sub(event.at));
            write!(self.out, ",\"dur\":{}", Micros(lasts))?;
        } else {
            write!(self.out, ",\"s\":\"t\"")?;
        }
        let mut comma = "";
        write!(self.out, ",\"args\":{{")?;
        if let Some(id) = event.id {
            write!(self.out, "\"task\":{id}")?;
            comma = ",";
        }
        if let Some(place) = event.place {
            let place = place.to_string();
            write!(self.out, "{comma}\"spawned\":{}", Json(&place))?;
            comma = ",";
        }
        if let (Kind::Stall, Some(worker)) = (event.kind, &event.name) {
            write!(self.out, "{comma}\"worker\":{}", Json(worker))?;
            comma = ",";
        }
        if event.kind.is_slice() && event.lasts.is_none() {
            write!(self.out, "{comma}\"goes on\":true")?;
        }
        write!(self.out, "}}}}")
    }

    fn flow(&mut self, number: usize, flow: &Flow) -> io::Result<()> {
        for (phase, end, binds) in [("s", flow.from, ""), ("f", flow.to, ",\"bp\":\"e\"")] {
            self.entry(phase, end.0, "wake")?;
            let at = Micros(end.1);
            write!(
                self.out,
                ",\"cat\":\"wake\",\"id\":{number},\"ts\":{at}{binds}}}"
            )?;
        }
        Ok(())
    }
}

/// What is written on the bar.
fn title(event: &Event) -> String {
    match (event.kind, &event.name, event.place) {
        (Kind::Poll, Some(name), _) => name.clone(),
        (Kind::Poll, None, Some(place)) => {
            let file = place.file().rsplit('/').next().unwrap_or_default();
            format!("{file}:{}", place.line())
        }
        (kind, ..) => label(kind).to_owned(),
    }
}

fn label(kind: Kind) -> &'static str {
    match kind {
        Kind::Poll => "poll",
        Kind::BlockOn => "block_on",
        Kind::Park => "park",
        Kind::Lead => "lead",
        Kind::Watch => "watch",
        Kind::Dispatch => "dispatch",
        Kind::Harvest => "harvest",
        Kind::InPlace => "block_in_place",
        Kind::Wake => "wake",
        Kind::Steal => "steal",
        Kind::Stall => "stall",
        Kind::Spare => "spare",
        // The enum belongs to the scheduler, which may learn more.
        _ => "other",
    }
}

/// Nanoseconds, written as microseconds.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// A string, as JSON has it.
struct Json<'a>(&'a str);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                c if c.is_control() => write!(f, "\\u{:04x}", c as u32)?,
                c => fmt::Write::write_char(f, c)?,
            }
        }
        f.write_str("\"")
    }
}

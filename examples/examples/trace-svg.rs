//! A small recording as a picture, without a browser: `trace-svg TRACE.json PICTURE.svg`.
//!
//! ```text
//! cargo run -p rt-examples --example tour -- --record tour.json
//! cargo run -p rt-examples --example trace-svg -- tour.json docs/tour.svg
//! ```
//!
//! Each thread of the recording (`rt::record`) is a lane; what it does is a box, and a wake an arrow. A poll takes
//! microseconds and a wait seconds, so the time does not run evenly: between two things that happen it takes as much room as
//! its logarithm. For recordings of thousands of events <https://ui.perfetto.dev> is the place.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::process::ExitCode;

use serde::Deserialize;

/// More can hardly be seen in one picture.
const MOST: usize = 2000;

/// Where nothing happens for so many microseconds, the picture says for how long.
const QUIET: f64 = 20_000.0;

const LEFT: f64 = 84.0;
const TOP: f64 = 62.0;
const LANE: f64 = 46.0;
const BOX: f64 = 26.0;
/// What a letter of a label takes.
const LETTER: f64 = 6.4;

/// What a box is filled with.
const COLOURS: [(&str, &str); 6] = [
    ("park", "#eceff1"),
    ("lead", "#cfd8dc"),
    ("watch", "#cfd8dc"),
    ("dispatch", "#ffb74d"),
    ("harvest", "#fff176"),
    ("block_on", "#b39ddb"),
];
/// Of the tasks, in the order in which they come.
const TASKS: [&str; 6] = [
    "#64b5f6", "#81c784", "#e57373", "#4dd0e1", "#f06292", "#dce775",
];

#[derive(Deserialize)]
struct Trace {
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

/// An event of the Chrome trace format, as far as it is drawn. Times are in microseconds.
#[derive(Deserialize)]
struct Event {
    ph: String,
    name: String,
    tid: u64,
    #[serde(default)]
    cat: String,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    id: u64,
    #[serde(default)]
    args: Args,
}

#[derive(Default, Deserialize)]
struct Args {
    #[serde(default)]
    name: String,
}

impl Event {
    fn end(&self) -> f64 {
        self.ts + self.dur
    }

    fn is_poll(&self) -> bool {
        self.cat == "poll"
    }

    /// How far a box is from the lane's edges: what is within something else is smaller.
    fn inset(&self) -> f64 {
        match self.cat.as_str() {
            "lead" => 6.0,
            _ => 0.0,
        }
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let [from, to] = args.as_slice() else {
        eprintln!("usage: trace-svg TRACE.json PICTURE.svg");
        return ExitCode::from(2);
    };
    match picture(from).and_then(|svg| Ok(fs::write(to, svg)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("trace-svg: {error}");
            ExitCode::FAILURE
        }
    }
}

fn picture(path: &str) -> Result<String, Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let trace = serde_json::from_str(&text);
    let Trace { events } = trace.map_err(|error| format!("{path} is no recording: {error}"))?;
    match events.iter().filter(|event| event.ph == "X").count() {
        0 => return Err(format!("{path}: nothing has happened").into()),
        boxes if boxes > MOST => {
            return Err(format!("{boxes} boxes are too many for a picture, {MOST} are not").into());
        }
        _ => {}
    }
    Ok(Picture::new(&events).draw()?)
}

/// Where each moment is, from left to right.
struct Axis(Vec<(f64, f64)>);

impl Axis {
    fn new(events: &[Event]) -> Axis {
        let happens = events.iter().filter(|event| event.ph != "M");
        let mut moments: Vec<f64> = happens.flat_map(|event| [event.ts, event.end()]).collect();
        moments.sort_by(f64::total_cmp);
        moments.dedup();
        let between = moments.windows(2).map(|pair| pair[1] - pair[0]);
        let mut widths: Vec<f64> = between
            .map(|micros: f64| {
                let width = 3.0 + 6.0 * (1.0 + micros).log10();
                // What is said of a quiet time needs its room, too.
                if micros < QUIET {
                    width
                } else {
                    width.max(72.0)
                }
            })
            .collect();
        // A poll's label needs its room.
        for poll in events.iter().filter(|event| event.is_poll()) {
            let at = |moment: f64| moments.partition_point(|known| *known < moment);
            let within = &mut widths[at(poll.ts)..at(poll.end())];
            let (has, needs) = (within.iter().sum::<f64>(), label_width(&poll.name));
            if has < needs {
                for width in within {
                    *width *= needs / has;
                }
            }
        }
        let mut x = LEFT;
        let mut axis = vec![(moments[0], x)];
        for (moment, width) in moments[1..].iter().zip(widths) {
            x += width;
            axis.push((*moment, x));
        }
        Axis(axis)
    }

    /// All moments that count are among the known ones.
    fn x(&self, moment: f64) -> f64 {
        let at = self.0.partition_point(|(known, _)| *known < moment);
        self.0[at.min(self.0.len() - 1)].1
    }

    fn right(&self) -> f64 {
        self.0[self.0.len() - 1].1
    }
}

struct Picture<'a> {
    events: &'a [Event],
    axis: Axis,
    /// The threads' names and lanes.
    lanes: BTreeMap<u64, (&'a str, f64)>,
    colours: BTreeMap<&'a str, &'static str>,
    svg: String,
}

impl<'a> Picture<'a> {
    fn new(events: &'a [Event]) -> Self {
        let threads = events.iter().filter(|event| event.name == "thread_name");
        let mut threads: Vec<&Event> = threads.collect();
        threads.sort_by_key(|thread| &thread.args.name);
        let lanes = threads.iter().zip(0_u32..).map(|(thread, number)| {
            let y = TOP + LANE * f64::from(number);
            (thread.tid, (thread.args.name.as_str(), y))
        });
        let mut colours = BTreeMap::new();
        for poll in events.iter().filter(|event| event.is_poll()) {
            let colour = TASKS[colours.len() % TASKS.len()];
            colours.entry(poll.name.as_str()).or_insert(colour);
        }
        Picture {
            events,
            axis: Axis::new(events),
            lanes: lanes.collect(),
            colours,
            svg: String::new(),
        }
    }

    fn draw(mut self) -> Result<String, std::fmt::Error> {
        let bottom = TOP + LANE * f64::from(u32::try_from(self.lanes.len()).unwrap_or(0));
        let (width, height) = (self.axis.right() + 16.0, bottom + 30.0);
        writeln!(
            self.svg,
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" font-family="sans-serif" font-size="11">
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0 8 4 0 8z" fill="#37474f"/></marker></defs>
<rect width="100%" height="100%" fill="#ffffff"/>"##
        )?;
        self.quiet_times(bottom)?;
        for (name, y) in self.lanes.values() {
            writeln!(
                self.svg,
                r##"<text x="8" y="{:.1}">{}</text><path d="M{LEFT} {:.1}H{:.1}" stroke="#cfd8dc"/>"##,
                y + BOX / 2.0 + 4.0,
                escaped(name),
                y + BOX,
                self.axis.right(),
            )?;
        }
        for event in self.events.iter().filter(|event| event.ph == "X") {
            self.draw_box(event)?;
        }
        self.arrows()?;
        self.legend(bottom + 16.0)?;
        self.svg.push_str("</svg>\n");
        Ok(self.svg)
    }

    /// Says how late it is after each quiet time, and how long that was.
    fn quiet_times(&mut self, bottom: f64) -> std::fmt::Result {
        let start = self.axis.0[0];
        let pairs = self.axis.0.windows(2).map(|pair| (pair[0], pair[1]));
        let quiet: Vec<_> = pairs
            .filter(|(one, other)| other.0 - one.0 >= QUIET)
            .collect();
        let mut wakes = vec![start];
        for (from, to) in quiet {
            let (middle, lasts) = (f64::midpoint(from.1, to.1), (to.0 - from.0) / 1e3);
            writeln!(
                self.svg,
                r##"<rect x="{:.1}" y="{TOP}" width="{:.1}" height="{:.1}" fill="#f5f5f5"/><text x="{middle:.1}" y="{:.1}" text-anchor="middle" fill="#90a4ae">{lasts:.0} ms</text>"##,
                from.1,
                to.1 - from.1,
                bottom - TOP,
                TOP - 8.0,
            )?;
            wakes.push(to);
        }
        for (moment, x) in wakes {
            writeln!(
                self.svg,
                r##"<path d="M{x:.1} 26V{bottom:.1}" stroke="#90a4ae" stroke-dasharray="2 3"/><text x="{:.1}" y="22">at {:.0} ms</text>"##,
                x - 2.0,
                (moment - start.0) / 1e3,
            )?;
        }
        Ok(())
    }

    fn draw_box(&mut self, event: &Event) -> std::fmt::Result {
        let Some((_, y)) = self.lanes.get(&event.tid) else {
            return Ok(());
        };
        let (x, inset) = (self.axis.x(event.ts), event.inset());
        let width = self.axis.x(event.end()) - x;
        let (top, height) = (y + inset, BOX - 2.0 * inset);
        let colour = self.colour(&event.name);
        let stroke = if event.is_poll() {
            "#37474f"
        } else {
            "#b0bec5"
        };
        let name = escaped(&event.name);
        write!(
            self.svg,
            r#"<g><title>{name}: {:.3} ms, from {:.3} ms on</title><rect x="{x:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" rx="2" fill="{colour}" stroke="{stroke}" stroke-width="0.7"/>"#,
            event.dur / 1e3,
            (event.ts - self.axis.0[0].0) / 1e3,
        )?;
        // In the middle of what is not a poll there may be something else.
        let (weight, room) = if event.is_poll() {
            ("bold", 1.0)
        } else {
            ("normal", 1.5)
        };
        if width + 0.1 >= room * label_width(&event.name) {
            let middle = x + width / 2.0;
            write!(
                self.svg,
                r#"<text x="{middle:.1}" y="{:.1}" text-anchor="middle" font-weight="{weight}">{name}</text>"#,
                y + BOX / 2.0 + 4.0,
            )?;
        }
        writeln!(self.svg, "</g>")
    }

    /// From each wake to the poll that it caused.
    fn arrows(&mut self) -> std::fmt::Result {
        let mut begins = BTreeMap::new();
        for event in self.events.iter().filter(|event| event.cat == "wake") {
            if event.ph == "s" {
                begins.insert(event.id, event);
                continue;
            }
            let Some(begin) = begins.get(&event.id) else {
                continue;
            };
            let (Some((_, from)), Some((_, to))) =
                (self.lanes.get(&begin.tid), self.lanes.get(&event.tid))
            else {
                continue;
            };
            let (x, end) = (self.axis.x(begin.ts), self.axis.x(event.ts));
            let path = if begin.tid == event.tid {
                // Over what lies between.
                let middle = f64::midpoint(x, end);
                format!(
                    "M{x:.1} {from:.1}Q{middle:.1} {:.1} {end:.1} {to:.1}",
                    from - 22.0
                )
            } else {
                let (from, to) = if from < to {
                    (from + BOX, *to)
                } else {
                    (*from, to + BOX)
                };
                format!("M{x:.1} {from:.1}L{end:.1} {to:.1}")
            };
            writeln!(
                self.svg,
                r##"<path d="{path}" fill="none" stroke="#37474f" stroke-width="0.9" marker-end="url(#head)"/>"##
            )?;
        }
        Ok(())
    }

    fn legend(&mut self, y: f64) -> std::fmt::Result {
        let mut x = LEFT;
        let text = "bold: a poll of the task; arrows: a wake or spawn, and the poll that followed";
        let boxes = COLOURS.iter().map(|(name, colour)| (*name, *colour));
        for (name, colour) in boxes.filter(|(name, _)| *name != "watch") {
            let name = if name == "lead" { "lead, watch" } else { name };
            writeln!(
                self.svg,
                r##"<rect x="{x:.1}" y="{:.1}" width="10" height="10" fill="{colour}" stroke="#b0bec5"/><text x="{:.1}" y="{y:.1}">{name}</text>"##,
                y - 9.0,
                x + 14.0,
            )?;
            x += 22.0 + label_width(name);
        }
        writeln!(self.svg, r#"<text x="{x:.1}" y="{y:.1}">{text}</text>"#)
    }

    fn colour(&self, name: &str) -> &'static str {
        let known = COLOURS.iter().find(|(known, _)| *known == name);
        let known = known.map(|(_, colour)| *colour);
        let task = self.colours.get(name).copied();
        task.or(known).unwrap_or("#ffffff")
    }
}

fn label_width(label: &str) -> f64 {
    6.0 + LETTER * f64::from(u32::try_from(label.chars().count()).unwrap_or(u32::MAX))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

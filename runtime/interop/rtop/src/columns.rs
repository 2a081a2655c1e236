//! Numbers and waits, short enough for a column.

use std::collections::HashMap;

use crate::model::{Dump, Scope, Task, WaitsFor};
use crate::rates::Pace;

/// A number with three digits or so: `950`, `12.3k`, `4.5M`.
pub(crate) fn count(number: f64) -> String {
    match number {
        _ if number < 9.95 && number.fract() > 0.05 => format!("{number:.1}"),
        _ if number < 1e4 => format!("{number:.0}"),
        _ if number < 1e6 => format!("{:.1}k", number / 1e3),
        _ if number < 1e9 => format!("{:.1}M", number / 1e6),
        _ => format!("{:.1}G", number / 1e9),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "only the first digits are shown"
)]
pub(crate) fn whole(number: u64) -> String {
    count(number as f64)
}

/// A rate, or a dash if it is not known yet.
pub(crate) fn rate(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), count)
}

/// A part of the time.
pub(crate) fn percent(pace: Pace) -> String {
    match pace.busy {
        Some(busy) => format!("{:.0}%", busy * 100.0),
        None => "-".to_owned(),
    }
}

/// Ten cells, as many full as tenths of the time were busy.
pub(crate) fn bar(pace: Pace) -> String {
    let busy = pace.busy.unwrap_or(0.0);
    let full = (1..=10).filter(|tenth| busy * 10.0 + 0.5 >= f64::from(*tenth));
    let full = full.count();
    "█".repeat(full) + &"·".repeat(10 - full)
}

/// A time with few digits.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds < 0.9995 => format!("{:.0}ms", seconds * 1e3),
        _ if seconds < 99.95 => format!("{seconds:.1}s"),
        _ if seconds < 6000.0 => format!("{seconds:.0}s"),
        _ if seconds < 172_800.0 => format!("{:.1}h", seconds / 3600.0),
        _ => format!("{:.1}d", seconds / 86400.0),
    }
}

/// What numbers and ids are called.
pub(crate) struct Names<'a> {
    tasks: HashMap<u64, &'a str>,
    scopes: HashMap<u64, &'a str>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(dump: &'a Dump) -> Names<'a> {
        let tasks = dump.tasks.iter();
        let scopes = dump.scopes.iter();
        Names {
            tasks: tasks
                .filter_map(|task| Some((task.id, task.name.as_deref()?)))
                .collect(),
            scopes: scopes
                .filter_map(|scope| Some((scope.id, scope.name.as_deref()?)))
                .collect(),
        }
    }

    pub(crate) fn scope(&self, id: u64) -> String {
        match self.scopes.get(&id) {
            Some(name) => format!("`{name}`"),
            None => format!("{id:#x}"),
        }
    }

    /// What a task does, beyond its state.
    pub(crate) fn doing(&self, task: &Task) -> String {
        if let Some(lasts) = task.running_for {
            let lasts = time(lasts);
            return match &task.blocked_in {
                Some(what) => format!("in one poll for {lasts}: {what}"),
                None => format!("in one poll for {lasts}"),
            };
        }
        let Some(waits_for) = &task.waits_for else {
            return match task.state.as_str() {
                "idle" => "something that is not the runtime's".to_owned(),
                _ => String::new(),
            };
        };
        let others = if task.and_others { " and others" } else { "" };
        format!("{}{others}", self.waits(waits_for))
    }

    fn waits(&self, waits_for: &WaitsFor) -> String {
        match *waits_for {
            WaitsFor::Readable { fd } => format!("to read from descriptor {fd}"),
            WaitsFor::Writable { fd } => format!("to write to descriptor {fd}"),
            WaitsFor::Timer { left: Some(left) } => format!("timer, in {}", time(left)),
            WaitsFor::Timer { left: None } => "timer that never ends".to_owned(),
            WaitsFor::Receive { channel } => format!("a value from channel {channel:#x}"),
            WaitsFor::Send { channel } => format!("room in channel {channel:#x}"),
            WaitsFor::Join { task } => match self.tasks.get(&task) {
                Some(name) => format!("the end of task {task} `{name}`"),
                None => format!("the end of task {task}"),
            },
            WaitsFor::Scope { scope } => format!("the children of {}", self.scope(scope)),
            WaitsFor::Cancellation { scope } => {
                format!("the cancellation of {}", self.scope(scope))
            }
            WaitsFor::Unknown(_) => "something new".to_owned(),
        }
    }
}

/// A line for a scope.
pub(crate) fn scope(scope: &Scope, names: &Names<'_>) -> String {
    let (kind, name, children) = (&scope.kind, names.scope(scope.id), scope.children);
    let deadline = scope.deadline.map(time);
    let deadline = deadline.map_or_else(String::new, |left| format!(", deadline in {left}"));
    let cancelled = if scope.cancelled { ", cancelled" } else { "" };
    format!("{kind} {name}, children {children}{deadline}{cancelled}")
}

//! A dump as text, for people.

use std::collections::HashMap;
use std::fmt::{self, Formatter};
use std::time::Duration;

use super::tree::{self, Line};
use super::{Dump, ScopeDump, TaskDump, TaskState, WaitsFor};

/// Deeper lines are not indented further: a long chain would fill the page with blanks.
const DEEPEST: usize = 32;

/// What a number or an id is called.
struct Names<'a> {
    tasks: HashMap<u64, &'a str>,
    scopes: HashMap<u64, &'a str>,
}

pub(super) fn print(dump: &Dump, f: &mut Formatter<'_>) -> fmt::Result {
    let named = |task: &'_ TaskDump| task.id.number();
    let names = Names {
        tasks: dump
            .tasks
            .iter()
            .filter_map(|task| Some((named(task), task.name.as_deref()?)))
            .collect(),
        scopes: dump
            .scopes
            .iter()
            .filter_map(|scope| Some((scope.id, scope.name.as_deref()?)))
            .collect(),
    };
    writeln!(f, "tasks: {}", dump.tasks.len() + dump.unlisted)?;
    for (depth, line) in tree::lines(dump) {
        let indent = 2 * depth.min(DEEPEST);
        write!(f, "{:indent$}", "")?;
        match line {
            Line::Task(task) => task.print(&names, f)?,
            Line::Scope(scope) => scope.print(&names, f)?,
        }
        writeln!(f)?;
    }
    if dump.unlisted > 0 {
        writeln!(f, "and {} in queues, never polled", dump.unlisted)?;
    }
    Ok(())
}

impl TaskDump {
    fn print(&self, names: &Names<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.id)?;
        if let Some(name) = &self.name {
            write!(f, " `{name}`")?;
        }
        write!(f, " at {} on {}: ", self.location, self.pool)?;
        self.print_state(f)?;
        if let Some(waits_for) = &self.waits_for {
            f.write_str(", waits ")?;
            waits_for.print(names, f)?;
            if self.and_others {
                f.write_str(" and others")?;
            }
        } else if self.state == TaskState::Idle {
            f.write_str(", waits for something that is not the runtime's")?;
        }
        write!(f, ", polls {}", self.polls)?;
        if let Some(busy) = self.busy {
            write!(f, ", busy about {}", Short(busy))?;
        }
        Ok(())
    }

    fn print_state(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            TaskState::Idle => "idle",
            TaskState::Scheduled => "scheduled",
            TaskState::Running => "running",
            TaskState::Completing => "completing",
            _ => "complete",
        })?;
        if let Some(idle) = self.idle {
            write!(f, " for {}", Short(idle))?;
        }
        if let Some(running) = self.running_for {
            write!(f, " for {} in one poll", Short(running))?;
        }
        if let Some(worker) = self.worker {
            write!(f, " on worker {worker}")?;
        }
        if self.in_place {
            f.write_str(" in `block_in_place`")?;
        }
        if let Some(blocked_in) = &self.blocked_in {
            write!(f, " ({blocked_in})")?;
        }
        Ok(())
    }
}

impl ScopeDump {
    fn print(&self, names: &Names<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, names.scope(self.id))?;
        write!(f, ": children {}", self.children)?;
        if let Some(deadline) = self.deadline {
            write!(f, ", deadline in {}", Short(deadline))?;
        }
        if self.cancelled {
            f.write_str(", cancelled")?;
        }
        Ok(())
    }
}

impl WaitsFor {
    fn print(&self, names: &Names<'_>, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            WaitsFor::Readable { fd } => write!(f, "to read from descriptor {fd}"),
            WaitsFor::Writable { fd } => write!(f, "to write to descriptor {fd}"),
            WaitsFor::Timer { left: None } => f.write_str("for a timer that never ends"),
            WaitsFor::Timer { left: Some(left) } => {
                write!(f, "for a timer that ends in {}", Short(*left))
            }
            WaitsFor::Receive { channel } => write!(f, "for a value from channel {channel:#x}"),
            WaitsFor::Send { channel } => write!(f, "for room in channel {channel:#x}"),
            WaitsFor::Join { task } => match names.tasks.get(task) {
                Some(name) => write!(f, "for the end of task {task} `{name}`"),
                None => write!(f, "for the end of task {task}"),
            },
            WaitsFor::Scope { scope } => {
                write!(f, "for the children of scope {}", names.scope(*scope))
            }
            WaitsFor::Cancellation { scope } => {
                write!(f, "for the cancellation of {}", names.scope(*scope))
            }
        }
    }
}

impl Names<'_> {
    /// A scope's name, or else its number.
    fn scope(&self, id: u64) -> String {
        match self.scopes.get(&id) {
            Some(name) => format!("`{name}`"),
            None => format!("{id:#x}"),
        }
    }
}

/// A time with few digits.
struct Short(Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let time = self.0;
        match time.as_secs() {
            0 => write!(f, "{}ms", time.as_millis()),
            1..=99 => write!(f, "{:.1}s", time.as_secs_f64()),
            seconds => write!(f, "{seconds}s"),
        }
    }
}

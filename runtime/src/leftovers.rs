//! What still runs when the end of a runtime has waited for it for long enough: named, so that it is
//! known what the end has waited for.
//!
//! With the feature `tracing` each is a warning. Where the limit is the drop's own it is told on standard error, too:
//! the program has stood still for so long, and has not asked for that.

use std::io::{self, Write};
use std::time::Duration;

use crate::dump::{Dump, TaskDump, TaskState};
use crate::handle::Handle;

#[cfg(test)]
mod tests;

/// Tells of the polls and the blocking jobs that a runtime, closed and waited for, runs nevertheless.
pub(crate) fn tell(handle: &Handle, waited: Duration, unasked: bool) {
    let Some(left) = find(handle) else {
        return;
    };
    // A subscriber is foreign code, and this is a destructor's.
    #[cfg(feature = "tracing")]
    crate::contain::contain(|| warn(&left, waited));
    if unasked {
        // There may be nobody to read it.
        let _ = io::stderr().write_all(text(&left, waited).as_bytes());
    }
}

/// The part of a dump that runs, unless that is nothing. Local tasks run on threads that nobody waits for.
fn find(handle: &Handle) -> Option<Dump> {
    let runs = |task: &TaskDump| task.state == TaskState::Running && task.pool != "local";
    let dump = Dump {
        tasks: handle.dump().tasks.into_iter().filter(runs).collect(),
        ..Dump::default()
    };
    (!dump.tasks.is_empty()).then_some(dump)
}

fn text(left: &Dump, waited: Duration) -> String {
    format!(
        "rt: the end of a runtime has waited {waited:?} and goes on without what still runs; {left}"
    )
}

#[cfg(feature = "tracing")]
fn warn(left: &Dump, waited: Duration) {
    for task in &left.tasks {
        tracing::warn!(
            target: "rt::shutdown",
            {
                task.id = %task.id,
                task.name = task.name.as_deref(),
                task.location = %task.location,
                elapsed = task.running_for.map(tracing::field::debug),
                pool = task.pool,
                blocked_in = task.blocked_in.as_deref(),
                waited = ?waited
            },
            "the end of a runtime goes on without what still runs"
        );
    }
}

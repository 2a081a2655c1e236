//! Who is printed below whom.

use std::collections::HashMap;

use rt_scheduler::Id;

use super::{Dump, ScopeDump, TaskDump};

/// One line of the tree.
#[derive(Clone, Copy)]
pub(super) enum Line<'a> {
    Task(&'a TaskDump),
    Scope(&'a ScopeDump),
}

/// What a line is below of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Above {
    Nothing,
    Task(Id),
    Scope(u64),
}

/// The lines from top to bottom, each with its depth.
///
/// A scope is below the task that has opened it, or, if that is not in the dump, below the scope above. Both were
/// there before the scope itself, so there are no rings.
pub(super) fn lines(dump: &Dump) -> Vec<(usize, Line<'_>)> {
    let tasks: HashMap<Id, &TaskDump> = dump.tasks.iter().map(|task| (task.id, task)).collect();
    let scopes: HashMap<u64, &ScopeDump> =
        dump.scopes.iter().map(|scope| (scope.id, scope)).collect();
    let mut below: HashMap<Above, Vec<Line<'_>>> = HashMap::new();
    // Reversed: what is taken from the end of a list comes first.
    for task in dump.tasks.iter().rev() {
        let scope = task.scope.filter(|scope| scopes.contains_key(scope));
        let above = scope.map_or(Above::Nothing, Above::Scope);
        below.entry(above).or_default().push(Line::Task(task));
    }
    for scope in dump.scopes.iter().rev() {
        let task = scope.opened_in.filter(|task| tasks.contains_key(task));
        let parent = scope.parent.filter(|parent| scopes.contains_key(parent));
        let above = match (task, parent) {
            (Some(task), _) => Above::Task(task),
            (None, Some(parent)) => Above::Scope(parent),
            (None, None) => Above::Nothing,
        };
        below.entry(above).or_default().push(Line::Scope(scope));
    }
    let mut lines = Vec::new();
    let mut open = vec![(0, below.remove(&Above::Nothing).unwrap_or_default())];
    while let Some((depth, siblings)) = open.last_mut() {
        let depth = *depth;
        let Some(line) = siblings.pop() else {
            open.pop();
            continue;
        };
        lines.push((depth, line));
        let here = match line {
            Line::Task(task) => Above::Task(task.id),
            Line::Scope(scope) => Above::Scope(scope.id),
        };
        if let Some(children) = below.remove(&here) {
            open.push((depth + 1, children));
        }
    }
    lines
}

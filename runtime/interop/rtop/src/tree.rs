//! Who is shown below whom: a task below its scope, a scope below the task that has opened it.

use std::collections::HashMap;

use crate::model::Dump;

/// A place in the dump.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Node {
    Task(usize),
    Scope(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Above {
    Nothing,
    Task(u64),
    Scope(u64),
}

/// The nodes from top to bottom, each with its depth.
///
/// Both what is above a scope and what is above a task were there before it, so there are no rings, whatever the
/// moments at which they were seen; one that came over the wire nevertheless is not shown.
pub(crate) fn lines(dump: &Dump) -> Vec<(usize, Node)> {
    let tasks: HashMap<u64, usize> = ids(dump.tasks.iter().map(|task| task.id));
    let scopes: HashMap<u64, usize> = ids(dump.scopes.iter().map(|scope| scope.id));
    let mut below: HashMap<Above, Vec<Node>> = HashMap::new();
    // Reversed: what is taken from the end of a list comes first.
    for (at, task) in dump.tasks.iter().enumerate().rev() {
        let scope = task.scope.filter(|scope| scopes.contains_key(scope));
        let above = scope.map_or(Above::Nothing, Above::Scope);
        below.entry(above).or_default().push(Node::Task(at));
    }
    for (at, scope) in dump.scopes.iter().enumerate().rev() {
        let task = scope.opened_in.filter(|task| tasks.contains_key(task));
        let parent = scope.parent.filter(|parent| scopes.contains_key(parent));
        let above = match (task, parent) {
            (Some(task), _) => Above::Task(task),
            (None, Some(parent)) => Above::Scope(parent),
            (None, None) => Above::Nothing,
        };
        below.entry(above).or_default().push(Node::Scope(at));
    }
    let mut lines = Vec::new();
    let mut open = vec![below.remove(&Above::Nothing).unwrap_or_default()];
    while let Some(siblings) = open.last_mut() {
        let Some(node) = siblings.pop() else {
            open.pop();
            continue;
        };
        lines.push((open.len() - 1, node));
        let here = match node {
            Node::Task(at) => Above::Task(dump.tasks[at].id),
            Node::Scope(at) => Above::Scope(dump.scopes[at].id),
        };
        open.extend(below.remove(&here));
    }
    lines
}

fn ids(ids: impl Iterator<Item = u64>) -> HashMap<u64, usize> {
    ids.enumerate().map(|(at, id)| (id, at)).collect()
}

//! What a dump tells of a task, taken while the task goes on.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use super::Id;
use super::cell::{Header, TaskRef};
use super::state::TaskState;
use super::trace::Waits;
use crate::primitive::sync::Arc;
use crate::scope::Node;

/// A task at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskInfo {
    /// Its id.
    pub id: Id,
    /// Its name, if it was given one.
    pub name: Option<Arc<str>>,
    /// Where it was spawned.
    pub location: &'static Location<'static>,
    /// The pool: the middle part of its threads' names.
    pub pool: &'static str,
    /// What it does.
    pub state: TaskState,
    /// How often it was polled, the poll that goes on included.
    pub polls: u64,
    /// How long it has been polled altogether, estimated from samples; `None` if it was never among the tasks that
    /// keep a worker busy.
    pub busy: Option<Duration>,
    /// How long ago its last poll has ended; `None` before that, and while it runs.
    pub idle: Option<Duration>,
    /// What it waits for.
    pub waits: Option<Waits>,
    /// Whether it waits for anything else, too.
    pub waits_for_others: bool,
    /// The scope that it is a child of.
    pub scope: Option<Arc<Node>>,
    /// The worker that polls it, by its index in its pool.
    pub worker: Option<usize>,
    /// Whether it blocks there and has said so.
    pub in_place: bool,
    /// How long the poll that goes on has lasted at least, where somebody watches: the guard, or a blocking thread.
    pub running_for: Option<Duration>,
    /// The number that the kernel has for the thread of that poll, if it has lasted for a while.
    pub thread: Option<u32>,
}

/// A task that was found, kept alive, and the scope that it was in then.
pub(crate) struct Found {
    pub(crate) task: TaskRef,
    pub(crate) scope: Option<Arc<Node>>,
}

impl Found {
    /// What there is to tell of it; `None` if it has ended.
    pub(crate) fn info(self, pool: &'static str) -> Option<TaskInfo> {
        let header = self.task.header();
        let state = header.look();
        let (waits, waits_for_others) = header.trace.waits();
        let running = state == TaskState::Running;
        let pending = header.trace.pending();
        (state != TaskState::Complete).then(|| TaskInfo {
            id: header.id,
            name: self.task.name().cloned(),
            location: header.location,
            pool,
            state,
            polls: u64::from(pending) + u64::from(running),
            busy: None,
            idle: (pending > 0 && !running).then(|| header.trace.idle_for()),
            waits: waits.filter(|_| !running),
            waits_for_others: waits_for_others && !running,
            scope: self.scope,
            worker: None,
            in_place: false,
            running_for: None,
            thread: None,
        })
    }
}

impl TaskInfo {
    /// What is known of a task in its first poll, which is in no list.
    pub(crate) fn of_running(
        id: Id,
        location: &'static Location<'static>,
        pool: &'static str,
    ) -> TaskInfo {
        TaskInfo {
            id,
            name: None,
            location,
            pool,
            state: TaskState::Running,
            polls: 1,
            busy: None,
            idle: None,
            waits: None,
            waits_for_others: false,
            scope: None,
            worker: None,
            in_place: false,
            running_for: None,
            thread: None,
        }
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("id", &self.id)
            .field("state", &self.look())
            .field("spawned_at", &format_args!("{}", self.location))
            .finish_non_exhaustive()
    }
}

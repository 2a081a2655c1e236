//! What a runtime does just now: every live task, as a tree by scopes.
//!
//! How to read one is a [chapter of the guide](crate::guide::slow_service). A dump is put together from lists
//! that each part of the runtime keeps anyway, one after another, while everything goes on. Scopes are found from their children, upwards.
//!
//! | file | what |
//! |---|---|
//! | `tree.rs` | who is printed below whom |
//! | `print.rs` | the text |
//! | `serial.rs` | how fields are serialized |
//! | `on_signal.rs` | a dump at each signal |

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rt_reactor::Deadline;
use rt_scheduler::scope::{Kind, Node};
use rt_scheduler::{Id, Listing, LocalWatch, Pool, TaskInfo, Waits};

pub use rt_scheduler::TaskState;

pub(crate) use on_signal::OnSignal;

use crate::handle::Inner;

mod on_signal;
mod print;
#[cfg(feature = "serde")]
mod serial;
mod tree;

/// Every live task of a runtime, and the scopes that they are in, at one moment.
///
/// Made by [`Handle::dump`](crate::Handle::dump). It prints as an indented tree: a task below the scope that it
/// is a child of, a scope below the task that it was opened in. Tasks come in the order of
/// their ids.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (_tx, rx) = rt::channel::bounded::<u8>(1);
/// let reader = rt::task::Builder::new().name("reader").spawn(async move { rx.recv().await });
/// rt::task::yield_now().await;
///
/// let text = rt::Handle::current().dump().to_string();
/// assert!(text.contains("reader"));
/// assert!(text.contains("waits for a value from channel"));
/// # reader.abort();
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Dump {
    /// The tasks that were found.
    pub tasks: Vec<TaskDump>,
    /// The scopes that they are in, and those above.
    pub scopes: Vec<ScopeDump>,
    /// How many live tasks are missing in `tasks`: they wait in queues and were never polled.
    pub unlisted: usize,
}

/// One task in a [`Dump`].
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TaskDump {
    /// Its id.
    pub id: Id,
    /// The name that it was given by [`task::Builder`](crate::task::Builder).
    pub name: Option<String>,
    /// Where it was spawned.
    #[cfg_attr(feature = "serde", serde(serialize_with = "serial::display"))]
    pub location: &'static Location<'static>,
    /// `io`, `cpu`, `blocking` or `local`.
    pub pool: &'static str,
    /// What it does.
    pub state: TaskState,
    /// How often it was polled, the poll that goes on included.
    pub polls: u64,
    /// How long it has been polled altogether, estimated from samples; `None` if too short to be seen among the
    /// tasks that keep a worker busy.
    #[cfg_attr(feature = "serde", serde(serialize_with = "serial::seconds"))]
    pub busy: Option<Duration>,
    /// How long ago its last poll has ended, about; `None` while it runs, and before its first poll.
    #[cfg_attr(feature = "serde", serde(serialize_with = "serial::seconds"))]
    pub idle: Option<Duration>,
    /// What it waits for, if that is a future of the runtime's own: the first one that its last poll has come to.
    pub waits_for: Option<WaitsFor>,
    /// Whether its last poll has left it waiting for anything else, too.
    pub and_others: bool,
    /// The scope that it is a child of, by [`ScopeDump::id`].
    pub scope: Option<u64>,
    /// The worker of its pool that polls it.
    pub worker: Option<usize>,
    /// Whether that worker is in [`block_in_place`](crate::block_in_place).
    pub in_place: bool,
    /// How long the poll that goes on has lasted at least, where it is known: once the guard has seen
    /// it twice, and for blocking jobs.
    #[cfg_attr(feature = "serde", serde(serialize_with = "serial::seconds"))]
    pub running_for: Option<Duration>,
    /// What the kernel says of the worker's thread while that poll goes on: the system call it blocks in, or that
    /// it computes.
    pub blocked_in: Option<String>,
}

/// What a task of a [`Dump`] waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum WaitsFor {
    /// A file descriptor, until it can be read.
    Readable {
        /// Its number.
        fd: i32,
    },
    /// A file descriptor, until it can be written.
    Writable {
        /// Its number.
        fd: i32,
    },
    /// A timer.
    Timer {
        /// How long it is until then; `None` for one that never comes.
        #[cfg_attr(feature = "serde", serde(serialize_with = "serial::seconds"))]
        left: Option<Duration>,
    },
    /// A value from a channel.
    Receive {
        /// A number that tells the channel from others that there are at the same time.
        channel: u64,
    },
    /// Room in a channel.
    Send {
        /// As in `Receive`.
        channel: u64,
    },
    /// The end of a task or a blocking job.
    Join {
        /// The number of its id.
        task: u64,
    },
    /// The children of a scope.
    Scope {
        /// [`ScopeDump::id`].
        scope: u64,
    },
    /// The cancellation of a scope or a token.
    Cancellation {
        /// [`ScopeDump::id`], if it is a scope.
        scope: u64,
    },
}

/// One scope in a [`Dump`].
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ScopeDump {
    /// A number that tells it from others that there are at the same time.
    pub id: u64,
    /// Its name.
    pub name: Option<String>,
    /// `scope`, `supervisor` or `shield`.
    pub kind: &'static str,
    /// The scope above.
    pub parent: Option<u64>,
    /// The task in which it was opened; `None` for the future of a `block_on`.
    pub opened_in: Option<Id>,
    /// How many children are live.
    pub children: usize,
    /// How long it is until the scope's own deadline.
    #[cfg_attr(feature = "serde", serde(serialize_with = "serial::seconds"))]
    pub deadline: Option<Duration>,
    /// Whether it was asked to stop.
    pub cancelled: bool,
}

/// The local sets that have been polled inside a runtime.
#[derive(Debug, Default)]
pub(crate) struct Locals(Mutex<Vec<LocalWatch>>);

impl Locals {
    pub(crate) fn add(&self, watch: LocalWatch) {
        let mut watches = self.0.lock();
        watches.retain(|watch| !watch.is_over());
        watches.push(watch);
    }

    fn list(&self) -> Vec<Listing> {
        let watches = self.0.lock().clone();
        watches.iter().map(LocalWatch::list_tasks).collect()
    }
}

impl Dump {
    pub(crate) fn take(inner: &Inner) -> Dump {
        let pools = [Some(inner.io.pool()), inner.cpu.started()];
        let mut parts: Vec<Listing> = pools.into_iter().flatten().map(Pool::list_tasks).collect();
        parts.extend(inner.locals.list());
        let unlisted = parts.iter().map(|part| part.unlisted).sum();
        let mut infos: Vec<TaskInfo> = parts.into_iter().flat_map(|part| part.tasks).collect();
        infos.extend(inner.blocking.list_jobs());
        infos.sort_unstable_by_key(|info| info.id);

        let now = inner.reactor.clock().now();
        let nodes = nodes_of(&infos);
        let parents = parents_of(&nodes);
        let tasks = infos.into_iter().map(|info| {
            let scope = info.scope.as_ref().map(|node| node.number());
            let scope = scope.or_else(|| parents.get(&info.id).copied());
            TaskDump::new(info, scope, now)
        });
        Dump {
            tasks: tasks.collect(),
            scopes: nodes.iter().map(|node| ScopeDump::new(node, now)).collect(),
            unlisted,
        }
    }
}

/// The scopes of these tasks, and all above, each once and the oldest of a line first.
fn nodes_of(infos: &[TaskInfo]) -> Vec<Arc<Node>> {
    let mut known = HashSet::new();
    let mut nodes = Vec::new();
    for info in infos {
        let mut line = Vec::new();
        let mut next = info.scope.as_ref();
        while let Some(node) = next.filter(|node| known.insert(node.number())) {
            line.push(Arc::clone(node));
            next = node.parent();
        }
        nodes.extend(line.into_iter().rev());
    }
    nodes
}

/// Which task is in which scope, also those of which only their scope knows it.
fn parents_of(nodes: &[Arc<Node>]) -> HashMap<Id, u64> {
    let children = |node: &Arc<Node>| {
        let number = node.number();
        node.child_ids().into_iter().map(move |id| (id, number))
    };
    nodes.iter().flat_map(children).collect()
}

impl TaskDump {
    fn new(info: TaskInfo, scope: Option<u64>, now: Deadline) -> TaskDump {
        TaskDump {
            id: info.id,
            name: info.name.map(|name| name.to_string()),
            location: info.location,
            pool: info.pool,
            state: info.state,
            polls: info.polls,
            busy: info.busy,
            idle: info.idle,
            waits_for: info.waits.and_then(|waits| WaitsFor::new(waits, now)),
            and_others: info.waits_for_others,
            scope,
            worker: info.worker,
            in_place: info.in_place,
            running_for: info.running_for,
            blocked_in: info.thread.and_then(crate::sys::process::doing),
        }
    }
}

impl WaitsFor {
    fn new(waits: Waits, now: Deadline) -> Option<WaitsFor> {
        Some(match waits {
            Waits::Read(fd) => WaitsFor::Readable { fd },
            Waits::Write(fd) => WaitsFor::Writable { fd },
            Waits::Timer(u64::MAX) => WaitsFor::Timer { left: None },
            Waits::Timer(millis) => {
                let at = Deadline::ZERO.saturating_add(Duration::from_millis(millis));
                let left = Some(at.saturating_duration_since(now));
                WaitsFor::Timer { left }
            }
            Waits::Receive(channel) => WaitsFor::Receive { channel },
            Waits::Send(channel) => WaitsFor::Send { channel },
            Waits::Join(task) => WaitsFor::Join { task },
            Waits::Scope(scope) => WaitsFor::Scope { scope },
            Waits::Cancellation(scope) => WaitsFor::Cancellation { scope },
            _ => return None,
        })
    }
}

impl ScopeDump {
    fn new(node: &Arc<Node>, now: Deadline) -> ScopeDump {
        let left = |nanos| Deadline::from_nanos(nanos).saturating_duration_since(now);
        ScopeDump {
            id: node.number(),
            name: node.name().map(String::from),
            kind: match node.kind() {
                Kind::Scope => "scope",
                Kind::Supervisor => "supervisor",
                Kind::Shield => "shield",
                Kind::Token => "token",
                Kind::Root => "block_on",
            },
            parent: node.parent().map(|parent| parent.number()),
            opened_in: node.opener(),
            children: node.child_count(),
            deadline: node.own_deadline().map(left),
            cancelled: node.is_cancelled(),
        }
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::print(self, f)
    }
}

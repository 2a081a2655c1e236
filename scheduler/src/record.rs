//! The recorder: what each thread of a runtime did, and when.
//!
//! A thread that is recorded has a track, a ring that it alone writes to, so nothing on the way
//! of a task takes a lock or meets another thread. A worker keeps its track beside its queues; any
//! other thread finds its own in a thread-local cell. While nothing in the process is recorded, a
//! worker pays one branch a poll and a push, and other threads one on a flag of the process.

#[cfg(not(loom))]
mod clock;
#[cfg(not(loom))]
mod recorder;
mod ring;

use std::panic::Location;

use crate::task::Id;

#[cfg(not(loom))]
pub(crate) use clock::Stopwatch;
#[cfg(not(loom))]
pub use recorder::{Recorder, Slice, slice};
#[cfg(not(loom))]
pub(crate) use recorder::{Track, attach, current, detach, instant, poll, wake};

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// It polled a task.
    Poll,
    /// It polled the future that `block_on` waits for.
    BlockOn,
    /// A worker had nothing to do.
    Park,
    /// A worker waited in the kernel for all, within a park.
    Lead,
    /// The reactor thread waited in the kernel.
    Watch,
    /// It woke whom events and timers were for.
    Dispatch,
    /// A busy worker looked for events.
    Harvest,
    /// A closure blocked, and said so.
    InPlace,
    /// It woke a task, or spawned it.
    Wake,
    /// A worker took tasks from another one.
    Steal,
    /// The guard noticed that a poll lasts too long.
    Stall,
    /// A spare worker came to stand in for a stuck one.
    Spare,
}

impl Kind {
    const ALL: [Kind; 12] = [
        Kind::Poll,
        Kind::BlockOn,
        Kind::Park,
        Kind::Lead,
        Kind::Watch,
        Kind::Dispatch,
        Kind::Harvest,
        Kind::InPlace,
        Kind::Wake,
        Kind::Steal,
        Kind::Stall,
        Kind::Spare,
    ];

    /// Whether it lasts; the others are moments.
    pub fn is_slice(self) -> bool {
        !matches!(self, Kind::Wake | Kind::Steal | Kind::Stall | Kind::Spare)
    }

    /// What `kind as u8` gave. Any other number is of an event that is thrown away.
    fn from_number(number: u8) -> Self {
        Self::ALL
            .get(usize::from(number))
            .copied()
            .unwrap_or(Kind::Poll)
    }
}

/// One thing that a thread did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event {
    /// What it was.
    pub kind: Kind,
    /// When it began, in nanoseconds since the recorder did.
    pub at: u64,
    /// How long it lasted, in nanoseconds; `None` while it goes on.
    pub lasts: Option<u64>,
    /// The task that was polled or woken, or is the cause.
    pub id: Option<Id>,
    /// Where that was spawned, for a poll and a stall.
    pub place: Option<&'static Location<'static>>,
    /// What that is called, for a poll; the worker, for a stall. Cut after 31 bytes.
    pub name: Option<String>,
}

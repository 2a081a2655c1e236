//! Tasks: a future with a state word, a place in an owner list, and a pool to be woken into.
//!
//! One allocation holds a task: header, then the future, later replaced in place by its output.
//! All that happens to it goes through the state word; `task/state.rs` has the states, the
//! invariants (T1–T5) and the orderings.
//!
//! | file | what |
//! |---|---|
//! | `state.rs` | who may touch what, as transitions of one word |
//! | `cell.rs` | the memory and the life: poll, complete, cancel, free |
//! | `contain.rs` | calls of user code that may panic |
//! | `memory.rs` | freed memory that is used again |
//! | `fetch.rs` | which of it the CPU fetches ahead of a poll |
//! | `waker.rs` | `std`'s waker over one counted reference |
//! | `join.rs` | [`JoinHandle`], [`AbortHandle`], [`JoinError`] |
//! | `owner.rs` | what a task knows of its pool, and the lists in which waiting tasks are found |
//! | `roll.rs` | who is in such a list, by number |
//! | `spot.rs` | which list, and which number there |
//! | `hold.rs` | how long that lives |
//! | `set.rs` | handles of which the finished ones come out first |
//! | `place.rs` | where a task was spawned, and its name |
//! | `current.rs` | the task whose code runs just now, as that code sees it |
//! | `trace.rs` | what a task leaves behind for a dump: polls, since when it waits, for what |
//! | `listing.rs` | what a dump tells of a task |

#[cfg(not(loom))]
mod cell;
#[cfg(not(loom))]
mod contain;
#[cfg(not(loom))]
mod current;
#[cfg(not(loom))]
mod fetch;
mod hold;
mod id;
#[cfg(not(loom))]
mod join;
#[cfg(not(loom))]
mod listing;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod owner;
#[cfg(not(loom))]
mod place;
#[cfg(not(loom))]
mod roll;
#[cfg(not(loom))]
mod set;
#[cfg(not(loom))]
mod spot;
mod state;
#[cfg(not(loom))]
mod trace;
#[cfg(not(loom))]
mod waker;

#[cfg(not(loom))]
mod runnable;

#[cfg(loom)]
pub(crate) use id::Id;
#[cfg(all(test, not(loom)))]
pub(crate) use spot::FAR;
pub use state::TaskState;
#[cfg(all(test, loom))]
pub(crate) use state::{Held, Start, State};
#[cfg(not(loom))]
pub(crate) use {
    cell::{Header, TaskRef},
    contain::{contain, contain_all, discard},
    join::Failure,
    listing::Found,
    memory::{close_shelf, open_shelf, trim_shelf},
    owner::{Keeper, Schedule, Shard},
    runnable::{Runnable, spawn},
    trace::tick,
};
#[cfg(not(loom))]
pub use {
    current::{id, try_id, try_name},
    id::Id,
    join::{AbortHandle, JoinError, JoinHandle},
    listing::TaskInfo,
    place::{Name, Named, Numbered, Place},
    set::{HandleSet, Joined},
    trace::{Waits, note, noted},
};

//! Tasks: what a spawned future is, and what its spawner keeps of it.
//!
//! | to | see |
//! |---|---|
//! | wait for one task, or abort it | [`JoinHandle`], [`AbortHandle`] |
//! | wait for whichever of many tasks ends first | [`JoinSet`] |
//! | name a task | [`Builder`], [`try_name`], [`try_id`] |
//! | give a task values that all it calls can reach | [`task_local!`](crate::task_local) |
//! | run what is not `Send` | [`spawn_local`], [`LocalSet`] |

mod builder;
pub mod join_set;
mod local_set;
mod task_local;

pub use builder::Builder;
pub use join_set::JoinSet;
pub(crate) use local_set::RootTasks;
pub use local_set::{LocalEnterGuard, LocalSet, RunUntil, spawn_local};
pub use rt_scheduler::coop::{Unconstrained, consume_budget, unconstrained};
pub use rt_scheduler::{
    AbortHandle, Id, JoinError, JoinHandle, YieldNow, id, try_id, try_name, yield_now,
};
pub use task_local::{AccessError, LocalKey, TaskLocalFuture};

pub use crate::spawn::{block_in_place, spawn, spawn_blocking};

//! Tasks: what a spawned future is, and what its spawner keeps of it.
//!
//! | to | see |
//! |---|---|
//! | wait for one task, or abort it | [`JoinHandle`], [`AbortHandle`] |
//! | name a task | [`Builder`], [`try_name`], [`try_id`] |

mod builder;

pub use builder::Builder;
pub use rt_scheduler::coop::{Unconstrained, consume_budget, unconstrained};
pub use rt_scheduler::{
    AbortHandle, Id, JoinError, JoinHandle, YieldNow, id, try_id, try_name, yield_now,
};

pub use crate::spawn::{block_in_place, spawn, spawn_blocking};

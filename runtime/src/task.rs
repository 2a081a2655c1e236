//! Tasks: what a spawned future is, and what its spawner keeps of it.

pub use rt_scheduler::coop::{Unconstrained, consume_budget, unconstrained};
pub use rt_scheduler::{AbortHandle, Id, JoinError, JoinHandle, YieldNow, yield_now};

pub use crate::spawn::{block_in_place, spawn, spawn_blocking};

//! Structured concurrency: tasks that end together.

#![doc = include_str!("../docs/scopes.md")]

mod alarm;
mod body;
mod nursery;
mod shield;
mod token;
mod try_nursery;

pub use nursery::{Scope, scope, supervisor};
pub use shield::shield;
pub use token::{CancelToken, Cancelled, DropGuard, cancelled, is_cancelled};
pub use try_nursery::{TryScope, try_scope};

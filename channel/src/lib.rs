//! The channels of the `rt` runtime: queues, waiters and hand-over, without a runtime.
//!
//! A program names the crate `rt`; its handles and futures (`rt::channel`) are thin shells over what is here,
//! which add the budget and the clock. This crate knows `std` wakers alone, so that loom can
//! model it.
//!
//! Read in this order: `lock.rs` (what everything stands behind), `queue.rs` (what is sent),
//! `waiters.rs` (who waits), `channel.rs` (the protocol), `oneshot.rs` (one value, without a lock).

#![cfg_attr(
    loom,
    allow(
        dead_code,
        reason = "the models use the protocols, not all that calls them"
    )
)]

mod channel;
mod lock;
pub mod oneshot;
mod primitive;
mod queue;
mod state;
mod waiters;
mod wake;

pub use channel::{Channel, Closed, Refused, UNBOUNDED};
pub use waiters::Waiting;

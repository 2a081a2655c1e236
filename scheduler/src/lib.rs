//! The scheduler of the `rt` runtime: tasks, workers, pools, and the protocol by which threads
//! sleep and are woken.
//!
//! A program names the crate `rt`; this crate is the half of it that knows nothing of sockets. It
//! asks a [`Driver`] to wait for events, and any `std` [`Waker`](std::task::Waker) brings a task
//! back. So the thread protocol can be modelled without a file descriptor.
//!
//! Read in this order: `task.rs` (what is scheduled), `idle.rs` (who sleeps, who searches),
//! `gate.rs` and `parking.rs` (how they sleep, and who watches for IO), `worker.rs` (where the next
//! task comes from), `pool.rs` (queues, and shutdown), `crew.rs` and `guard.rs` (threads, spares, and
//! who watches them), `turns.rs` and `view.rs` (limited views of a pool), `current.rs` (the flavour
//! without threads), `lanes.rs` and `blocking.rs` (threads for calls that block), `record.rs` (what each thread did), `scope.rs` (tasks that
//! end together), `local.rs` (tasks that stay on one thread).

#![cfg_attr(
    loom,
    allow(
        dead_code,
        reason = "the models use the protocols, not what calls them"
    )
)]

mod activity;
#[cfg(not(loom))]
mod block_on;
#[cfg(not(loom))]
mod blocking;
#[cfg(not(loom))]
mod context;
#[cfg(not(loom))]
pub mod coop;
#[cfg(not(loom))]
mod crew;
#[cfg(not(loom))]
mod current;
mod driver;
mod gate;
#[cfg(not(loom))]
mod guard;
#[cfg(not(loom))]
mod histogram;
#[cfg(not(loom))]
mod hooks;
#[cfg(not(loom))]
mod hot;
mod idle;
#[cfg(not(loom))]
mod kernel;
mod lanes;
#[cfg(not(loom))]
mod local;
#[cfg(not(loom))]
mod observer;
#[cfg(not(loom))]
mod pace;
mod parking;
#[cfg(not(loom))]
mod pool;
mod primitive;
pub mod record;
#[cfg(not(loom))]
mod rng;
mod roster;
pub mod scope;
#[cfg(not(loom))]
mod sharing;
mod slot;
mod stamps;
#[cfg(not(loom))]
mod stats;
mod task;
mod turns;
#[cfg(not(loom))]
mod view;
#[cfg(not(loom))]
mod worker;
#[cfg(not(loom))]
mod yield_now;

pub use activity::{Activity, at_rest};
pub use driver::{Driver, Wait};
pub use lanes::Lane;
pub use task::TaskState;
#[cfg(not(loom))]
pub use {
    block_on::block_on,
    blocking::{Blocking, BlockingConfig, BlockingMetrics, LaneMetrics},
    context::{is_entered, worker_index},
    crew::block_in_place,
    current::{CurrentThread, wake_in_order},
    guard::Stall,
    histogram::{Histogram, HistogramBucket},
    hooks::{Hook, Hooks},
    local::{LocalTasks, LocalWatch},
    observer::Measures,
    pool::listing::Listing,
    pool::{Config, OnStall, Pool},
    rng::random_below,
    stats::WorkerMetrics,
    task::{
        AbortHandle, HandleSet, Id, JoinError, JoinHandle, Joined, Name, Named, Numbered, Place,
        TaskInfo, Waits, id, note, noted, try_id, try_name,
    },
    view::View,
    yield_now::{YieldNow, yield_now},
};

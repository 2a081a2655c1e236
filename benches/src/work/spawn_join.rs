//! What does it cost to start a task and wait for it?
//!
//! Tasks that return at once are started a thousand at a time and then joined in order, either from the
//! plain thread inside `block_on`, where every task goes through the runtime's front door, or from
//! a task, where they can stay on the worker.

use std::time::Instant;

use super::Measured;
use crate::peers::Exec;

/// Tasks in flight.
const BATCH: u64 = 1000;

/// From a plain thread.
pub fn external<E: Exec>(count: u64) -> Measured {
    E::block_on(batches::<E>(count))
}

/// From inside a task.
pub fn internal<E: Exec>(count: u64) -> Measured {
    E::block_on(async move { E::spawn(batches::<E>(count)).await })
}

async fn batches<E: Exec>(count: u64) -> Measured {
    let mut handles = Vec::with_capacity(BATCH as usize);
    let mut sum = 0;
    let started = Instant::now();
    for first in (0..count).step_by(BATCH as usize) {
        let end = count.min(first + BATCH);
        handles.extend((first..end).map(|index| E::spawn(async move { index })));
        for handle in handles.drain(..) {
            sum += handle.await;
        }
    }
    Measured::each(count, started, sum)
}

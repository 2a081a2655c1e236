//! What does a task cost when each one starts the next?
//!
//! No two tasks are ever ready at once, so nothing is gained by waking another worker: the row shows
//! what a runtime wastes on looking for help.

use std::time::Instant;

use super::Measured;
use crate::peers::{Exec, Oneshot};

/// A chain of `count` tasks.
pub fn run<E: Exec, O: Oneshot>(count: u64) -> Measured {
    E::block_on(async move {
        let measure = async move {
            let (done, finished) = O::open();
            let started = Instant::now();
            link::<E, O>(count, 0, done);
            Measured::each(count, started, finished.await)
        };
        E::spawn(measure).await
    })
}

/// Starts the task that has `left` to go, itself included; the last one sends how many there were.
fn link<E: Exec, O: Oneshot>(left: u64, before: u64, done: O::Sender) {
    E::detach(async move {
        if left <= 1 {
            O::send(done, before + 1);
        } else {
            link::<E, O>(left - 1, before + 1, done);
        }
    });
}

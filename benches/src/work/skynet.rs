//! How fast does a tree of tasks unfold and report back?
//!
//! One task starts ten, each of them ten more, down to the leaves, which send their numbers up; each
//! node adds up what its children sent through one-value channels. Bursts of spawns, tasks that wait
//! for several others, and memory for a million of them.

use std::time::Instant;

use super::Measured;
use crate::peers::{Exec, Oneshot};

const CHILDREN: u64 = 10;

/// A tree with `leaves` leaves (a power of ten).
pub fn run<E: Exec, O: Oneshot>(leaves: u64) -> Measured {
    E::block_on(async move {
        let (sender, receiver) = O::open();
        let started = Instant::now();
        node::<E, O>(sender, 0, leaves);
        let sum = receiver.await;
        let millis = started.elapsed().as_secs_f64() * 1e3;
        Measured::figures(vec![millis], started, sum)
    })
}

/// Starts the task of the subtree whose leaves are `first..first + leaves`.
fn node<E: Exec, O: Oneshot>(parent: O::Sender, first: u64, leaves: u64) {
    E::detach(async move {
        if leaves == 1 {
            O::send(parent, first);
            return;
        }
        let share = leaves / CHILDREN;
        let mut children = Vec::with_capacity(CHILDREN as usize);
        for child in 0..CHILDREN {
            let (sender, receiver) = O::open();
            node::<E, O>(sender, first + child * share, share);
            children.push(receiver);
        }
        let mut sum = 0;
        for child in children {
            sum += child.await;
        }
        O::send(parent, sum);
    });
}

//! What does it cost to let others run?
//!
//! With a thousand tasks that yield in turn the cost is that of the run queue. With a single task there
//! is nobody to let run: the row shows whether the runtime notices, or goes looking in the kernel.

use std::time::Instant;

use super::Measured;
use crate::peers::Exec;

/// Yields of each of many tasks; then fresh tasks go on.
pub(crate) const YIELDS: u64 = 1000;

/// A thousand tasks at a time share `count` yields, a thousand each.
pub fn thousand<E: Exec>(count: u64) -> Measured {
    const TASKS: u64 = 1000;
    run::<E>(TASKS, YIELDS, count)
}

/// One task yields `count` times.
pub fn one<E: Exec>(count: u64) -> Measured {
    run::<E>(1, count, count)
}

/// Sets of `tasks` tasks, each yielding `most` times, until `count` yields are done.
fn run<E: Exec>(tasks: u64, most: u64, count: u64) -> Measured {
    E::block_on(async move {
        let mut handles = Vec::with_capacity(tasks as usize);
        let mut sum = 0;
        let started = Instant::now();
        while sum < count {
            let yields = most.min((count - sum).div_ceil(tasks));
            handles.extend((0..tasks).map(|_| E::spawn(task::<E>(yields))));
            for handle in handles.drain(..) {
                sum += handle.await;
            }
        }
        Measured::each(sum, started, sum)
    })
}

async fn task<E: Exec>(yields: u64) -> u64 {
    for _ in 0..yields {
        E::yield_now().await;
    }
    yields
}

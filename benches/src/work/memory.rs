//! How much memory does a task take that waits for ever?
//!
//! The future is as good as empty, so what is measured is the runtime's own part, in resident memory
//! with the system's allocator.

use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Measured;
use crate::peers::Exec;
use crate::proc::Usage;

/// Between two looks at whether every task has been polled.
const LOOK: Duration = Duration::from_millis(5);

/// `count` pending tasks. Figure: bytes each. The sum counts the tasks that were polled.
pub fn run<E: Exec>(count: u64) -> Measured {
    // A static, so that the futures carry no pointer.
    static POLLED: AtomicU64 = AtomicU64::new(0);
    E::block_on(async move {
        // The first task makes the runtime allocate what it needs once.
        E::spawn(async {}).await;
        let before = Usage::own();
        let started = Instant::now();
        for _ in 0..count {
            E::detach(async {
                POLLED.fetch_add(1, Ordering::Relaxed);
                pending::<()>().await;
            });
        }
        while POLLED.load(Ordering::Relaxed) < count {
            E::sleep(LOOK).await;
        }
        let grown = Usage::own().rss_bytes.saturating_sub(before.rss_bytes);
        let figures = vec![grown as f64 / count as f64];
        Measured::figures(figures, started, POLLED.load(Ordering::Relaxed))
    })
}

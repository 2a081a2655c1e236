//! What do very many sleeping tasks cost, in CPU time and in memory?
//!
//! All of them sleep at once, each for between half a second and one and a half.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Measured;
use crate::peers::Exec;
use crate::proc::Usage;

/// Spreads the sleeps over [`SPREAD_MS`] without a generator's state: a prime step through it.
const STEP: u64 = 7919;
const SPREAD_MS: u64 = 1000;
const SHORTEST_MS: u64 = 500;
/// Between two looks at whether all have woken; a handful of wake-ups beside a million.
const LOOK: Duration = Duration::from_millis(20);

/// `count` sleeping tasks. Figures: CPU seconds, and bytes a task at the peak. The sum counts the tasks
/// that woke.
pub fn run<E: Exec>(count: u64) -> Measured {
    E::block_on(async move { E::spawn(measure::<E>(count)).await })
}

async fn measure<E: Exec>(count: u64) -> Measured {
    let woken = Arc::new(AtomicU64::new(0));
    let before = Usage::own();
    let started = Instant::now();
    for index in 0..count {
        let woken = Arc::clone(&woken);
        E::detach(async move {
            E::sleep(Duration::from_millis(length_ms(index))).await;
            // Only a count: it publishes nothing.
            woken.fetch_add(1, Ordering::Relaxed);
        });
    }
    while woken.load(Ordering::Relaxed) < count {
        E::sleep(LOOK).await;
    }
    let after = Usage::own();
    let bytes = after.peak_bytes.saturating_sub(before.rss_bytes) as f64 / count as f64;
    let figures = vec![after.cpu_seconds - before.cpu_seconds, bytes];
    Measured::figures(figures, started, woken.load(Ordering::Relaxed))
}

fn length_ms(index: u64) -> u64 {
    SHORTEST_MS + index * STEP % SPREAD_MS
}

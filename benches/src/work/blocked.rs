//! How long does everybody else wait while tasks block all workers?
//!
//! Two tasks call `thread::sleep`, one for each worker, while a third ticks every five milliseconds. The
//! figure is the longest time between two ticks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::Measured;
use crate::peers::{Exec, WORKERS};

const TICK: Duration = Duration::from_millis(5);
/// Ticks before the blocking begins and after it ends.
const QUIET: Duration = Duration::from_millis(50);

/// Blocks for `millis`. Figure: the longest gap in milliseconds. The sum counts the blocking tasks that
/// ended.
pub fn run<E: Exec>(millis: u64) -> Measured {
    let block = Duration::from_millis(millis);
    E::block_on(async move {
        let started = Instant::now();
        let stop = Arc::new(AtomicBool::new(false));
        let ticker = E::spawn(ticks::<E>(Arc::clone(&stop)));
        E::sleep(QUIET).await;
        let blockers: Vec<_> = (0..WORKERS)
            .map(|_| E::spawn(async move { thread::sleep(block) }))
            .collect();
        let mut ended = 0;
        for blocker in blockers {
            blocker.await;
            ended += 1;
        }
        E::sleep(QUIET).await;
        // The ticker reads nothing but the flag.
        stop.store(true, Ordering::Relaxed);
        let gap = ticker.await.as_secs_f64() * 1e3;
        Measured::figures(vec![gap], started, ended)
    })
}

/// Ticks until told to stop, and returns the longest gap.
async fn ticks<E: Exec>(stop: Arc<AtomicBool>) -> Duration {
    let mut longest = Duration::ZERO;
    let mut last = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        E::sleep(TICK).await;
        let now = Instant::now();
        longest = longest.max(now - last);
        last = now;
    }
    longest
}

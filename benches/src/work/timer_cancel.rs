//! What does a timeout cost that never fires?
//!
//! Nearly every timer in a server is a timeout, set and dropped long before its time. Two tasks each
//! poll a ten-second sleep once and drop it, over and over.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use super::Measured;
use crate::peers::Exec;

const TASKS: u64 = 2;
const NEVER_REACHED: Duration = Duration::from_secs(10);
/// Sleeps between two yields. A task that never yields would be a rude one, which is another row.
const BREATH: u64 = 1000;

/// `count` sleeps set and dropped. The sum counts those that were pending.
pub fn run<E: Exec>(count: u64) -> Measured {
    E::block_on(async move {
        let started = Instant::now();
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| E::spawn(task::<E>(count / TASKS)))
            .collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.await;
        }
        Measured::each(count, started, sum)
    })
}

async fn task<E: Exec>(count: u64) -> u64 {
    let mut pending = 0;
    for index in 1..=count {
        pending += u64::from(set_and_drop::<E>().await);
        if index % BREATH == 0 {
            E::yield_now().await;
        }
    }
    pending
}

/// Whether the sleep was pending, as it must be.
async fn set_and_drop<E: Exec>() -> bool {
    let mut sleep = pin!(E::sleep(NEVER_REACHED));
    poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx).is_pending())).await
}

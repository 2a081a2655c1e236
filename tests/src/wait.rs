//! Waiting for what has no event of its own.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::thread;
use std::time::Duration;

/// A time that is long for a machine and short for a test: what is claimed to take no time at all
/// must end within it, however busy the machine is.
pub const GOES_ON: Duration = Duration::from_secs(20);

/// Between two looks: short enough to lose no time, long enough to leave the CPU to the others.
const LOOK_AGAIN: Duration = Duration::from_micros(200);

/// Returns once `done` says so; the watchdog ends what never comes.
pub fn until(mut done: impl FnMut() -> bool) {
    while !done() {
        thread::park_timeout(LOOK_AGAIN);
    }
}

/// As [`until`], in a task: others run between two looks.
pub async fn until_yielding(mut done: impl FnMut() -> bool) {
    while !done() {
        rt::yield_now().await;
    }
}

/// Polls a future once.
pub async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx))).await
}

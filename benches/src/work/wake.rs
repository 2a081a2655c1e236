//! How long does it take a plain thread to get an idle runtime's task running?
//!
//! The runtime sleeps in the kernel; the thread hands over the time and wakes the task, which looks at
//! the clock. The waker is kept in a mutex of the bench's own, so that no peer's channel is measured.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use super::Measured;
use crate::histogram::Histogram;
use crate::peers::Exec;

/// Between two wakes: long enough for every worker to have gone to sleep.
const PAUSE: Duration = Duration::from_millis(1);

/// `count` wakes. Figure: the median time in microseconds. The sum counts the wakes that arrived.
///
/// # Panics
///
/// If the ringing thread did.
pub fn run<E: Exec>(count: u64) -> Measured {
    let bell = Arc::new(Bell::default());
    let ringer = {
        let bell = Arc::clone(&bell);
        thread::spawn(move || bell.ring(count))
    };
    let task = async move {
        let started = Instant::now();
        let mut delays = Histogram::new();
        for _ in 0..count {
            let rung = poll_fn(|cx| bell.poll_rung(cx)).await;
            delays.record(rung.elapsed().as_nanos() as u64);
        }
        let median = delays.quantile(0.5) as f64 / 1e3;
        Measured::figures(vec![median], started, delays.total())
    };
    let measured = E::block_on(async move { E::spawn(task).await });
    ringer.join().expect("the thread only rings");
    measured
}

/// A waker and the moment of the last wake that has not been seen yet.
#[derive(Default)]
struct Bell {
    state: Mutex<(Option<Instant>, Option<Waker>)>,
}

impl Bell {
    /// Rings `count` times, each time after the last ring has been heard.
    fn ring(&self, count: u64) {
        let mut left = count;
        while left > 0 {
            thread::sleep(PAUSE);
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.0.is_some() {
                continue;
            }
            let waker = state.1.take();
            state.0 = Some(Instant::now());
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
            left -= 1;
        }
    }

    fn poll_rung(&self, cx: &mut Context<'_>) -> Poll<Instant> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rung) = state.0.take() {
            return Poll::Ready(rung);
        }
        state.1 = Some(cx.waker().clone());
        Poll::Pending
    }
}

//! What does one timer cost beside very many that wait?
//!
//! Only `rt` can say: the crowd stands on a paused clock, so that what is due, and when, does not
//! depend on the machine.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use rt::Runtime;
use rt::time::{self, Sleep, advance, sleep_until};

/// Between two timers of the crowd: a million of them are due within a second.
const STEP: Duration = Duration::from_micros(1);
/// Timers that are inserted, cancelled or fired between two looks at the clock.
const BATCH: u64 = 250;
/// Spreads what is inserted over the crowd, by a prime step.
const SPREAD: u64 = 7919;

type Timer = Pin<Box<Sleep>>;

/// Timers that wait, the earliest first.
#[derive(Debug)]
pub struct Crowd {
    runtime: Runtime,
    timers: VecDeque<Timer>,
    /// The deadline of the last one.
    end: time::Instant,
}

impl Crowd {
    /// So many timers, at least as many as a batch.
    ///
    /// # Panics
    ///
    /// If the operating system refuses the runtime its descriptors.
    #[must_use]
    pub fn new(pending: u64) -> Crowd {
        let runtime = Runtime::builder().current_thread().start_paused(true);
        let runtime = runtime.build().expect("a runtime");
        let entered = runtime.enter();
        let start = time::Instant::now() + STEP;
        drop(entered);
        let mut crowd = Crowd {
            runtime,
            timers: VecDeque::new(),
            end: start,
        };
        crowd.extend(pending.max(BATCH));
        crowd
    }

    /// Adds timers behind the last one.
    fn extend(&mut self, count: u64) {
        let _entered = self.runtime.enter();
        for _ in 0..count {
            self.end += STEP;
            let mut timer = Box::pin(sleep_until(self.end));
            link(&mut timer);
            self.timers.push_back(timer);
        }
    }

    /// Timers all over the crowd, not yet polled.
    fn scattered(&self) -> Vec<Timer> {
        let length = self.timers.len() as u64;
        (0..BATCH)
            .map(|index| self.end - STEP * u32::try_from(index * SPREAD % length).unwrap_or(0))
            .map(|deadline| Box::pin(sleep_until(deadline)))
            .collect()
    }

    /// The time that it takes to insert about `count` timers.
    pub fn insert(&self, count: u64) -> Duration {
        self.batches(count, |mut timers| {
            let start = Instant::now();
            timers.iter_mut().for_each(link);
            start.elapsed()
        })
    }

    /// The time that it takes to drop about `count` timers that wait.
    pub fn cancel(&self, count: u64) -> Duration {
        self.batches(count, |mut timers| {
            timers.iter_mut().for_each(link);
            let start = Instant::now();
            for timer in &mut timers {
                // In place: what it costs to free the memory is not the question.
                timer.set(sleep_until(self.end));
            }
            start.elapsed()
        })
    }

    fn batches(&self, count: u64, mut run: impl FnMut(Vec<Timer>) -> Duration) -> Duration {
        let _entered = self.runtime.enter();
        let batches = count.div_ceil(BATCH);
        let took: Duration = (0..batches).map(|_| run(self.scattered())).sum();
        scale(took, count, batches)
    }

    /// The time that it takes to fire about `count` timers, a batch at a time.
    ///
    /// # Panics
    ///
    /// If one does not fire.
    pub fn fire(&mut self, count: u64) -> Duration {
        let batches = count.div_ceil(BATCH);
        let mut took = Duration::ZERO;
        for _ in 0..batches {
            let last = self.timers[BATCH as usize - 1].deadline();
            took += self.runtime.block_on(async {
                let step = last - time::Instant::now();
                let start = Instant::now();
                advance(step).await;
                start.elapsed()
            });
            for fired in self.timers.drain(..BATCH as usize) {
                assert!(fired.is_elapsed());
            }
            self.extend(BATCH);
        }
        scale(took, count, batches)
    }
}

/// The part of whole batches that `count` is.
fn scale(took: Duration, count: u64, batches: u64) -> Duration {
    took.mul_f64(count as f64 / (batches * BATCH) as f64)
}

fn link(timer: &mut Timer) {
    let mut cx = Context::from_waker(Waker::noop());
    assert!(timer.as_mut().poll(&mut cx).is_pending());
}

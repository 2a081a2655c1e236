//! What the macros' code calls. Not for use by hand: it may change at any time.

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use rt_scheduler::coop;

pub use rt_macros::{join, select, try_join};
pub use rt_scheduler::random_below;

/// The seed for `seed = random` in `attribute`: a new one, or, to repeat a run, that of the
/// environment. Says on standard error how to repeat this one.
///
/// # Panics
///
/// If the environment has something else than a number.
#[must_use]
pub fn random_seed(attribute: &str) -> u64 {
    let seed = match env::var("RT_SEED") {
        Ok(text) => text.parse().unwrap_or_else(|_| {
            panic!("`RT_SEED` must be a whole number below 2^64, and is `{text}`")
        }),
        Err(_) => RandomState::new().hash_one(0),
    };
    eprintln!(
        "{attribute} runs with seed {seed}; to repeat this run, set `RT_SEED={seed}` or write \
         `seed = {seed}`"
    );
    seed
}

/// Whether this poll has spent its budget: then it ends, and is taken up again behind the others.
///
/// Without that, a `select!` would take the branches that ask for no budget for the only ready ones.
pub fn is_out_of_budget(cx: &mut Context<'_>) -> bool {
    let is_out = !coop::has_budget_remaining();
    if is_out {
        cx.waker().wake_by_ref();
    }
    is_out
}

/// Which of `count` futures is polled in this turn, if `first` was the first.
#[inline]
pub fn turn_of(first: u32, turn: u32, count: u32) -> u32 {
    first.wrapping_add(turn) % count
}

pin_project! {
    /// A future that keeps its output until the others are ready too.
    #[derive(Debug)]
    #[project = Stage]
    #[project_replace = Replaced]
    pub enum Kept<F: Future> {
        /// Not ready yet.
        Running { #[pin] future: F },
        /// Ready.
        Ready { output: F::Output },
        /// Its output has been taken.
        Taken,
    }
}

impl<F: Future> Kept<F> {
    /// Not polled yet.
    pub fn new(future: impl IntoFuture<IntoFuture = F>) -> Self {
        Kept::Running {
            future: future.into_future(),
        }
    }

    /// Polls the future unless it is ready already.
    pub fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if let Stage::Running { future } = self.as_mut().project() {
            let Poll::Ready(output) = future.poll(cx) else {
                return Poll::Pending;
            };
            self.set(Kept::Ready { output });
        }
        Poll::Ready(())
    }

    /// Gives the output.
    ///
    /// # Panics
    ///
    /// If it is not there, or is not there any more.
    pub fn take(self: Pin<&mut Self>) -> F::Output {
        match self.project_replace(Kept::Taken) {
            Replaced::Ready { output } => output,
            _ => panic!("a `join!` is polled after it was ready"),
        }
    }
}

impl<F: Future<Output = Result<T, E>>, T, E> Kept<F> {
    /// Gives the error, if the future ended with one.
    pub fn take_error(mut self: Pin<&mut Self>) -> Option<E> {
        match self.as_mut().project() {
            Stage::Ready { output: Err(_) } => self.take().err(),
            _ => None,
        }
    }

    /// Gives the output of a future that ended without an error.
    pub fn take_ok(self: Pin<&mut Self>) -> T {
        let Ok(output) = self.take() else {
            unreachable!("errors are taken first");
        };
        output
    }
}

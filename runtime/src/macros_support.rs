//! What the macros' code calls. Not for use by hand: it may change at any time.

use std::env;
use std::hash::{BuildHasher, RandomState};

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

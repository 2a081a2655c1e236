//! Time: instants, sleeping, and limits on how long a future may take.
//!
//! A [`Sleep`] holds its own entry of the timer wheel, so that making, resetting and dropping one
//! allocates nothing and takes only the lock of one worker's wheel. Nothing here ever fires early,
//! and every [`Duration`](std::time::Duration) is accepted: what lies beyond the clock's reach never comes.

pub use self::instant::Instant;
pub use self::sleep::{Sleep, sleep, sleep_until};
pub use self::timeout::{Elapsed, Timeout, timeout, timeout_at};

mod instant;
mod sleep;
mod timeout;

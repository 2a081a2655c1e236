//! What the guard remembers of one worker, from one look to the next.

use std::time::{Duration, Instant};

#[cfg(all(test, not(loom)))]
mod tests;

/// A worker that ends fewer polls than this between two looks has long ones, ...
pub(super) const LONG_POLLS: u64 = 64;

/// ... unless it had no CPU for more of them: it has run for less than this in all, ...
const RAN_LONG: Duration = Duration::from_millis(1);

/// ... or less than this for each, and does not sleep in one.
const LONG_POLL: Duration = Duration::from_micros(80);

/// One worker at the last look.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) polls: u64,
    pub(super) since: Instant,
    pub(super) told: bool,
    /// Its thread was asleep; looked for only if that matters.
    pub(super) asleep: bool,
    /// How long its thread had run in all, if the kernel tells: then, or when the poll that went on was first seen.
    ran: Option<Duration>,
}

impl Seen {
    /// In a poll that is new, or in none.
    pub(super) fn anew(polls: u64, now: Instant) -> Self {
        Seen {
            polls,
            since: now,
            told: false,
            asleep: false,
            ran: None,
        }
    }

    /// The same worker, in a poll that is new, or in none.
    pub(super) fn renew(&mut self, polls: u64, now: Instant) {
        *self = Seen {
            ran: self.ran,
            ..Seen::anew(polls, now)
        };
    }

    /// Whether the polls are long of a worker that has ended so many since the last look. Its thread has run for so long
    /// now, and `asleep` tells whether it waits for something else than a CPU.
    pub(super) fn has_long(
        &mut self,
        ended: u64,
        ran: Option<Duration>,
        asleep: impl FnOnce() -> bool,
    ) -> bool {
        // None, too, where another thread has sat down in this place, as that has run for less.
        let more = ran
            .zip(self.ran)
            .and_then(|(now, before)| now.checked_sub(before));
        if ended > 0 || more.is_none() {
            self.ran = ran;
        }
        if ended >= LONG_POLLS {
            return false;
        }
        let polls = u32::try_from(ended).unwrap_or(u32::MAX);
        let long = LONG_POLL.saturating_mul(polls).max(RAN_LONG);
        more.is_none_or(|more| more >= long) || asleep()
    }
}

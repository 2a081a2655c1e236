//! Whether workers may stand back from one another where the CPUs are contended (`sharing.rs`): while polls are short,
//! and if it pays.
//!
//! Two workers that take a CPU from one another, or from the other end of their connections, serve no more than one.
//! Two that take it from somebody else serve twice as much. Nothing in what the kernel tells of a thread
//! distinguishes the two, so it is tried: for [`MEASURE`] the pool's polls are counted as they are, then with workers that stand
//! back. If there are not fewer by more than an eighth, it stays so until [`KEPT`] is over, or there are half as many again
//! or only half as many; else it is tried again after a while that doubles each time.

use std::time::{Duration, Instant};

#[cfg(all(test, not(loom)))]
mod tests;

/// How long polls count as long after the last of several looks that saw a long one.
const LONG: Duration = Duration::from_millis(200);

/// How long nobody stands back after a single one, which may be none.
const LONG_ONCE: Duration = Duration::from_millis(15);

/// How long workers that find no CPU contended are no reason to end a trial, or what came of it.
const LAPSE: Duration = Duration::from_millis(200);

/// How long polls are counted.
const MEASURE: Duration = Duration::from_millis(200);

/// A trial that has halved the polls by then ends.
const EARLY: Duration = Duration::from_millis(20);

/// How long a trial that went well is good for.
const KEPT: Duration = Duration::from_secs(5);

/// How long none follows one that did not: the least and the most.
const REFUSED: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(16));

/// What the guard has seen at one look.
pub(super) struct Look {
    pub(super) now: Instant,
    /// All polls of the pool so far.
    pub(super) polls: u64,
    /// A worker is in a long poll.
    pub(super) any_long: bool,
    /// An active worker finds its CPUs contended.
    pub(super) contended: bool,
}

/// What the guard knows from its looks.
pub(super) struct Standing {
    short: Short,
    contended_at: Option<Instant>,
    state: State,
    refused_for: Duration,
}

enum State {
    /// Nobody finds the CPUs contended.
    Off,
    /// The polls are counted as they are.
    Before(Count),
    /// Workers stand back; before, so many polls a second ended.
    Trial(Count, u64),
    /// They go on to. It ends at this time, or when there are many more polls a second than so many, or many fewer.
    Kept(Count, u64, Instant),
    /// They do not, until then.
    Refused(Instant),
}

/// A count of polls that has begun.
#[derive(Clone, Copy)]
struct Count {
    since: Instant,
    polls: u64,
}

impl Count {
    fn new(look: &Look) -> Self {
        Count {
            since: look.now,
            polls: look.polls,
        }
    }

    fn age(&self, look: &Look) -> Duration {
        look.now.saturating_duration_since(self.since)
    }

    /// Polls a second.
    fn rate(&self, look: &Look) -> u64 {
        let polls = look.polls.saturating_sub(self.polls);
        let micros = self.age(look).as_micros().max(1);
        u64::try_from(u128::from(polls) * 1_000_000 / micros).unwrap_or(u64::MAX)
    }
}

/// How long polls are.
#[derive(PartialEq)]
enum Polls {
    Short,
    /// One seemed to be long a moment ago.
    Doubtful,
    Long,
}

/// Whether polls are short.
struct Short {
    /// At how many looks in a row a worker was seen in a long one.
    long_looks: u32,
    long_until: Instant,
    doubtful_until: Instant,
}

impl Short {
    fn look(&mut self, look: &Look) -> Polls {
        if look.any_long {
            self.long_looks += 1;
            self.doubtful_until = look.now + LONG_ONCE;
            if self.long_looks > 1 {
                self.long_until = look.now + LONG;
            }
        } else {
            self.long_looks = 0;
        }
        if look.now < self.long_until {
            Polls::Long
        } else if look.now < self.doubtful_until {
            Polls::Doubtful
        } else {
            Polls::Short
        }
    }
}

impl Standing {
    pub(super) fn new(now: Instant) -> Self {
        Standing {
            short: Short {
                long_looks: 0,
                long_until: now + LONG,
                doubtful_until: now,
            },
            contended_at: None,
            state: State::Off,
            refused_for: REFUSED.0,
        }
    }

    /// Takes in one look. Whether workers that find their CPUs contended may stand back.
    pub(super) fn look(&mut self, look: &Look) -> bool {
        let polls = self.short.look(look);
        if look.contended {
            self.contended_at = Some(look.now);
        }
        if let State::Refused(until) = self.state
            && look.now < until
        {
            return false;
        }
        if polls == Polls::Long || !self.is_contended(look.now) {
            self.state = State::Off;
            return false;
        }
        self.try_out(look);
        polls == Polls::Short && matches!(self.state, State::Trial(..) | State::Kept(..))
    }

    /// Whether a worker has found its CPUs contended of late. If not, it does not matter how long polls are.
    pub(super) fn is_contended(&self, now: Instant) -> bool {
        let lapsed = |at| now.saturating_duration_since(at) >= LAPSE;
        !self.contended_at.is_none_or(lapsed)
    }

    fn try_out(&mut self, look: &Look) {
        match self.state {
            State::Off | State::Refused(_) => self.state = State::Before(Count::new(look)),
            State::Before(count) if count.age(look) >= MEASURE => {
                self.state = State::Trial(Count::new(look), count.rate(look));
            }
            State::Before(_) => {}
            State::Trial(count, before) => {
                let (age, rate) = (count.age(look), count.rate(look));
                if age >= MEASURE && rate >= before - before / 8 {
                    self.refused_for = REFUSED.0;
                    self.state = State::Kept(Count::new(look), rate, look.now + KEPT);
                } else if age >= MEASURE || age >= EARLY && rate < before / 2 {
                    self.state = State::Refused(look.now + self.refused_for);
                    self.refused_for = (2 * self.refused_for).min(REFUSED.1);
                }
            }
            State::Kept(count, rate, until) => {
                let counted = count.age(look) >= MEASURE;
                let as_before = rate / 2..=rate + rate / 2;
                if look.now >= until || counted && !as_before.contains(&count.rate(look)) {
                    self.state = State::Before(Count::new(look));
                } else if counted {
                    self.state = State::Kept(Count::new(look), rate, until);
                }
            }
        }
    }
}

//! Who sleeps and who searches: the account that decides whether a new task wakes a worker.
//!
//! A wake-up across cores costs more than a thousand instructions, and a missed one leaves a task
//! waiting beside an idle worker. So one word says at a glance whether waking is needed, and every
//! change of a worker's standing is one step on it.
//!
//! # States of a worker
//!
//! * **busy**: runs tasks; not counted.
//! * **searching**: looks for work in other places than its own queue; counted. At most half of the
//!   workers search at a time. Whoever claims a sleeper counts it as searching before it is awake.
//! * **parked**: its bit is set; counted.
//!
//! # Invariants
//!
//! * **I1** The parked count is the number of bits in `sleepers`; both change under its lock.
//! * **I2** A worker's bit is cleared once: by the claimer, who counts it as searching, or by the
//!   worker itself. The worker learns from [`Idle::retract`] which of the two happened. The wake-up
//!   token that a claimer sends is only a hint; the bit is the truth.
//!
//! # Protocol
//!
//! * **Submit**: push the task; `fence(SeqCst)`; [`Idle::claim`]. Nobody is woken while somebody
//!   searches.
//! * **Park**: [`Idle::announce`]; `fence(SeqCst)`; look at every queue again; sleep.
//! * **Stop searching**: [`Idle::stop_searching`]; the last one fences, looks at every queue and, if
//!   there is more than the task it found, wakes one more.
//!
//! # Orderings
//!
//! Each of the last two steps pairs with the first as store-then-look on both sides: of a pusher and
//! a worker that leaves the count, one sees the other. The callers' fences order that, and the lock
//! orders a claim before what the claimed worker does; the word itself is `Relaxed`, but for a searcher
//! that is not the last to stop: it does not fence, so its step is a `Release`.

use std::fmt;

use crate::primitive::sync::Mutex;
use crate::primitive::sync::atomic::AtomicU64;
use crate::primitive::sync::atomic::Ordering::{Relaxed, Release};

#[cfg(all(test, not(loom)))]
mod tests;

const SEARCHING: u64 = 1;
const PARKED: u64 = 1 << 32;

fn searching(word: u64) -> u64 {
    word & (PARKED - 1)
}

fn parked(word: u64) -> u64 {
    word >> 32
}

/// The account of one pool.
pub(crate) struct Idle {
    /// Low half: searching workers. High half: parked workers.
    word: AtomicU64,
    sleepers: Mutex<Sleepers>,
    workers: u64,
}

/// A bit for each parked worker.
struct Sleepers(Box<[u64]>);

/// The answer to "does this task need a worker woken?".
#[must_use = "a claimed worker sleeps on until it is unparked"]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// This worker is no longer parked and counts as searching: unpark it.
    Worker(usize),
    /// Somebody searches and will see the task.
    Searched,
    /// Everybody is busy.
    AllBusy,
}

impl Idle {
    /// An account of `workers` busy workers, with bits for `slots` of them at most.
    pub(crate) fn new(workers: usize, slots: usize) -> Self {
        Idle {
            word: AtomicU64::new(0),
            sleepers: Mutex::new(Sleepers(vec![0; slots.div_ceil(64)].into())),
            workers: workers as u64,
        }
    }

    /// Finds out who runs a task that was just pushed. The caller has fenced.
    pub(crate) fn claim(&self) -> Claim {
        let seen = self.word.load(Relaxed);
        if searching(seen) > 0 {
            return Claim::Searched;
        }
        if parked(seen) == 0 {
            return Claim::AllBusy;
        }
        let mut sleepers = self.sleepers.lock();
        if searching(self.word.load(Relaxed)) > 0 {
            return Claim::Searched;
        }
        let Some(worker) = sleepers.pop() else {
            return Claim::AllBusy;
        };
        self.word.fetch_add(SEARCHING.wrapping_sub(PARKED), Relaxed);
        Claim::Worker(worker)
    }

    /// Claims this worker, searching or not; `false` if it is not parked.
    #[must_use = "a claimed worker sleeps on until it is unparked"]
    pub(crate) fn claim_worker(&self, worker: usize) -> bool {
        let mut sleepers = self.sleepers.lock();
        let parked = sleepers.clear(worker);
        if parked {
            self.word.fetch_add(SEARCHING.wrapping_sub(PARKED), Relaxed);
        }
        parked
    }

    /// Asks for the right to search; half of the workers at most have it.
    pub(crate) fn try_search(&self) -> bool {
        if 2 * searching(self.word.load(Relaxed)) >= self.workers {
            return false;
        }
        self.word.fetch_add(SEARCHING, Relaxed);
        true
    }

    /// Gives the right to search up. `true`: it was the last one, so the caller fences and looks.
    #[must_use = "the last searcher passes the wake-up on"]
    pub(crate) fn stop_searching(&self) -> bool {
        // ORDERING: Release. What it has moved into its own queue is seen by the searchers that are left, when they
        // give up and fence in their turn.
        let before = self.word.fetch_sub(SEARCHING, Release);
        debug_assert!(searching(before) > 0);
        searching(before) == 1
    }

    /// Sets `worker`'s bit, giving up its right to search in the same step.
    pub(crate) fn announce(&self, worker: usize, was_searching: bool) {
        let mut sleepers = self.sleepers.lock();
        sleepers.set(worker);
        let change = if was_searching {
            PARKED - SEARCHING
        } else {
            PARKED
        };
        self.word.fetch_add(change, Relaxed);
    }

    /// Clears `worker`'s own bit. `false`: it was claimed and counts as searching.
    ///
    /// With `to_search` it counts as searching either way.
    #[must_use = "a claimed worker counts as searching"]
    pub(crate) fn retract(&self, worker: usize, to_search: bool) -> bool {
        let mut sleepers = self.sleepers.lock();
        if !sleepers.clear(worker) {
            return false;
        }
        let gain = if to_search { SEARCHING } else { 0 };
        self.word.fetch_add(gain.wrapping_sub(PARKED), Relaxed);
        true
    }

    /// Whether `worker` is still parked.
    pub(crate) fn is_parked(&self, worker: usize) -> bool {
        self.sleepers.lock().get(worker)
    }

    /// Copies the bits of all parked workers.
    pub(crate) fn copy_parked(&self, bits: &mut Vec<u64>) {
        bits.clear();
        bits.extend_from_slice(&self.sleepers.lock().0);
    }

    /// How many workers are parked. Whoever counts one sees what it did before.
    pub(crate) fn count_parked(&self) -> usize {
        let _sleepers = self.sleepers.lock();
        self.parked()
    }

    /// How many workers are parked; stale as soon as it is read.
    pub(crate) fn parked(&self) -> usize {
        parked(self.word.load(Relaxed)) as usize
    }
}

impl Sleepers {
    fn locate(worker: usize) -> (usize, u64) {
        (worker / 64, 1 << (worker % 64))
    }

    fn get(&self, worker: usize) -> bool {
        let (word, bit) = Sleepers::locate(worker);
        self.0[word] & bit != 0
    }

    fn set(&mut self, worker: usize) {
        let (word, bit) = Sleepers::locate(worker);
        debug_assert!(self.0[word] & bit == 0, "worker {worker} parked twice");
        self.0[word] |= bit;
    }

    fn clear(&mut self, worker: usize) -> bool {
        let (word, bit) = Sleepers::locate(worker);
        let was_set = self.0[word] & bit != 0;
        self.0[word] &= !bit;
        was_set
    }

    /// Takes the lowest bit: the same few workers stay warm.
    fn pop(&mut self) -> Option<usize> {
        let word = self.0.iter().position(|&bits| bits != 0)?;
        let bit = self.0[word].trailing_zeros() as usize;
        self.0[word] &= self.0[word] - 1;
        Some(word * 64 + bit)
    }
}

impl fmt::Debug for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Relaxed);
        f.debug_struct("Idle")
            .field("searching", &searching(word))
            .field("parked", &parked(word))
            .finish_non_exhaustive()
    }
}

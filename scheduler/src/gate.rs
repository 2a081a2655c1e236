//! The gate: one word that says who may call `epoll_wait`.
//!
//! A thread that is blocked in an epoll set is woken for every event, so a second poller saves
//! nothing and costs a wake-up. The right to poll is therefore one thing with one owner, lent to
//! whoever can use the events soonest.
//!
//! # States
//!
//! * **free**: nobody polls.
//! * **worker**: a worker polls, for a moment (harvest) or blocked (lead).
//! * **reactor**: the reactor thread polls.
//!
//! The rest of the word is a generation, one higher at each release: the reactor thread tells from
//! it whether anybody polled since it last looked.
//!
//! # Orderings
//!
//! [`Gate::try_take`] acquires what the last owner did before [`Gate::release`], so the buffers and
//! the free list that belong to the poller need no other lock. The handshakes with the idle account
//! are in `parking.rs`.

use std::fmt;

use crate::primitive::sync::atomic::AtomicU64;
use crate::primitive::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const OWNER: u64 = 0b11;
const GENERATION: u64 = OWNER + 1;

/// Who holds the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Nobody = 0,
    Worker = 1,
    Reactor = 2,
}

/// The gate as it was at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Snapshot(u64);

/// The word.
pub(crate) struct Gate(AtomicU64);

impl Snapshot {
    pub(crate) fn owner(self) -> Owner {
        match self.0 & OWNER {
            0 => Owner::Nobody,
            1 => Owner::Worker,
            _ => Owner::Reactor,
        }
    }

    /// How often the gate was released before this moment.
    pub(crate) fn generation(self) -> u64 {
        self.0 / GENERATION
    }
}

impl Gate {
    pub(crate) fn new(owner: Owner) -> Self {
        Gate(AtomicU64::new(owner as u64))
    }

    /// Takes the gate if it is free.
    #[must_use = "a gate that was taken must be released"]
    pub(crate) fn try_take(&self, owner: Owner) -> bool {
        let seen = self.0.load(Relaxed);
        // ORDERING: Acquire, from the last owner's release.
        Snapshot(seen).owner() == Owner::Nobody
            && self
                .0
                .compare_exchange(seen, seen | owner as u64, Acquire, Relaxed)
                .is_ok()
    }

    /// Frees the gate. Only its owner calls this.
    pub(crate) fn release(&self) {
        self.pass_to(Owner::Nobody);
    }

    /// Gives the gate from the calling owner to another, without a moment in which it is free.
    pub(crate) fn pass_to(&self, owner: Owner) {
        // ORDERING: Relaxed load, as only the owner writes while the gate is taken; Release, to the
        // next owner.
        let seen = self.0.load(Relaxed);
        debug_assert!(Snapshot(seen).owner() != Owner::Nobody);
        let generation = Snapshot(seen).generation().wrapping_add(1);
        self.0
            .store(generation.wrapping_mul(GENERATION) | owner as u64, Release);
    }

    /// The gate as it is now. Acquire: an owner that reads itself here was handed the gate.
    pub(crate) fn look(&self) -> Snapshot {
        Snapshot(self.0.load(Acquire))
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = self.look();
        f.debug_struct("Gate")
            .field("owner", &seen.owner())
            .field("generation", &seen.generation())
            .finish()
    }
}

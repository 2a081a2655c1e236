//! The state word of a task: who may touch the future, the output and the join waker.
//!
//! Every right over a task is a bit or a count in this one word, and is taken and given up by one
//! atomic operation, named here after what it means. The callers (`cell.rs`, `join.rs`,
//! `waker.rs`) match on the `#[must_use]` answer, which says what they owe next.
//!
//! # States
//!
//! | state | bits | meaning |
//! |---|---|---|
//! | idle | – | waits for a wake |
//! | scheduled | `SCHEDULED` | a [`Runnable`](super::Runnable) for it is in a queue |
//! | claimed | `RUNNING` | as scheduled, by a worker of its pool: whoever has the `Runnable` is as good as running |
//! | running | `RUNNING` | one thread polls the future, or drops it |
//! | running, woken | `RUNNING` + `SCHEDULED` | as running, or claimed; it goes back to a queue afterwards |
//! | ending | `RUNNING` + `ENDING` | somebody drops the future who does not have the `Runnable`, if there is one |
//! | completing | `RUNNING` + `COMPLETING` | the future is gone; scopes that it has left behind still have children |
//! | complete | `COMPLETE` | the future is gone; the output is there if a handle wants it |
//!
//! `CANCELLED` may be added to any of them: the thread that next holds `RUNNING` drops the future
//! in place of polling it. A complete task ignores it and keeps its value.
//!
//! # Invariants
//!
//! * **T1** Only the thread that set `RUNNING`, or to which that has given the `Runnable` of a claimed
//!   task, touches the future, until it sets `COMPLETE`.
//! * **T2** A `Runnable` exists once for each time that `SCHEDULED`, or `RUNNING` by a wake, was set on a task
//!   that was idle.
//! * **T3** The output exists from `COMPLETE` on while `JOIN_INTEREST` is set; it is the handle's. A
//!   thread that completes a task without `JOIN_INTEREST` drops the output itself.
//! * **T4** The join waker's cell is the handle's while `JOIN_WAKER` is clear and the completing
//!   thread's once `COMPLETE` was set while `JOIN_WAKER` was.
//! * **T5** The memory lives while the count is not 0, or `RUNNING` is set. The count holds one for the owner
//!   list, from the beginning until the task becomes complete or is cancelled, one for the handle, one for
//!   each `Runnable`, one for each waker, one for each hold. A waker that is copied in the task's own
//!   poll may take over the reference of the `Runnable`; whoever polls counts it anew if it is needed after all. So a count
//!   that reaches 0 under `RUNNING` is that of a cancelled task, and frees nothing yet.
//! * **T6** Holds are added only by the thread that has `RUNNING`, before `COMPLETING` is set. Whoever
//!   finds no hold when it sets `COMPLETING`, or drops the last one after that, completes the task.
//!
//! # Orderings
//!
//! Each operation is a read-modify-write with `AcqRel`, but the start of a poll that a wake has claimed, so all
//! operations on one task form a chain and each sees everything that the ones before it published: the poll sees what the waker wrote
//! (also when the bit was set already), the next poll sees the last one's future, the handle sees
//! the output, and the last reference sees all of it before it frees. The `Acquire` load in
//! [`State::is_complete`] joins the chain to read only.

use crate::primitive::sync::atomic::AtomicUsize;
use crate::primitive::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

const RUNNING: usize = 1;
const SCHEDULED: usize = 1 << 1;
const COMPLETE: usize = 1 << 2;
const CANCELLED: usize = 1 << 3;
const JOIN_INTEREST: usize = 1 << 4;
const JOIN_WAKER: usize = 1 << 5;
const COMPLETING: usize = 1 << 6;
/// The task is a child of a scope; set for good when it is made.
const SCOPED: usize = 1 << 7;
const ENDING: usize = 1 << 8;
/// One hold: a scope that was dropped in this task while it had children.
const HOLD: usize = 1 << 9;
/// Holds to count: eight million where a word has the room.
const HOLD_BITS: u32 = if usize::BITS >= 64 { 23 } else { 7 };
const HOLDS: usize = ((1 << HOLD_BITS) - 1) * HOLD;
/// One reference.
const REF: usize = HOLD << HOLD_BITS;
/// Past this many references a leak of wakers is certain; going on would wrap the count.
const REF_LIMIT: usize = usize::MAX >> 1;

/// The state word.
pub(crate) struct State(AtomicUsize);

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "lowercase")
)]
#[non_exhaustive]
pub enum TaskState {
    /// It waits.
    Idle,
    /// It is in a queue.
    Scheduled,
    /// A thread polls it.
    Running,
    /// Its code has ended; scopes that it has left behind have not.
    Completing,
    /// It has ended.
    Complete,
}

/// What [`State::start_poll`] found.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// `RUNNING` is held: poll the future.
    Poll,
    /// `RUNNING` is held: drop the future and complete as cancelled.
    Cancel,
    /// Somebody else ended the task; only the reference is left to drop.
    Gone,
}

/// What [`State::finish_pending`] found after a poll that said `Pending`.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Idle now, and the reference of the `Runnable` is given up, unless it was taken over.
    Idle,
    /// It was woken meanwhile: the `Runnable` goes back to a queue.
    Requeue,
    /// It was cancelled meanwhile; `RUNNING` is still held: drop the future and complete.
    Cancel,
}

/// What [`State::complete`] leaves to its caller.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completed {
    /// A handle waits: take the join waker out of its cell and wake it.
    pub(crate) wake_joiner: bool,
    /// Nobody will read the output: drop it.
    pub(crate) drop_output: bool,
    /// The task is the child of a scope, which is to be told.
    pub(crate) leave_scope: bool,
}

/// Whether a wake or an abort must put the task into a queue.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// The caller made the task scheduled: push one `Runnable`.
    Push,
    /// It runs, is queued, or is complete: nothing to do.
    Nothing,
}

/// What [`State::drop_hold`] leaves to its caller.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The body has ended and nothing holds the task any more: complete it.
    No,
    /// Other holds are left, or the body still runs.
    Yes,
}

/// What a handle finds that gives up or moves its waker.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// The waker's cell is the handle's to write or clear (T4).
    Pending,
    /// The task is complete: the output is the handle's to take (T3).
    Complete,
}

impl State {
    /// Scheduled, with a handle, and three references: owner list, handle, first `Runnable`.
    pub(crate) fn new() -> Self {
        State(AtomicUsize::new(SCHEDULED | JOIN_INTEREST | (3 * REF)))
    }

    /// As [`new`](State::new), for a child of a scope.
    pub(crate) fn new_scoped() -> Self {
        State(AtomicUsize::new(
            SCHEDULED | JOIN_INTEREST | SCOPED | (3 * REF),
        ))
    }

    /// Whether the task is a child of a scope.
    pub(crate) fn is_scoped(&self) -> bool {
        self.0.load(Relaxed) & SCOPED != 0
    }

    /// Takes the right to the future for the holder of the `Runnable`. Where the wake has claimed it already,
    /// this takes no read-modify-write.
    #[inline]
    pub(crate) fn start_poll(&self) -> Start {
        // ORDERING: Relaxed. The `Runnable` has come with all that the claiming wake saw and wrote, and any later
        // wake has left a mark.
        let mut seen = self.0.load(Relaxed);
        if seen & (RUNNING | SCHEDULED | CANCELLED | ENDING | COMPLETE) == RUNNING {
            return Start::Poll;
        }
        loop {
            if seen & (ENDING | COMPLETE) != 0 {
                // ORDERING: nothing of the task is touched but its count, which is its own RMW.
                return Start::Gone;
            }
            debug_assert!(
                seen & (SCHEDULED | RUNNING) != 0,
                "a Runnable of a task that is not scheduled"
            );
            let next = seen & !SCHEDULED | RUNNING;
            match self.0.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) if seen & CANCELLED != 0 => return Start::Cancel,
                Ok(_) => return Start::Poll,
                Err(now) => seen = now,
            }
        }
    }

    /// Ends a poll that said `Pending`. `again`: this thread has woken the task meanwhile, without
    /// [`wake`](State::wake): what the next poll must see of this one goes through the same chain. `lent`:
    /// a waker has taken over the reference of the `Runnable`.
    #[inline]
    pub(crate) fn finish_pending(&self, again: bool, lent: bool) -> Pause {
        let lent = if lent { REF } else { 0 };
        let mut seen = self.0.load(Relaxed);
        loop {
            debug_assert!(seen & RUNNING != 0 && seen & COMPLETE == 0);
            if seen & CANCELLED != 0 {
                return Pause::Cancel;
            }
            let (next, pause) = if again || seen & SCHEDULED != 0 {
                ((seen & !RUNNING | SCHEDULED) + lent, Pause::Requeue)
            } else {
                ((seen & !RUNNING) + lent - REF, Pause::Idle)
            };
            match self.0.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => return pause,
                Err(now) => seen = now,
            }
        }
    }

    /// Makes a running task complete. The output is in place already.
    pub(crate) fn complete(&self) -> Completed {
        let before = self.0.fetch_xor(RUNNING | COMPLETE, AcqRel);
        debug_assert!(before & RUNNING != 0 && before & COMPLETE == 0);
        Completed {
            wake_joiner: before & JOIN_WAKER != 0,
            drop_output: before & JOIN_INTEREST == 0,
            leave_scope: before & SCOPED != 0,
        }
    }

    /// As [`complete`](State::complete), and gives up `count` references in the same step, if that
    /// leaves nothing to its caller: a handle wants the output and does not wait yet, and no scope
    /// waits. The handle then holds the reference that is left.
    #[must_use = "`false`: nothing has changed"]
    pub(crate) fn complete_quietly(&self, count: usize) -> bool {
        let seen = self.0.load(Relaxed);
        if seen & (JOIN_INTEREST | JOIN_WAKER | SCOPED) != JOIN_INTEREST {
            return false;
        }
        debug_assert!(seen & RUNNING != 0 && seen & COMPLETE == 0 && seen / REF > count);
        let next = (seen ^ (RUNNING | COMPLETE)) - count * REF;
        self.0.compare_exchange(seen, next, AcqRel, Relaxed).is_ok()
    }

    /// Keeps the task from becoming complete. For the thread that has `RUNNING`, which counts a
    /// reference for the hold as well.
    pub(crate) fn add_hold(&self) {
        // ORDERING: Relaxed: the same thread sets COMPLETING later, and the chain carries both.
        let before = self.0.fetch_add(HOLD, Relaxed);
        debug_assert!(before & RUNNING != 0 && before & (COMPLETE | COMPLETING) == 0);
        if before & HOLDS == HOLDS {
            // Gigabytes of scopes that never end: the count would run into the references.
            std::process::abort();
        }
    }

    /// Gives up a hold.
    pub(crate) fn drop_hold(&self) -> Held {
        let before = self.0.fetch_sub(HOLD, AcqRel);
        debug_assert!(before & HOLDS != 0 && before & COMPLETE == 0);
        if before & (HOLDS | COMPLETING) == HOLD | COMPLETING {
            Held::No
        } else {
            Held::Yes
        }
    }

    /// Whether scopes that were left behind may hold the task; exact for the thread that has
    /// `RUNNING` when it says no.
    pub(crate) fn may_be_held(&self) -> bool {
        self.0.load(Relaxed) & HOLDS != 0
    }

    /// Says that the body has ended. `Yes`: whoever drops the last hold completes the task.
    pub(crate) fn start_completing(&self) -> Held {
        let before = self.0.fetch_or(COMPLETING, AcqRel);
        debug_assert!(before & RUNNING != 0 && before & (COMPLETE | COMPLETING) == 0);
        if before & HOLDS == 0 {
            Held::No
        } else {
            Held::Yes
        }
    }

    /// Records a wake. `Push` obliges the caller to find a reference for the `Runnable`.
    pub(crate) fn wake(&self) -> Schedule {
        // A read-modify-write also when the bit is set: the poll to come must see what this waker
        // wrote before, and only the chain carries that.
        let before = self.0.fetch_or(SCHEDULED, AcqRel);
        if before & (SCHEDULED | RUNNING | COMPLETE) == 0 {
            Schedule::Push
        } else {
            Schedule::Nothing
        }
    }

    /// As [`wake`](State::wake), by a worker of the task's pool: whoever gets the `Runnable` has the right to the
    /// future with it. For threads that shutdown waits for, as it cannot end a claimed task in place.
    ///
    /// This also claims a task that another thread has just woken and not queued yet. If a pool ends in that very moment, it
    /// cannot end that task in place: the other thread does, as it finds the pool drained.
    #[inline]
    pub(crate) fn wake_claimed(&self) -> Schedule {
        let before = self.0.fetch_or(RUNNING, AcqRel);
        match before & (SCHEDULED | RUNNING | COMPLETE) {
            0 => Schedule::Push,
            // It runs, or is claimed: a mark is needed. It may have gone idle by now.
            RUNNING => self.wake(),
            // It was queued unclaimed, and is claimed for whoever has the `Runnable`; or the mark is there already.
            _ => Schedule::Nothing,
        }
    }

    /// Asks for the task's end. `Push` obliges the caller as in [`wake`](State::wake).
    pub(crate) fn abort(&self) -> Schedule {
        let before = self.0.fetch_or(SCHEDULED | CANCELLED, AcqRel);
        if before & (SCHEDULED | RUNNING | COMPLETE) == 0 {
            Schedule::Push
        } else {
            Schedule::Nothing
        }
    }

    /// Cancels from shutdown: takes the right to the future if nobody has it.
    ///
    /// `true` obliges the caller to drop the future and complete. A `Runnable` that is still in a
    /// queue finds the task gone. `false`: it is complete, or the thread that runs it, or has claimed it,
    /// will see `CANCELLED`.
    #[must_use]
    pub(crate) fn claim_to_cancel(&self) -> bool {
        self.claim(RUNNING | COMPLETE)
    }

    /// Cancels for the holder of the `Runnable`, which is used up. As
    /// [`claim_to_cancel`](State::claim_to_cancel); also if the task is claimed.
    #[must_use]
    pub(crate) fn claim_as_holder(&self) -> bool {
        self.claim(ENDING | COMPLETE)
    }

    /// Takes the right to the future unless one of `taken` is set.
    fn claim(&self, taken: usize) -> bool {
        let mut seen = self.0.load(Relaxed);
        loop {
            let free = seen & taken == 0;
            let right = if free { RUNNING | ENDING } else { 0 };
            let next = seen | CANCELLED | right;
            match self.0.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => return free,
                Err(now) => seen = now,
            }
        }
    }

    /// Whether the output is in place.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.load(Acquire) & COMPLETE != 0
    }

    /// Takes the join waker's cell back for the handle, to look at it or to change it.
    pub(crate) fn take_join_cell(&self) -> Join {
        let mut seen = self.0.load(Acquire);
        loop {
            if seen & COMPLETE != 0 {
                return Join::Complete;
            }
            if seen & JOIN_WAKER == 0 {
                return Join::Pending;
            }
            match self
                .0
                .compare_exchange_weak(seen, seen & !JOIN_WAKER, AcqRel, Acquire)
            {
                Ok(_) => return Join::Pending,
                Err(now) => seen = now,
            }
        }
    }

    /// Hands the filled cell to the thread that will complete the task.
    ///
    /// `Complete`: too late, the cell stays the handle's.
    pub(crate) fn give_join_cell(&self) -> Join {
        let mut seen = self.0.load(Acquire);
        loop {
            if seen & COMPLETE != 0 {
                return Join::Complete;
            }
            match self
                .0
                .compare_exchange_weak(seen, seen | JOIN_WAKER, AcqRel, Acquire)
            {
                Ok(_) => return Join::Pending,
                Err(now) => seen = now,
            }
        }
    }

    /// Ends the handle's interest. `Pending`: the cell is the caller's to clear; `Complete`: the
    /// output is.
    pub(crate) fn drop_join_interest(&self) -> Join {
        let mut seen = self.0.load(Acquire);
        loop {
            if seen & COMPLETE != 0 {
                return Join::Complete;
            }
            let next = seen & !(JOIN_INTEREST | JOIN_WAKER);
            match self.0.compare_exchange_weak(seen, next, AcqRel, Acquire) {
                Ok(_) => return Join::Pending,
                Err(now) => seen = now,
            }
        }
    }

    /// Adds a reference, for a caller that holds one.
    pub(crate) fn ref_inc(&self) {
        // ORDERING: Relaxed, as in `Arc`: the caller's own reference keeps the task alive, and
        // whatever hands the new one to another thread orders it.
        let before = self.0.fetch_add(REF, Relaxed);
        if before > REF_LIMIT {
            std::process::abort();
        }
    }

    /// Gives up `count` references; `true` if they were the last ones, and nobody polls.
    #[must_use = "the last reference frees the task"]
    pub(crate) fn ref_dec(&self, count: usize) -> bool {
        let is_last = |word: usize| word / REF == count && word & (RUNNING | COMPLETE) != RUNNING;
        // Who holds all references there are is alone: nobody is left to count up or down. The word
        // need not be written then, and the load is the end of the chain.
        if is_last(self.0.load(Acquire)) {
            return true;
        }
        let before = self.0.fetch_sub(count * REF, Release);
        debug_assert!(before >= count * REF);
        if !is_last(before) {
            return false;
        }
        // ORDERING: Acquire, the end of the chain: whoever frees sees every earlier use.
        self.0.load(Acquire);
        true
    }

    /// The state as an outsider sees it; stale as soon as it is read.
    pub(crate) fn look(&self) -> TaskState {
        let seen = self.0.load(Relaxed);
        match seen {
            _ if seen & COMPLETE != 0 => TaskState::Complete,
            _ if seen & COMPLETING != 0 => TaskState::Completing,
            _ if seen & RUNNING != 0 => TaskState::Running,
            _ if seen & SCHEDULED != 0 => TaskState::Scheduled,
            _ => TaskState::Idle,
        }
    }
}

//! One turn of a task, and how it ends.
//!
//! Whoever has the `Runnable` polls the future, or drops it if the task was cancelled. The thread that ends
//! a task publishes its output, tells the handle, and leaves list and scope.

#![expect(
    unsafe_code,
    reason = "the future is reached through the header's vtable"
)]

use std::mem;

use super::{TaskRef, drop_refs};
use crate::primitive::sync::{Arc, assert_no_lock};
use crate::scope::{self, Holder, Link};
use crate::task::Runnable;
use crate::task::contain::contain_all;
use crate::task::join::Failure;
use crate::task::owner;
use crate::task::state::{Held, Pause, Schedule, Start};

impl TaskRef {
    /// Runs one turn of the task for the holder of its `Runnable`.
    ///
    /// Gives the `Runnable` back when the task was woken during its poll; the caller queues it.
    #[inline]
    pub(in crate::task) fn run(self) -> Option<Runnable> {
        assert_no_lock();
        let header = self.header();
        match header.state.start_poll() {
            Start::Gone => {
                header.shard().home().pool().skipped();
                return None;
            }
            Start::Cancel => {
                header.shard().home().pool().skipped();
                self.fail(Failure::Cancelled);
                return None;
            }
            Start::Poll => header.trace.begin_poll(),
        }
        // SAFETY: `start_poll` gave this thread RUNNING.
        let poll = || unsafe { (header.vtable.poll)(self.0) };
        // Without a reference of its own this thread has the memory until it gives up RUNNING (T5).
        let (polled, lent) = scope::enter_poll(&self, poll);
        if polled.is_ready() {
            self.count_anew(lent);
            scope::release(self.complete(true));
            return None;
        }
        if !header.shard().is_unlisted() || owner::enlist(&self) {
            let again = header.trace.end_poll();
            match header.state.finish_pending(again, lent) {
                Pause::Idle => {
                    // The state word took the reference back, or a waker has it.
                    mem::forget(self);
                    return None;
                }
                Pause::Requeue => return Some(Runnable::from_ref(self)),
                Pause::Cancel => {}
            }
        }
        self.count_anew(lent);
        self.fail(Failure::Cancelled);
        None
    }

    /// This reference is needed, but may have been taken over: counts it anew. This thread has `RUNNING`.
    #[inline]
    fn count_anew(&self, lent: bool) {
        if lent {
            self.header().state.ref_inc();
        }
    }

    /// Ends a task whose `RUNNING` this thread holds, without an output of its own.
    fn fail(self, failure: Failure) {
        self.header().trace.begin_poll();
        // SAFETY: the caller holds RUNNING, and the future is still there.
        let fail = || unsafe { (self.header().vtable.fail)(self.0, failure) };
        scope::enter_task(&self, fail);
        scope::release(self.complete(true));
    }

    /// Ends the task if no thread runs it; see [`State::claim_to_cancel`]. Returns whether it did.
    pub(in crate::task) fn cancel_now(self) -> bool {
        let claimed = self.header().state.claim_to_cancel();
        if claimed {
            self.fail(Failure::Cancelled);
        }
        claimed
    }

    /// Ends the task in place of running it, for the holder of its `Runnable`.
    pub(in crate::task) fn cancel_unrun(self) {
        if self.header().state.claim_as_holder() {
            self.fail(Failure::Cancelled);
        }
    }

    /// Ends a task whose body has ended: leaves the owner list, publishes the output, tells the handle,
    /// and leaves the scope, which may be the end that something else waits for. While the task holds
    /// scopes that it has left behind, the last of them does that.
    ///
    /// An output that nobody wants is leaked if this thread may not drop it.
    #[inline]
    fn complete(self, may_drop: bool) -> Option<Holder> {
        let header = self.header();
        if header.state.may_be_held() && header.state.start_completing() == Held::Yes {
            // Whoever drops the last hold goes on, with this reference.
            mem::forget(self);
            return None;
        }
        // The owner list's reference and this one go in one step.
        let refs = owner::delist(&self);
        if header.state.complete_quietly(refs) {
            mem::forget(self);
            return None;
        }
        let completed = header.state.complete();
        if completed.drop_output && may_drop {
            // SAFETY: there was no handle when the task became complete: the output is ours (T3).
            unsafe { self.drop_output() };
        }
        if completed.wake_joiner {
            // SAFETY: JOIN_WAKER was set when COMPLETE was: the cell is ours (T4).
            let waker = header.join_waker.with_mut(|cell| unsafe { (*cell).take() });
            contain_all(|| {
                if let Some(waker) = waker {
                    waker.wake();
                }
            });
        }
        let next = if completed.leave_scope {
            // SAFETY: this thread completes the task, which has a link.
            unsafe { self.leave_scope() }
        } else {
            None
        };
        // SAFETY: `self` was counted, and so was the list's reference if it was still listed.
        unsafe { drop_refs(self.into_raw(), refs) };
        next
    }

    /// The end of a child, for its scope.
    ///
    /// # Safety
    ///
    /// The task has a link, and this thread completes it.
    unsafe fn leave_scope(&self) -> Option<Holder> {
        // SAFETY: by the caller.
        let scope = unsafe { Link::of(&self.0).take() }?;
        // SAFETY: the task was spawned with a link to this scope.
        unsafe { scope.child_gone(self.0) }
    }

    /// Keeps the task that this thread runs from becoming complete, until the reference is given to
    /// [`drop_hold`](TaskRef::drop_hold).
    pub(crate) fn hold(&self) -> TaskRef {
        self.header().state.add_hold();
        self.clone()
    }

    /// Gives up a hold. If that completes the task, what waits for it is returned.
    #[cold]
    pub(crate) fn drop_hold(self) -> Option<Holder> {
        if self.header().state.drop_hold() == Held::Yes {
            return None;
        }
        // SAFETY: `complete` has left its reference behind.
        let body = unsafe { TaskRef::from_raw(self.0) };
        let pool = Arc::clone(body.header().shard().home().pool());
        drop(self);
        let next = body.complete(pool.may_drop_here());
        pool.ended_elsewhere();
        next
    }

    /// Asks for the task's end; it happens where the task runs.
    pub(crate) fn abort(&self) {
        let pool = self.header().shard().home().pool();
        if pool.cancels_in_place() {
            if self.clone().cancel_now() {
                pool.cancelled_in_place();
            }
            return;
        }
        if self.header().state.abort() == Schedule::Push {
            Runnable::from_ref(self.clone()).schedule();
        }
    }
}

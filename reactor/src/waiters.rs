//! Who waits on one source: two waker slots and a list.
//!
//! The slots serve `poll_ready`, whose callers keep no state of their own: one for each
//! direction, and the last caller's waker counts. The list serves the [`Readiness`] futures: each
//! carries its own [`Waiter`], so there may be any number, and one that is dropped takes itself
//! out.
//!
//! # Protocol
//!
//! A waiter looks at the readiness word, locks, **looks again**, and only then leaves its waker. An event
//! sets the word, locks, and takes the wakers. Whichever locks first: either the event finds the
//! waker, or the second look finds the event. The lock is the only edge this needs.
//!
//! An event wakes all waiters of its directions, not one, and none of them is handed anything. So
//! a future that is dropped after it was woken owes nothing to the others: they were woken too,
//! and the readiness stays in the word until somebody's call finds nothing.
//!
//! # Invariants
//!
//! * **W1** A waiter is in the list exactly while it holds a waker, and both change only under the
//!   lock.
//! * **W2** A waiter is in the list of no other source: its future borrows one.
//! * **W3** No waker is cloned, woken or dropped under the lock.
//! * **W4** `listed` is set under the lock before a waiter enters the list, and cleared as the last thing that
//!   is done to a waiter that has left it. Only its own future sets it. So a future that finds it clear has
//!   its waiter to itself, and a woken one, which is all but every one that is polled again, needs no lock.
//!
//! # Orderings
//!
//! The lock's, and one edge beside it: the `Release` store that clears `listed` carries all that was done to
//! the waiter to the `Acquire` load of the future that frees it or puts it back.
//!
//! [`Readiness`]: crate::Readiness

#![expect(unsafe_code, reason = "waiters are linked by raw pointers")]

use std::mem;
use std::ptr::NonNull;
use std::task::Waker;

use crate::fetch;
use crate::interest::{Direction, Interest};
use crate::list::{Links, List, Node};
use crate::primitive::cell::UnsafeCell;
use crate::primitive::sync::Mutex;
use crate::primitive::sync::atomic::AtomicBool;
use crate::primitive::sync::atomic::Ordering::{Acquire, Relaxed, Release};

#[cfg(all(test, not(loom)))]
mod tests;

/// The waiters of one source.
pub(crate) struct Waiters {
    waiting: Mutex<Waiting>,
}

struct Waiting {
    reader: Option<Waker>,
    writer: Option<Waker>,
    list: List<Waiter>,
}

/// One future's place among the waiters.
pub(crate) struct Waiter {
    links: Links<Waiter>,
    /// Guarded by the lock of the waiters (W1).
    waker: UnsafeCell<Option<Waker>>,
    /// Whether others may know of it (W4).
    listed: AtomicBool,
    interest: Interest,
}

// SAFETY: the links are the waiter's own field.
unsafe impl Node for Waiter {
    fn links(&self) -> &Links<Waiter> {
        &self.links
    }
}

// SAFETY: a shared waiter can only be used through `Waiters`, which touches the waker under its
// lock (W1). A waker itself may go to any thread.
unsafe impl Sync for Waiter {}

impl Waiter {
    pub(crate) fn new(interest: Interest) -> Waiter {
        Waiter {
            links: Links::new(),
            waker: UnsafeCell::new(None),
            listed: AtomicBool::new(false),
            interest,
        }
    }

    /// What it waits for.
    #[inline]
    pub(crate) fn interest(&self) -> Interest {
        self.interest
    }

    /// For its future: whether it may be in the list. `false`: nobody else knows of it.
    #[inline]
    pub(crate) fn may_wait(&self) -> bool {
        // ORDERING: Acquire, the end of the edge from `take_out`.
        self.listed.load(Acquire)
    }

    /// Whether it waits with a waker of the same task as `waker`.
    ///
    /// # Safety
    ///
    /// The lock of the waiters is held.
    unsafe fn has(&self, waker: &Waker) -> bool {
        // SAFETY: by the contract nobody else touches the waker now (W1).
        let slot = self.waker.with(|slot| unsafe { &*slot });
        slot.as_ref().is_some_and(|own| own.will_wake(waker))
    }

    /// Exchanges the waker.
    ///
    /// # Safety
    ///
    /// The lock of the waiters is held.
    unsafe fn replace(&self, waker: Option<Waker>) -> Option<Waker> {
        // SAFETY: by the contract nobody else touches the waker now (W1).
        self.waker
            .with_mut(|slot| unsafe { mem::replace(&mut *slot, waker) })
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // Touches it as its owner may (W4), so that a model sees whether anything orders that.
        // SAFETY: nobody else knows of a waiter that goes.
        debug_assert!(self.waker.with_mut(|slot| unsafe { (*slot).is_none() }));
    }
}

impl Waiters {
    pub(crate) fn new() -> Waiters {
        Waiters {
            waiting: Mutex::new(Waiting {
                reader: None,
                writer: None,
                list: List::new(),
            }),
        }
    }

    /// Leaves `waker` in the slot of a direction, unless `look` finds that there is no need.
    pub(crate) fn wait_in_slot<R>(
        &self,
        direction: Direction,
        waker: Waker,
        look: impl FnOnce() -> Option<R>,
    ) -> Option<R> {
        let mut waiting = self.waiting.lock();
        let found = look();
        let spare = if found.is_some() {
            Some(waker)
        } else {
            waiting.slot(direction).replace(waker)
        };
        drop(waiting);
        drop(spare);
        found
    }

    /// Puts a waiter into the list, or gives it a new waker if it is there, unless `look` finds
    /// that there is no need; then it is taken out.
    ///
    /// # Safety
    ///
    /// The waiter is pinned, is used with these waiters only (W2), and is withdrawn before it goes.
    pub(crate) unsafe fn wait_in_list<R>(
        &self,
        waiter: &Waiter,
        waker: Waker,
        look: impl FnOnce() -> Option<R>,
    ) -> Option<R> {
        let mut waiting = self.waiting.lock();
        let found = look();
        let spare = if found.is_some() {
            // SAFETY: the lock is held, and by the contract the waiter is in no other list.
            let old = unsafe { waiting.take_out(waiter) };
            [old, Some(waker)]
        } else {
            // SAFETY: the lock is held.
            let old = unsafe { waiter.replace(Some(waker)) };
            if old.is_none() {
                // ORDERING: Relaxed. Only its own future reads it, in whose poll this is.
                waiter.listed.store(true, Relaxed);
                // SAFETY: it had no waker, so by W1 it is in no list; the contract gives the rest.
                unsafe { waiting.list.push_back(NonNull::from(waiter)) };
            }
            [old, None]
        };
        drop(waiting);
        drop(spare);
        found
    }

    /// Whether a waiter is in the list, with a waker of the same task as `waker`.
    ///
    /// # Safety
    ///
    /// The waiter is used with these waiters only (W2).
    pub(crate) unsafe fn waits(&self, waiter: &Waiter, waker: &Waker) -> bool {
        let _waiting = self.waiting.lock();
        // SAFETY: the lock is held.
        unsafe { waiter.has(waker) }
    }

    /// Takes a waiter out, if it is still in the list, and drops its waker.
    ///
    /// # Safety
    ///
    /// The waiter is used with these waiters only (W2).
    pub(crate) unsafe fn withdraw(&self, waiter: &Waiter) {
        let mut waiting = self.waiting.lock();
        // SAFETY: the lock is held, and by the contract the waiter is in no other list.
        let waker = unsafe { waiting.take_out(waiter) };
        drop(waiting);
        drop(waker);
    }

    /// Asks the CPU for the waiter that [`collect`](Waiters::collect) will come to first.
    #[inline]
    pub(crate) fn fetch(&self) {
        // Gone, perhaps, once the lock is released; the address serves as a hint only.
        let first = self.waiting.lock().list.first();
        if let Some(waiter) = first {
            fetch::line(waiter.as_ptr());
        }
    }

    /// Moves the wakers of all who wait for any of `bits` to the end of `wakers`, and asks the CPU for what they will touch.
    pub(crate) fn collect(&self, bits: u8, wakers: &mut Vec<Waker>) {
        let mut add = |waker: Waker| {
            // By a convention of runtimes, ours among them, that is the task.
            fetch::line(waker.data());
            wakers.push(waker);
        };
        let mut waiting = self.waiting.lock();
        for direction in [Direction::Read, Direction::Write] {
            if bits & direction.bits() != 0
                && let Some(waker) = waiting.slot(direction).take()
            {
                add(waker);
            }
        }
        let mut cursor = waiting.list.first();
        while let Some(node) = cursor {
            // SAFETY: `node` is in the list, and the lock is held.
            cursor = unsafe { waiting.list.after(node) };
            // SAFETY: a node in the list is alive.
            let waiter = unsafe { node.as_ref() };
            if waiter.interest.bits() & bits != 0
                // SAFETY: as above.
                && let Some(waker) = unsafe { waiting.take_out(waiter) }
            {
                add(waker);
            }
        }
    }
}

impl Waiting {
    fn slot(&mut self, direction: Direction) -> &mut Option<Waker> {
        match direction {
            Direction::Read => &mut self.reader,
            Direction::Write => &mut self.writer,
        }
    }

    /// Takes a waiter out of the list, if it is in it, and gives its waker. From then on the waiter may be gone.
    ///
    /// # Safety
    ///
    /// The lock is held (which `&mut self` cannot show, as it is not the waiter's), and the waiter
    /// is in no other list.
    unsafe fn take_out(&mut self, waiter: &Waiter) -> Option<Waker> {
        // SAFETY: by the contract the lock is held.
        let waker = unsafe { waiter.replace(None) }?;
        // SAFETY: it had a waker, so by W1 it is in a list, and by the contract in this one.
        unsafe { self.list.remove(NonNull::from(waiter)) };
        // ORDERING: Release, to the future that finds itself out of the list (W4).
        waiter.listed.store(false, Release);
        Some(waker)
    }
}

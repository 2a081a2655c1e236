//! The LIFO slot: the one task that a worker runs before it looks at its queue.
//!
//! A task that wakes another has usually just written what the other will read, so the woken task
//! is cheapest to run next, on the same core. Ordinary searching never looks in here: making the
//! slot stealable by everyone costs every message a cache miss. Only when a worker is stuck in one
//! poll does another empty its slot.
//!
//! # Roles
//!
//! * The **owner** is the worker: it puts and takes.
//! * A **rescuer** takes only, and only from a worker that is stuck or gone.
//!
//! The owner takes with each message, so it does so without an atomic read-modify-write: it says that it is
//! [`taking`](Slot::taking), and looks for rescuers; a rescuer says that it is there, and looks whether the owner is
//! taking. Of the two fences that this needs the rescuer pays for both (`primitive/barrier.rs`). While
//! there are rescuers the owner takes with a swap, as they do.
//!
//! # Invariants
//!
//! * **S1** A non-null pointer in the cell came from [`Item::into_raw`], and no copy of it is live.
//! * **S2** Only the owner stores a non-null pointer.
//! * **S3** The owner empties the cell without a swap only if no rescuer will touch it before the owner has said
//!   that it is done.
//!
//! # Orderings
//!
//! * The `Release` write in [`put`](Slot::put) publishes the item to the `Acquire` swap in
//!   [`rescue`](Slot::rescue) that reads its pointer.
//! * The `Release` by which a rescuer goes carries its swap to the owner's `Acquire` look for rescuers, and the
//!   `Release` by which the owner is done carries its null to the rescuer's `Acquire` look at that. So neither
//!   sees a pointer that the other has taken.
//! * The pair of fences: at least one of the two sees the other.
//!
//! All else is `Relaxed`, and each site says why.

#![expect(unsafe_code, reason = "items move through the cell as raw pointers")]

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use crate::primitive::barrier;
use crate::primitive::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::primitive::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

/// Something that fits into a slot: an owned thing that is one pointer.
///
/// # Safety
///
/// `into_raw` gives up ownership and returns a pointer that is not null; `from_raw` takes it back.
pub(crate) unsafe trait Item: Send {
    fn into_raw(self) -> *mut ();

    /// # Safety
    ///
    /// `raw` came from `into_raw`, and is passed here once.
    unsafe fn from_raw(raw: *mut ()) -> Self;
}

/// A cell for one item.
pub(crate) struct Slot<T: Item> {
    /// Null when empty (S1).
    cell: AtomicPtr<()>,
    /// The owner is between its look for rescuers and the end of its take.
    taking: AtomicBool,
    rescuers: AtomicUsize,
    _owns: PhantomData<T>,
}

impl<T: Item> Slot<T> {
    pub(crate) fn new() -> Self {
        Slot {
            cell: AtomicPtr::new(ptr::null_mut()),
            taking: AtomicBool::new(false),
            rescuers: AtomicUsize::new(0),
            _owns: PhantomData,
        }
    }

    /// Fills the slot and returns what it held before, which the caller must queue.
    #[must_use = "an item pushed out of the slot runs only if it is queued"]
    pub(crate) fn put(&self, item: T) -> Option<T> {
        let item = item.into_raw();
        // An empty slot stays empty until its owner fills it (S2), so that needs no swap.
        if self.cell.load(Relaxed).is_null() {
            // ORDERING: Release publishes the item to whoever takes it.
            self.cell.store(item, Release);
            return None;
        }
        // ORDERING: as above. What comes back needs no Acquire: it is null, or this same thread
        // stored it.
        let previous = self.cell.swap(item, Release);
        // SAFETY: the swap took `previous` out of the cell.
        unsafe { reclaim(previous) }
    }

    /// Empties the slot, for its owner.
    #[inline]
    pub(crate) fn take(&self) -> Option<T> {
        // ORDERING: Relaxed. The owner cannot miss its own put.
        if self.cell.load(Relaxed).is_null() {
            return None;
        }
        self.taking.store(true, Relaxed);
        barrier::light();
        // ORDERING: Acquire: what the last rescuer has taken is not there any more.
        let item = if self.rescuers.load(Acquire) == 0 {
            // ORDERING: Relaxed: the item is the owner's own, and so are both steps (S3).
            let item = self.cell.load(Relaxed);
            self.cell.store(ptr::null_mut(), Relaxed);
            item
        } else {
            // ORDERING: Relaxed: what it reads is the owner's own item, or null.
            self.cell.swap(ptr::null_mut(), Relaxed)
        };
        // ORDERING: Release: a rescuer that sees this sees the null.
        self.taking.store(false, Release);
        // SAFETY: `item` has left the cell, by a swap or under S3.
        unsafe { reclaim(item) }
    }

    /// Empties the slot of another thread, unless that is just taking what is in it.
    pub(crate) fn rescue(&self) -> Option<T> {
        // ORDERING: Relaxed. A rescuer looks again at its next round.
        if self.cell.load(Relaxed).is_null() {
            return None;
        }
        self.rescuers.fetch_add(1, Relaxed);
        // ORDERING: Acquire, the other end of the edge from `take`.
        let free = barrier::heavy() && !self.taking.load(Acquire);
        let item = if free {
            // ORDERING: Acquire, the other end of the edge from `put`. The null carries nothing.
            self.cell.swap(ptr::null_mut(), Acquire)
        } else {
            ptr::null_mut()
        };
        // ORDERING: Release: the owner that sees no rescuer sees the null.
        self.rescuers.fetch_sub(1, Release);
        // SAFETY: the swap took `item` out of the cell.
        unsafe { reclaim(item) }
    }

    /// Whether the slot looks empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.cell.load(Relaxed).is_null()
    }
}

/// Turns a pointer that has left the cell back into an item.
///
/// # Safety
///
/// `raw` has left the cell, and the caller passes it here once.
unsafe fn reclaim<T: Item>(raw: *mut ()) -> Option<T> {
    if raw.is_null() {
        return None;
    }
    // SAFETY: by S1 this was the only copy of a pointer from `into_raw`.
    Some(unsafe { T::from_raw(raw) })
}

impl<T: Item> Drop for Slot<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T: Item> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("empty", &self.is_empty())
            .finish()
    }
}

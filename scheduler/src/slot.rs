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
//! # Invariants
//!
//! * **S1** A non-null pointer in the cell came from [`Item::into_raw`], and no copy of it is live.
//! * **S2** Only the owner stores a non-null pointer.
//!
//! # Orderings
//!
//! One edge: the `Release` write in [`put`](Slot::put) publishes the item to the `Acquire` swap in
//! [`take`](Slot::take) that reads its pointer. All else is `Relaxed`, and each site says why.

#![expect(unsafe_code, reason = "items move through the cell as raw pointers")]

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use crate::primitive::sync::atomic::AtomicPtr;
use crate::primitive::sync::atomic::Ordering::{Acquire, Relaxed, Release};

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
    _owns: PhantomData<T>,
}

impl<T: Item> Slot<T> {
    pub(crate) fn new() -> Self {
        Slot {
            cell: AtomicPtr::new(ptr::null_mut()),
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

    /// Empties the slot.
    pub(crate) fn take(&self) -> Option<T> {
        // ORDERING: Relaxed. The load only spares the line a write when the slot looks empty. The
        // owner cannot miss its own put, and a rescuer looks again at its next round.
        if self.cell.load(Relaxed).is_null() {
            return None;
        }
        // ORDERING: Acquire, the other end of the edge from `put`. The null carries nothing.
        let item = self.cell.swap(ptr::null_mut(), Acquire);
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
/// The caller got `raw` from a swap on the cell, and passes it here once.
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

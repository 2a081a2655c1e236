//! A slot of a wheel: its entries, in lists that they enter in turn.
//!
//! A walk along one list is a chain of cache misses, since each entry has to come before it is known where the
//! next one is. The lists of a slot are walked side by side, so that several entries are on their way at a time.
//! Entries are walked in the order in which they came, as long as nobody has left from between them.

#![expect(unsafe_code, reason = "the lists' operations are unsafe to call")]

use std::ptr::NonNull;

use crate::list::{List, Node};

#[cfg(all(test, not(loom)))]
mod tests;

/// Lists of a slot. With one, a million sleeping tasks took an eighth more CPU time; with eight they take no less.
pub(crate) const LANES: usize = 4;

const _: () = assert!(256 % LANES == 0, "the numbers of lists wrap");

/// See the module.
pub(crate) struct Slot<T> {
    lanes: [List<T>; LANES],
    /// Four thousand million timers would take more than a terabyte with their tasks.
    count: u32,
    /// The next one goes to the list of this number, modulo [`LANES`].
    turn: u8,
    /// The one that came first stands in the list of this number, likewise.
    oldest: u8,
}

/// A walk through a slot.
pub(crate) struct Walk<T> {
    next: [Option<NonNull<T>>; LANES],
    turn: u8,
}

impl<T: Node> Slot<T> {
    pub(crate) const fn new() -> Self {
        Slot {
            lanes: [const { List::new() }; LANES],
            count: 0,
            turn: 0,
            oldest: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a node, and says to which list.
    ///
    /// # Safety
    ///
    /// As for [`List::push_back`].
    pub(crate) unsafe fn push(&mut self, node: NonNull<T>) -> usize {
        let lane = usize::from(self.turn) % LANES;
        self.turn = self.turn.wrapping_add(1);
        self.count += 1;
        // SAFETY: by the caller.
        unsafe { self.lanes[lane].push_back(node) };
        lane
    }

    /// Takes a node out. Says whether the slot is empty now.
    ///
    /// # Safety
    ///
    /// The node is in the list `lane` of this slot.
    pub(crate) unsafe fn remove(&mut self, lane: usize, node: NonNull<T>) -> bool {
        let list = &mut self.lanes[lane % LANES];
        if lane == usize::from(self.oldest) % LANES && list.first() == Some(node) {
            self.oldest = self.oldest.wrapping_add(1);
        }
        // SAFETY: by the caller.
        unsafe { list.remove(node) };
        self.count -= 1;
        if self.count == 0 {
            self.oldest = self.turn;
        }
        self.count == 0
    }

    /// Begins with the node that came first.
    pub(crate) fn walk(&self) -> Walk<T> {
        Walk {
            next: std::array::from_fn(|lane| self.lanes[lane].first()),
            turn: self.oldest,
        }
    }
}

impl<T: Node> Walk<T> {
    /// The next node and its list; the caller may take it out of the slot, but no other one.
    ///
    /// # Safety
    ///
    /// The walk began in this `slot`, the lock of its lists has been held since (L2), and nodes have left it only as
    /// said.
    pub(crate) unsafe fn next(&mut self, slot: &Slot<T>) -> Option<(usize, NonNull<T>)> {
        for _ in 0..LANES {
            let lane = usize::from(self.turn) % LANES;
            self.turn = self.turn.wrapping_add(1);
            if let Some(node) = self.next[lane] {
                // SAFETY: by the caller, the node is still in the list.
                self.next[lane] = unsafe { slot.lanes[lane].after(node) };
                return Some((lane, node));
            }
        }
        None
    }
}

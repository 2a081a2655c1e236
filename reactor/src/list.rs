//! An intrusive doubly linked list: the nodes live in the futures that wait.
//!
//! Both the wheels' slots and the sources' waiters are lists of this kind, so linking allocates
//! nothing and unlinking from the middle is a few writes. The list is a ring; its head is one
//! pointer, and the last node is the one before the first.
//!
//! # Invariants
//!
//! * **L1** A node in a list stays where it is in memory until it has been taken out. Its owner is
//!   pinned and takes it out before it goes.
//! * **L2** The links of the nodes in a list are touched only under the lock that guards the list,
//!   which the `&mut` or `&` receiver stands for.
//! * **L3** A node is in at most one list.

#![expect(unsafe_code, reason = "nodes are linked by raw pointers")]

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::primitive::cell::UnsafeCell;

#[cfg(all(test, not(loom)))]
pub(crate) mod tests;

/// A node's place in its list; what it holds means something only while the node is in one.
pub(crate) struct Links<T> {
    ends: UnsafeCell<Ends<T>>,
}

struct Ends<T> {
    previous: NonNull<T>,
    next: NonNull<T>,
}

/// Something that can be in a [`List`].
///
/// # Safety
///
/// Every call on one node gives the same links, and they belong to that node alone.
pub(crate) unsafe trait Node: Sized {
    /// The links of this node.
    fn links(&self) -> &Links<Self>;
}

/// A list of nodes that it does not own.
pub(crate) struct List<T> {
    first: Option<NonNull<T>>,
    _lends: PhantomData<T>,
}

// SAFETY: a list reaches its nodes only through `&T` and their links, and by L2 it does so under
// one lock, whichever thread holds it.
unsafe impl<T: Sync> Send for List<T> {}

// SAFETY: as for `List`: links of a node are touched under the lock of the list it is in.
unsafe impl<T: Sync> Send for Links<T> {}
// SAFETY: a shared reference to links gives access only to a list, by L2 under its lock.
unsafe impl<T: Sync> Sync for Links<T> {}

impl<T> Links<T> {
    pub(crate) fn new() -> Self {
        Links {
            ends: UnsafeCell::new(Ends {
                previous: NonNull::dangling(),
                next: NonNull::dangling(),
            }),
        }
    }
}

impl<T: Node> List<T> {
    pub(crate) const fn new() -> Self {
        List {
            first: None,
            _lends: PhantomData,
        }
    }

    pub(crate) fn first(&self) -> Option<NonNull<T>> {
        self.first
    }

    /// Adds a node behind all others.
    ///
    /// # Safety
    ///
    /// The node is in no list, and L1 and L2 hold for it until it is taken out again.
    pub(crate) unsafe fn push_back(&mut self, node: NonNull<T>) {
        let Some(first) = self.first else {
            // SAFETY: the caller vouches for `node`.
            unsafe { set(node, node, node) };
            self.first = Some(node);
            return;
        };
        // SAFETY: `first` and `last` are in this list, so L1 and L2 hold for them; the caller
        // vouches for `node`. With one node in the list `first` and `last` are the same.
        unsafe {
            let last = previous(first);
            set(node, last, first);
            set_next(last, node);
            set_previous(first, node);
        }
    }

    /// Takes a node out.
    ///
    /// # Safety
    ///
    /// The node is in this list.
    pub(crate) unsafe fn remove(&mut self, node: NonNull<T>) {
        // SAFETY: `node` is in this list, and so are its neighbours: L1 and L2 hold for them.
        unsafe {
            let (before, after) = (previous(node), next(node));
            if after == node {
                self.first = None;
                return;
            }
            set_next(before, after);
            set_previous(after, before);
            if self.first == Some(node) {
                self.first = Some(after);
            }
        }
    }

    /// The node behind `node`, if that is not the last.
    ///
    /// # Safety
    ///
    /// The node is in this list.
    pub(crate) unsafe fn after(&self, node: NonNull<T>) -> Option<NonNull<T>> {
        // SAFETY: `node` is in this list, so L1 and L2 hold for it.
        let next = unsafe { next(node) };
        (self.first != Some(next)).then_some(next)
    }
}

/// # Safety
///
/// The node is in a list whose lock is held (L1, L2).
unsafe fn next<T: Node>(node: NonNull<T>) -> NonNull<T> {
    // SAFETY: by the contract the node is alive and its links are ours to read.
    unsafe { node.as_ref().links().ends.with(|ends| (*ends).next) }
}

/// # Safety
///
/// As for [`next`].
unsafe fn previous<T: Node>(node: NonNull<T>) -> NonNull<T> {
    // SAFETY: by the contract the node is alive and its links are ours to read.
    unsafe { node.as_ref().links().ends.with(|ends| (*ends).previous) }
}

/// # Safety
///
/// As for [`next`], or the node is about to enter such a list.
unsafe fn set<T: Node>(node: NonNull<T>, previous: NonNull<T>, next: NonNull<T>) {
    // SAFETY: by the contract the node is alive and its links are ours to write.
    unsafe {
        let links = node.as_ref().links();
        links.ends.with_mut(|ends| *ends = Ends { previous, next });
    }
}

/// # Safety
///
/// As for [`next`].
unsafe fn set_next<T: Node>(node: NonNull<T>, next: NonNull<T>) {
    // SAFETY: by the contract the node is alive and its links are ours to write.
    unsafe {
        let links = node.as_ref().links();
        links.ends.with_mut(|ends| (*ends).next = next);
    }
}

/// # Safety
///
/// As for [`next`].
unsafe fn set_previous<T: Node>(node: NonNull<T>, previous: NonNull<T>) {
    // SAFETY: by the contract the node is alive and its links are ours to write.
    unsafe {
        let links = node.as_ref().links();
        links.ends.with_mut(|ends| (*ends).previous = previous);
    }
}

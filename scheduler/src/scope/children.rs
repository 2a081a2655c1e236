//! The tasks of one scope, as a list that is threaded through the tasks themselves.
//!
//! The list counts no references: a task leaves it as it completes, and until then it is alive.

#![expect(unsafe_code, reason = "the list is threaded through the tasks")]

use std::ptr::NonNull;

use super::member::Link;
use crate::task::{Header, TaskRef};

/// A task's neighbours in its scope's list; touched only under that scope's lock.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// In the list at all: a closed scope refuses.
    listed: bool,
    previous: Option<NonNull<Header>>,
    next: Option<NonNull<Header>>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Children {
    head: Option<NonNull<Header>>,
    len: usize,
}

// SAFETY: the pointers lead to tasks, which may be reached from any thread, and are followed only by
// the holder of the list's lock.
unsafe impl Send for Children {}

impl Children {
    /// # Safety
    ///
    /// `task` is alive and in no scope's list, and it will be removed from this one before it is freed.
    pub(super) unsafe fn push(&mut self, task: NonNull<Header>) {
        let head = self.head.replace(task);
        // SAFETY: `task` is alive by the caller, and a listed head is alive; this list's lock is held.
        unsafe {
            place(task, |place| {
                place.listed = true;
                place.next = head;
            });
            if let Some(head) = head {
                place(head, |place| place.previous = Some(task));
            }
        }
        self.len += 1;
    }

    /// Takes a task out. `false`: it is not here.
    ///
    /// # Safety
    ///
    /// `task` is alive, and was linked to this list's scope when it was made.
    pub(super) unsafe fn remove(&mut self, task: NonNull<Header>) -> bool {
        // SAFETY: the task and its neighbours are alive; the lock is held.
        unsafe {
            let Place {
                listed,
                previous,
                next,
            } = place(task, std::mem::take);
            if !listed {
                return false;
            }
            match previous {
                Some(previous) => place(previous, |place| place.next = next),
                None => self.head = next,
            }
            if let Some(next) = next {
                place(next, |place| place.previous = previous);
            }
        }
        self.len -= 1;
        true
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Counted references to all tasks, the newest first.
    pub(super) fn refs(&self) -> Vec<TaskRef> {
        let mut refs = Vec::with_capacity(self.len);
        let mut next = self.head;
        while let Some(task) = next {
            // SAFETY: a listed task is alive, and the lock is held.
            unsafe {
                refs.push(TaskRef::borrow(&task).clone());
                next = place(task, |place| place.next);
            }
        }
        refs
    }
}

/// # Safety
///
/// `task` is a living child of a scope whose lock is held.
unsafe fn place<R>(task: NonNull<Header>, f: impl FnOnce(&mut Place) -> R) -> R {
    // SAFETY: by the caller, the task is alive and has a link, and the lock makes its place ours.
    unsafe { Link::of(&task).place.with_mut(|place| f(&mut *place)) }
}

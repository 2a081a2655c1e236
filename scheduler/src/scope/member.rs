//! What a task knows of the scope that it is a child of.
//!
//! It is part of the task's memory, behind the header, and its type says what becomes of the task's
//! output: [`Free`] for plain tasks takes no room and does nothing.

#![expect(unsafe_code, reason = "the link is found behind a task's header")]

use std::any::Any;
use std::ptr::NonNull;

use super::{Node, Place};
use crate::primitive::cell::UnsafeCell;
use crate::primitive::sync::Arc;
use crate::task::Header;

/// A task's tie to its scope.
#[derive(Debug)]
pub struct Link {
    /// The scope. Written by the spawner, who may find it closed, and taken by the thread that
    /// completes the task; in between it does not change.
    node: UnsafeCell<Option<Arc<Node>>>,
    pub(super) place: UnsafeCell<Place>,
}

/// A task with a link, as far as its future does not matter.
#[repr(C)]
struct Linked {
    header: Header,
    link: Link,
}

impl Link {
    /// # Safety
    ///
    /// The task is alive as long as `task` is borrowed, and it was spawned with a link.
    pub(crate) unsafe fn of(task: &NonNull<Header>) -> &Link {
        // SAFETY: by the caller. The link is the second field behind a header, as in `Linked`.
        unsafe { &(*task.cast::<Linked>().as_ptr()).link }
    }

    /// The scope.
    ///
    /// # Safety
    ///
    /// The caller is on the way from the task's spawn to its completion that hands it from thread to
    /// thread, or holds the lock of a list that the task is in: its scope's or its owner's.
    pub(crate) unsafe fn node(&self) -> Option<&Arc<Node>> {
        // SAFETY: by the caller, nobody writes meanwhile.
        self.node.with_mut(|node| unsafe { (*node).as_ref() })
    }

    /// Takes the tie off.
    ///
    /// # Safety
    ///
    /// As for [`node`](Link::node), and nobody has it borrowed.
    pub(crate) unsafe fn take(&self) -> Option<Arc<Node>> {
        // SAFETY: by the caller.
        self.node.with_mut(|node| unsafe { (*node).take() })
    }
}

impl From<Option<Arc<Node>>> for Link {
    fn from(node: Option<Arc<Node>>) -> Self {
        Link {
            node: UnsafeCell::new(node),
            place: UnsafeCell::new(Place::default()),
        }
    }
}

/// The tie of a task that is in no scope: nothing.
#[derive(Debug)]
pub struct NoLink;

impl From<Option<Arc<Node>>> for NoLink {
    fn from(_: Option<Arc<Node>>) -> Self {
        NoLink
    }
}

/// What a task is besides its future: nothing, or the child of a scope.
///
/// # Safety
///
/// `Tie` is the scheduler's link exactly if `SCOPED`. There is no reason to implement it elsewhere.
pub unsafe trait Member<O> {
    /// What the handle gives.
    type Value;

    /// What lies behind the task's header.
    #[doc(hidden)]
    type Tie: From<Option<Arc<Node>>>;

    /// Whether that is a link.
    #[doc(hidden)]
    const SCOPED: bool;

    /// Tells the handle's value from an error that is the scope's.
    #[doc(hidden)]
    fn sort(output: O) -> Result<Self::Value, Box<dyn Any + Send>>;

    /// The scope.
    #[doc(hidden)]
    fn scope(self) -> Option<Arc<Node>>;
}

/// A task that is in no scope.
#[derive(Clone, Copy, Debug)]
pub struct Free;

// SAFETY: no link, and not scoped.
unsafe impl<O> Member<O> for Free {
    type Value = O;
    type Tie = NoLink;
    const SCOPED: bool = false;

    #[inline]
    fn sort(output: O) -> Result<O, Box<dyn Any + Send>> {
        Ok(output)
    }

    #[inline]
    fn scope(self) -> Option<Arc<Node>> {
        None
    }
}

/// A child whose output is its own affair.
#[derive(Clone, Debug)]
pub struct Child(pub Arc<Node>);

// SAFETY: a link, and scoped.
unsafe impl<O> Member<O> for Child {
    type Value = O;
    type Tie = Link;
    const SCOPED: bool = true;

    fn sort(output: O) -> Result<O, Box<dyn Any + Send>> {
        Ok(output)
    }

    fn scope(self) -> Option<Arc<Node>> {
        Some(self.0)
    }
}

/// A child whose error is a failure of the scope.
#[derive(Clone, Debug)]
pub struct TryChild(pub Arc<Node>);

// SAFETY: a link, and scoped.
unsafe impl<T, E: Send + 'static> Member<Result<T, E>> for TryChild {
    type Value = T;
    type Tie = Link;
    const SCOPED: bool = true;

    fn sort(output: Result<T, E>) -> Result<T, Box<dyn Any + Send>> {
        output.map_err(|error| Box::new(error) as Box<dyn Any + Send>)
    }

    fn scope(self) -> Option<Arc<Node>> {
        Some(self.0)
    }
}

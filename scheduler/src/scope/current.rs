//! Which task, or `block_on`, and which scope the current thread is in.
//!
//! A thread that polls or drops a future keeps a [`Frame`] on its stack, and a pointer to the
//! innermost one in a cell without a destructor.

#![expect(unsafe_code, reason = "the frame is lent from a raw pointer")]

use std::cell::{Cell, OnceCell};
use std::ptr;

use super::node::{Holder, Kind, Node};
use crate::primitive::sync::Arc;
use crate::task::TaskRef;

thread_local! {
    /// The innermost frame of this thread, while it is in one.
    static FRAME: Cell<*const Frame<'static>> = const { Cell::new(ptr::null()) };
}

/// What runs on the stack from here up.
#[derive(Clone, Copy)]
struct Frame<'a> {
    keeper: Keeper<'a>,
    /// The scope whose body is polled; `None`: the task's own, if it is a child.
    scope: Option<&'a Arc<Node>>,
}

/// Whose code it is, and who waits for the scopes that are left behind in it.
#[derive(Clone, Copy)]
enum Keeper<'a> {
    Nobody,
    /// This thread has its `RUNNING`.
    Task(&'a Turn<'a>),
    /// It has ended, and its output is dropped: it can wait for nothing any more.
    Ended(&'a TaskRef),
    /// A `block_on`. The node is made when it is needed.
    Root(&'a OnceCell<Arc<Node>>),
}

/// A poll of a task, or the drop of its future.
struct Turn<'a> {
    task: &'a TaskRef,
    /// The reference that keeps `task` for the poll is still to be had by a copy of the task's waker.
    spare: Cell<bool>,
}

impl<'a> Frame<'a> {
    /// Calls `f` in this frame.
    #[inline]
    fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Leave(*const Frame<'static>);
        impl Drop for Leave {
            fn drop(&mut self) {
                FRAME.set(self.0);
            }
        }
        let _leave = Leave(FRAME.replace(ptr::from_ref(self).cast()));
        f()
    }

    fn scope(&self) -> Option<&'a Arc<Node>> {
        if self.scope.is_some() {
            return self.scope;
        }
        match self.keeper {
            // SAFETY: this thread has its `RUNNING`.
            Keeper::Task(turn) => unsafe { turn.task.scope() },
            _ => None,
        }
    }
}

/// Calls `f` with this thread's innermost frame.
fn with_frame<R>(f: impl FnOnce(Frame<'_>) -> R) -> R {
    let nobody = Frame {
        keeper: Keeper::Nobody,
        scope: None,
    };
    // SAFETY: the cell points to a frame that `Frame::enter` keeps alive on this thread's stack until
    // it restores the cell; `f` gets it for less than that.
    f(unsafe { FRAME.get().as_ref() }.copied().unwrap_or(nobody))
}

/// Calls `f` with the task whose code this thread runs: its poll, or a destructor of what it has.
#[inline]
pub(crate) fn with_task<R>(f: impl FnOnce(Option<&TaskRef>) -> R) -> R {
    // SAFETY: as in `with_frame`.
    let frame = unsafe { FRAME.get().as_ref() };
    f(frame.and_then(|frame| match frame.keeper {
        Keeper::Task(turn) => Some(turn.task),
        Keeper::Ended(task) => Some(task),
        Keeper::Nobody | Keeper::Root(_) => None,
    }))
}

/// The turn of `task` on this thread, if it is in one.
#[inline]
fn turn_of<R>(task: &TaskRef, f: impl FnOnce(&Turn<'_>) -> R) -> Option<R> {
    // SAFETY: as in `with_frame`.
    let frame = unsafe { FRAME.get().as_ref() }?;
    match frame.keeper {
        Keeper::Task(turn) if turn.task == task => Some(f(turn)),
        _ => None,
    }
}

/// Whether this thread is in a poll of `task`, or drops its future.
#[inline]
pub(crate) fn is_polled_here(task: &TaskRef) -> bool {
    turn_of(task, |_| ()).is_some()
}

/// Whether this thread polls `task`, and the caller has now the reference that the poll began with.
#[inline]
pub(crate) fn take_over(task: &TaskRef) -> bool {
    turn_of(task, |turn| turn.spare.replace(false)).unwrap_or(false)
}

/// Calls `f`, which drops the future of `task`; this thread has its `RUNNING`.
#[inline]
pub(crate) fn enter_task<R>(task: &TaskRef, f: impl FnOnce() -> R) -> R {
    enter_turn(task, false, f).0
}

/// Calls `f`, which polls `task`; this thread has its `RUNNING`. `true`: somebody has
/// [taken over](take_over) the reference of this poll.
#[inline]
pub(crate) fn enter_poll<R>(task: &TaskRef, f: impl FnOnce() -> R) -> (R, bool) {
    let (result, spare) = enter_turn(task, true, f);
    (result, !spare)
}

#[inline]
fn enter_turn<R>(task: &TaskRef, spare: bool, f: impl FnOnce() -> R) -> (R, bool) {
    let turn = Turn {
        task,
        spare: Cell::new(spare),
    };
    let frame = Frame {
        keeper: Keeper::Task(&turn),
        scope: None,
    };
    let result = frame.enter(f);
    (result, turn.spare.get())
}

/// Calls `f`, which drops the output of `task`.
pub(crate) fn enter_ended<R>(task: &TaskRef, f: impl FnOnce() -> R) -> R {
    let frame = Frame {
        keeper: Keeper::Ended(task),
        scope: None,
    };
    frame.enter(f)
}

/// Calls `f`, which polls or drops the future of a `block_on`.
pub(super) fn enter_root<R>(root: &OnceCell<Arc<Node>>, f: impl FnOnce() -> R) -> R {
    with_frame(|outer| {
        let frame = Frame {
            keeper: Keeper::Root(root),
            scope: outer.scope(),
        };
        frame.enter(f)
    })
}

/// Calls `f`, which polls or drops the body of `scope`, in the task that this thread is in.
pub fn enter<R>(scope: &Arc<Node>, f: impl FnOnce() -> R) -> R {
    with_frame(|outer| {
        let frame = Frame {
            keeper: outer.keeper,
            scope: Some(scope),
        };
        frame.enter(f)
    })
}

/// The innermost scope that this thread is in: that of the body that it polls, else the one that its
/// task is a child of.
pub fn current() -> Option<Arc<Node>> {
    with_frame(|frame| frame.scope().cloned())
}

/// Whether this thread's innermost scope was asked to stop.
pub fn is_cancelled() -> bool {
    with_frame(|frame| frame.scope().is_some_and(|scope| scope.is_cancelled()))
}

/// Holds whatever runs on this thread back from its end. `None`: nothing runs here.
pub(super) fn hold() -> Option<Holder> {
    with_frame(|frame| match frame.keeper {
        Keeper::Nobody | Keeper::Ended(_) => None,
        Keeper::Task(turn) => Some(Holder::Task(turn.task.hold())),
        Keeper::Root(root) => root.get_or_init(|| Node::new(Kind::Root, None)).hold(),
    })
}

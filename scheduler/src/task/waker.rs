//! A task's waker: one counted reference behind `std`'s vtable.
//!
//! The waker that a poll gets is borrowed from the `Runnable`, so a poll that does not clone it
//! touches no count. The first copy that a poll makes of it takes over the reference of the `Runnable`, which the
//! end of the poll then does not give up: no count is touched either, and that is what a task does
//! which waits for one thing. A wake by value passes its reference on to the queue. A task that wakes itself in its
//! own poll, as those do that give way, leaves a note for the end of that poll: no atomic operation.

#![expect(unsafe_code, reason = "RawWaker is a raw pointer by design")]

use std::borrow::Borrow;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::Runnable;
use super::cell::{Header, TaskRef};
use super::state::Schedule;
use crate::context;
use crate::scope;

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// Calls `f` with a waker for the task that borrows the caller's reference.
pub(super) fn with_borrowed<R>(header: NonNull<Header>, f: impl FnOnce(&Waker) -> R) -> R {
    let raw = RawWaker::new(header.as_ptr().cast_const().cast(), &VTABLE);
    // SAFETY: the vtable keeps `RawWaker`'s contract; the caller's reference outlives the call and
    // `ManuallyDrop` keeps this waker from giving it up.
    let waker = ManuallyDrop::new(unsafe { Waker::from_raw(raw) });
    f(&waker)
}

/// # Safety
///
/// `data` came from [`with_borrowed`] or [`clone`], and the reference behind it is still counted.
unsafe fn borrow(data: *const ()) -> ManuallyDrop<TaskRef> {
    // SAFETY: `data` was made from a `NonNull`; the reference is not given up here.
    ManuallyDrop::new(unsafe {
        TaskRef::from_raw(NonNull::new_unchecked(data.cast_mut().cast::<Header>()))
    })
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: by `RawWaker`'s contract.
    let task = unsafe { borrow(data) };
    if !scope::take_over(&task) {
        // The new reference is counted and passed to the new waker.
        TaskRef::clone(&*task).into_raw();
    }
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: by `RawWaker`'s contract; the reference is this call's to give on.
    schedule(ManuallyDrop::into_inner(unsafe { borrow(data) }), |task| {
        task
    });
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: by `RawWaker`'s contract.
    let task = unsafe { borrow(data) };
    if scope::is_polled_here(&task) {
        task.header().trace.wake_again();
    } else {
        schedule(&*task, TaskRef::clone);
    }
}

/// Wakes a task, and puts it into a queue if that makes it scheduled; `count` finds the reference for that.
#[inline]
fn schedule<T: Borrow<TaskRef>>(task: T, count: impl FnOnce(T) -> TaskRef) {
    context::with_worker(|worker| {
        let header = task.borrow().header();
        match worker {
            Some(worker) if worker.home_id() == header.shard().home().id() => {
                if header.state.wake_claimed() == Schedule::Push {
                    worker.push(Runnable::from_ref(count(task)));
                }
            }
            _ => {
                if header.state.wake() == Schedule::Push {
                    Runnable::from_ref(count(task)).schedule();
                }
            }
        }
    });
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: by `RawWaker`'s contract; the reference is given up here.
    drop(ManuallyDrop::into_inner(unsafe { borrow(data) }));
}

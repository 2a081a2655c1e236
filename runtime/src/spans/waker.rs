//! Wakers that tell what is done with them.
//!
//! One allocation a task, made by its first poll, behind all its wakers: so clones of them are the same by
//! [`Waker::will_wake`] from one poll to the next, and what waits for a task need not take a new one each time. The waker that
//! a poll is given borrows the task's own count; clones count, and each is told when it comes and when it goes.
//!
//! A wake is told before it is forwarded: its poll may begin at once. A panic of the subscriber does not
//! keep it from that.

#![expect(unsafe_code, reason = "`std` lets no safe waker see its clones")]

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

use tracing::span::Id;

use super::span::tell;

/// Where wakes go, and whose they are.
pub(super) struct Forward {
    waker: Waker,
    /// The task's span, as a number. It is not kept open: a waker may outlive the task.
    span: u64,
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

impl Forward {
    /// What `kept` has, if it leads to `waker`; else it is made, and kept.
    pub(super) fn to<'a>(
        waker: &Waker,
        span: Option<Id>,
        kept: &'a mut Option<Arc<Forward>>,
    ) -> &'a Arc<Forward> {
        if !kept
            .as_ref()
            .is_some_and(|kept| kept.waker.will_wake(waker))
        {
            *kept = None;
        }
        kept.get_or_insert_with(|| {
            Arc::new(Forward {
                waker: waker.clone(),
                span: span.map_or(0, |id| id.into_u64()),
            })
        })
    }

    /// Calls `f` with a waker that borrows this count.
    pub(super) fn lend<R>(self: &Arc<Self>, f: impl FnOnce(&Waker) -> R) -> R {
        let raw = RawWaker::new(Arc::as_ptr(self).cast(), &VTABLE);
        // SAFETY: the functions of the table treat the pointer as one count of the `Arc`, and `Forward` is `Send`
        // and `Sync`. This count is not the waker's: it outlives the call, and `ManuallyDrop` keeps the waker from
        // giving it up.
        let waker = ManuallyDrop::new(unsafe { Waker::from_raw(raw) });
        f(&waker)
    }

    fn tell(&self, op: &'static str) {
        tell(|| tracing::trace!(target: "tokio::task::waker", op, task.id = self.span));
    }
}

/// # Safety
///
/// `data` came from [`Forward::lend`] or [`clone`], and the count behind it is not given up.
unsafe fn borrow<'a>(data: *const ()) -> &'a Forward {
    // SAFETY: by the caller, a count keeps it alive.
    unsafe { &*data.cast() }
}

/// # Safety
///
/// `data` came from [`clone`], and its count is the caller's to give up.
unsafe fn own(data: *const ()) -> Arc<Forward> {
    // SAFETY: by the caller.
    unsafe { Arc::from_raw(data.cast()) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: by `RawWaker`'s contract. The new count is the new waker's.
    unsafe {
        borrow(data).tell("waker.clone");
        Arc::increment_strong_count(data.cast::<Forward>());
    }
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: by `RawWaker`'s contract, the waker is used up.
    let forward = unsafe { own(data) };
    forward.tell("waker.wake");
    forward.waker.wake_by_ref();
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: by `RawWaker`'s contract, the waker stays.
    let forward = unsafe { borrow(data) };
    forward.tell("waker.wake_by_ref");
    forward.waker.wake_by_ref();
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: by `RawWaker`'s contract, the waker is used up.
    unsafe { own(data) }.tell("waker.drop");
}

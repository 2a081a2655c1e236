//! A task on its way to be polled, and the making of new ones.

#![expect(
    unsafe_code,
    reason = "a new task's three references are placed by hand"
)]

use std::future::Future;
use std::panic::Location;
use std::ptr::NonNull;

use super::cell::{TaskRef, allocate};
use super::owner::Shard;
use super::{Id, JoinHandle};
use crate::primitive::sync::Arc;
use crate::slot::Item;

/// The right to poll a scheduled task once (T2). Queues hold these.
///
/// Dropping one unrun gives its reference up and leaves the task scheduled for ever: right only
/// where the task is known to be complete, or is about to be cancelled by its owner.
#[derive(Debug)]
pub(crate) struct Runnable(TaskRef);

impl Runnable {
    pub(super) fn from_ref(task: TaskRef) -> Self {
        Runnable(task)
    }

    /// Runs one turn; gives the task back if it was woken during its poll.
    #[inline]
    pub(crate) fn run(self) -> Option<Runnable> {
        self.0.run()
    }

    /// Drops the future in place of polling it.
    pub(crate) fn cancel(self) {
        self.0.cancel_now();
    }

    /// Where the task was spawned.
    #[inline]
    pub(crate) fn location(&self) -> &'static Location<'static> {
        self.0.header().location
    }

    /// The list that owns the task.
    pub(crate) fn shard(&self) -> &Arc<Shard> {
        &self.0.header().shard
    }

    /// Puts the task into its pool's queues.
    pub(crate) fn schedule(self) {
        if let Some(task) = crate::context::push_local(self) {
            // Once it is pushed, another thread may end and free it: the pool must live on its own.
            let pool = Arc::clone(&task.shard().pool);
            pool.schedule(task);
        }
    }
}

/// Makes a task in `shard` and its handle. `Err` when the shard is closed: the future is dropped
/// and the handle is already cancelled.
#[inline]
pub(crate) fn spawn<F>(
    future: F,
    shard: Arc<Shard>,
    location: &'static Location<'static>,
) -> (JoinHandle<F::Output>, Option<Runnable>)
where
    F: Future,
{
    let header = allocate(future, shard, Id::next(), location);
    // SAFETY: `allocate` counted three references: this one, the handle's, and the list's.
    let task = unsafe { TaskRef::from_raw(header) };
    // SAFETY: the handle's reference; `F::Output` is this task's output.
    let handle = unsafe { JoinHandle::new(TaskRef::from_raw(header)) };
    if task.header().shard.insert(header) {
        return (handle, Some(Runnable::from_ref(task)));
    }
    // SAFETY: the list did not take its reference.
    drop(unsafe { TaskRef::from_raw(header) });
    task.cancel_now();
    (handle, None)
}

// SAFETY: a `Runnable` is one counted pointer, which is not null; `from_raw` rebuilds what
// `into_raw` took apart.
unsafe impl Item for Runnable {
    fn into_raw(self) -> *mut () {
        self.0.into_raw().as_ptr().cast()
    }

    unsafe fn from_raw(raw: *mut ()) -> Self {
        // SAFETY: by the caller, `raw` is `into_raw`'s and carries its reference.
        Runnable(unsafe { TaskRef::from_raw(NonNull::new_unchecked(raw.cast())) })
    }
}

//! A task on its way to be polled, and the making of new ones.

#![expect(
    unsafe_code,
    reason = "a new task's three references are placed by hand"
)]

use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::{self, NonNull};

use super::cell::{TaskRef, allocate};
use super::listing::Found;
use super::owner::Home;
use super::{Id, JoinHandle, Place};
use crate::primitive::sync::Arc;
use crate::record;
use crate::scope::{self, Member};
use crate::slot::Item;

/// The right to poll a scheduled task once (T2). Queues hold these.
///
/// Dropping one unrun cancels the task: a queue that goes leaves no task behind.
#[derive(Debug)]
pub(crate) struct Runnable(TaskRef);

impl Runnable {
    pub(super) fn from_ref(task: TaskRef) -> Self {
        Runnable(task)
    }

    /// Runs one turn; gives the task back if it was woken during its poll.
    #[inline]
    pub(crate) fn run(self) -> Option<Runnable> {
        self.into_ref().run()
    }

    /// Drops the future in place of polling it.
    pub(crate) fn cancel(self) {
        self.into_ref().cancel_unrun();
    }

    #[inline]
    fn into_ref(self) -> TaskRef {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped again.
        unsafe { ptr::read(&raw const this.0) }
    }

    /// Whether the task has ended: there is nothing left to run.
    pub(crate) fn is_complete(&self) -> bool {
        self.0.header().state.is_complete()
    }

    #[inline]
    pub(crate) fn id(&self) -> Id {
        self.0.header().id
    }

    /// Makes a fresh task, which was spawned as `M`, a child of its scope. `false`: the scope is
    /// closed.
    #[inline]
    pub(crate) fn admit<O, M: Member<O>>(&self) -> bool {
        // SAFETY: by the caller, the task is fresh, and a scoped one has a link.
        !M::SCOPED || unsafe { scope::admit(self.0.as_ptr()) }
    }

    /// The task, for a dump, if it is in no list. Not for tasks that an abort may cancel in place.
    pub(crate) fn peek(&self) -> Option<Found> {
        self.0.header().shard().is_unlisted().then(|| Found {
            task: self.0.clone(),
            // SAFETY: this is the one `Runnable`, and the task is in no list.
            scope: unsafe { self.0.scope() }.cloned(),
        })
    }

    /// Has the CPU fetch what the task's next poll will need: it will come soon, on this thread.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.0.header().prefetch();
    }

    /// Where the task was spawned.
    #[inline]
    pub(crate) fn location(&self) -> &'static Location<'static> {
        self.0.header().location
    }

    /// The name that the task was given.
    #[inline]
    pub(crate) fn name(&self) -> Option<&Arc<str>> {
        if self.0.is_named() {
            self.0.name()
        } else {
            None
        }
    }

    /// The home of the task's pool.
    #[inline]
    pub(crate) fn home(&self) -> &Home {
        self.0.header().shard().home()
    }

    /// Puts the task into its pool's queues.
    pub(crate) fn schedule(self) {
        if let Some(task) = crate::context::push_local(self) {
            record::wake(task.id());
            // Once it is pushed, another thread may end and free it: the pool must live on its own.
            let pool = Arc::clone(task.home().pool());
            pool.schedule(task);
        }
    }
}

/// Makes a task of `home` and its handle. The caller counts it as spawned, and queues it or cancels
/// it: a child is queued only if it was [admitted](Runnable::admit).
#[inline]
pub(crate) fn spawn<M, F, P>(
    member: M,
    future: F,
    home: &Home,
    place: P,
) -> (JoinHandle<M::Value>, Runnable)
where
    M: Member<F::Output>,
    F: Future,
    P: Place,
{
    let id = place.task_id();
    let (location, name) = place.split();
    let header = allocate(member, future, home, id, location, name);
    // SAFETY: `allocate` counted three references: this one, the handle's, and the one that stays
    // behind for the owner list.
    let task = unsafe { TaskRef::from_raw(header) };
    // SAFETY: the handle's reference; `M::Value` is this task's output.
    let handle = unsafe { JoinHandle::new(TaskRef::from_raw(header)) };
    (handle, Runnable::from_ref(task))
}

impl Drop for Runnable {
    fn drop(&mut self) {
        // The reference itself goes with the field.
        self.0.clone().cancel_unrun();
    }
}

// SAFETY: a `Runnable` is one counted pointer, which is not null; `from_raw` rebuilds what
// `into_raw` took apart.
unsafe impl Item for Runnable {
    fn into_raw(self) -> *mut () {
        self.into_ref().into_raw().as_ptr().cast()
    }

    unsafe fn from_raw(raw: *mut ()) -> Self {
        // SAFETY: by the caller, `raw` is `into_raw`'s and carries its reference.
        Runnable(unsafe { TaskRef::from_raw(NonNull::new_unchecked(raw.cast())) })
    }
}

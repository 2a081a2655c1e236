//! Owner lists: every live task can be found, for shutdown, abort and dump.
//!
//! A pool keeps one list a worker and one for spawns from other threads, so that a spawn locks a
//! list that other workers rarely touch. The list holds one counted reference to each task from
//! its insertion to its completion. Links are intrusive: insert and remove are O(1) and allocate
//! nothing.
//!
//! The `Arc` of the list is also the way from a task to its pool: its count is on the cache line
//! that the insertion touches anyway.

#![expect(
    unsafe_code,
    reason = "the list is threaded through the tasks' headers"
)]

use std::fmt;
use std::ptr::NonNull;

use super::Runnable;
use super::cell::{Header, TaskRef};
use crate::primitive::sync::{Arc, Mutex};

/// Where a task goes when it is woken.
pub(crate) trait Schedule: Send + Sync {
    /// Queues `task`. Called with no lock held, from any thread, also while the pool shuts down.
    fn schedule(self: Arc<Self>, task: Runnable);

    /// Whether an abort may drop a task that nobody runs on the thread that aborts.
    fn cancels_in_place(&self) -> bool {
        false
    }

    /// A worker got `task` back from its poll, woken. `Some`: the worker queues it.
    fn reschedule(&self, task: Runnable) -> Option<Runnable> {
        Some(task)
    }

    /// A task that [`schedule`](Schedule::schedule) was given was run, but there was nothing left
    /// to poll.
    fn skipped(&self) {}

    /// The pool has ended its tasks: nothing that was scheduled may be kept.
    fn close(&self) {}
}

/// One owner list of one pool.
pub(crate) struct Shard {
    pub(crate) pool: Arc<dyn Schedule>,
    /// The address of the pool, to compare: from the `Arc` it would have to be computed.
    pool_id: *const (),
    list: Mutex<List>,
}

#[derive(Default)]
struct List {
    head: Option<NonNull<Header>>,
    len: usize,
    spawned: u64,
    closed: bool,
}

// SAFETY: the list's pointers are counted references to tasks, and `TaskRef` is `Send`.
unsafe impl Send for List {}

// SAFETY: `pool_id` is compared and never followed; the other fields are `Send` and `Sync`.
unsafe impl Send for Shard {}
// SAFETY: as above.
unsafe impl Sync for Shard {}

impl Shard {
    pub(crate) fn new(pool: Arc<dyn Schedule>) -> Arc<Self> {
        Arc::new(Shard {
            pool_id: Arc::as_ptr(&pool).cast(),
            pool,
            list: Mutex::new(List::default()),
        })
    }

    /// The address that tells this list's pool from others.
    #[inline]
    pub(crate) fn pool_id(&self) -> *const () {
        self.pool_id
    }

    /// Adds a task and keeps one of its references. `false`, and nothing kept, once closed.
    #[must_use = "a task that is not in the list must be cancelled by the caller"]
    pub(super) fn insert(&self, task: NonNull<Header>) -> bool {
        let mut list = self.list.lock();
        if list.closed {
            return false;
        }
        let head = list.head.replace(task);
        // SAFETY: a task is in one list at most, and its links are touched under that list's lock.
        // The neighbours are in the list, so they are counted and alive.
        unsafe {
            task.as_ref().links.with_mut(|links| (*links).next = head);
            if let Some(head) = head {
                head.as_ref()
                    .links
                    .with_mut(|links| (*links).previous = Some(task));
            }
        }
        list.len += 1;
        list.spawned += 1;
        true
    }

    /// Takes a task out. `true` hands the list's reference to the caller; `false` means that the
    /// list did not hold the task (any more).
    #[must_use = "the list's reference must be given up"]
    pub(super) fn remove(&self, task: NonNull<Header>) -> bool {
        let mut list = self.list.lock();
        // SAFETY: as in `insert`.
        unsafe { list.unlink(task) }
    }

    /// Refuses all further insertions.
    pub(crate) fn close(&self) {
        self.list.lock().closed = true;
    }

    /// Ends one task that nobody runs, or marks one that somebody does. `false` when none is left.
    ///
    /// One at a time and with the lock released: the future's destructor may spawn, wake, abort or
    /// drop other tasks of this list.
    pub(crate) fn cancel_one(&self) -> bool {
        let task = {
            let mut list = self.list.lock();
            let Some(task) = list.head else { return false };
            // SAFETY: the head is listed; as in `insert`.
            let listed = unsafe { list.unlink(task) };
            debug_assert!(listed);
            // SAFETY: the list's reference passes to this `TaskRef`.
            unsafe { TaskRef::from_raw(task) }
        };
        task.cancel_now();
        true
    }

    /// How many tasks are live.
    pub(crate) fn len(&self) -> usize {
        self.list.lock().len
    }

    /// How many tasks were ever added.
    pub(crate) fn spawned(&self) -> u64 {
        self.list.lock().spawned
    }
}

impl List {
    /// # Safety
    ///
    /// The caller holds this list's lock, and `task` is alive and belongs to this list's shard.
    unsafe fn unlink(&mut self, task: NonNull<Header>) -> bool {
        // SAFETY: the neighbours are listed, so they are alive, and the lock is held.
        unsafe {
            let links = task
                .as_ref()
                .links
                .with_mut(|links| std::mem::take(&mut *links));
            match links.previous {
                Some(previous) => previous.as_ref().links.with_mut(|l| (*l).next = links.next),
                None if self.head == Some(task) => self.head = links.next,
                None => return false,
            }
            if let Some(next) = links.next {
                next.as_ref()
                    .links
                    .with_mut(|l| (*l).previous = links.previous);
            }
        }
        self.len -= 1;
        true
    }
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shard")
            .field("live", &self.len())
            .finish_non_exhaustive()
    }
}

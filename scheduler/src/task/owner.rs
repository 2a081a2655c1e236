//! What a task knows of its pool, and the lists in which every waiting task can be found.
//!
//! # Where a task is found
//!
//! A pool must reach each of its tasks, for shutdown and abort. A task that is *queued* is reached
//! through its queue, and a task that runs by the thread that runs it. So a task enters an owner
//! list only when its first poll has said `Pending`: one that ends in its first poll, as most of
//! the many small ones do, never touches a list. There is a list for each worker; a task is listed
//! where it was first polled, so that the lists' locks are rarely contended. The list holds one
//! counted reference, from the insertion to the completion. A task knows its number in the list's
//! [`Roll`], so leaving touches no other task, which would be cold.
//!
//! # Invariant
//!
//! * **O1** While a task has a number, no other task has it. A completion gives it back. `cancel_one` takes out tasks
//!   which keep theirs and look for it at their completion; so it closes the list, which deals none then.
//!
//! # Who counts
//!
//! The thread that serves a place writes in the place's [`Book`] which tasks it spawned, ended and
//! freed, with plain loads and stores. Threads that are no workers of the pool use shared counters.
//! `hold.rs` tells how the books keep the [`Home`] alive for tasks that outlive their pool.

#![expect(unsafe_code, reason = "lists and homes are reached by raw pointers")]

use std::collections::HashMap;
use std::fmt;
use std::iter;
use std::num::NonZero;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::{self, MutexGuard, PoisonError};

use crossbeam_utils::CachePadded;

use super::Runnable;
use super::cell::{Header, TaskRef};
use super::hold::Holds;
use super::listing::Found;
use super::roll::{BLOCK, Roll};
use super::spot::{FAR, Spot};
use crate::context;
use crate::primitive::sync::atomic::Ordering::Relaxed;
use crate::primitive::sync::atomic::{AtomicBool, AtomicU64};
use crate::primitive::sync::{Arc, Mutex};
use crate::stats::Counter;

/// Where a task goes when it is woken.
pub(crate) trait Schedule: Send + Sync {
    /// Queues `task`. Called with no lock held, from any thread, also while the pool shuts down.
    fn schedule(self: Arc<Self>, task: Runnable);

    /// Whether an abort may drop a task that nobody runs on the thread that aborts.
    fn cancels_in_place(&self) -> bool {
        false
    }

    /// A task was dropped so, by an abort.
    fn cancelled_in_place(&self) {}

    /// A worker got `task` back from its poll, woken. `Some`: the worker queues it.
    fn reschedule(&self, task: Runnable) -> Option<Runnable> {
        Some(task)
    }

    /// A task that [`schedule`](Schedule::schedule) was given was run, but there was nothing left
    /// to poll.
    fn skipped(&self) {}

    /// The pool has ended its tasks: nothing that was scheduled may be kept.
    fn close(&self) {}

    /// Whether this thread may drop the output of a task that has run elsewhere.
    fn may_drop_here(&self) -> bool {
        true
    }

    /// A task has become complete on a thread that did not run it, with the last scope that it had
    /// left behind.
    fn ended_elsewhere(&self) {}

    /// A task's own code has panicked and no handle tells of it. Called with no lock held.
    fn unhandled_panic(&self) {}
}

/// What the tasks of one pool share. It lives as long as any of them has memory.
pub(crate) struct Home {
    schedule: Arc<dyn Schedule>,
    /// Where tasks are that have not been polled yet: in no list.
    unlisted: Shard,
    shards: Box<[Shard]>,
    closed: AtomicBool,
    outside: CachePadded<Outside>,
}

/// The account of all threads that are no workers of the pool.
struct Outside {
    spawned: AtomicU64,
    ended: AtomicU64,
    holds: Holds,
}

/// The account of one worker's thread, written by it alone.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) spawned: Counter,
    ended: Counter,
    freed: Counter,
}

/// One place of a pool as its tasks see it: a book and an owner list.
pub(crate) struct Shard {
    home: NonNull<Home>,
    /// `false`: the stand-in for "in no list".
    lists: bool,
    pub(crate) book: CachePadded<Book>,
    list: CachePadded<Mutex<List>>,
}

#[derive(Default)]
struct List {
    tasks: Roll<NonNull<Header>>,
    /// The numbers that no header has room for.
    far: HashMap<NonNull<Header>, usize>,
    closed: bool,
}

// SAFETY: the list's pointers are counted references to tasks, and `TaskRef` is `Send`.
unsafe impl Send for List {}

// SAFETY: `home` is the home that this shard is a part of; the other fields are `Send` and `Sync`.
unsafe impl Send for Shard {}
// SAFETY: as above.
unsafe impl Sync for Shard {}

/// The pool's own hold on its [`Home`], shared by all who may write to a book.
pub(crate) struct Keeper(NonNull<Home>);

// SAFETY: a `Home` is `Send` and `Sync`; the keeper lends it and gives up its hold.
unsafe impl Send for Keeper {}
// SAFETY: as above.
unsafe impl Sync for Keeper {}

impl Keeper {
    /// The home of a pool with so many places.
    pub(crate) fn new(schedule: Arc<dyn Schedule>, places: usize) -> Arc<Self> {
        let home = Box::new(Home {
            schedule,
            unlisted: Shard::new(false),
            shards: (0..places).map(|_| Shard::new(true)).collect(),
            closed: AtomicBool::new(false),
            outside: CachePadded::new(Outside {
                spawned: AtomicU64::new(0),
                ended: AtomicU64::new(0),
                holds: Holds::new(),
            }),
        });
        let home = NonNull::from(Box::leak(home));
        // SAFETY: nobody else knows the home yet.
        let inner = unsafe { &mut *home.as_ptr() };
        inner.unlisted.home = home;
        for shard in &mut inner.shards {
            shard.home = home;
        }
        let mut shards = iter::once(&inner.unlisted).chain(&inner.shards);
        assert!(shards.all(Spot::can_be), "addresses have 48 bits");
        Arc::new(Keeper(home))
    }
}

impl Deref for Keeper {
    type Target = Home;

    #[inline]
    fn deref(&self) -> &Home {
        // SAFETY: freed when the keeper has settled, at the earliest.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // H2: whoever writes to a book, or counts a birth, holds this keeper.
        let alive = self.spawned_tasks().wrapping_sub(self.freed_inside());
        left_behind().push(self.0.addr());
        if self.outside.holds.settle(alive as usize) {
            // SAFETY: no task is left that names it, and this was the pool's hold.
            unsafe { Home::free(self.0) };
        }
    }
}

/// The homes that only tasks still name, those of late wakers. A task's [`Spot`] is no pointer to whoever looks
/// for leaks in a program's memory: it would find a home that nobody frees.
fn left_behind() -> MutexGuard<'static, Vec<NonZero<usize>>> {
    static HOMES: sync::Mutex<Vec<NonZero<usize>>> = sync::Mutex::new(Vec::new());
    HOMES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Home {
    /// The address that tells this pool from others.
    #[inline]
    pub(crate) fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    #[inline]
    pub(crate) fn shard(&self, place: usize) -> &Shard {
        &self.shards[place]
    }

    /// Where a new task is: in no list.
    #[inline]
    pub(super) fn unlisted(&self) -> &Shard {
        &self.unlisted
    }

    pub(crate) fn pool(&self) -> &Arc<dyn Schedule> {
        &self.schedule
    }

    /// Calls `inside` with the book of this thread, if it is a worker of this pool, or `outside`.
    #[inline]
    fn account(&self, inside: impl FnOnce(&Book), outside: impl FnOnce(&Outside)) {
        context::with_worker(|worker| match worker {
            Some(worker) if worker.home_id() == self.id() => inside(&worker.shard().book),
            _ => outside(&self.outside),
        });
    }

    /// Counts a task that a thread spawns which is no worker of this pool.
    #[inline]
    pub(crate) fn count_spawn_outside(&self) {
        self.outside.spawned.fetch_add(1, Relaxed);
    }

    #[inline]
    fn count_end(&self) {
        self.account(
            |book| book.ended.add(1),
            |outside| {
                outside.ended.fetch_add(1, Relaxed);
            },
        );
    }

    /// A task of this home was freed.
    ///
    /// # Safety
    ///
    /// The task was counted as spawned, and its memory named this home until now.
    #[inline]
    pub(super) unsafe fn release(home: NonNull<Home>) {
        let mut last = false;
        // SAFETY: by the caller, whose hold this gives up.
        unsafe { home.as_ref() }.account(
            |book| book.freed.add(1),
            |outside| last = outside.holds.release(),
        );
        if last {
            // SAFETY: `release` says that nobody else names it.
            unsafe { Home::free(home) };
        }
    }

    /// # Safety
    ///
    /// `home` is [`Keeper::new`]'s, and no task and no keeper names it any more.
    #[cold]
    unsafe fn free(home: NonNull<Home>) {
        left_behind().retain(|&left| left != home.addr());
        // SAFETY: by the caller.
        drop(unsafe { Box::from_raw(home.as_ptr()) });
    }

    /// Refuses new tasks, and the listing of old ones.
    pub(crate) fn close(&self) {
        self.closed.store(true, Relaxed);
        for shard in &self.shards {
            shard.list.lock().closed = true;
        }
    }

    /// Whether new tasks are refused. One that is spawned at this moment is found in its queue.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// Ends one listed task that nobody runs, or marks one that somebody does. `false`: none is left.
    pub(crate) fn cancel_one(&self) -> bool {
        self.shards.iter().any(Shard::cancel_one)
    }

    /// Every task that has waited before, kept alive. One list after the other is locked, for some
    /// hundred tasks at a time.
    pub(crate) fn list(&self, found: &mut Vec<Found>) {
        for shard in &self.shards {
            shard.collect(found);
        }
    }

    /// How many tasks are live; the sums of a moment.
    pub(crate) fn live_tasks(&self) -> usize {
        // The ends first: each was a spawn before.
        let inside: u64 = self.shards.iter().map(|shard| shard.book.ended.get()).sum();
        let ended = inside + self.outside.ended.load(Relaxed);
        self.spawned_tasks().saturating_sub(ended) as usize
    }

    /// How many tasks were ever spawned.
    pub(crate) fn spawned_tasks(&self) -> u64 {
        let books = self.shards.iter().map(|shard| shard.book.spawned.get());
        books.sum::<u64>() + self.outside.spawned.load(Relaxed)
    }

    fn freed_inside(&self) -> u64 {
        self.shards.iter().map(|shard| shard.book.freed.get()).sum()
    }
}

impl Shard {
    fn new(lists: bool) -> Self {
        Shard {
            home: NonNull::dangling(),
            lists,
            book: CachePadded::default(),
            list: CachePadded::new(Mutex::new(List::default())),
        }
    }

    pub(super) fn home_ptr(&self) -> NonNull<Home> {
        self.home
    }

    #[inline]
    pub(crate) fn home(&self) -> &Home {
        // SAFETY: this shard is a part of the home.
        unsafe { self.home.as_ref() }
    }

    /// Whether this is the place of tasks that are in no list.
    #[inline]
    pub(super) fn is_unlisted(&self) -> bool {
        !self.lists
    }

    /// Adds a task and keeps one of its references. `false`, and nothing kept, once closed.
    #[must_use = "a task that is not in the list must be cancelled by the caller"]
    fn insert(&self, task: &TaskRef) -> bool {
        let mut list = self.list.lock();
        if list.closed {
            return false;
        }
        let number = list.tasks.insert(task.as_ptr());
        if number >= FAR {
            list.far.insert(task.as_ptr(), number);
        }
        task.header().spot.set(self, number);
        true
    }

    /// Takes a task out. `true` hands the list's reference to the caller; `false` means that the
    /// list did not hold the task (any more).
    #[must_use = "the list's reference must be given up"]
    fn remove(&self, task: &TaskRef) -> bool {
        let number = task.header().spot.number();
        let mut list = self.list.lock();
        if number < FAR {
            return list.tasks.remove(number);
        }
        let number = list.far.remove(&task.as_ptr());
        number.is_some_and(|number| list.tasks.remove(number))
    }

    /// Adds every listed task to `found`; a block at a time, as a list is locked meanwhile.
    fn collect(&self, found: &mut Vec<Found>) {
        let blocks = self.list.lock().tasks.blocks();
        for block in 0..blocks {
            found.reserve(BLOCK);
            let list = self.list.lock();
            // SAFETY: a listed task is alive, and it has not left its scope: that comes after its
            // leave from here.
            found.extend(list.tasks.block(block).map(|task| unsafe {
                let task = TaskRef::borrow(&task).clone();
                let scope = task.scope().cloned();
                Found { task, scope }
            }));
        }
    }

    /// Also closes the list (O1). One at a time and with the lock released: the future's destructor may spawn, wake, abort or
    /// drop other tasks of this list.
    fn cancel_one(&self) -> bool {
        let task = {
            let mut list = self.list.lock();
            list.closed = true;
            let Some(task) = list.tasks.pop() else {
                return false;
            };
            // SAFETY: the list's reference passes to this `TaskRef`.
            unsafe { TaskRef::from_raw(task) }
        };
        task.cancel_now();
        true
    }
}

/// Lists a task whose first poll has said `Pending`. `false`: the pool is closed, so the task must
/// be cancelled.
///
/// The caller holds the task's `RUNNING`.
#[must_use = "a task that is in no list must be cancelled by the caller"]
#[inline(never)]
pub(super) fn enlist(task: &TaskRef) -> bool {
    let header = task.header();
    let home = header.shard().home();
    context::with_worker(|worker| {
        let shard = match worker {
            Some(worker) if worker.home_id() == home.id() => worker.shard(),
            _ => home.shard(0),
        };
        shard.insert(task)
    })
}

/// Counts a task's end and takes it out of its list. Returns how many references its completion
/// gives up: the caller's, and the list's, or the one that was kept for the list.
///
/// The caller holds the task's `RUNNING`.
#[inline]
pub(super) fn delist(task: &TaskRef) -> usize {
    let shard = task.header().shard();
    shard.home().count_end();
    1 + usize::from(shard.is_unlisted() || shard.remove(task))
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper")
            .field("live_tasks", &self.live_tasks())
            .finish_non_exhaustive()
    }
}

//! What the current thread is to the scheduler.
//!
//! Plain cells without destructors, so that they can be asked at any moment, also from a destructor
//! that runs while the thread ends.

#![expect(
    unsafe_code,
    reason = "the thread's worker is reached through a scoped raw pointer"
)]

use std::cell::Cell;
use std::ptr;
use std::time::Instant;

use crate::task::{self, Runnable};
use crate::worker::Local;

thread_local! {
    /// The worker that this thread runs, while it does.
    static WORKER: Cell<*const Local> = const { Cell::new(ptr::null()) };
    /// Whether this thread polls tasks or a `block_on` future just now.
    static ENTERED: Cell<bool> = const { Cell::new(false) };
}

/// Calls `f` with the worker that this thread runs.
#[inline]
pub(crate) fn with_worker<R>(f: impl FnOnce(Option<&Local>) -> R) -> R {
    WORKER.with(|worker| {
        // SAFETY: `enter_worker` sets the pointer to a `Local` that outlives its scope, on this
        // thread alone, and takes it back at the scope's end.
        f(unsafe { worker.get().as_ref() })
    })
}

/// Queues `task` on this thread's worker, if that belongs to the task's pool; else gives it back.
#[inline]
pub(crate) fn push_local(task: Runnable) -> Option<Runnable> {
    with_worker(|worker| match worker {
        Some(worker) if worker.home_id() == task.home().id() => {
            worker.push(task);
            None
        }
        _ => Some(task),
    })
}

/// Queues `task` on this thread's worker, if that belongs to the pool with address `pool`; else
/// gives it back.
#[inline]
pub(crate) fn push_onto(pool: *const (), task: Runnable) -> Option<Runnable> {
    with_worker(|worker| match worker {
        Some(worker) if worker.pool_id() == pool => {
            worker.push(task);
            None
        }
        _ => Some(task),
    })
}

/// Whether this thread is a worker of the pool with address `pool`.
pub(crate) fn is_worker_of(pool: *const ()) -> bool {
    with_worker(|worker| worker.is_some_and(|worker| worker.pool_id() == pool))
}

/// Whether that worker polls a task just now.
pub(crate) fn polls_task_of(pool: *const ()) -> bool {
    with_worker(|worker| {
        worker.is_some_and(|worker| worker.pool_id() == pool && worker.is_polling())
    })
}

/// The index of the worker that this thread is, among the workers of a pool with a driver.
pub fn worker_index() -> Option<usize> {
    with_worker(|worker| worker.and_then(Local::io_index))
}

/// Runs `f` as worker `local`.
pub(crate) fn enter_worker<R>(local: &Local, f: impl FnOnce() -> R) -> R {
    struct Leave(*const Local);
    impl Drop for Leave {
        fn drop(&mut self) {
            WORKER.with(|worker| worker.set(self.0));
        }
    }
    let _leave = Leave(WORKER.with(|worker| worker.replace(local)));
    f()
}

/// Runs `f` as if this thread were no worker and ran no futures: it may block, and what it spawns
/// and wakes goes where other workers find it.
pub(crate) fn outside_worker<R>(f: impl FnOnce() -> R) -> R {
    struct Return(*const Local, bool);
    impl Drop for Return {
        fn drop(&mut self) {
            WORKER.with(|worker| worker.set(self.0));
            ENTERED.with(|entered| entered.set(self.1));
            if self.1 {
                // A `block_on` in there has closed it.
                task::open_shelf();
            }
        }
    }
    let _return = Return(WORKER.replace(ptr::null()), ENTERED.replace(false));
    f()
}

/// The mark of a thread that is inside `block_on` or a worker.
#[derive(Debug)]
pub(crate) struct Entered(());

impl Drop for Entered {
    fn drop(&mut self) {
        ENTERED.with(|entered| entered.set(false));
        task::close_shelf();
    }
}

/// Marks this thread as running futures. `None` if it is marked already.
pub(crate) fn enter() -> Option<Entered> {
    if ENTERED.replace(true) {
        return None;
    }
    task::open_shelf();
    task::tick(Instant::now());
    Some(Entered(()))
}

/// Whether this thread polls futures just now, so that it must not block.
pub fn is_entered() -> bool {
    ENTERED.with(Cell::get)
}

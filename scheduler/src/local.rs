//! Tasks that stay on one thread, so that their futures need not be `Send`.
//!
//! [`LocalTasks`] is no pool: it has no thread and no worker. It is polled, as part of some future,
//! by the thread that made it, and runs its tasks in there. Wakes and aborts come from any thread;
//! they put the task into the queue and wake whoever polled last.
//!
//! # Invariants
//!
//! * **L1** A task's future is polled and dropped, and an output without a handle is dropped, by the
//!   owning thread alone: [`LocalTasks`] is neither `Send` nor `Sync`, it alone takes from the
//!   queue, and it drops every future before it goes. Other threads only push, which they do for tasks
//!   that have been polled and so are listed: once the queue is closed, such a task is complete, and
//!   what they would push is dropped to no effect. A task that waits for scopes which it has left behind
//!   becomes complete on any thread; that leaks an output which it may not drop.
//! * **L2** Whoever polled and found the queue empty has a waker in it. A push takes the wakers out
//!   under the lock under which it puts the task in, so none is forgotten.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::sync::Weak;
use std::task::{Context, Waker};
use std::thread::{self, ThreadId};

use crate::coop;
use crate::pool::listing::Listing;
use crate::primitive::sync::{Arc, Mutex, MutexGuard};
use crate::record;
use crate::scope::Free;
use crate::task::{self, Id, JoinHandle, Keeper, Place, Runnable, Schedule, TaskInfo, contain_all};

/// Tasks between two looks at what else the polling future has to do.
const TASKS_A_POLL: usize = 61;

/// An empty queue with more room than this gives it back.
const ROOM: usize = 1024;

/// Tasks that run on the thread that made this, whenever it is polled.
pub struct LocalTasks {
    shared: Arc<Shared>,
    home: Arc<Keeper>,
    /// What was taken out of the queue and waits to be run.
    batch: RefCell<VecDeque<Runnable>>,
    /// Somebody has asked for a watch.
    watched: Cell<bool>,
    _one_thread: PhantomData<*const ()>,
}

/// Sees the tasks of a [`LocalTasks`] from other threads, as long as they are there.
#[derive(Clone)]
pub struct LocalWatch {
    home: Weak<Keeper>,
    shared: Weak<Shared>,
}

impl LocalWatch {
    /// Whether the tasks are gone.
    pub fn is_over(&self) -> bool {
        self.home.strong_count() == 0
    }

    /// Every task that can be found.
    pub fn list_tasks(&self) -> Listing {
        let Some(home) = self.home.upgrade() else {
            return Listing::default();
        };
        let mut found = Vec::new();
        home.list(&mut found);
        if let Some(shared) = self.shared.upgrade() {
            // Those that were never polled: no list has them.
            let queue = shared.queue.lock();
            found.extend(queue.tasks.iter().filter_map(Runnable::peek));
        }
        let infos = found.into_iter().filter_map(|found| found.info("local"));
        let tasks: HashMap<Id, TaskInfo> = infos.map(|info| (info.id, info)).collect();
        Listing {
            unlisted: home.live_tasks().saturating_sub(tasks.len()),
            tasks: tasks.into_values().collect(),
        }
    }
}

impl fmt::Debug for LocalWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalWatch")
            .field("is_over", &self.is_over())
            .finish_non_exhaustive()
    }
}

/// What wakes and aborts reach.
struct Shared {
    queue: Mutex<Queue>,
    owner: ThreadId,
    on_unhandled_panic: fn(),
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Runnable>,
    /// Who polled last and found nothing (L2). Hardly ever more than one.
    waiting: Option<Waker>,
    also_waiting: Vec<Waker>,
    closed: bool,
}

impl LocalTasks {
    /// No tasks yet. `on_unhandled_panic` is called when a task's own code has panicked and no
    /// handle tells of it.
    pub fn new(on_unhandled_panic: fn()) -> LocalTasks {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue::default()),
            owner: thread::current().id(),
            on_unhandled_panic,
        });
        LocalTasks {
            home: Keeper::new(Arc::clone(&shared) as Arc<dyn Schedule>, 1),
            shared,
            batch: RefCell::default(),
            watched: Cell::new(false),
            _one_thread: PhantomData,
        }
    }

    /// Spawns a task. Once this is closed, the future is dropped and the handle is already
    /// cancelled.
    pub fn spawn<F>(&self, future: F, place: impl Place) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let (handle, task) = task::spawn(Free, future, &self.home, place);
        self.home.count_spawn_outside();
        Arc::clone(&self.shared).schedule(task);
        handle
    }

    /// For a look from other threads, the first time that it is asked for.
    pub fn watch_once(&self) -> Option<LocalWatch> {
        (!self.watched.replace(true)).then(|| LocalWatch {
            home: Arc::downgrade(&self.home),
            shared: Arc::downgrade(&self.shared),
        })
    }

    /// Whether every task has ended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many tasks are live.
    pub fn len(&self) -> usize {
        self.home.live_tasks()
    }

    /// Runs some of the tasks that can run, and sees to it that the caller is woken when there is
    /// more to do.
    pub fn poll(&self, cx: &mut Context<'_>) {
        for _ in 0..TASKS_A_POLL {
            let Some(task) = self.next() else {
                return self.wait(cx);
            };
            let poll = record::poll(&task);
            let again = coop::with_budget(|| task.run());
            drop(poll);
            if let Some(again) = again {
                Arc::clone(&self.shared).schedule(again);
            }
        }
        cx.waker().wake_by_ref();
    }

    fn next(&self) -> Option<Runnable> {
        let mut batch = self.batch.borrow_mut();
        if batch.is_empty() {
            if batch.capacity() > ROOM {
                batch.shrink_to(ROOM);
            }
            mem::swap(&mut *batch, &mut self.shared.queue.lock().tasks);
        }
        batch.pop_front()
    }

    /// Leaves a waker in the empty queue (L2).
    fn wait(&self, cx: &mut Context<'_>) {
        // A clone is foreign code, and none is needed if the waker is there already.
        let known = self.shared.queue.lock().has(cx.waker());
        let fresh = (!known).then(|| cx.waker().clone());
        let mut queue = self.shared.queue.lock();
        if !queue.tasks.is_empty() {
            drop(queue);
            return cx.waker().wake_by_ref();
        }
        if let Some(fresh) = fresh {
            if queue.waiting.is_none() {
                queue.waiting = Some(fresh);
            } else {
                queue.also_waiting.push(fresh);
            }
        }
    }

    /// Refuses new tasks, and drops the futures of all that there are.
    ///
    /// One that is being polled, by the caller's caller, ends when that poll does.
    pub fn close(&self) {
        self.home.close();
        while self.home.cancel_one() {}
        let closed = Queue {
            closed: true,
            ..Queue::default()
        };
        let queue = mem::replace(&mut *self.shared.queue.lock(), closed);
        let batch = self.batch.take();
        // What was never polled is in no list: it ends as its `Runnable` is dropped, like the wakers
        // with no lock held.
        contain_all(move || drop((queue, batch)));
    }
}

impl Queue {
    fn has(&self, waker: &Waker) -> bool {
        let mut waiting = self.waiting.iter().chain(&self.also_waiting);
        waiting.any(|known| known.will_wake(waker))
    }
}

impl Shared {
    /// Wakes whoever waits for something to do (L2).
    fn wake(mut queue: MutexGuard<'_, Queue>) {
        let waiting = queue.waiting.take();
        let also_waiting = mem::take(&mut queue.also_waiting);
        drop(queue);
        for waker in waiting.into_iter().chain(also_waiting) {
            contain_all(|| waker.wake());
        }
    }
}

impl Schedule for Shared {
    fn schedule(self: Arc<Self>, task: Runnable) {
        let mut queue = self.queue.lock();
        if queue.closed {
            // A new task, or one that is complete (L1).
            drop(queue);
            return task.cancel();
        }
        queue.tasks.push_back(task);
        Shared::wake(queue);
    }

    fn may_drop_here(&self) -> bool {
        thread::current().id() == self.owner
    }

    fn ended_elsewhere(&self) {
        // Whoever waits for all tasks to end looks again.
        Shared::wake(self.queue.lock());
    }

    fn unhandled_panic(&self) {
        (self.on_unhandled_panic)();
    }
}

impl Drop for LocalTasks {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for LocalTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalTasks")
            .field("live", &self.len())
            .finish_non_exhaustive()
    }
}

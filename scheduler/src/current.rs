//! The flavour without threads: the thread that blocks is worker and reactor in one.
//!
//! The pool's one worker is kept in a slot. Whoever calls [`CurrentThread::block_on`] takes it and
//! runs the loop: the own future, ready tasks, and, when there is nothing to do, the driver. A
//! second thread that blocks meanwhile polls its own future only, and takes the worker over when
//! the first has done. While nobody blocks, tasks wait.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::activity::Activity;
use crate::block_on::enter_or_panic;
use crate::driver::Driver;
use crate::parking::{Guard, Queues};
use crate::pool::{Config, Pool, Shared};
use crate::primitive::sync::{Arc, Mutex};
use crate::record::{self, Kind};
use crate::task::{JoinHandle, Place};
use crate::worker::Local;
use crate::{context, coop};

#[cfg(test)]
mod tests;

/// Tasks between two looks at the blocked future.
const TASKS_A_ROUND: u32 = 61;

/// Polls between two looks at what other threads have queued. Fixed, as one that follows the clock would
/// make two runs with the same seed differ.
const GLOBAL_INTERVAL: u32 = 61;

/// A pool of one worker that runs on the threads that block.
pub struct CurrentThread {
    pool: Pool,
    chair: Mutex<Chair>,
    /// Polls of futures without the worker.
    polls_aside: AtomicU64,
}

/// Calls `wake` on the thread that runs a [`CurrentThread`]'s tasks, or on any other. Whom it wakes
/// there runs in the order of the wake-ups, as when the driver wakes; `wake` must not panic.
pub fn wake_in_order(wake: impl FnOnce()) {
    context::with_worker(|worker| match worker {
        Some(worker) => worker.in_order(wake),
        None => wake(),
    });
}

/// Where the worker waits while nobody runs it, and who waits for it.
struct Chair {
    worker: Option<Box<Local>>,
    waiting: VecDeque<Arc<Root>>,
    /// The tasks are cancelled, or will be by the thread that has the worker.
    closed: bool,
    /// They are, and who waits for that.
    ended: bool,
    joining: Vec<Thread>,
}

impl CurrentThread {
    /// Builds the pool. `config.workers` is taken as 1.
    pub fn new(config: Config, driver: Box<dyn Driver>) -> CurrentThread {
        let config = Config {
            workers: 1,
            global_queue_interval: config.global_queue_interval.or(Some(GLOBAL_INTERVAL)),
            ..config
        };
        let (pool, mut seats) = Pool::assemble(config, Some(driver), Guard::Nobody);
        let worker = seats.pop().map(|seat| Box::new(pool.lone_worker(seat)));
        let chair = Chair {
            worker,
            waiting: VecDeque::new(),
            closed: false,
            ended: false,
            joining: Vec::new(),
        };
        CurrentThread {
            pool,
            chair: Mutex::new(chair),
            polls_aside: AtomicU64::new(0),
        }
    }

    /// The pool, for its counters.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Spawns a task. It runs while some thread blocks on this pool.
    #[inline]
    pub fn spawn<F>(&self, future: F, place: impl Place) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.pool.spawn(future, place)
    }

    /// The blocked futures of threads without the worker, and how many threads that are busy by
    /// another part's account ([`block_on`](CurrentThread::block_on)'s `counted`) only wait here.
    pub fn activity(&self) -> (Activity, usize) {
        let chair = self.chair.lock();
        let (resting, busy): (Vec<_>, Vec<_>) =
            chair.waiting.iter().partition(|root| root.is_resting());
        let activity = Activity {
            // Those that are counted elsewhere are busy there.
            busy: busy.iter().filter(|root| !root.counted).count(),
            turns: self.polls_aside.load(Relaxed),
        };
        let counted = resting.iter().filter(|root| root.counted).count();
        (activity, counted)
    }

    /// Runs `future` on this thread, and the pool's tasks as long as that takes. `counted` says that
    /// the thread is one of the runtime's, and busy by some other part's account.
    ///
    /// # Panics
    ///
    /// If this thread already runs futures: a task, or another `block_on`.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F, counted: bool) -> F::Output {
        let _entered = enter_or_panic();
        let root = Arc::new(Root {
            woken: AtomicBool::new(true),
            shared: Arc::clone(&self.pool.shared),
            thread: thread::current(),
            polling: AtomicBool::new(true),
            counted,
        });
        let waker = Waker::from(Arc::clone(&root));
        let mut turn = Turn {
            future: pin!(future),
            root: &root,
            cx: Context::from_waker(&waker),
        };
        loop {
            let seated = self.sit_down(&root);
            let output = match seated {
                Some(seated) => seated.drive(&mut turn),
                None => turn.poll_or_sleep(&self.polls_aside),
            };
            if let Some(output) = output {
                self.stop_waiting(&root);
                return output;
            }
        }
    }

    /// Takes the worker, or queues for it.
    fn sit_down(&self, root: &Arc<Root>) -> Option<Seated<'_>> {
        let mut chair = self.chair.lock();
        if chair.closed {
            return None;
        }
        let Some(worker) = chair.worker.take() else {
            if !chair
                .waiting
                .iter()
                .any(|waiting| Arc::ptr_eq(waiting, root))
            {
                chair.waiting.push_back(Arc::clone(root));
            }
            return None;
        };
        chair.waiting.retain(|waiting| !Arc::ptr_eq(waiting, root));
        Some(Seated {
            home: self,
            worker: Some(worker),
        })
    }

    /// Leaves the queue for the worker; an offer that came meanwhile goes to the next.
    fn stop_waiting(&self, root: &Arc<Root>) {
        let next = {
            let mut chair = self.chair.lock();
            chair.waiting.retain(|waiting| !Arc::ptr_eq(waiting, root));
            chair.worker.as_ref().and(chair.waiting.front().cloned())
        };
        if let Some(next) = next {
            next.thread.unpark();
        }
    }

    /// Puts the worker back. After `close` it is used up: its tasks are cancelled here.
    fn stand_up(&self, worker: Box<Local>) {
        worker.leave();
        let next = {
            let mut chair = self.chair.lock();
            if chair.closed {
                drop(chair);
                return self.wind_up(&worker);
            }
            chair.worker = Some(worker);
            chair.waiting.front().cloned()
        };
        if let Some(next) = next {
            next.thread.unpark();
        }
    }

    /// Refuses new tasks and cancels all others: here, or on the thread that runs the worker.
    pub fn close(&self) {
        self.pool.close();
        let (worker, waiting) = {
            let mut chair = self.chair.lock();
            chair.closed = true;
            (chair.worker.take(), std::mem::take(&mut chair.waiting))
        };
        for root in waiting {
            root.thread.unpark();
        }
        if let Some(worker) = worker {
            self.wind_up(&worker);
        }
    }

    fn wind_up(&self, worker: &Local) {
        context::enter_worker(worker, || {
            self.pool.cancel_all();
            worker.drain();
        });
        let joining = {
            let mut chair = self.chair.lock();
            chair.ended = true;
            std::mem::take(&mut chair.joining)
        };
        for thread in joining {
            thread.unpark();
        }
    }

    /// Waits, after [`close`](CurrentThread::close), until the thread that has the worker has cancelled
    /// the tasks. `false`: the time is over. On that thread itself it waits for nothing.
    pub fn join(&self, until: Option<Instant>) -> bool {
        if self.pool.is_current() {
            return true;
        }
        loop {
            {
                let mut chair = self.chair.lock();
                if chair.ended {
                    return true;
                }
                // Pushed again after each wake-up: an unpark that was not ours leaves an entry behind,
                // which costs a needless unpark.
                chair.joining.push(thread::current());
            }
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => thread::park(),
                Some(Duration::ZERO) => return false,
                Some(left) => thread::park_timeout(left),
            }
        }
    }
}

/// The worker, taken from its seat; it goes back when this is dropped, also by a panic.
struct Seated<'a> {
    home: &'a CurrentThread,
    worker: Option<Box<Local>>,
}

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take() {
            self.home.stand_up(worker);
        }
    }
}

impl Seated<'_> {
    /// The loop. `None`: the pool was closed before the future ended.
    fn drive<F: Future>(&self, turn: &mut Turn<'_, '_, F>) -> Option<F::Output> {
        let worker = self.worker.as_deref()?;
        let shared = &turn.root.shared;
        context::enter_worker(worker, || {
            while !shared.parking.is_closed() {
                if let Some(output) = turn.poll_if_woken() {
                    return Some(output);
                }
                worker.forget_yield();
                let closed = || shared.parking.is_closed();
                let ran_dry = (0..TASKS_A_ROUND).any(|_| closed() || !worker.turn());
                if ran_dry {
                    let queues = RootAndQueues {
                        root: turn.root,
                        worker,
                    };
                    worker.park_with(self.home.pool.hooks(), &queues);
                }
            }
            None
        })
    }
}

/// A blocked future and what wakes it.
struct Turn<'a, 'cx, F> {
    future: Pin<&'a mut F>,
    root: &'a Arc<Root>,
    cx: Context<'cx>,
}

impl<F: Future> Turn<'_, '_, F> {
    fn poll_if_woken(&mut self) -> Option<F::Output> {
        // ORDERING: AcqRel: the poll sees what the waker wrote before its swap.
        if !self.root.woken.swap(false, AcqRel) {
            return None;
        }
        let _slice = record::slice(Kind::BlockOn);
        match coop::with_budget(|| self.future.as_mut().poll(&mut self.cx)) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    /// For a thread without the worker: an unpark means that the future was woken, that the worker
    /// is free, or nothing.
    fn poll_or_sleep(&mut self, polls: &AtomicU64) -> Option<F::Output> {
        // Before the flag is taken down: see `is_resting`.
        self.root.polling.store(true, Relaxed);
        let output = self.poll_if_woken();
        if output.is_none() {
            polls.fetch_add(1, Relaxed);
            // ORDERING: Release: whoever sees this thread rest sees what it did.
            self.root.polling.store(false, Release);
            if !self.root.woken.load(Acquire) {
                thread::park();
            }
        }
        output
    }
}

/// The waker of a blocked future.
struct Root {
    woken: AtomicBool,
    shared: Arc<Shared>,
    thread: Thread,
    /// The thread polls, without the worker.
    polling: AtomicBool,
    /// See [`CurrentThread::activity`].
    counted: bool,
}

impl Root {
    /// Whether the thread, which has not got the worker, sleeps and is not about to wake.
    fn is_resting(&self) -> bool {
        // ORDERING: Acquire, in this order: a flag that was taken down to poll shows the polling.
        !self.woken.load(Acquire) && !self.polling.load(Acquire)
    }
}

impl Wake for Root {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, AcqRel) {
            // The thread sleeps in the driver, as the worker, or on its own.
            self.shared.parking.notify_worker(0);
            self.thread.unpark();
        }
    }
}

/// The worker's queues and the blocked future: either is a reason not to sleep.
struct RootAndQueues<'a> {
    root: &'a Root,
    worker: &'a Local,
}

impl Queues for RootAndQueues<'_> {
    fn any_work(&self) -> bool {
        self.root.woken.load(Acquire) || self.worker.any_work()
    }

    fn local_work(&self) -> bool {
        self.worker.local_work()
    }

    fn loose_work(&self) -> bool {
        self.any_work()
    }

    fn worth_sharing(&self) -> bool {
        false
    }

    fn stands_back(&self) -> bool {
        false
    }
}

impl Drop for CurrentThread {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for CurrentThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentThread")
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}

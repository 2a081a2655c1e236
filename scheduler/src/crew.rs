//! The threads of a pool: its workers, its guard, and the spares that stand in for stuck workers.
//!
//! # Spares
//!
//! A spare is a worker like the others, in a place (*seat*) of its own: queues, slot and parker are
//! allocated with the pool, the thread is started when it is first called and kept for a while
//! afterwards. It is called by the guard, for a worker that is stuck in a poll while tasks wait, or
//! by a worker that is about to block and says so ([`block_in_place`]).
//!
//! The [`Roster`] counts the spares that serve and says how many should. A spare looks at it between
//! two tasks: the one that is dismissed leaves its queue to the others and goes. So a spare that a
//! steady mix of long polls needs stays, and the threshold is paid once.
//!
//! # Threads
//!
//! Every thread is counted before it starts and after it has ended, so that the pool's owner can
//! wait for them; the last one out of the queues drains them (see the shutdown in `pool.rs`).

use std::fmt;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_deque::Worker as Deque;

use crate::context;
use crate::guard;
use crate::pool::{Config, Shared};
use crate::primitive::sync::Arc;
use crate::primitive::sync::atomic::Ordering::{AcqRel, Relaxed, SeqCst};
use crate::primitive::sync::atomic::{AtomicUsize, fence};
use crate::record::{self, Kind};
use crate::roster::Roster;
use crate::stats::Counter;
use crate::task::{Keeper, Runnable};
use crate::view::Views;
use crate::worker::Local;

/// A place for a spare, while none sits in it.
pub(crate) struct Seat {
    pub(crate) index: usize,
    pub(crate) queues: [Deque<Runnable>; 2],
}

/// What all threads of one pool hold.
pub(crate) struct Crew {
    pub(crate) shared: Arc<Shared>,
    pub(crate) home: Arc<Keeper>,
    /// The limited views, which have homes of their own.
    pub(crate) views: Arc<Views>,
    pub(crate) config: Config,
    spares: Mutex<Spares>,
    called: Condvar,
    pub(crate) roster: Roster,
    /// Another pool's, which the guard looks after as well.
    ward: OnceLock<Arc<Crew>>,
    /// Workers that are in [`block_in_place`] just now.
    in_place: AtomicUsize,
    pub(crate) spares_called: Counter,
    threads: Arc<Account>,
    /// Threads that may still push into the queues or take from them.
    running: AtomicUsize,
}

struct Spares {
    free: Vec<Seat>,
    /// Seats that wait for a thread to sit in them.
    called: Vec<Seat>,
    /// Threads that wait for a call.
    waiting: usize,
    closed: bool,
}

/// Which threads there are. A thread has let go of the crew before it says here that it has ended: who
/// waited for it is the last then, and what the crew has is gone when its owner has let go.
#[derive(Default)]
struct Account {
    threads: Mutex<Threads>,
    changed: Condvar,
}

#[derive(Default)]
struct Threads {
    started: usize,
    ended: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Crew {
    pub(crate) fn new(
        shared: Arc<Shared>,
        home: Arc<Keeper>,
        config: Config,
        free: Vec<Seat>,
    ) -> Arc<Self> {
        let spares = Spares {
            free,
            called: Vec::new(),
            waiting: 0,
            closed: false,
        };
        Arc::new(Crew {
            shared,
            home,
            views: Arc::default(),
            config,
            spares: Mutex::new(spares),
            called: Condvar::new(),
            roster: Roster::new(),
            ward: OnceLock::new(),
            in_place: AtomicUsize::new(0),
            spares_called: Counter::default(),
            threads: Arc::default(),
            running: AtomicUsize::new(0),
        })
    }

    /// Starts the thread of worker `index`.
    pub(crate) fn start_worker(
        self: &Arc<Self>,
        index: usize,
        queues: [Deque<Runnable>; 2],
    ) -> io::Result<()> {
        let crew = Arc::clone(self);
        let name = format!("{}-{}-{index}", self.config.name, self.config.kind);
        self.start_thread(name, move || crew.work(Seat { index, queues }))
    }

    /// Starts the guard: the reactor thread, where there is something to poll.
    pub(crate) fn start_guard(self: &Arc<Self>) -> io::Result<()> {
        let crew = Arc::clone(self);
        let name = if self.shared.polls_io() {
            format!("{}-reactor", self.config.name)
        } else {
            format!("{}-{}-guard", self.config.name, self.config.kind)
        };
        self.start_thread(name, move || {
            crew.config.hooks.start();
            guard::run(&crew);
            crew.config.hooks.stop();
        })
    }

    /// Has the guard look after another pool, too. Only the first one counts.
    pub(crate) fn look_after(&self, ward: &Arc<Crew>) {
        let _already = self.ward.set(Arc::clone(ward));
        // If it sleeps, the ward does not know.
        self.shared.parking.rouse_guard();
    }

    /// The other pool's.
    pub(crate) fn ward(&self) -> Option<&Arc<Crew>> {
        self.ward.get()
    }

    fn start_thread(
        self: &Arc<Self>,
        name: String,
        body: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        /// Counted also if something in the runtime itself should panic.
        struct Count(Arc<Account>);
        impl Drop for Count {
            fn drop(&mut self) {
                lock(&self.0.threads).ended += 1;
                self.0.changed.notify_all();
            }
        }
        let mut builder = thread::Builder::new().name(name);
        if let Some(bytes) = self.config.stack_size {
            builder = builder.stack_size(bytes);
        }
        lock(&self.threads.threads).started += 1;
        let count = Count(Arc::clone(&self.threads));
        builder
            .spawn(move || {
                let _count = count;
                body();
            })
            .map(drop)
    }

    /// Waits until every thread has ended. `false`: the time is over.
    pub(crate) fn join(&self, until: Option<Instant>) -> bool {
        self.join_while(until, |threads| threads.ended < threads.started)
    }

    /// As [`join`](Crew::join), but does not wait for workers that block in place: what they wait
    /// for may be ended by the caller only after this.
    pub(crate) fn join_polling(&self, until: Option<Instant>) -> bool {
        self.join_while(until, |threads| {
            threads.ended + self.in_place.load(Relaxed) < threads.started
        })
    }

    fn join_while(&self, until: Option<Instant>, waits: impl Fn(&Threads) -> bool) -> bool {
        let account = &*self.threads;
        let mut threads = lock(&account.threads);
        while waits(&threads) {
            let Some(until) = until else {
                threads = account
                    .changed
                    .wait(threads)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = account.changed.wait_timeout(threads, left);
            threads = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// The life of a worker that stays.
    fn work(self: &Arc<Self>, seat: Seat) {
        let _running = Running::new(self);
        self.config.hooks.start();
        let _seat = self.serve(seat, || false);
        self.config.hooks.stop();
    }

    /// Runs one worker until the pool closes or `dismissed` says so, and empties its queues.
    fn serve(self: &Arc<Self>, seat: Seat, dismissed: impl Fn() -> bool) -> Seat {
        let Seat { index, queues } = seat;
        let seed = self.config.seed.wrapping_add(index as u64);
        let (shared, crew) = (Arc::clone(&self.shared), Some(Arc::clone(self)));
        let local = Local::new(shared, crew, Arc::clone(&self.home), index, queues, seed);
        let parking = &self.shared.parking;
        self.shared.take_place(index);
        parking.bind(index);
        self.shared.remote(index).seat(true);
        context::enter_worker(&local, || {
            let _entered = context::enter();
            local.run(&self.config.hooks, dismissed);
            local.leave();
            if parking.is_closed() {
                self.wind_up();
                local.drain();
            } else {
                local.hand_over();
            }
        });
        self.shared.remote(index).seat(false);
        Seat {
            index,
            queues: local.into_queues(),
        }
    }

    /// Brings one more worker in. `false` if none is left, or the system refuses a thread.
    pub(crate) fn call_spare(self: &Arc<Self>) -> bool {
        let mut spares = lock(&self.spares);
        if spares.closed {
            return false;
        }
        let Some(seat) = spares.free.pop() else {
            return false;
        };
        let index = seat.index;
        spares.called.push(seat);
        // Counted before it can be dismissed, or found missing by the guard.
        self.roster.call();
        self.shared.parking.enlist();
        if spares.waiting >= spares.called.len() {
            self.called.notify_one();
            return true;
        }
        drop(spares);
        let crew = Arc::clone(self);
        let name = format!("{}-{}-{index}", self.config.name, self.config.kind);
        if self.start_thread(name, move || crew.stand_by()).is_ok() {
            return true;
        }
        self.take_back(index);
        false
    }

    /// Undoes a call that no thread will answer.
    fn take_back(&self, index: usize) {
        let mut spares = lock(&self.spares);
        if let Some(at) = spares.called.iter().position(|seat| seat.index == index) {
            let seat = spares.called.swap_remove(at);
            spares.free.push(seat);
            drop(spares);
            self.roster.take_back();
            self.shared.parking.discharge();
        }
    }

    /// The life of a spare's thread: serve when called, wait in between.
    fn stand_by(self: &Arc<Self>) {
        let _running = Running::new(self);
        self.config.hooks.start();
        while let Some(seat) = self.wait_for_call() {
            record::instant(Kind::Spare, None, None, None);
            let seat = self.serve(seat, || self.roster.dismiss_one());
            lock(&self.spares).free.push(seat);
            self.shared.parking.discharge();
        }
        self.config.hooks.stop();
    }

    fn wait_for_call(&self) -> Option<Seat> {
        let until = Instant::now().checked_add(self.config.keep_alive);
        let mut spares = lock(&self.spares);
        spares.waiting += 1;
        loop {
            // A seat that was called keeps its thread, also while the pool closes: it was counted.
            if let Some(seat) = spares.called.pop() {
                spares.waiting -= 1;
                // Here, under the lock: one that no thread could be started for is none.
                self.spares_called.add(1);
                return Some(seat);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if spares.closed || left.is_some_and(|left| left.is_zero()) {
                spares.waiting -= 1;
                return None;
            }
            let waited = self
                .called
                .wait_timeout(spares, left.unwrap_or(Duration::MAX));
            spares = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How many workers block with [`block_in_place`].
    pub(crate) fn in_place(&self) -> usize {
        self.in_place.load(Relaxed)
    }

    /// Says how many spares should serve.
    pub(crate) fn want(&self, spares: usize) {
        let seats = self.config.workers..self.shared.places();
        self.roster.want(spares, &self.shared.parking, seats);
    }

    /// A worker begins to block: its queues are empty, and if all others are busy a spare comes.
    fn begin_in_place(self: &Arc<Self>, local: &Local) {
        let blocked = self.in_place.fetch_add(1, Relaxed) + 1;
        self.roster.want_at_least(blocked);
        // Store-then-look with `close` and `join_polling`: one of the two sees the other.
        fence(SeqCst);
        if self.shared.parking.is_closed() {
            drop(lock(&self.threads.threads));
            self.threads.changed.notify_all();
        }
        self.shared.remote(local.index()).block_in_place(true);
        local.hand_over();
        if self.shared.parking.idle.parked() == 0 && self.roster.serving() < blocked {
            self.call_spare();
        }
    }

    fn end_in_place(&self, worker: usize) {
        self.shared.remote(worker).block_in_place(false);
        let blocked = self.in_place.fetch_sub(1, Relaxed) - 1;
        if !self.shared.parking.is_guarded() {
            // Nobody lowers it later.
            self.want(blocked);
        }
    }

    /// Cancels all tasks but those that run, one at a time: the listed ones and the queued ones.
    pub(crate) fn wind_up(&self) {
        // Store-then-look with a spawn from outside: it pushes, fences and sees the end of the pool, or
        // its task is seen here.
        fence(SeqCst);
        self.views.wind_up();
        let cancel_queued = || self.shared.any_queued().map(Runnable::cancel).is_some();
        while self.home.cancel_one() || cancel_queued() {}
    }

    /// Lets the waiting spares end. The workers are told through the parking account.
    pub(crate) fn close(&self) {
        lock(&self.spares).closed = true;
        self.called.notify_all();
    }
}

/// One thread that uses the queues; the last one drains them.
struct Running<'a>(&'a Crew);

impl<'a> Running<'a> {
    fn new(crew: &'a Crew) -> Self {
        crew.running.fetch_add(1, AcqRel);
        Running(crew)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, AcqRel) == 1 && self.0.shared.parking.is_closed() {
            self.0.shared.drain_for_good();
        }
    }
}

/// Runs a closure that may block, on a worker that first leaves its tasks to the others.
///
/// On a thread that is no worker of a pool with threads, `f` just runs.
///
/// # Examples
///
/// ```
/// assert_eq!(rt_scheduler::block_in_place(|| 1 + 1), 2);
/// ```
pub fn block_in_place<R>(f: impl FnOnce() -> R) -> R {
    /// The worker comes back, also when `f` panics.
    struct Back(Arc<Crew>, usize);
    impl Drop for Back {
        fn drop(&mut self) {
            self.0.end_in_place(self.1);
        }
    }
    let back = context::with_worker(|worker| {
        let worker = worker?;
        let crew = worker.crew()?;
        crew.begin_in_place(worker);
        Some(Back(Arc::clone(crew), worker.index()))
    });
    let _slice = record::slice(Kind::InPlace);
    let Some(_back) = back else { return f() };
    context::outside_worker(f)
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crew")
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}

//! A worker: one thread's queues, and the loop that empties them.
//!
//! # Where the next task comes from
//!
//! 1. now and then ([`Pace`] says when), and one at a time while `urgent`: the injector;
//! 2. the LIFO slot, at most [`LIFO_RUNS`] times in a row;
//! 3. the local queue, first in first out;
//! 4. the injector, a batch;
//! 5. the tasks that have yielded: behind all of the above, and behind fresh IO, which a round of
//!    them looks for once in [`YIELD_HARVEST`] polls;
//! 6. another worker's queue, half of it.
//!
//! Whatever is in 3 or 5 can be stolen. A task in the slot, and a lone task that has yielded, are
//! left to their worker: they run next, and moving them would cost more than they do.
//!
//! A worker that is [`shuffled`](Local::shuffled) has one queue for all, without the slot and
//! without a place for tasks that have yielded: it takes one of the first tasks, as its seed has
//! it. What it passes over goes to the back.
//!
//! # Waking others
//!
//! A push into the slot wakes nobody. A push into the local queue does, through
//! [`Parking::notify`](crate::parking::Parking::notify), if what waits there is worth it, which
//! [`Sharing`] decides. Each round of yielded tasks, and each look around, asks the same question
//! again. That is a guess about the future; where it is wrong, because a long poll came between,
//! the guard sees at its next tick that tasks wait beside a sleeper, and wakes it. The CPU pool, whose polls
//! are long, wakes always.

use std::cell::Cell;
use std::fmt;
use std::time::Instant;

use crossbeam_deque::Worker as Deque;
use crossbeam_utils::CachePadded;

use crate::coop;
use crate::crew::Crew;
use crate::hooks::Hooks;
use crate::observer::Observer;
use crate::pace::Pace;
use crate::parking::Queues;
use crate::pool::{Remote, Shared};
use crate::primitive::sync::Arc;
use crate::primitive::sync::atomic::Ordering::{AcqRel, Relaxed};
use crate::record::{self, Kind, Slice, Track};
use crate::rng::Rng;
use crate::sharing::Sharing;
use crate::task::{Keeper, Runnable, Shard, tick, trim_shelf};

mod leaving;
mod worth;

/// How many tasks in a row may come from the LIFO slot.
const LIFO_RUNS: u32 = 3;

/// How many urgent tasks in a row go before the local ones.
const URGENT_RUNS: u32 = 61;

/// A round of yielded tasks harvests first if this many polls have passed since the last harvest.
const YIELD_HARVEST: u32 = 16;

/// How many of the first tasks a shuffled worker chooses from.
const SHUFFLED: usize = 8;

/// Where wakes go while this worker hands out events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dispatch {
    /// It does not: a woken task goes to the slot.
    No,
    /// To the local queue, in order; the caller wakes others once for all.
    Local,
    /// To the injector: the local queue is full of long polls.
    Injector,
}

/// One worker's own end of its queues. It stays on one thread at a time.
pub(crate) struct Local {
    shared: Arc<Shared>,
    /// The crew that this worker belongs to, if the pool has threads.
    crew: Option<Arc<Crew>>,
    home: Arc<Keeper>,
    /// The address of `home`, to compare.
    home_id: usize,
    index: usize,
    remote: Arc<CachePadded<Remote>>,
    /// [`Remote::current`] says which one is the queue and which holds the yielded tasks.
    queues: [Deque<Runnable>; 2],
    current: Cell<usize>,
    /// The running task asked to go behind everything.
    yielding: Cell<bool>,
    dispatch: Cell<Dispatch>,
    searching: Cell<bool>,
    pace: Pace,
    sharing: Sharing,
    since_harvest: Cell<u32>,
    lifo_runs: Cell<u32>,
    urgent_runs: Cell<u32>,
    /// Where it steals first.
    rng: Rng,
    /// What its futures choose.
    choices: Rng,
    /// Where the order of tasks comes from, if it is a random one.
    order: Option<Rng>,
    /// Who looks on, if anybody does.
    observer: Option<Box<Observer>>,
}

impl Local {
    pub(crate) fn new(
        shared: Arc<Shared>,
        crew: Option<Arc<Crew>>,
        home: Arc<Keeper>,
        index: usize,
        queues: [Deque<Runnable>; 2],
        seed: u64,
    ) -> Self {
        let [rng, choices, _] = Rng::set(seed);
        let pace = Pace::new(shared.global_interval);
        let sharing = Sharing::new(shared.asks);
        let observer = Observer::new(record::current(), shared.timing.clone(), index);
        Local {
            remote: Arc::clone(shared.remote(index)),
            shared,
            crew,
            home_id: home.id(),
            home,
            index,
            queues,
            current: Cell::new(0),
            yielding: Cell::new(false),
            dispatch: Cell::new(Dispatch::No),
            searching: Cell::new(false),
            pace,
            sharing,
            since_harvest: Cell::new(0),
            lifo_runs: Cell::new(0),
            urgent_runs: Cell::new(0),
            rng,
            choices,
            order: None,
            observer,
        }
    }

    /// The address that tells this worker's pool from others.
    #[inline]
    pub(crate) fn home_id(&self) -> usize {
        self.home_id
    }

    /// The address of what the pool's workers share.
    #[inline]
    pub(crate) fn pool_id(&self) -> *const () {
        Arc::as_ptr(&self.shared).cast()
    }

    /// This worker's book and owner list.
    #[inline]
    pub(crate) fn shard(&self) -> &Shard {
        self.home.shard(self.index)
    }

    /// The index among the workers of the pool.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Whether it is in the poll of a task.
    pub(crate) fn is_polling(&self) -> bool {
        self.remote().is_polling()
    }

    /// The index among the workers of a pool that polls IO.
    pub(crate) fn io_index(&self) -> Option<usize> {
        self.shared.polls_io().then_some(self.index)
    }

    /// The same worker, but with its tasks in an order that `seed` decides.
    pub(crate) fn shuffled(self, seed: u64) -> Self {
        let [_, _, order] = Rng::set(seed);
        Local {
            order: Some(order),
            ..self
        }
    }

    /// The same worker, recorded wherever it runs.
    pub(crate) fn recorded(self, track: Arc<Track>) -> Self {
        let timing = self.shared.timing.clone();
        Local {
            observer: Observer::new(Some(track), timing, self.index),
            ..self
        }
    }

    /// Where it is written down what this worker does.
    pub(crate) fn track(&self) -> Option<&Arc<Track>> {
        self.observer.as_ref()?.track()
    }

    /// Something begins that is no poll, for who looks on.
    #[inline]
    fn observed(&self, kind: Kind) -> Option<Slice> {
        self.observer.as_ref()?.slice(kind)
    }

    /// The generator for the choices of what is polled here.
    #[inline]
    pub(crate) fn choices(&self) -> &Rng {
        &self.choices
    }

    #[inline]
    fn remote(&self) -> &Remote {
        &self.remote
    }

    /// The queue. (The masks here and below spare the checks of the bound.)
    #[inline]
    fn queue(&self) -> &Deque<Runnable> {
        &self.queues[self.current.get() & 1]
    }

    #[inline]
    fn yielded(&self) -> &Deque<Runnable> {
        &self.queues[(self.current.get() & 1) ^ 1]
    }

    /// Queues a task that this thread spawned or woke.
    #[inline]
    pub(crate) fn push(&self, task: Runnable) {
        if let Some(observer) = &self.observer {
            observer.queued(task.id());
        }
        match self.dispatch.get() {
            Dispatch::No if self.order.is_some() => self.queue().push(task),
            Dispatch::No => {
                if let Some(previous) = self.remote().slot.put(task) {
                    self.queue().push(previous);
                    self.share();
                }
            }
            Dispatch::Local => {
                task.prefetch();
                self.queue().push(task);
            }
            Dispatch::Injector => {
                self.remote().stats.overflow.add(1);
                self.shared.injector.push(task);
            }
        }
    }

    /// Calls `wake`, which must not panic; whom it wakes runs in the order of the wake-ups.
    pub(crate) fn in_order(&self, wake: impl FnOnce()) {
        let before = self.dispatch.replace(Dispatch::Local);
        wake();
        self.dispatch.set(before);
    }

    /// The running task goes behind everything else when its poll ends.
    pub(crate) fn yield_running(&self) {
        self.yielding.set(true);
    }

    /// What ran was no task of a queue: it comes round again on its own.
    pub(crate) fn forget_yield(&self) {
        self.yielding.set(false);
    }

    /// Runs tasks until the pool closes, or, as a spare, until it is not needed.
    pub(crate) fn run(&self, hooks: &Hooks, dismissed: impl Fn() -> bool) {
        while !self.shared.parking.is_closed() && !dismissed() {
            if !self.turn() {
                self.park(hooks);
            }
        }
    }

    /// Runs one task. `false`: there is none.
    #[inline]
    pub(crate) fn turn(&self) -> bool {
        let Some(task) = self.next().or_else(|| self.search()) else {
            return false;
        };
        if self.searching.replace(false) {
            self.shared.parking.found_work(self);
        }
        self.run_task(task);
        true
    }

    #[inline]
    fn run_task(&self, task: Runnable) {
        let remote = self.remote();
        let mut task = task;
        loop {
            remote.stats.polls.add(1);
            remote.runs(&task);
            let again = match &self.observer {
                None => self.run_once(task),
                Some(observer) => self.run_observed(observer, task),
            };
            remote.rests();
            let yielding = self.yielding.replace(false);
            let Some(again) = again.and_then(|task| self.may_go_on(task)) else {
                return;
            };
            // Nobody is woken for it: this worker runs it as soon as it has nothing better.
            if !yielding || self.order.is_some() {
                return self.queue().push(again);
            }
            if !self.is_alone() {
                return self.yielded().push(again);
            }
            task = again;
        }
    }

    #[inline]
    fn run_once(&self, task: Runnable) -> Option<Runnable> {
        if self.pace.samples() {
            self.run_timed(task)
        } else {
            coop::with_budget(|| task.run())
        }
    }

    /// Runs a task while somebody looks on.
    #[cold]
    #[inline(never)]
    fn run_observed(&self, observer: &Observer, task: Runnable) -> Option<Runnable> {
        let poll = observer.begin(&task);
        let again = self.run_once(task);
        observer.end(&poll, again.as_ref());
        again
    }

    /// Whether a task that yields would be the next to run anyway. Counts that as a turn.
    #[inline]
    fn is_alone(&self) -> bool {
        let since_harvest = self.since_harvest.get();
        let alone = since_harvest < YIELD_HARVEST
            && self.remote().slot.is_empty()
            && self.queue().is_empty()
            && self.yielded().is_empty()
            && self.shared.injector.is_empty()
            && self.pace.skip();
        if alone {
            self.since_harvest.set(since_harvest + 1);
        }
        alone
    }

    /// A task of a limited view takes a turn anew, or waits in its line.
    #[inline]
    fn may_go_on(&self, task: Runnable) -> Option<Runnable> {
        if task.home().id() == self.home_id {
            return Some(task);
        }
        let view = Arc::clone(task.home().pool());
        view.reschedule(task)
    }

    /// Runs a task and takes its time into the mean.
    #[cold]
    fn run_timed(&self, task: Runnable) -> Option<Runnable> {
        let id = task.id();
        let start = Instant::now();
        tick(start);
        let again = coop::with_budget(|| task.run());
        let end = Instant::now();
        tick(end);
        let took = u64::try_from(end.saturating_duration_since(start).as_nanos());
        let took = took.unwrap_or(u64::MAX / 8);
        let stands_for = took.saturating_mul(u64::from(self.pace.interval()));
        self.remote().hot.record(id, stands_for);
        self.remote().stats.busy.add(stands_for);
        self.pace.record(took);
        let may_stand_back = self.shared.may_stand_back.load(Relaxed);
        self.sharing.look(end, may_stand_back);
        self.remote().contend(self.sharing.saw_contention());
        again
    }

    #[inline]
    fn next(&self) -> Option<Runnable> {
        self.since_harvest
            .set(self.since_harvest.get().saturating_add(1));
        if self.pace.turn()
            && let Some(task) = self.shared.pop_injected()
        {
            return Some(task);
        }
        if self.since_harvest.get() >= self.shared.event_interval {
            self.look_around();
        }
        if self.shared.urgent.load(Relaxed)
            && let Some(task) = self.next_urgent()
        {
            return Some(task);
        }
        self.next_local()
            .or_else(|| self.next_injected())
            .or_else(|| self.next_yielded())
    }

    /// A batch from the injector.
    #[inline]
    fn next_injected(&self) -> Option<Runnable> {
        let task = self.shared.steal_injected(self.queue())?;
        // The end of a search sees to that itself.
        if !self.searching.get() {
            self.shared.parking.share(self);
        }
        Some(task)
    }

    #[inline]
    fn next_local(&self) -> Option<Runnable> {
        if let Some(task) = self.remote().slot.take() {
            if self.lifo_runs.get() < LIFO_RUNS {
                self.lifo_runs.set(self.lifo_runs.get() + 1);
                return Some(task);
            }
            if self.queue().is_empty() {
                // It is the queue's first, so it may go on without passing through.
                self.lifo_runs.set(0);
                return Some(task);
            }
            self.queue().push(task);
        }
        self.lifo_runs.set(0);
        if let Some(order) = &self.order {
            self.shuffle(order);
        }
        self.queue().pop()
    }

    /// Brings one of the first tasks to the front.
    #[cold]
    fn shuffle(&self, order: &Rng) {
        let first = self.queue().len().clamp(1, SHUFFLED);
        for _ in 0..order.below(first) {
            if let Some(task) = self.queue().pop() {
                self.queue().push(task);
            }
        }
    }

    /// What a busy worker does now and then: fresh IO, and one yielded task so that those are not
    /// kept out by a queue that never empties.
    #[cold]
    fn look_around(&self) {
        if let Some(task) = self.yielded().pop() {
            self.queue().push(task);
        }
        if !self.harvest(Dispatch::Local) {
            self.share();
        }
    }

    /// Polls for IO without blocking. Returns whether a task became runnable.
    fn harvest(&self, to: Dispatch) -> bool {
        let _harvest = self.observed(Kind::Harvest);
        self.since_harvest.set(0);
        self.dispatch.set(to);
        let woken = self.shared.parking.harvest(self.index);
        self.dispatch.set(Dispatch::No);
        self.remote().stats.harvested.add(woken as u64);
        if woken > 0 {
            self.shared.parking.share(self);
        }
        woken > 0
    }

    /// One task from the injector, while tasks wait there behind workers with long polls.
    ///
    /// One, not a batch: the batch's tail would wait here behind the next long poll.
    #[cold]
    fn next_urgent(&self) -> Option<Runnable> {
        if self.urgent_runs.get() < URGENT_RUNS {
            self.urgent_runs.set(self.urgent_runs.get() + 1);
            let task = self.shared.pop_injected().or_else(|| {
                self.harvest(Dispatch::Injector)
                    .then(|| self.shared.pop_injected())
                    .flatten()
            });
            if task.is_some() {
                return task;
            }
        }
        self.urgent_runs.set(0);
        // Level triggered: clear, then look again, so that a task pushed in between is not left.
        self.shared.urgent.swap(false, AcqRel);
        if !self.shared.injector.is_empty() {
            self.shared.urgent.store(true, Relaxed);
        }
        None
    }

    /// Begins a new round of the tasks that have yielded.
    fn next_yielded(&self) -> Option<Runnable> {
        if self.yielded().is_empty() {
            return None;
        }
        if self.since_harvest.get() >= YIELD_HARVEST && self.harvest(Dispatch::Local) {
            return self.queue().pop();
        }
        self.current.set(1 - self.current.get());
        self.remote().current.store(self.current.get(), Relaxed);
        let first = self.queue().pop();
        self.share();
        first
    }

    /// Looks for work in other workers' queues.
    fn search(&self) -> Option<Runnable> {
        if !self.searching.get() && !self.shared.parking.try_search(self) {
            return None;
        }
        self.searching.set(true);
        let task = self.shared.steal(self.index, self.queue(), &self.rng);
        if task.is_some() {
            self.remote().stats.steals.add(1);
            if let Some(track) = self.track() {
                track.instant(Kind::Steal);
            }
        }
        task
    }

    /// Sleeps until there may be work.
    fn park(&self, hooks: &Hooks) {
        self.park_with(hooks, self);
    }

    /// Sleeps until `queues` may hold work.
    pub(crate) fn park_with(&self, hooks: &Hooks, queues: &impl Queues) {
        hooks.park();
        trim_shelf();
        self.remote().stats.parks.add(1);
        let park = self.observed(Kind::Park);
        self.dispatch.set(Dispatch::Local);
        let searching = self
            .shared
            .parking
            .park(self.index, self.searching.get(), queues);
        self.dispatch.set(Dispatch::No);
        tick(Instant::now());
        drop(park);
        self.searching.set(searching);
        hooks.unpark();
    }

    /// The crew that this worker belongs to.
    pub(crate) fn crew(&self) -> Option<&Arc<Crew>> {
        self.crew.as_ref()
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

//! How workers sleep and are woken, and which of them watches for IO meanwhile.
//!
//! # Roles
//!
//! * A **worker** that has run dry parks: it *leads* (blocks in the driver as the gate's owner, so
//!   that it runs the event's task itself, without a hop) if the gate is free, and else sleeps on
//!   its token. A busy worker *harvests* now and then: it polls without blocking.
//! * Where the CPUs are contended, a worker that has run dry *stands back* while another one is active
//!   (`sharing.rs`): it sleeps on its token, though the gate is free and the other one has tasks queued. That one
//!   leads when it has run dry itself, and wakes a sleeper if its queue is worth it; if it does neither, it is in a long
//!   poll, and the guard steps in.
//! * The **reactor thread** owns the gate while every worker sleeps. When events come it hands their
//!   tasks to the pool, frees the gate and becomes the **guard**: it naps in ticks. A gate that
//!   stayed free for a whole tick means that all are busy, and the guard harvests for them. A gate
//!   that a leader held for two quiet ticks is *recalled*: the leader hands it over and sleeps on
//!   its token, and the reactor thread is alone in the driver again. It sleeps there without a
//!   limit (*deep*) only while every worker is parked: whoever claims a worker rouses it, so that
//!   an active worker is always watched.
//!
//! A pool without a driver has no gate, and no leaders. Another pool's guard looks after it (a *ward* of that one),
//! which naps in ticks while a worker of either is active, or one of its own, which else sleeps on its token.
//!
//! # Invariants
//!
//! * **P1** `LEADING` is published only while owning the gate and cleared before the release, so a
//!   kick that is sent to a leader can be consumed by that leader only.
//! * **P2** A parked worker's token is a hint; the bit in the idle account is the truth. A worker
//!   that wakes goes back to sleep unless it has local work, was claimed, or the pool is closed.
//! * **P3** The gate is never held across a dispatch: wakers are foreign code.
//! * **P4** When every worker is parked, the gate has an owner that is blocked in the driver.
//! * **P5** While a worker is not parked, the guard wakes at every tick.
//!
//! # Handshakes
//!
//! Each is store-then-look with `fence(SeqCst)` on both sides, so one side sees the other.
//!
//! | one side | other side | what would be lost |
//! |---|---|---|
//! | submit: push, look at the account | park: announce, look at the queues | a task beside sleepers |
//! | park: announce, try the gate | reactor: release, look at the account | IO that nobody polls (P4) |
//! | park: announce, stand back from who is active | the same of that one | IO that nobody polls (P4) |
//! | guard: set `deep`, look at the account | claim a worker, look at `deep` | an unwatched worker (P5) |
//! | close: set `closed`, unpark all | park: announce, look at `closed` | a worker that never ends |
//!
//! The timer deadline needs none: it is a file descriptor in the set that is being polled.
//!
//! # Sources
//!
//! The sleepers' handshake is Dekker's, as in the idle protocols of Go's and of rayon's schedulers;
//! one thread polling for all is the leader/followers pattern (Schmidt and others, 2000).

use std::fmt;
use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::driver::{Driver, Wait};
use crate::gate::{Gate, Owner};
use crate::idle::{Claim, Idle};
use crate::primitive::sync::atomic::Ordering::{Relaxed, SeqCst};
use crate::primitive::sync::atomic::{AtomicBool, AtomicUsize, fence};
use crate::primitive::thread::Token;
use parker::{LEADING, Parker};

#[cfg(all(test, loom))]
mod model;
mod parker;
#[cfg(all(test, not(loom)))]
mod tests;

/// How long the guard naps. A gate that nobody used is noticed after one to two of these.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// How many ticks without an event end a leader's turn.
const QUIET_TICKS: u32 = 2;

/// The queues as the parking protocol sees them.
pub(crate) trait Queues {
    /// Whether any worker could find a task to run.
    fn any_work(&self) -> bool;

    /// Whether the calling worker has a task of its own.
    fn local_work(&self) -> bool;

    /// Whether there is a task that is in no other worker's queue.
    fn loose_work(&self) -> bool;

    /// Whether the calling worker has more than it should run alone.
    fn worth_sharing(&self) -> bool;

    /// Whether the calling worker leaves polling, and what little others have queued, to another one if one is active.
    fn stands_back(&self) -> bool;
}

/// Who looks after the workers of a pool.
pub(crate) enum Guard {
    /// Nobody.
    Nobody,
    /// A thread of the pool's own.
    Own,
    /// The guard of another pool, which this call wakes.
    Other(Box<dyn Fn() + Send + Sync>),
}

/// The sleeping side of one pool.
pub(crate) struct Parking {
    pub(crate) idle: Idle,
    parkers: Box<[CachePadded<Parker>]>,
    poller: Option<Poller>,
    /// Where the pool's own guard naps.
    token: Token,
    guard: Guard,
    /// The guard sleeps without a limit.
    deep: AtomicBool,
    closed: AtomicBool,
    /// Workers that run or sleep: those that the pool began with, and spares while they serve.
    active: AtomicUsize,
}

/// The gate and what it guards.
struct Poller {
    gate: CachePadded<Gate>,
    /// The guard wants the gate back.
    recall: AtomicBool,
    driver: Box<dyn Driver>,
    /// The guard's event buffer.
    buffer: usize,
}

/// What the guard remembers from one tick to the next.
#[derive(Debug)]
pub(crate) struct Watch {
    generation: u64,
    quiet: u32,
    /// How long it naps now.
    pub(crate) nap: Duration,
    /// It has something to look after, and must not sleep without a limit.
    pub(crate) busy: bool,
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            generation: 0,
            quiet: 0,
            nap: TICK,
            busy: false,
        }
    }
}

impl Parking {
    /// For `workers` busy workers in `slots` places. With a driver, the gate is the guard's at
    /// first if there is one, and else free for the one worker there is.
    pub(crate) fn new(
        workers: usize,
        slots: usize,
        driver: Option<Box<dyn Driver>>,
        guard: Guard,
    ) -> Self {
        let first = match guard {
            Guard::Own => Owner::Reactor,
            _ => Owner::Nobody,
        };
        Parking {
            idle: Idle::new(workers, slots),
            parkers: (0..slots)
                .map(|_| CachePadded::new(Parker::new()))
                .collect(),
            poller: driver.map(|driver| Poller {
                gate: CachePadded::new(Gate::new(first)),
                recall: AtomicBool::new(false),
                driver,
                buffer: slots,
            }),
            token: Token::default(),
            guard,
            deep: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            active: AtomicUsize::new(workers),
        }
    }

    /// Says that the calling thread is worker `me`. Before its first [`park`](Parking::park).
    pub(crate) fn bind(&self, me: usize) {
        self.parkers[me].token.bind();
    }

    /// Sees to it that somebody looks at the queues. The caller has just pushed. `false`: everybody
    /// is busy, and will look when their tasks allow.
    pub(crate) fn notify(&self) -> bool {
        fence(SeqCst);
        match self.idle.claim() {
            Claim::Worker(worker) => self.rouse(worker),
            Claim::Searched => {}
            Claim::AllBusy => return false,
        }
        true
    }

    /// Wakes worker `worker` if it is parked; it comes back searching.
    pub(crate) fn notify_worker(&self, worker: usize) {
        fence(SeqCst);
        if self.idle.claim_worker(worker) {
            self.rouse(worker);
        }
    }

    /// Wakes somebody for what the caller, which does not count as searching, has brought into its own queue, if that
    /// is worth it: what events have woken, or a batch that it has taken from the injector. While that was on
    /// its way, a searcher that the pusher relied on may have found it in neither place, and have gone to sleep.
    pub(crate) fn share(&self, queues: &impl Queues) {
        if queues.worth_sharing() {
            self.notify();
        }
    }

    /// Asks for the right to search, for a worker that has run dry.
    pub(crate) fn try_search(&self, queues: &impl Queues) -> bool {
        // Itself, and somebody else.
        let stands_back = queues.stands_back() && self.unparked() > 1;
        !stands_back && self.idle.try_search()
    }

    /// Gives the right to search up, because the caller found a task. If it was the last searcher
    /// and there is more, somebody else is woken: pushers relied on this one.
    pub(crate) fn found_work(&self, queues: &impl Queues) {
        if self.idle.stop_searching() {
            fence(SeqCst);
            if queues.any_work() {
                self.notify();
            }
        }
    }

    /// Sleeps until there may be work. Returns whether the worker counts as searching.
    pub(crate) fn park(&self, me: usize, searching: bool, queues: &impl Queues) -> bool {
        self.idle.announce(me, searching);
        fence(SeqCst);
        let work = if self.stands_back(queues) {
            queues.loose_work()
        } else {
            queues.any_work()
        };
        if work {
            // Counted as searching by this, or by whoever claimed this worker first.
            let _ = self.idle.retract(me, true);
            return true;
        }
        loop {
            if self.is_closed() {
                let _ = self.idle.retract(me, true);
                return true;
            }
            let woken = self.sleep(me, queues);
            if queues.local_work() {
                let claimed = !self.idle.retract(me, false);
                // Not while this worker counts as parked, or it might be the one that is claimed.
                if !claimed && woken > 1 {
                    self.share(queues);
                }
                return claimed;
            }
            if !self.idle.is_parked(me) {
                return true;
            }
        }
    }

    /// Whether a worker that has announced itself leaves it to the active ones to poll. The last one never does: it
    /// sees that all others are parked, as each announces itself before it looks.
    fn stands_back(&self, queues: &impl Queues) -> bool {
        queues.stands_back() && self.unparked() > 0
    }

    /// Sleeps once. Returns how many tasks became runnable by events that this worker has taken in.
    fn sleep(&self, me: usize, queues: &impl Queues) -> usize {
        match &self.poller {
            Some(_) if self.stands_back(queues) => {
                self.parkers[me].wait();
                0
            }
            Some(poller) if poller.gate.try_take(Owner::Worker) => self.lead(me, poller),
            _ => {
                self.parkers[me].wait();
                0
            }
        }
    }

    /// Blocks in the driver. The caller has just taken the gate.
    fn lead(&self, me: usize, poller: &Poller) -> usize {
        let parker = &self.parkers[me];
        if !parker.begin(LEADING) {
            poller.gate.release();
            return 0;
        }
        let events = poller.driver.poll(me, Wait::Forever);
        let notified = parker.end();
        // A recall that a busy or woken leader ignores is repeated after the next quiet ticks.
        let recalled = poller.recall.swap(false, Relaxed);
        if recalled && events == 0 && !notified {
            poller.gate.pass_to(Owner::Reactor);
            self.token.wake();
            parker.wait();
            return 0;
        }
        poller.gate.release();
        poller.driver.dispatch(me)
    }

    /// Polls without blocking, if nobody else polls. Returns how many tasks became runnable.
    pub(crate) fn harvest(&self, me: usize) -> usize {
        let Some(poller) = &self.poller else { return 0 };
        if !poller.gate.try_take(Owner::Worker) {
            return 0;
        }
        let events = poller.driver.poll(me, Wait::Now);
        poller.gate.release();
        if events == 0 {
            return 0;
        }
        poller.driver.dispatch(me)
    }

    /// Wakes a worker that was just claimed, and then the guard if nobody watches.
    fn rouse(&self, worker: usize) {
        self.unpark(worker);
        self.rouse_guard();
    }

    /// Sees to it that the guard looks around, now or at its next tick. The caller has just done what it shall see.
    pub(crate) fn rouse_guard(&self) {
        fence(SeqCst);
        // The swap, so that of many claimers one pays for the kick.
        if self.deep.load(Relaxed) && self.deep.swap(false, Relaxed) {
            self.wake_guard();
        }
    }

    /// Ends the guard's sleep, unless that naps between two ticks.
    pub(crate) fn wake_guard(&self) {
        match (&self.guard, &self.poller) {
            (Guard::Nobody, _) => {}
            (Guard::Own, Some(poller)) => poller.driver.kick(),
            (Guard::Own, None) => self.token.wake(),
            (Guard::Other(wake), _) => wake(),
        }
    }

    fn unpark(&self, worker: usize) {
        if self.parkers[worker].unpark() == LEADING {
            // `LEADING` is published by pollers only (P1).
            if let Some(poller) = &self.poller {
                poller.driver.kick();
            }
        }
    }

    /// Ends all sleep, now and later.
    pub(crate) fn close(&self) {
        self.closed.store(true, Relaxed);
        fence(SeqCst);
        for worker in 0..self.parkers.len() {
            self.unpark(worker);
        }
        if let Some(poller) = &self.poller {
            poller.driver.kick();
        }
        self.token.wake();
    }

    pub(crate) fn is_closed(&self) -> bool {
        // ORDERING: Relaxed: `close` fences before it unparks, a worker before it sleeps, and a token
        // that ends a sleep carries it.
        self.closed.load(Relaxed)
    }

    /// Whether somebody looks after the workers.
    pub(crate) fn is_guarded(&self) -> bool {
        !matches!(self.guard, Guard::Nobody)
    }

    /// Says that the calling thread is the guard.
    pub(crate) fn bind_guard(&self) {
        self.token.bind();
    }

    /// One step of the guard's thread: an event as the gate's owner, or a tick. `ward` is the other pool that it
    /// looks after.
    pub(crate) fn guard_turn(&self, watch: &mut Watch, ward: Option<&Parking>) {
        let Some(poller) = &self.poller else {
            return self.nap(watch);
        };
        if poller.gate.look().owner() == Owner::Reactor {
            self.own(poller, watch, ward);
        } else {
            self.token.wait_timeout(watch.nap);
            self.tick(poller, watch);
        }
    }

    /// Sleeps for a tick, or until a worker is claimed: there is nothing to poll.
    fn nap(&self, watch: &mut Watch) {
        match self.own_wait(watch, None) {
            Wait::Forever => self.token.wait(),
            _ => self.token.wait_timeout(watch.nap),
        }
        self.deep.store(false, Relaxed);
    }

    /// Blocks in the driver for all the sleeping workers, and lends the gate when events come.
    fn own(&self, poller: &Poller, watch: &mut Watch, ward: Option<&Parking>) {
        // Looked at while owning the gate: from here on nobody else consumes `close`'s kick.
        let mut events = 0;
        if !self.is_closed() {
            let wait = self.own_wait(watch, ward);
            events = poller.driver.poll(poller.buffer, wait);
            self.sleep_deep(ward, false);
            if events == 0 && !self.is_closed() {
                return;
            }
        }
        watch.quiet = 0;
        poller.gate.release();
        if events > 0 {
            poller.driver.dispatch(poller.buffer);
        }
        fence(SeqCst);
        // If that woke no worker, none will come to take the gate.
        if !self.is_closed() && self.all_parked() {
            let _taken = poller.gate.try_take(Owner::Reactor);
        }
    }

    /// How long the guard may sleep, if nobody else polls: in ticks while somebody is active, or was a
    /// moment ago.
    fn own_wait(&self, watch: &mut Watch, ward: Option<&Parking>) -> Wait {
        let all_parked = || self.all_parked() && ward.is_none_or(Parking::all_parked);
        if watch.busy || !all_parked() {
            watch.quiet = 0;
            return Wait::For(watch.nap);
        }
        watch.quiet += 1;
        if watch.quiet < QUIET_TICKS {
            return Wait::For(watch.nap);
        }
        self.sleep_deep(ward, true);
        fence(SeqCst);
        if !all_parked() {
            return Wait::For(watch.nap);
        }
        Wait::Forever
    }

    /// Says that the guard sleeps without a limit, or does not.
    fn sleep_deep(&self, ward: Option<&Parking>, deep: bool) {
        self.deep.store(deep, Relaxed);
        if let Some(ward) = ward {
            ward.deep.store(deep, Relaxed);
        }
    }

    fn all_parked(&self) -> bool {
        // ORDERING: Relaxed. A spare enlists on a thread that is not parked, or on the guard.
        self.idle.parked() >= self.active.load(Relaxed)
    }

    /// How many workers run, or have been claimed to.
    pub(crate) fn unparked(&self) -> usize {
        let active = self.active.load(Relaxed);
        active.saturating_sub(self.idle.count_parked())
    }

    /// Counts one more worker. Before it runs.
    pub(crate) fn enlist(&self) {
        self.active.fetch_add(1, Relaxed);
    }

    /// Counts the calling worker no more; it neither searches nor has anything queued. Somebody who
    /// sleeps is woken to take its place at the gate.
    pub(crate) fn discharge(&self) {
        self.active.fetch_sub(1, Relaxed);
        self.notify();
    }

    /// Tells the driver how many workers the guard has found awake.
    pub(crate) fn tick_driver(&self, awake: usize) {
        if let Some(poller) = &self.poller {
            poller.driver.tick(awake);
        }
    }

    /// Looks whether IO is alive, and steps in where it is not.
    fn tick(&self, poller: &Poller, watch: &mut Watch) {
        let seen = poller.gate.look();
        if seen.generation() != watch.generation {
            watch.generation = seen.generation();
            watch.quiet = 0;
            return;
        }
        match seen.owner() {
            Owner::Reactor => {}
            Owner::Worker => {
                watch.quiet += 1;
                if watch.quiet >= QUIET_TICKS {
                    // Not reset: what follows the hand-over is as quiet as what led to it.
                    // ORDERING: Relaxed; the kick that follows carries it to the leader.
                    poller.recall.store(true, Relaxed);
                    poller.driver.kick();
                }
            }
            Owner::Nobody => self.harvest_for_all(poller, watch),
        }
    }

    /// Polls for workers that are all busy.
    fn harvest_for_all(&self, poller: &Poller, watch: &mut Watch) {
        if !poller.gate.try_take(Owner::Reactor) {
            return;
        }
        poller.driver.poll(poller.buffer, Wait::Now);
        poller.gate.release();
        // Its own use of the gate is no sign of life.
        watch.generation += 1;
        poller.driver.dispatch(poller.buffer);
        fence(SeqCst);
        // A worker that parked while the guard held the gate could not lead. Somebody must.
        if self.idle.parked() > 0 {
            let _taken = poller.gate.try_take(Owner::Reactor);
        }
    }
}

impl fmt::Debug for Parking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parking")
            .field("idle", &self.idle)
            .field("gate", &self.poller.as_ref().map(|poller| &*poller.gate))
            .finish_non_exhaustive()
    }
}

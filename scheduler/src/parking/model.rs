//! The parking protocol under every interleaving of up to two workers, the guard, and a source of
//! tasks or events. A lost wake-up shows as a deadlock, which loom reports.

#![expect(
    unsafe_code,
    reason = "the model's driver has a cell that only the gate guards"
)]

use std::sync::{Arc as Plain, OnceLock, Weak};

use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use loom::sync::{Condvar, Mutex};
use loom::thread;

use super::{Guard, Parking, QUIET_TICKS, Queues, Watch};
use crate::driver::{Driver, Wait};
use crate::gate::Owner;
use crate::primitive::check;

/// Queues that are counts, a pool that closes itself when all tasks are done.
struct World {
    parking: Parking,
    injector: AtomicUsize,
    locals: [AtomicUsize; 2],
    done: AtomicUsize,
    total: usize,
    guarded: bool,
    /// The CPUs are contended.
    contended: bool,
    /// Where a stuck task waits for what frees it.
    freed: Mutex<bool>,
    free: Condvar,
}

/// A driver whose events are a count, and whose kicks are one edge, as an eventfd's are.
struct Fake {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
    /// What each thread has polled and not yet dispatched.
    polled: [AtomicUsize; 3],
    dispatched: AtomicUsize,
    world: OnceLock<Weak<World>>,
    /// Touched by every poll: loom reports two at once, or one that does not see the one before.
    owned: UnsafeCell<()>,
}

struct Shared(Plain<Fake>);

// SAFETY: the cell holds nothing; loom checks that no two threads are in it at once.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Driver for Shared {
    fn poll(&self, buffer: usize, wait: Wait) -> usize {
        self.0.owned.with_mut(|_| ());
        let mut state = self.0.state.lock().unwrap();
        if let Wait::For(_) = wait {
            drop(state);
            // Time passes when nothing else does.
            thread::yield_now();
            state = self.0.state.lock().unwrap();
        }
        while wait == Wait::Forever && *state == (0, false) {
            state = self.0.changed.wait(state).unwrap();
        }
        let (events, _) = std::mem::take(&mut *state);
        drop(state);
        self.0.owned.with_mut(|_| ());
        self.0.polled[buffer].fetch_add(events, Relaxed);
        events
    }

    fn dispatch(&self, buffer: usize) -> usize {
        let events = self.0.polled[buffer].swap(0, Relaxed);
        let before = self.0.dispatched.fetch_add(events, Relaxed);
        let world = self
            .0
            .world
            .get()
            .and_then(Weak::upgrade)
            .expect("the world outlives its threads");
        if let Some(local) = world.locals.get(buffer) {
            local.fetch_add(events, AcqRel);
        } else if events > 0 {
            world.injector.fetch_add(events, AcqRel);
            world.parking.notify();
        }
        if events > 0 && before + events == 2 {
            world.release();
        }
        events
    }

    fn kick(&self) {
        self.0.state.lock().unwrap().1 = true;
        self.0.changed.notify_all();
    }
}

impl Fake {
    fn event(&self) {
        self.state.lock().unwrap().0 += 1;
        self.changed.notify_all();
    }
}

struct View<'a>(&'a World, usize);

impl Queues for View<'_> {
    fn any_work(&self) -> bool {
        self.0.injector.load(Relaxed) > 0
            || self.0.locals.iter().any(|local| local.load(Relaxed) > 0)
    }

    fn local_work(&self) -> bool {
        self.0.locals[self.1].load(Relaxed) > 0
    }

    fn loose_work(&self) -> bool {
        self.0.injector.load(Relaxed) > 0 || self.local_work()
    }

    fn worth_sharing(&self) -> bool {
        self.local_work()
    }

    fn stands_back(&self) -> bool {
        self.0.contended && self.0.locals[1 - self.1].load(Relaxed) == 0
    }
}

/// What polls for events, if anything does.
#[derive(Clone, Copy, PartialEq)]
enum Polling {
    /// Nothing: a pool without a driver.
    No,
    /// The one worker, always.
    Alone,
    /// Workers, without a guard, which stand back from one another.
    Contended,
    /// Workers and the guard.
    Guarded,
    /// Nothing, but a guard looks after the workers.
    Watched,
}

/// A world for `total` tasks.
fn world(workers: usize, total: usize, polling: Polling) -> (Plain<World>, Plain<Fake>) {
    let guard = match polling {
        Polling::Guarded | Polling::Watched => Guard::Own,
        Polling::No | Polling::Alone | Polling::Contended => Guard::Nobody,
    };
    #[expect(
        clippy::arc_with_non_send_sync,
        reason = "loom's threads take it; its cell is watched"
    )]
    let fake = Plain::new(Fake {
        state: Mutex::new((0, false)),
        changed: Condvar::new(),
        polled: [
            AtomicUsize::new(0),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        ],
        dispatched: AtomicUsize::new(0),
        world: OnceLock::new(),
        owned: UnsafeCell::new(()),
    });
    let polls = matches!(
        polling,
        Polling::Guarded | Polling::Alone | Polling::Contended
    );
    let driver = polls.then(|| Box::new(Shared(Plain::clone(&fake))) as Box<dyn Driver>);
    let guarded = matches!(guard, Guard::Own);
    // Two slots, so that the guard's buffer is always the third.
    let parking = Parking::new(workers, 2, driver, guard);
    let mut world = world_of(parking, total, guarded);
    world.contended = polling == Polling::Contended;
    let world = Plain::new(world);
    assert!(fake.world.set(Plain::downgrade(&world)).is_ok());
    (world, fake)
}

fn world_of(parking: Parking, total: usize, guarded: bool) -> World {
    World {
        parking,
        injector: AtomicUsize::new(0),
        locals: [AtomicUsize::new(0), AtomicUsize::new(0)],
        done: AtomicUsize::new(0),
        total,
        guarded,
        contended: false,
        freed: Mutex::new(false),
        free: Condvar::new(),
    }
}

fn pop(queue: &AtomicUsize) -> bool {
    queue
        .fetch_update(AcqRel, Relaxed, |tasks| tasks.checked_sub(1))
        .is_ok()
}

impl World {
    fn submit(&self) {
        self.injector.fetch_add(1, AcqRel);
        self.parking.notify();
    }

    /// One task is done; with the last one the pool closes.
    fn finish_one(&self) -> bool {
        if self.done.fetch_add(1, AcqRel) + 1 == self.total {
            self.parking.close();
        }
        true
    }

    /// The first task keeps its worker for good; with the second one the pool closes.
    fn first_is_stuck(&self) -> bool {
        let is_first = self.done.fetch_add(1, AcqRel) == 0;
        if !is_first {
            self.parking.close();
        }
        !is_first
    }

    /// A task that waits until something else calls [`release`](World::release).
    fn get_stuck(&self) {
        let mut freed = self.freed.lock().unwrap();
        while !*freed {
            freed = self.free.wait(freed).unwrap();
        }
    }

    fn release(&self) {
        *self.freed.lock().unwrap() = true;
        self.free.notify_all();
    }

    /// One injected task to run, and the others into the worker's own queue: for a moment they are in neither.
    fn take_batch(&self, me: usize, searching: bool) -> bool {
        let tasks = self.injector.swap(0, AcqRel);
        if tasks > 1 {
            self.locals[me].fetch_add(tasks - 1, AcqRel);
            if !searching {
                self.parking.share(&View(self, me));
            }
        }
        tasks > 0
    }

    /// The worker's loop, as in `worker.rs`, for as long as `run` comes back from tasks.
    fn work(&self, me: usize, run: impl Fn(&World) -> bool) {
        let queues = View(self, me);
        let mut searching = false;
        while !self.parking.is_closed() {
            let mut found = pop(&self.locals[me]) || self.take_batch(me, searching);
            if !found && !searching {
                searching = self.parking.try_search(&queues);
            }
            if !found && searching {
                found = pop(&self.locals[1 - me]) || self.take_batch(me, searching);
            }
            if found {
                if std::mem::take(&mut searching) {
                    self.parking.found_work(&queues);
                }
                if !run(self) {
                    return;
                }
            } else {
                searching = self.parking.park(me, searching, &queues);
            }
        }
    }

    fn guard(&self, ward: Option<&Parking>, look: impl Fn(&World)) {
        let mut watch = Watch::default();
        while !self.parking.is_closed() {
            self.parking.guard_turn(&mut watch, ward);
            look(self);
        }
    }
}

fn spawn(world: &Plain<World>, f: impl FnOnce(&World) + 'static) -> thread::JoinHandle<()> {
    let world = Plain::clone(world);
    thread::spawn(move || f(&world))
}

/// Starts `workers` workers, and a guard that does nothing but guard.
fn start(
    world: &Plain<World>,
    workers: usize,
    run: fn(&World) -> bool,
) -> Vec<thread::JoinHandle<()>> {
    let mut threads: Vec<_> = (0..workers)
        .map(|me| spawn(world, move |world| world.work(me, run)))
        .collect();
    if world.guarded {
        threads.push(spawn(world, |world| world.guard(None, |_| ())));
    }
    threads
}

fn join(threads: Vec<thread::JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Two tasks are pushed from outside while a worker goes to sleep: both run.
#[test]
fn submit_against_park() {
    check(3, || {
        let (world, _fake) = world(1, 2, Polling::No);
        let threads = start(&world, 1, World::finish_one);
        world.submit();
        world.submit();
        join(threads);
    });
}

/// One task is pushed while two workers go to sleep, and one of them runs it.
#[test]
fn one_submission_against_two_that_park() {
    check(3, || {
        let (world, _fake) = world(2, 1, Polling::No);
        let threads = start(&world, 2, World::finish_one);
        world.submit();
        join(threads);
    });
}

/// A worker that finds two tasks, and may take both at once, is kept busy by the first: the other one is passed on.
#[test]
fn the_last_searcher_passes_the_wake_on() {
    check(3, || {
        let (world, _fake) = world(2, 2, Polling::No);
        let threads = start(&world, 2, World::first_is_stuck);
        world.submit();
        world.submit();
        join(threads);
    });
}

/// Events come at any moment of a worker's and the guard's life (own, lend, lead, recall,
/// take-over): their tasks run.
#[test]
fn an_event_is_run_whoever_owns_the_gate() {
    check(3, || {
        let (world, fake) = world(1, 2, Polling::Guarded);
        let threads = start(&world, 1, World::finish_one);
        fake.event();
        fake.event();
        join(threads);
    });
}

/// A worker that nobody stands in for is woken by submissions and by events, also when one comes as
/// the other wakes it: a token that is left over ends no sleep for good.
#[test]
fn a_lone_leader_is_kicked() {
    check(4, || {
        let (world, fake) = world(1, 3, Polling::Alone);
        let threads = start(&world, 1, World::finish_one);
        world.submit();
        fake.event();
        world.submit();
        join(threads);
    });
}

/// Two workers that stand back from one another: the last one polls all the same.
#[test]
fn who_stands_back_leaves_somebody_that_polls() {
    check(3, || {
        let (world, fake) = world(2, 1, Polling::Contended);
        let threads = start(&world, 2, World::finish_one);
        fake.event();
        join(threads);
    });
}

/// A worker that stands back beside one that is kept busy by a first task runs a second one.
#[test]
fn who_stands_back_runs_what_is_submitted() {
    check(3, || {
        let (world, _fake) = world(2, 2, Polling::Contended);
        let threads = start(&world, 2, World::first_is_stuck);
        world.submit();
        world.submit();
        join(threads);
    });
}

/// A submission finds the leader as it is asked to hand the gate back: its task runs. It comes from the
/// guard's own thread here, right after the recall, which is as bad a moment as any.
#[test]
fn a_recalled_leader_runs_what_it_was_woken_for() {
    check(3, || {
        let (world, _fake) = world(1, 1, Polling::Guarded);
        let poller = world.parking.poller.as_ref().expect("a guarded world");
        // Free for the worker from the beginning.
        poller.gate.release();
        let worker = spawn(&world, |world| world.work(0, World::finish_one));
        let (mut watch, mut submitted) = (Watch::default(), false);
        while !world.parking.is_closed() {
            world.parking.guard_turn(&mut watch, None);
            // The guard has just asked for the gate, or has it already and might sleep next.
            let has_it = || poller.gate.look().owner() == Owner::Reactor;
            if !submitted && (watch.quiet >= QUIET_TICKS || has_it()) {
                submitted = true;
                world.submit();
            }
        }
        worker.join().unwrap();
    });
}

/// The only worker is stuck in an event's task until another event is handed out: the guard polls.
#[test]
fn io_lives_while_every_worker_is_stuck() {
    check(2, || {
        let (world, fake) = world(1, 2, Polling::Guarded);
        let threads = start(&world, 1, |world| {
            if world.done.fetch_add(1, AcqRel) == 0 {
                world.get_stuck();
            } else {
                world.parking.close();
            }
            true
        });
        fake.event();
        fake.event();
        join(threads);
    });
}

/// A spare comes in while the worker is stuck, runs what waits, and goes: nothing is left behind,
/// whatever is pushed as it goes.
#[test]
fn a_spare_leaves_nothing_behind() {
    check(2, || {
        let (world, _fake) = world(1, 2, Polling::No);
        let threads = start(&world, 1, World::finish_one);
        world.parking.enlist();
        let spare = spawn(&world, |world| {
            // One task at most, and then it is one too many.
            if pop(&world.injector) {
                world.finish_one();
            }
            world.parking.discharge();
        });
        world.submit();
        world.submit();
        spare.join().unwrap();
        join(threads);
    });
}

/// An event and a submission together.
#[test]
fn events_and_submissions_are_both_run() {
    check(3, || {
        let (world, fake) = world(1, 2, Polling::Guarded);
        let threads = start(&world, 1, World::finish_one);
        fake.event();
        world.submit();
        join(threads);
    });
}

/// One worker is in a task that does not end: the other worker, or the guard for it, sees the event.
#[test]
fn an_event_is_run_while_a_worker_is_stuck() {
    check(3, || {
        let (world, fake) = world(2, 1, Polling::Guarded);
        // A thread that is stuck does nothing, so it is not there.
        let threads = start(&world, 1, World::finish_one);
        fake.event();
        join(threads);
    });
}

/// A task that was submitted while everything slept waits for the guard to look around: it does,
/// though no event ever comes (P5). `make` gives the task's world, and that of the guard.
fn an_active_worker_is_watched(make: fn() -> [Plain<World>; 2]) {
    check(3, move || {
        let [world, guards] = make();
        let over = Plain::clone(&guards);
        let worker = spawn(&world, move |world| {
            world.work(0, |world| {
                // ORDERING of the model's own: the task has begun, so a look from here on frees it.
                world.done.store(1, Relaxed);
                world.get_stuck();
                world.parking.close();
                over.parking.close();
                true
            });
        });
        let guard = spawn(&world, move |world| {
            let ward = (!std::ptr::eq(world, &raw const *guards)).then_some(&world.parking);
            guards.guard(ward, |_| {
                if world.done.load(Acquire) == 1 {
                    world.release();
                }
            });
        });
        world.submit();
        worker.join().unwrap();
        guard.join().unwrap();
    });
}

#[test]
fn an_active_worker_that_polls_is_watched() {
    an_active_worker_is_watched(|| {
        let (world, _fake) = world(1, 1, Polling::Guarded);
        [Plain::clone(&world), world]
    });
}

#[test]
fn an_active_worker_without_a_driver_is_watched() {
    an_active_worker_is_watched(|| {
        let (world, _fake) = world(1, 1, Polling::Watched);
        [Plain::clone(&world), world]
    });
}

/// The guard of a pool whose workers all sleep looks after this one.
#[test]
fn an_active_worker_of_a_ward_is_watched() {
    an_active_worker_is_watched(|| {
        let (guards, _fake) = world(0, 0, Polling::Guarded);
        let woken = Plain::clone(&guards);
        let wake = Guard::Other(Box::new(move || woken.parking.wake_guard()));
        let ward = world_of(Parking::new(1, 2, None, wake), 1, false);
        [Plain::new(ward), guards]
    });
}

/// As before, but a spare sleeps beside the worker that is stuck: one that sleeps is not all.
#[test]
fn a_stuck_worker_is_watched_while_a_spare_sleeps() {
    check(2, || {
        let (world, _fake) = world(1, 1, Polling::Guarded);
        world.parking.enlist();
        let spare = spawn(&world, |world| world.work(1, |_| true));
        let worker = spawn(&world, |world| {
            world.done.store(1, Relaxed);
            world.get_stuck();
            world.parking.close();
        });
        world.guard(None, |world| {
            if world.done.load(Acquire) == 1 {
                world.release();
            }
        });
        worker.join().unwrap();
        spare.join().unwrap();
    });
}

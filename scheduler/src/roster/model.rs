//! A spare's life under every interleaving: called for a stuck worker, in its place, and gone.

#![expect(
    unsafe_code,
    reason = "the model's task is a mark that the slot carries"
)]

use std::ptr;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::{AcqRel, Relaxed};
use loom::thread;

use super::Roster;
use crate::parking::{Guard, Parking, Queues};
use crate::primitive::check;
use crate::slot::{Item, Slot};

/// The worker's place; the spare's is the next one.
const WORKER: usize = 0;
const SPARE: usize = 1;

/// The task that the stuck one waits for.
struct Woken;

// SAFETY: the pointer is only told from null.
unsafe impl Item for Woken {
    fn into_raw(self) -> *mut () {
        ptr::without_provenance_mut(1)
    }

    unsafe fn from_raw(_: *mut ()) -> Self {
        Woken
    }
}

/// One worker, places for two, and an injector that is a count. The pool closes with the one task.
struct World {
    parking: Parking,
    roster: Roster,
    slot: Slot<Woken>,
    injector: AtomicUsize,
    /// What the stuck task wrote for the one in the slot: loom watches who sees it.
    message: UnsafeCell<u32>,
}

impl Queues for World {
    fn any_work(&self) -> bool {
        self.injector.load(Relaxed) > 0
    }

    fn local_work(&self) -> bool {
        false
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

impl World {
    fn new() -> Arc<Self> {
        Arc::new(World {
            parking: Parking::new(1, 2, None, Guard::Nobody),
            roster: Roster::new(),
            slot: Slot::new(),
            injector: AtomicUsize::new(0),
            message: UnsafeCell::new(0),
        })
    }

    /// `false`: nobody is free to run it.
    fn submit(&self) -> bool {
        self.injector.fetch_add(1, AcqRel);
        self.parking.notify()
    }

    fn pop(&self) -> bool {
        self.injector
            .fetch_update(AcqRel, Relaxed, |tasks| tasks.checked_sub(1))
            .is_ok()
    }

    fn run_one(&self) {
        // SAFETY: written before the task was put where it came from.
        let message = self.message.with(|message| unsafe { *message });
        assert_eq!(message, 7);
        self.parking.close();
    }

    /// The loop of a worker, as in `worker.rs` and `crew.rs`, to its end.
    fn serve(&self, me: usize, dismissed: impl Fn() -> bool) {
        let mut searching = false;
        while !self.parking.is_closed() && !dismissed() {
            if !searching {
                searching = self.parking.idle.try_search();
            }
            if self.pop() {
                if std::mem::take(&mut searching) {
                    self.parking.found_work(self);
                }
                self.run_one();
            } else {
                searching = self.parking.park(me, searching, self);
            }
        }
        if searching {
            self.parking.found_work(self);
        }
    }

    fn serve_as_spare(&self) {
        self.serve(SPARE, || self.roster.dismiss_one());
        self.parking.discharge();
    }
}

fn call_spare(world: &Arc<World>) -> thread::JoinHandle<()> {
    world.roster.call();
    world.parking.enlist();
    let world = Arc::clone(world);
    thread::spawn(move || world.serve_as_spare())
}

/// The worker's task waits for the one in the worker's own slot. The guard takes that out and calls a
/// spare, which runs it.
#[test]
fn a_spare_takes_over_from_a_stuck_worker() {
    check(3, || {
        let world = World::new();
        world.roster.want_at_least(1);
        let worker = {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                // SAFETY: nobody reads it before the put.
                world.message.with_mut(|message| unsafe { *message = 7 });
                assert!(world.slot.put(Woken).is_none());
                // Nothing comes of it any more.
            })
        };
        // The guard.
        let Woken = loop {
            match world.slot.rescue() {
                Some(task) => break task,
                None => thread::yield_now(),
            }
        };
        assert!(!world.submit(), "the worker is stuck");
        let spare = call_spare(&world);
        spare.join().unwrap();
        worker.join().unwrap();
        assert!(world.slot.is_empty() && !world.pop());
    });
}

/// A spare that is one too many goes, whatever it does, and though it sleeps: what the guard says at each
/// look wakes it.
#[test]
fn a_spare_that_is_not_wanted_goes() {
    check(3, || {
        let world = World::new();
        world.roster.want_at_least(1);
        let spare = call_spare(&world);
        while world.roster.serving() > 0 {
            world.roster.want(0, &world.parking, [SPARE]);
            thread::yield_now();
        }
        spare.join().unwrap();
    });
}

/// A task is submitted at any moment of a spare's going, asleep or not: somebody runs it.
#[test]
fn a_spare_that_goes_leaves_no_task_behind() {
    check(3, || {
        let world = World::new();
        // SAFETY: no other thread is there yet.
        world.message.with_mut(|message| unsafe { *message = 7 });
        world.roster.want_at_least(1);
        let spare = call_spare(&world);
        let worker = {
            let world = Arc::clone(&world);
            thread::spawn(move || world.serve(WORKER, || false))
        };
        world.roster.want(0, &world.parking, [SPARE]);
        world.submit();
        spare.join().unwrap();
        worker.join().unwrap();
    });
}

/// Two spares ask at once, and one is wanted: one goes.
#[test]
fn no_spare_goes_that_is_wanted() {
    check(3, || {
        let roster = Arc::new(Roster::new());
        roster.call();
        roster.call();
        roster.want_at_least(1);
        let other = {
            let roster = Arc::clone(&roster);
            thread::spawn(move || roster.dismiss_one())
        };
        let mine = roster.dismiss_one();
        let theirs = other.join().unwrap();
        assert!(mine != theirs, "one of the two goes");
        assert_eq!(roster.serving(), 1);
    });
}

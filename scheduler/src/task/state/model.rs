//! The state word under every interleaving: wakes, the join cell, aborts, and the last reference.

#![expect(unsafe_code, reason = "the model reads the cells that the word guards")]

use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::Relaxed;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use crate::primitive::check;

use super::{Completed, Join, Pause, Schedule, Start, State};

/// A task without a future: the cells that the state word guards, and a queue of one place.
struct Task {
    state: State,
    /// Touched only while `RUNNING` (T1): loom reports any other access.
    future: UnsafeCell<usize>,
    /// T3.
    output: UnsafeCell<Option<usize>>,
    /// T4.
    join_waker: UnsafeCell<bool>,
    /// What wakers write before they wake.
    messages: [AtomicUsize; 2],
    queue: Mutex<usize>,
    pushed: Condvar,
    joiner_woken: Mutex<bool>,
    joiner: Condvar,
    drops: AtomicUsize,
    frees: AtomicUsize,
}

impl Task {
    fn new() -> Arc<Self> {
        Arc::new(Task {
            state: State::new(),
            future: UnsafeCell::new(0),
            output: UnsafeCell::new(None),
            join_waker: UnsafeCell::new(false),
            messages: [AtomicUsize::new(0), AtomicUsize::new(0)],
            queue: Mutex::new(0),
            pushed: Condvar::new(),
            joiner_woken: Mutex::new(false),
            joiner: Condvar::new(),
            drops: AtomicUsize::new(0),
            frees: AtomicUsize::new(0),
        })
    }

    /// Runs the first poll, which has nothing to do, so that the task is idle.
    fn new_idle() -> Arc<Self> {
        let task = Task::new();
        assert_eq!(task.state.start_poll(), Start::Poll);
        assert_eq!(task.state.finish_pending(false, false), Pause::Idle);
        task
    }

    fn touch_future(&self) {
        // SAFETY: the callers hold RUNNING; loom checks that this is enough.
        self.future.with_mut(|future| unsafe { *future += 1 });
    }

    /// Drops the future and completes, if the caller has the right to.
    fn touch_future_if(&self, claimed: bool) {
        if claimed {
            self.drops.fetch_add(1, Relaxed);
            self.complete(1);
        }
    }

    /// As a worker that gets the `Runnable` at the end of its pool.
    fn run_and_cancel(&self) {
        match self.state.start_poll() {
            Start::Gone => {}
            Start::Cancel => self.touch_future_if(true),
            Start::Poll => {
                self.touch_future();
                self.touch_future_if(true);
            }
        }
        self.drop_refs(1);
    }

    /// Gives up references; the last one frees.
    fn drop_refs(&self, count: usize) {
        if self.state.ref_dec(count) {
            self.touch_future();
            self.frees.fetch_add(1, Relaxed);
        }
    }

    fn push(&self) {
        *self.queue.lock().unwrap() += 1;
        self.pushed.notify_one();
    }

    fn pop(&self) {
        let mut queue = self.queue.lock().unwrap();
        while *queue == 0 {
            queue = self.pushed.wait(queue).unwrap();
        }
        *queue -= 1;
        assert_eq!(*queue, 0, "two Runnables of one task (T2)");
    }

    /// As [`send`](Task::send), by a worker of the task's pool.
    fn send_claimed(&self, message: usize) {
        self.messages[message].store(1, Relaxed);
        if self.state.wake_claimed() == Schedule::Push {
            self.state.ref_inc();
            self.push();
        }
    }

    fn send(&self, message: usize) {
        self.messages[message].store(1, Relaxed);
        if self.state.wake() == Schedule::Push {
            self.state.ref_inc();
            self.push();
        }
    }

    /// Completes with `value`; the caller holds `RUNNING`.
    fn complete(&self, value: usize) {
        self.touch_future();
        // SAFETY: the caller holds RUNNING and the task is not complete: the place is ours.
        self.output
            .with_mut(|output| unsafe { *output = Some(value) });
        // The owner list's reference goes with the completion, if that is all there is to do.
        if self.state.complete_quietly(1) {
            return;
        }
        let Completed {
            wake_joiner,
            drop_output,
            ..
        } = self.state.complete();
        if drop_output {
            self.drop_output();
        }
        if wake_joiner {
            self.clear_join_waker();
            *self.joiner_woken.lock().unwrap() = true;
            self.joiner.notify_one();
        }
    }

    fn drop_output(&self) -> usize {
        // SAFETY: by T3 exactly one thread comes here; loom checks it.
        let value = self.output.with_mut(|output| unsafe { (*output).take() });
        value.expect("the output is there, once")
    }

    fn clear_join_waker(&self) {
        // SAFETY: by T4 the cell is the caller's; loom checks it.
        self.join_waker.with_mut(|waker| unsafe {
            assert!(*waker, "the cell was filled");
            *waker = false;
        });
    }

    /// As the handle's poll: `true` when the output is there.
    fn register(&self) -> bool {
        if self.state.is_complete() || self.state.take_join_cell() == Join::Complete {
            return true;
        }
        // SAFETY: JOIN_WAKER is clear: the cell is the handle's.
        self.join_waker.with_mut(|waker| unsafe { *waker = true });
        if self.state.give_join_cell() == Join::Complete {
            self.clear_join_waker();
            return true;
        }
        false
    }
}

/// Two wakers race the polls: the task is polled again until it has seen both messages, also the
/// one whose wake found the task scheduled already. Those that claim it are workers of its pool.
fn two_wakes(claims: [bool; 2]) {
    check(3, move || {
        let task = Task::new_idle();
        let wakers = [0, 1].map(|message| {
            let task = Arc::clone(&task);
            thread::spawn(move || {
                if claims[message] {
                    task.send_claimed(message);
                } else {
                    task.send(message);
                }
            })
        });
        let mut seen = [false; 2];
        task.pop();
        loop {
            assert_eq!(task.state.start_poll(), Start::Poll);
            task.touch_future();
            for (seen, message) in seen.iter_mut().zip(&task.messages) {
                *seen |= message.load(Relaxed) == 1;
            }
            if seen == [true; 2] {
                break;
            }
            match task.state.finish_pending(false, false) {
                Pause::Idle => task.pop(),
                Pause::Requeue => {}
                Pause::Cancel => unreachable!("nobody aborts"),
            }
        }
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}

#[test]
fn no_wake_is_lost_and_each_carries_its_message() {
    two_wakes([false, false]);
}

#[test]
fn no_wake_is_lost_when_one_claims() {
    two_wakes([true, false]);
}

#[test]
fn no_wake_is_lost_when_both_claim() {
    two_wakes([true, true]);
}

/// A worker claims the task while shutdown cancels it: one of the two ends it, and no `Runnable` is used after that.
#[test]
fn a_claimed_task_ends_once() {
    check(3, || {
        let task = Task::new_idle();
        let worker = {
            let task = Arc::clone(&task);
            thread::spawn(move || {
                task.send_claimed(0);
                if *task.queue.lock().unwrap() == 0 {
                    return;
                }
                // It is the last one to leave, so it cancels what it finds.
                task.touch_future_if(task.state.claim_as_holder());
            })
        };
        task.touch_future_if(task.state.claim_to_cancel());
        worker.join().unwrap();
        assert_eq!(task.drops.load(Relaxed), 1);
        assert!(task.state.is_complete());
    });
}

/// A poll has lent its reference to a waker, which is used or dropped by another thread, while shutdown gives up the owner
/// list's: the memory is freed once, by the last who uses it.
#[test]
fn a_lent_reference_outlives_the_poll() {
    for by_drop in [true, false] {
        check(3, move || {
            let task = Task::new();
            // The handle is gone.
            assert_eq!(task.state.drop_join_interest(), Join::Pending);
            assert!(!task.state.ref_dec(1));
            assert_eq!(task.state.start_poll(), Start::Poll);
            let waker = {
                let task = Arc::clone(&task);
                thread::spawn(move || {
                    if !by_drop && task.state.wake() == Schedule::Push {
                        return task.run_and_cancel();
                    }
                    task.drop_refs(1);
                })
            };
            let shutdown = {
                let task = Arc::clone(&task);
                thread::spawn(move || {
                    if task.state.claim_to_cancel() {
                        task.drops.fetch_add(1, Relaxed);
                        task.complete(1);
                    }
                    task.drop_refs(1);
                })
            };
            task.touch_future();
            match task.state.finish_pending(false, true) {
                Pause::Idle => {}
                Pause::Requeue => task.run_and_cancel(),
                Pause::Cancel => {
                    task.state.ref_inc();
                    task.drops.fetch_add(1, Relaxed);
                    task.complete(2);
                    task.drop_refs(1);
                }
            }
            waker.join().unwrap();
            shutdown.join().unwrap();
            assert_eq!(task.drops.load(Relaxed), 1);
            assert_eq!(task.frees.load(Relaxed), 1);
        });
    }
}

/// A task wakes itself in a poll while another thread wakes it: it is queued by its poller alone, and its
/// next poll sees what both wrote.
#[test]
fn a_task_that_wakes_itself_is_queued_once() {
    check(3, || {
        let task = Task::new();
        assert_eq!(task.state.start_poll(), Start::Poll);
        let waker = {
            let task = Arc::clone(&task);
            thread::spawn(move || task.send(0))
        };
        task.touch_future();
        assert_eq!(task.state.finish_pending(true, false), Pause::Requeue);
        // Another worker may have it now.
        let other = {
            let task = Arc::clone(&task);
            thread::spawn(move || {
                assert_eq!(task.state.start_poll(), Start::Poll);
                task.touch_future();
                let seen = task.messages[0].load(Relaxed) == 1;
                match task.state.finish_pending(false, false) {
                    Pause::Idle => seen,
                    Pause::Requeue => true,
                    Pause::Cancel => unreachable!("nobody aborts"),
                }
            })
        };
        waker.join().unwrap();
        let told = other.join().unwrap();
        // What the wake tells has come in time for the second poll, or it has queued the task anew.
        let queued = *task.queue.lock().unwrap();
        assert!(queued == 1 || (told && queued == 0));
    });
}

/// The handle registers, or gives up and registers again, while the task completes.
#[test]
fn a_joiner_gets_the_output_or_is_woken_for_it() {
    check(3, || {
        let task = Task::new();
        let runner = {
            let task = Arc::clone(&task);
            thread::spawn(move || {
                assert_eq!(task.state.start_poll(), Start::Poll);
                task.complete(7);
            })
        };
        // Twice, as when it is polled again before it was woken.
        if !task.register() && !task.register() {
            let mut woken = task.joiner_woken.lock().unwrap();
            while !*woken {
                woken = task.joiner.wait(woken).unwrap();
            }
            assert!(task.state.is_complete());
        }
        assert_eq!(task.drop_output(), 7);
        runner.join().unwrap();
    });
}

/// The handle goes while the task completes: one of the two drops the output, one clears the cell.
#[test]
fn a_dropped_handle_leaves_the_output_to_exactly_one() {
    check(3, || {
        let task = Task::new();
        let registered = !task.register();
        assert!(registered);
        let runner = {
            let task = Arc::clone(&task);
            thread::spawn(move || {
                assert_eq!(task.state.start_poll(), Start::Poll);
                task.complete(7);
            })
        };
        match task.state.drop_join_interest() {
            Join::Pending => task.clear_join_waker(),
            Join::Complete => assert_eq!(task.drop_output(), 7),
        }
        runner.join().unwrap();
        // SAFETY: both threads are done.
        task.output
            .with(|output| unsafe { assert_eq!(*output, None) });
        // SAFETY: as above.
        task.join_waker.with(|waker| unsafe { assert!(!*waker) });
    });
}

/// An abort, a wake and shutdown race: the future is dropped once, by one thread at a time.
#[test]
fn a_cancelled_task_ends_once() {
    check(3, || {
        let task = Task::new_idle();
        let aborter = {
            let task = Arc::clone(&task);
            thread::spawn(move || {
                if task.state.abort() == Schedule::Push {
                    task.push();
                }
            })
        };
        let shutdown = {
            let task = Arc::clone(&task);
            thread::spawn(move || {
                if task.state.claim_to_cancel() {
                    task.drops.fetch_add(1, Relaxed);
                    task.complete(1);
                }
            })
        };
        // The worker: runs what the aborter queued, if anything.
        aborter.join().unwrap();
        if *task.queue.lock().unwrap() == 1 {
            match task.state.start_poll() {
                Start::Gone => {}
                Start::Cancel => {
                    task.drops.fetch_add(1, Relaxed);
                    task.complete(2);
                }
                Start::Poll => panic!("an aborted task is not polled"),
            }
        }
        shutdown.join().unwrap();
        assert_eq!(task.drops.load(Relaxed), 1);
        assert!(task.state.is_complete());
    });
}

/// An abort that lands during a poll ends the task after it.
#[test]
fn an_abort_during_a_poll_is_seen_by_that_poll() {
    check(3, || {
        let task = Task::new();
        assert_eq!(task.state.start_poll(), Start::Poll);
        let aborter = {
            let task = Arc::clone(&task);
            thread::spawn(move || {
                if task.state.abort() == Schedule::Push {
                    task.push();
                }
            })
        };
        task.touch_future();
        match task.state.finish_pending(false, false) {
            Pause::Cancel => task.complete(1),
            Pause::Idle => {
                task.pop();
                assert_eq!(task.state.start_poll(), Start::Cancel);
                task.complete(1);
            }
            Pause::Requeue => panic!("an abort is more than a wake"),
        }
        aborter.join().unwrap();
        assert!(task.state.is_complete());
    });
}

/// Three owners let go at the same time: one frees, and sees what the others did.
#[test]
fn the_last_reference_frees_once_and_sees_all() {
    check(3, || {
        let task = Arc::new(State::new());
        // Each owner writes its own place; the one that frees reads them all.
        let places: Arc<[UnsafeCell<usize>; 3]> =
            Arc::new([UnsafeCell::new(0), UnsafeCell::new(0), UnsafeCell::new(0)]);
        let owners: Vec<_> = (0..3)
            .map(|owner| {
                let (task, places) = (Arc::clone(&task), Arc::clone(&places));
                thread::spawn(move || {
                    // SAFETY: the place is this owner's until it lets go.
                    places[owner].with_mut(|place| unsafe { *place = 1 });
                    let last = task.ref_dec(1);
                    if last {
                        for place in &*places {
                            // SAFETY: the last owner has everything; loom checks it.
                            place.with(|place| unsafe { assert_eq!(*place, 1) });
                        }
                    }
                    last
                })
            })
            .collect();
        let freed = owners
            .into_iter()
            .filter_map(|owner| owner.join().unwrap().then_some(()))
            .count();
        assert_eq!(freed, 1);
    });
}

//! Children that end, scopes that close, and a holder that is aborted, under every interleaving.

#![expect(unsafe_code, reason = "the model reads the cells that the words guard")]

use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::Relaxed;
use loom::sync::{Arc, Mutex, Notify};
use loom::thread;

use crate::primitive::check;
use crate::task::{Held, Start, State};

use super::Tally;

/// Who waits for a scope.
enum Waiter {
    Future,
    Holder,
}

/// A scope, and what its children leave: a write that whoever sees the end of the scope must see.
struct Scope {
    tally: Mutex<Tally<Waiter>>,
    /// Children that are linked, for an abort to find.
    linked: Mutex<usize>,
    dropped: [UnsafeCell<usize>; 2],
    told: Notify,
}

impl Scope {
    fn new(children: usize) -> Self {
        let mut tally = Tally::new();
        for _ in 0..children {
            assert!(tally.join());
        }
        Scope {
            tally: Mutex::new(tally),
            linked: Mutex::new(0),
            dropped: [UnsafeCell::new(0), UnsafeCell::new(0)],
            told: Notify::new(),
        }
    }

    /// A child's future is dropped.
    fn drop_child(&self, child: usize) {
        // SAFETY: the place is the child's own until it has left; loom checks it.
        self.dropped[child].with_mut(|dropped| unsafe { *dropped = 1 });
    }

    fn leave(&self) -> Option<Waiter> {
        self.tally.lock().unwrap().leave()
    }

    /// The scope's future waits, or sees that there is nothing to wait for.
    fn wait(&self) -> bool {
        self.tally.lock().unwrap().wait(Waiter::Future).is_ok()
    }

    fn dropped(&self, child: usize) -> usize {
        // SAFETY: the child has left; loom checks that this is known here.
        self.dropped[child].with(|dropped| unsafe { *dropped })
    }
}

/// A task that drops the futures of two scopes, which have children.
struct Task {
    state: State,
    scopes: [Scope; 2],
    /// Written by the thread that ran the body, read by the one that completes.
    output: UnsafeCell<usize>,
    completions: AtomicUsize,
}

impl Task {
    /// With so many children in either scope.
    fn new(children: [usize; 2]) -> Self {
        let state = State::new();
        assert_eq!(state.start_poll(), Start::Poll);
        Task {
            state,
            scopes: children.map(Scope::new),
            output: UnsafeCell::new(0),
            completions: AtomicUsize::new(0),
        }
    }

    /// As `Node::abandon`, called by the thread that has `RUNNING`.
    fn abandon(&self, scope: &Scope) {
        {
            let mut tally = scope.tally.lock().unwrap();
            tally.close();
            if tally.end_if_empty().is_ok() {
                return;
            }
        }
        self.state.add_hold();
        let waited = scope.tally.lock().unwrap().wait(Waiter::Holder);
        if waited.is_err() {
            self.drop_hold();
        }
    }

    fn drop_hold(&self) {
        if self.state.drop_hold() == Held::No {
            self.finish();
        }
    }

    /// As `TaskRef::complete`.
    fn complete(&self) {
        // SAFETY: this thread has RUNNING.
        self.output.with_mut(|output| unsafe { *output = 1 });
        if self.state.may_be_held() && self.state.start_completing() == Held::Yes {
            return;
        }
        self.finish();
    }

    fn finish(&self) {
        // SAFETY: whoever completes the task has its output; loom checks it.
        self.output.with(|output| unsafe { assert_eq!(*output, 1) });
        self.completions.fetch_add(1, Relaxed);
        let _ = self.state.complete();
    }

    /// A child of one of the scopes ends.
    fn end_child(&self, scope: usize, child: usize) {
        let scope = &self.scopes[scope];
        scope.drop_child(child);
        if let Some(Waiter::Holder) = scope.leave() {
            self.drop_hold();
        }
    }
}

/// The holder is dropped while its children end; somebody looks whether it has ended, and shutdown
/// tries to end it.
#[test]
fn a_held_task_completes_once_and_after_its_children() {
    check(3, || {
        let task = Arc::new(Task::new([1, 1]));
        let children: Vec<_> = (0..2)
            .map(|scope| {
                let task = Arc::clone(&task);
                thread::spawn(move || task.end_child(scope, 0))
            })
            .collect();
        for scope in &task.scopes {
            task.abandon(scope);
        }
        task.complete();
        assert!(!task.state.claim_to_cancel());
        if task.state.is_complete() {
            for scope in &task.scopes {
                assert_eq!(scope.dropped(0), 1);
            }
        }
        for child in children {
            child.join().unwrap();
        }
        assert!(task.state.is_complete());
        assert_eq!(task.completions.load(Relaxed), 1);
    });
}

/// The same with two children in one scope.
#[test]
fn a_held_task_completes_after_both_children_of_a_scope() {
    check(3, || {
        let task = Arc::new(Task::new([2, 0]));
        let children: Vec<_> = (0..2)
            .map(|child| {
                let task = Arc::clone(&task);
                thread::spawn(move || task.end_child(0, child))
            })
            .collect();
        task.abandon(&task.scopes[0]);
        task.complete();
        if task.state.is_complete() {
            for child in 0..2 {
                assert_eq!(task.scopes[0].dropped(child), 1);
            }
        }
        for child in children {
            child.join().unwrap();
        }
        assert_eq!(task.completions.load(Relaxed), 1);
    });
}

/// The same, seen from the handle: what the children did is visible to whoever sees the end.
#[test]
fn who_sees_the_end_sees_what_the_children_did() {
    check(3, || {
        let task = Arc::new(Task::new([1, 1]));
        for scope in &task.scopes {
            task.abandon(scope);
        }
        let children: Vec<_> = (0..2)
            .map(|scope| {
                let task = Arc::clone(&task);
                thread::spawn(move || task.end_child(scope, 0))
            })
            .collect();
        task.complete();
        if task.state.is_complete() {
            for scope in &task.scopes {
                assert_eq!(scope.dropped(0), 1);
            }
        }
        for child in children {
            child.join().unwrap();
        }
    });
}

/// The scope's future waits for two children that end.
#[test]
fn a_scopes_future_is_told_once_and_after_the_last_child() {
    check(3, || {
        let scope = Arc::new(Scope::new(2));
        let children: Vec<_> = (0..2)
            .map(|child| {
                let scope = Arc::clone(&scope);
                thread::spawn(move || {
                    scope.drop_child(child);
                    if let Some(Waiter::Future) = scope.leave() {
                        scope.told.notify();
                    }
                })
            })
            .collect();
        while scope.wait() {
            scope.told.wait();
        }
        for child in 0..2 {
            assert_eq!(scope.dropped(child), 1);
        }
        assert!(!scope.tally.lock().unwrap().join(), "it is over");
        for child in children {
            child.join().unwrap();
        }
    });
}

/// A spawn races the abort: the child is refused, or the abort finds it and ends it.
#[test]
fn a_child_is_refused_or_found_by_the_abort() {
    check(3, || {
        let scope = Arc::new(Scope::new(0));
        let spawner = {
            let scope = Arc::clone(&scope);
            thread::spawn(move || {
                let mut tally = scope.tally.lock().unwrap();
                if tally.join() {
                    *scope.linked.lock().unwrap() += 1;
                }
            })
        };
        let found = {
            let mut tally = scope.tally.lock().unwrap();
            tally.close();
            *scope.linked.lock().unwrap()
        };
        for _ in 0..found {
            assert!(scope.leave().is_none());
        }
        spawner.join().unwrap();
        assert!(scope.tally.lock().unwrap().end_if_empty().is_ok());
    });
}

//! The flavour without threads, over a driver that is one condition variable.

use std::sync::{Condvar, Mutex};

use super::CurrentThread;
use crate::driver::{Driver, Wait};
use crate::pool::Config;
use crate::{block_on, yield_now};

/// A driver without events: only kicks end a wait.
#[derive(Default)]
struct Kicks(Mutex<bool>, Condvar);

impl Driver for Kicks {
    fn poll(&self, _: usize, wait: Wait) -> usize {
        let mut kicked = self.0.lock().unwrap();
        while !*kicked && wait == Wait::Forever {
            kicked = self.1.wait(kicked).unwrap();
        }
        *kicked = false;
        0
    }

    fn dispatch(&self, _: usize) -> usize {
        0
    }

    fn kick(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

fn current() -> CurrentThread {
    CurrentThread::new(Config::new("test", "io", 1), Box::<Kicks>::default())
}

#[test]
fn tasks_run_while_a_thread_blocks() {
    let current = current();
    let here = std::thread::current().id();
    let task = current.spawn(
        async move {
            yield_now().await;
            std::thread::current().id()
        },
        std::panic::Location::caller(),
    );
    assert_eq!(current.block_on(task, false).unwrap(), here);
}

#[test]
fn a_wake_from_another_thread_ends_the_sleep() {
    let current = current();
    for _ in 0..100 {
        let thread = std::thread::spawn(|| 7);
        let task = crate::blocking::Blocking::new(crate::BlockingConfig {
            name: "test".into(),
            max_threads: 1,
            keep_alive: std::time::Duration::ZERO,
            stack_size: None,
            hooks: crate::Hooks::default(),
        });
        let job = task.spawn(
            crate::Lane::User,
            move || thread.join().unwrap(),
            std::panic::Location::caller(),
        );
        assert_eq!(current.block_on(job, false).unwrap(), 7);
    }
}

#[test]
fn two_threads_that_block_both_end() {
    let current = std::sync::Arc::new(current());
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let current = std::sync::Arc::clone(&current);
            std::thread::spawn(move || {
                for _ in 0..200 {
                    let task = current.spawn(
                        async move {
                            yield_now().await;
                            i
                        },
                        std::panic::Location::caller(),
                    );
                    assert_eq!(current.block_on(task, false).unwrap(), i);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn close_cancels_what_waits() {
    let current = current();
    let task = current.spawn(std::future::pending::<()>(), std::panic::Location::caller());
    current.close();
    assert!(block_on(task).unwrap_err().is_cancelled());
}

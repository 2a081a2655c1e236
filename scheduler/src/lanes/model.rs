//! Every interleaving of threads that push, work, wait, give up waiting, and end.

use std::sync::Arc;

use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::SeqCst;
use loom::sync::{Condvar, Mutex};
use loom::thread;

use crate::primitive::check;

use super::{Call, Lane, Lanes};

/// The account as `blocking.rs` uses it.
struct Pool {
    lanes: Mutex<Lanes<u32>>,
    work: Condvar,
    /// Jobs that run, and the most that ever did.
    running: AtomicUsize,
    done: AtomicUsize,
    limit: usize,
    /// Each job waits until so many have come.
    meet: usize,
    came: (Mutex<usize>, Condvar),
    /// Idle threads give up at once.
    impatient: bool,
}

impl Pool {
    fn new(limit: usize, meet: usize, impatient: bool) -> Arc<Self> {
        let most = limit.max(meet);
        Arc::new(Pool {
            meet,
            came: (Mutex::new(0), Condvar::new()),
            lanes: Mutex::new(Lanes::new(limit)),
            work: Condvar::new(),
            running: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            limit: most,
            impatient,
        })
    }

    fn push(self: &Arc<Self>, lane: Lane) -> Option<thread::JoinHandle<()>> {
        let mut lanes = self.lanes.lock().unwrap();
        let call = lanes.push(lane, 0).unwrap();
        self.call(call)
    }

    fn call(self: &Arc<Self>, call: Call) -> Option<thread::JoinHandle<()>> {
        match call {
            Call::Nobody => None,
            Call::Wake => {
                self.work.notify_one();
                None
            }
            Call::Start => {
                let pool = Arc::clone(self);
                Some(thread::spawn(move || pool.run()))
            }
        }
    }

    fn run(self: &Arc<Self>) {
        let mut started = Vec::new();
        let mut lanes = self.lanes.lock().unwrap();
        loop {
            if let Some((lane, _)) = lanes.take() {
                drop(lanes);
                assert!(self.running.fetch_add(1, SeqCst) < self.limit);
                self.wait_for_the_others();
                self.running.fetch_sub(1, SeqCst);
                self.done.fetch_add(1, SeqCst);
                lanes = self.lanes.lock().unwrap();
                let call = lanes.done(lane);
                started.extend(self.call(call));
                continue;
            }
            if lanes.is_closed() {
                break;
            }
            lanes.rest();
            if self.impatient {
                // The wait that times out: others have their say in between.
                drop(lanes);
                thread::yield_now();
                lanes = self.lanes.lock().unwrap();
                if lanes.answer() {
                    continue;
                }
                lanes.stir();
                break;
            }
            while !lanes.answer() {
                if lanes.is_closed() {
                    lanes.stir();
                    break;
                }
                lanes = self.work.wait(lanes).unwrap();
            }
        }
        assert!(lanes.idle() <= lanes.threads());
        lanes.leave();
        drop(lanes);
        for thread in started {
            thread.join().unwrap();
        }
    }

    fn wait_for_the_others(&self) {
        let (came, more) = &self.came;
        let mut came = came.lock().unwrap();
        *came += 1;
        more.notify_all();
        while *came < self.meet {
            came = more.wait(came).unwrap();
        }
    }

    fn close(&self) -> usize {
        let left = self.lanes.lock().unwrap().close();
        self.work.notify_all();
        left.len()
    }
}

fn join(threads: impl IntoIterator<Item = Option<thread::JoinHandle<()>>>) {
    for thread in threads.into_iter().flatten() {
        thread.join().unwrap();
    }
}

#[test]
fn a_job_never_waits_beside_a_thread_that_gives_up() {
    check(3, || {
        let pool = Pool::new(1, 0, true);
        let first = pool.push(Lane::User);
        let second = pool.push(Lane::User);
        join([first, second]);
        assert_eq!(pool.done.load(SeqCst), 2, "a job was left");
        let lanes = pool.lanes.lock().unwrap();
        assert_eq!((lanes.threads(), lanes.idle()), (0, 0));
    });
}

#[test]
fn jobs_from_two_threads_find_as_many_threads_as_they_may_have() {
    check(2, || {
        let pool = Pool::new(2, 2, true);
        let other = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || join([pool.push(Lane::User)]))
        };
        join([pool.push(Lane::User)]);
        other.join().unwrap();
        assert_eq!(pool.done.load(SeqCst), 2, "a job was left");
        assert_eq!(pool.lanes.lock().unwrap().idle(), 0);
    });
}

#[test]
fn a_lookup_and_a_file_do_not_wait_for_one_another() {
    check(2, || {
        let pool = Pool::new(1, 2, true);
        // Each waits for the other, though only one thread is allowed for.
        let lookup = pool.push(Lane::Dns);
        let file = pool.push(Lane::Files);
        join([lookup, file]);
        assert_eq!(pool.done.load(SeqCst), 2, "a job was left");
    });
}

#[test]
fn waiting_threads_take_every_job_until_the_end() {
    check(2, || {
        let pool = Pool::new(2, 0, false);
        let first = pool.push(Lane::User);
        let second = pool.push(Lane::User);
        let left = pool.close();
        join([first, second]);
        assert_eq!(pool.done.load(SeqCst) + left, 2, "a job was left");
        assert_eq!(pool.lanes.lock().unwrap().idle(), 0);
    });
}

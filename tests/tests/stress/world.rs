//! What all that runs in one round shares: the runtime, the books, and the plain threads outside.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::thread;

use rt::Handle;
use rt::task::{AbortHandle, JoinError, JoinHandle};
use rt_tests::{Census, Counted};
use tokio::sync::Semaphore;

use super::chance::Chance;

/// Handles and wakers that a plain thread keeps, to use them again when their task has long ended.
const KEPT: usize = 100;

/// Detached tasks beyond this are waited for, so that no round drowns in its own work.
const CROWD: usize = 3000;

/// Connections at a time.
const CONNECTIONS: usize = 64;

/// Tasks at a time that block their worker until other tasks of the same pool have run: a pool of
/// one worker has eight spares for them.
const BLOCKED: usize = 4;

/// What was made and must end.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// Held by the futures of spawned tasks.
    pub(crate) futures: Census,
    /// What these, and jobs, give to their handles.
    pub(crate) outputs: Census,
    /// Held by the closures of blocking jobs.
    pub(crate) jobs: Census,
    /// Sent through channels.
    pub(crate) messages: Census,
    /// Thrown.
    pub(crate) panics: Census,
}

impl Books {
    /// What there is more or less of than there should be when all has ended.
    pub(crate) fn imbalance(&self) -> Vec<String> {
        let books = [
            ("futures", &self.futures),
            ("outputs", &self.outputs),
            ("jobs", &self.jobs),
            ("messages", &self.messages),
            ("panics", &self.panics),
        ];
        let open = books.iter().filter(|(_, c)| c.made() != c.dropped());
        open.map(|(name, c)| format!("{} {name} made, {} dropped", c.made(), c.dropped()))
            .collect()
    }
}

/// The payload of a panic that is part of the test.
#[derive(Debug)]
pub(crate) struct Deliberate {
    pub(crate) _counted: Counted,
}

/// For the threads that strike at tasks from outside.
enum Strike {
    Abort(AbortHandle),
    Wake(Arc<AtomicBool>, Waker),
    End,
}

/// For the threads that wait for tasks from outside.
enum Wait {
    Join(JoinHandle<Counted>),
    End,
}

/// One round's.
pub(crate) struct World {
    pub(crate) handle: Handle,
    /// Whether the IO pool has threads of its own.
    pub(crate) has_workers: bool,
    pub(crate) books: Books,
    /// Where the echo server listens.
    pub(crate) server: SocketAddr,
    pub(crate) connections: Semaphore,
    pub(crate) blocked: Semaphore,
    /// A lock that everybody wants.
    pub(crate) contended: tokio::sync::Mutex<usize>,
    /// Wakers of tasks that may have ended.
    wakers: Mutex<VecDeque<Waker>>,
    strikers: Vec<Sender<Strike>>,
    waiters: Vec<Sender<Wait>>,
    /// Handles that the waiters have not come to yet.
    waiting: Arc<AtomicUsize>,
    stopped: AtomicBool,
    cut: AtomicBool,
}

/// The plain threads of a round.
pub(crate) struct Outside(Vec<thread::JoinHandle<()>>);

impl World {
    pub(crate) fn new(
        handle: &Handle,
        has_workers: bool,
        server: SocketAddr,
        chance: &mut Chance,
    ) -> (Arc<World>, Outside) {
        let mut threads = Vec::new();
        let waiting = Arc::new(AtomicUsize::new(0));
        let strikers = (0..2).map(|_| {
            let (sender, receiver) = mpsc::channel();
            let (handle, chance) = (handle.clone(), chance.child());
            threads.push(thread::spawn(move || strike(&handle, &receiver, chance)));
            sender
        });
        let strikers = strikers.collect();
        let (sender, receiver) = mpsc::channel();
        let waiters = vec![sender];
        let (outside, left) = (handle.clone(), Arc::clone(&waiting));
        threads.push(thread::spawn(move || wait(&outside, &receiver, &left)));
        let world = World {
            handle: handle.clone(),
            has_workers,
            books: Books::default(),
            server,
            connections: Semaphore::new(CONNECTIONS),
            blocked: Semaphore::new(BLOCKED),
            contended: tokio::sync::Mutex::new(0),
            wakers: Mutex::default(),
            strikers,
            waiters,
            waiting,
            stopped: AtomicBool::new(false),
            cut: AtomicBool::new(false),
        };
        (Arc::new(world), Outside(threads))
    }

    /// The actors end when they have done what they are at.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, SeqCst);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(SeqCst)
    }

    /// The runtime ends from here on: what fails may fail for that.
    pub(crate) fn cut(&self) {
        self.cut.store(true, SeqCst);
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut.load(SeqCst)
    }

    /// Fails, unless the runtime ends.
    pub(crate) fn excuse(&self, what: &str, error: &io::Error) {
        assert!(self.is_cut(), "{what}: {error}");
    }

    pub(crate) fn is_crowded(&self) -> bool {
        self.books.futures.alive() + self.waiting.load(Relaxed) > CROWD
    }

    /// Looks at what a handle gave: a value, a panic of ours, or nothing if it was aborted.
    pub(crate) fn check(&self, result: Result<Counted, JoinError>, aborted: bool) {
        let Err(error) = result else { return };
        match error.try_into_panic() {
            Ok(payload) => assert!(payload.is::<Deliberate>() || self.is_cut()),
            Err(error) => assert!(aborted || self.is_cut(), "nobody aborted it: {error}"),
        }
    }

    /// Lets a plain thread abort a task: at once, and again later.
    pub(crate) fn abort_outside(&self, task: AbortHandle, chance: &mut Chance) {
        let striker = &self.strikers[chance.below(self.strikers.len())];
        let _ = striker.send(Strike::Abort(task));
    }

    /// Lets a plain thread set the flag and wake: at once, and again later.
    pub(crate) fn wake_outside(&self, flag: &Arc<AtomicBool>, waker: Waker, number: usize) {
        let striker = &self.strikers[number % self.strikers.len()];
        let _ = striker.send(Strike::Wake(Arc::clone(flag), waker));
    }

    /// Lets a plain thread wait for a task.
    pub(crate) fn wait_outside(&self, task: JoinHandle<Counted>, chance: &mut Chance) {
        self.waiting.fetch_add(1, Relaxed);
        let waiter = &self.waiters[chance.below(self.waiters.len())];
        let _ = waiter.send(Wait::Join(task));
    }

    /// Whether the plain threads wait for no task.
    pub(crate) fn nobody_waits(&self) -> bool {
        self.waiting.load(SeqCst) == 0
    }

    /// Keeps a waker for whoever calls this later, and wakes one that somebody else has left.
    pub(crate) fn swap_wakers(&self, waker: Waker) {
        let mut wakers = self.wakers.lock().unwrap();
        wakers.push_back(waker);
        let old = (wakers.len() > KEPT).then(|| wakers.pop_front());
        drop(wakers);
        if let Some(old) = old.flatten() {
            old.wake();
        }
    }

    /// Wakes and drops all that are kept.
    pub(crate) fn wake_all(&self) {
        let wakers = std::mem::take(&mut *self.wakers.lock().unwrap());
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Ends the plain threads. The runtime is gone.
    pub(crate) fn leave(&self, outside: Outside) {
        for striker in &self.strikers {
            let _ = striker.send(Strike::End);
        }
        for waiter in &self.waiters {
            let _ = waiter.send(Wait::End);
        }
        for thread in outside.0 {
            thread.join().expect("a thread outside");
        }
    }
}

fn strike(handle: &Handle, strikes: &Receiver<Strike>, mut chance: Chance) {
    let (mut aborted, mut woken) = (VecDeque::new(), VecDeque::new());
    while let Ok(strike) = strikes.recv() {
        match strike {
            Strike::Abort(task) => {
                task.abort();
                aborted.push_back(task);
            }
            Strike::Wake(flag, waker) => {
                flag.store(true, SeqCst);
                waker.wake_by_ref();
                woken.push_back(waker);
            }
            Strike::End => break,
        }
        if aborted.len() > KEPT {
            let task: Option<AbortHandle> = aborted.pop_front();
            task.expect("there are some").abort();
        }
        if woken.len() > KEPT {
            let waker: Option<Waker> = woken.pop_front();
            let waker = waker.expect("there are some");
            match chance.below(3) {
                0 => waker.wake(),
                1 => waker.wake_by_ref(),
                _ => {
                    let copy = waker.clone();
                    drop(waker);
                    copy.wake();
                }
            }
        }
    }
    // The runtime is gone, and so are its tasks.
    for task in aborted {
        assert!(task.is_finished());
        task.abort();
    }
    woken.into_iter().for_each(Waker::wake);
    assert!(handle.spawn(async {}).is_finished());
}

/// What it gets is not looked at: others do that, and know whether it may have been aborted.
fn wait(handle: &Handle, tasks: &Receiver<Wait>, left: &AtomicUsize) {
    while let Ok(Wait::Join(task)) = tasks.recv() {
        let _ = handle.block_on(task);
        left.fetch_sub(1, SeqCst);
    }
}

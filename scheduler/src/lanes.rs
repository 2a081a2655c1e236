//! The account of the blocking threads: which job may run, and who runs it.
//!
//! Jobs come in lanes. All lanes share the threads, but no lane can take all of them from another
//! for good, however slow its jobs are:
//!
//! * a job may run while fewer jobs than the limit do, and always if its lane has none that runs: so
//!   there may be one job more than the limit for each lane but one;
//! * lookups, which may hang for half a minute each, are limited to half of the threads.
//!
//! Among the jobs that may run the oldest goes first.
//!
//! # States
//!
//! A job *waits* in its lane, is *ready* when it has been admitted, and is taken by a thread. A
//! thread *works*, or is *idle*, or is *on its way*: started or claimed, or between two jobs. A
//! thread on its way takes a ready job before it becomes idle.
//!
//! # Invariants
//!
//! * **L1** A job that may run does not wait.
//! * **L2** There are as many threads on their way as ready jobs, or more, unless the system has
//!   refused a thread. Whoever pushes or ends a job then asks again: [`Lanes::catch_up`].
//! * **L3** A claimed thread is not idle: it is not claimed twice.
//! * **L4** There are no more threads than jobs were admitted at one time.
//!
//! Each method is one step under the caller's lock, and leaves them true; "push" and "wake an idle
//! thread, or start one" are one of them. What it answers is to be done before anything else.

use std::collections::VecDeque;
use std::fmt;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

/// What kind of call a job is; each kind has a queue of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// What the user calls.
    User,
    /// Files.
    Files,
    /// Names to look up.
    Dns,
}

/// Room for so many jobs stays when a queue is empty.
const KEPT_CAPACITY: usize = 1024;

impl Lane {
    pub(crate) const ALL: [Lane; 3] = [Lane::User, Lane::Files, Lane::Dns];
}

/// What the caller of a step owes.
#[must_use = "the job waits for that thread"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Nothing.
    Nobody,
    /// Wake one waiting thread: one is claimed.
    Wake,
    /// Start a thread. If that fails, say so: [`Lanes::not_started`].
    Start,
}

/// The lanes and the threads.
pub(crate) struct Lanes<T> {
    queues: [Queue<T>; 3],
    ready: VecDeque<(Lane, T)>,
    /// The limit for all lanes together.
    limit: usize,
    /// Jobs that are ready or run.
    admitted: usize,
    threads: usize,
    idle: usize,
    /// Claims that no idle thread has answered yet.
    claims: usize,
    /// Jobs so far: their order across the lanes.
    pushed: u64,
    closed: bool,
}

struct Queue<T> {
    waiting: VecDeque<(u64, T)>,
    limit: usize,
    admitted: usize,
}

impl<T> Lanes<T> {
    /// No thread and no job yet.
    pub(crate) fn new(limit: usize) -> Self {
        let queue = |limit| Queue {
            waiting: VecDeque::new(),
            limit,
            admitted: 0,
        };
        Lanes {
            queues: [queue(limit), queue(limit), queue((limit / 2).max(1))],
            ready: VecDeque::new(),
            limit,
            admitted: 0,
            threads: 0,
            idle: 0,
            claims: 0,
            pushed: 0,
            closed: false,
        }
    }

    /// Adds a job. `Err` once closed.
    pub(crate) fn push(&mut self, lane: Lane, job: T) -> Result<Call, T> {
        if self.closed {
            return Err(job);
        }
        self.pushed += 1;
        let ticket = self.pushed;
        self.queues[lane as usize].waiting.push_back((ticket, job));
        Ok(if self.admit() {
            self.call()
        } else {
            Call::Nobody
        })
    }

    /// A thread for a ready job that was left without one when the system refused it.
    pub(crate) fn catch_up(&mut self) -> Call {
        if self.threads - self.idle < self.admitted {
            return self.call();
        }
        Call::Nobody
    }

    /// Takes a job for a thread that is on its way.
    pub(crate) fn take(&mut self) -> Option<(Lane, T)> {
        self.ready.pop_front()
    }

    /// A thread has done a job of `lane`, and is on its way again.
    pub(crate) fn done(&mut self, lane: Lane) -> Call {
        self.admitted -= 1;
        self.queues[lane as usize].admitted -= 1;
        // One in its place, which is this thread's own; and the next of its lane, if that was the
        // lane's only one and a job of another lane has got the place.
        if self.admit() && self.admit() {
            debug_assert!(!self.may_admit(), "one end admits two jobs at most");
            return self.call();
        }
        Call::Nobody
    }

    /// A thread has found no job: it is idle from now on.
    pub(crate) fn rest(&mut self) {
        self.idle += 1;
    }

    /// Whether an idle thread is claimed; then it is on its way.
    pub(crate) fn answer(&mut self) -> bool {
        let claimed = self.claims > 0;
        self.claims -= usize::from(claimed);
        claimed
    }

    /// An idle thread that was not claimed stops waiting; it must [`leave`](Lanes::leave) in the
    /// same step, or take a job if there is one.
    pub(crate) fn stir(&mut self) {
        self.idle -= 1;
    }

    /// A thread that has found no job, and waits no longer, ends.
    pub(crate) fn leave(&mut self) {
        self.threads -= 1;
    }

    /// The system has refused the thread that was to be started. The job is given back if there is
    /// no other thread that will come to it.
    #[must_use = "the job must be ended"]
    pub(crate) fn not_started(&mut self) -> Option<T> {
        self.threads -= 1;
        if self.threads > 0 {
            return None;
        }
        let (lane, job) = self.ready.pop_back()?;
        self.admitted -= 1;
        self.queues[lane as usize].admitted -= 1;
        Some(job)
    }

    /// Refuses jobs from now on, and gives back all that no thread has taken.
    #[must_use = "the jobs must be ended"]
    pub(crate) fn close(&mut self) -> Vec<T> {
        self.closed = true;
        let mut left = Vec::new();
        for (lane, job) in self.ready.drain(..) {
            self.admitted -= 1;
            self.queues[lane as usize].admitted -= 1;
            left.push(job);
        }
        for queue in &mut self.queues {
            left.extend(queue.waiting.drain(..).map(|(_, job)| job));
        }
        left
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Threads that have not left.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Threads that nobody has claimed.
    pub(crate) fn idle(&self) -> usize {
        self.idle
    }

    /// The jobs of a lane that no thread has taken.
    pub(crate) fn queued(&self, lane: Lane) -> impl Iterator<Item = &T> {
        let ready = self.ready.iter().filter(move |(of, _)| *of == lane);
        let waiting = self.queues[lane as usize].waiting.iter();
        ready.map(|(_, job)| job).chain(waiting.map(|(_, job)| job))
    }

    /// How many jobs wait, are ready, or run.
    pub(crate) fn unfinished(&self) -> usize {
        let waiting = self.queues.iter().map(|queue| queue.waiting.len());
        self.admitted + waiting.sum::<usize>()
    }

    /// How many jobs there have been.
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed
    }

    /// How many jobs of a lane wait.
    pub(crate) fn waiting(&self, lane: Lane) -> usize {
        self.queues[lane as usize].waiting.len()
    }

    /// Drops the waiting jobs of a lane that `keep` does not want, and returns them.
    #[must_use = "the jobs must be ended"]
    pub(crate) fn weed(&mut self, lane: Lane, mut keep: impl FnMut(&T) -> bool) -> Vec<T> {
        let waiting = &mut self.queues[lane as usize].waiting;
        let (kept, dropped): (VecDeque<_>, VecDeque<_>) = std::mem::take(waiting)
            .into_iter()
            .partition(|(_, job)| keep(job));
        *waiting = kept;
        dropped.into_iter().map(|(_, job)| job).collect()
    }

    /// The lane whose first job may run and is the oldest of those.
    fn next_lane(&self) -> Option<Lane> {
        let may_run = |lane: &Lane| {
            let queue = &self.queues[*lane as usize];
            queue.admitted < queue.limit && (self.admitted < self.limit || queue.admitted == 0)
        };
        let first = |lane: Lane| {
            let (ticket, _) = self.queues[lane as usize].waiting.front()?;
            Some((*ticket, lane))
        };
        let lanes = Lane::ALL.into_iter().filter(may_run);
        let (_, lane) = lanes.filter_map(first).min_by_key(|(ticket, _)| *ticket)?;
        Some(lane)
    }

    fn may_admit(&self) -> bool {
        self.next_lane().is_some()
    }

    /// Makes the oldest job that may run ready.
    fn admit(&mut self) -> bool {
        let Some(lane) = self.next_lane() else {
            return false;
        };
        let queue = &mut self.queues[lane as usize];
        let Some((_, job)) = queue.waiting.pop_front() else {
            return false;
        };
        queue.admitted += 1;
        if queue.waiting.is_empty() && queue.waiting.capacity() > KEPT_CAPACITY {
            queue.waiting = VecDeque::new();
        }
        self.admitted += 1;
        self.ready.push_back((lane, job));
        true
    }

    /// Finds a thread for a job that has just become ready.
    fn call(&mut self) -> Call {
        if self.idle > 0 {
            self.idle -= 1;
            self.claims += 1;
            Call::Wake
        } else if self.threads < self.admitted {
            self.threads += 1;
            Call::Start
        } else {
            // Enough are on their way.
            Call::Nobody
        }
    }
}

impl<T> fmt::Debug for Lanes<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.queues.each_ref().map(|queue| queue.waiting.len());
        f.debug_struct("Lanes")
            .field("waiting", &waiting)
            .field("ready", &self.ready.len())
            .field("admitted", &self.admitted)
            .field("threads", &self.threads)
            .field("idle", &self.idle)
            .field("claims", &self.claims)
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}

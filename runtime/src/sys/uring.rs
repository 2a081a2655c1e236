//! The ring: file operations that the kernel does by itself, and reports through an eventfd in the
//! epoll set.
//!
//! An [`Op`] is in the kernel's hands from [`Ring::start`] on. What it reads from or writes to belongs
//! to a [`Request`], which stays in one place in memory until the kernel has answered: it is kept by
//! the `Op` while somebody waits, and by the ring once the `Op` is dropped.
//!
//! # States of an operation
//!
//! **waiting** → (the kernel answers) → **done** → (polled) → gone; or **waiting** → (the `Op` is
//! dropped) → **abandoned** → (the kernel answers) → finished by whoever hears of it, so that a file
//! that was opened for nobody is closed again.
//!
//! # Invariants
//!
//! * **U1** A request in the kernel's hands is neither moved nor dropped. An operation is in them from
//!   the push of its entry until its completion has been taken out of the ring.
//! * **U2** `in_flight` counts the entries whose completion has not been taken out. It exceeds the
//!   completion queue by cancellations at most; what else comes beyond it queues in `backlog`.
//! * **U3** Wakers are woken, and requests finished, without the lock.
//!
//! # Hearing of completions
//!
//! The kernel makes an edge on the eventfd after each completion. The ring's own waker is in the
//! reactor's entry for it; woken, on whatever thread polls, it takes the completions out and wakes the
//! tasks. Whoever starts an operation looks as well, for those that were done at once.
//!
//! # The end
//!
//! [`Ring::close`] refuses further operations, asks the kernel to give up those that somebody waits
//! for, and wakes these. From then on nobody polls the reactor, so an `Op` waits by itself: its answer
//! is near. Writes that nobody waits for any more are let go on.
//!
//! A ring **breaks** if the kernel takes no more entries, as in a process that has locked itself up
//! since. Then it refuses further operations too, and they go the way of kernels that have no ring.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, opcode, squeue};
use parking_lot::Mutex;
use rt_reactor::{Direction, Process, Reactor, Source};

pub(crate) use self::request::{Open, Read, Request, Sync, Write};

use super::eventfd;
use crate::contain::contain;

mod request;
#[cfg(test)]
mod tests;

/// Entries that can be handed over in one call.
const ENTRIES: u32 = 256;
/// Operations that may be under way at a time.
const IN_FLIGHT: u32 = 4096;
/// Names the completions of cancellations, which concern nobody.
const CANCELLATION: u64 = u64::MAX;
/// How often a submission is tried while the kernel is short of memory.
const SUBMISSION_TRIES: u32 = 100;
/// How long the end of a ring waits for the kernel to let go of abandoned buffers.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// One ring. It is shared by all threads of a runtime.
pub(crate) struct Ring {
    state: Mutex<State>,
    source: Source,
    /// What the source watches.
    edges: OwnedFd,
    /// Takes completions out when it is woken.
    reaper: Waker,
    /// The ring's memory is not there in a forked child.
    maker: Process,
}

struct State {
    uring: IoUring,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// U2.
    in_flight: u32,
    limit: u32,
    backlog: VecDeque<squeue::Entry>,
    /// The entries that the kernel has not taken yet, by name. Empty but for the time of a submission.
    handed: VecDeque<u64>,
    closed: bool,
    broken: bool,
}

enum Slot {
    Free,
    Waiting(Option<Waker>),
    Done(i32),
    Abandoned(Box<dyn Finish>),
}

/// A request whose output nobody waits for.
trait Finish: Send {
    fn finish(self: Box<Self>, result: i32);
}

impl<R: Request> Finish for R {
    fn finish(self: Box<Self>, result: i32) {
        drop(Request::finish(*self, to_result(result)));
    }
}

/// The kernel answers with a value, or an error number below zero.
fn to_result(result: i32) -> io::Result<u32> {
    u32::try_from(result).map_err(|_| match -result {
        // With somebody waiting, only the end of the ring cancels.
        libc::ECANCELED => io::Error::other("the runtime has been shut down"),
        number => io::Error::from_raw_os_error(number),
    })
}

/// What is left to do once the lock is released (U3).
#[derive(Default)]
struct Outcome {
    wakers: Vec<Waker>,
    abandoned: Vec<(Box<dyn Finish>, i32)>,
}

impl Outcome {
    fn tell(self) {
        // Foreign code, a waker's or a buffer's: a panic must not keep the others, or the ring, from
        // hearing of what has completed.
        for waker in self.wakers {
            contain(|| waker.wake());
        }
        for (request, result) in self.abandoned {
            contain(|| request.finish(result));
        }
    }
}

/// Wakes by taking completions out.
struct Reaper(Weak<Ring>);

impl Wake for Reaper {
    fn wake(self: Arc<Self>) {
        if let Some(ring) = self.0.upgrade() {
            ring.listen();
        }
    }
}

impl Ring {
    /// Makes a ring whose completions `reactor` reports.
    ///
    /// # Errors
    ///
    /// If the kernel has no `io_uring`, an old one, or refuses it to this process.
    pub(crate) fn new(reactor: &Arc<Reactor>) -> io::Result<Arc<Ring>> {
        Ring::with_limit(reactor, IN_FLIGHT)
    }

    fn with_limit(reactor: &Arc<Reactor>, limit: u32) -> io::Result<Arc<Ring>> {
        let uring = IoUring::builder()
            .setup_cqsize(IN_FLIGHT)
            .dontfork()
            .build(ENTRIES)?;
        check_support(&uring)?;
        let edges = eventfd()?;
        uring.submitter().register_eventfd(edges.as_raw_fd())?;
        let source = reactor.register(edges.as_fd())?;
        let state = State {
            uring,
            slots: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            limit,
            backlog: VecDeque::new(),
            handed: VecDeque::new(),
            closed: false,
            broken: false,
        };
        let ring = Arc::new_cyclic(|ring| Ring {
            state: Mutex::new(state),
            source,
            edges,
            reaper: Arc::new(Reaper(Weak::clone(ring))).into(),
            maker: Process::current(),
        });
        ring.listen();
        Ok(ring)
    }

    /// Takes out what has completed, and waits for more, through the reaper.
    fn listen(&self) {
        let mut cx = Context::from_waker(&self.reaper);
        while let Poll::Ready(Ok(ready)) = self.source.poll_ready(&mut cx, Direction::Read) {
            // First the edge, then the look, so that no later completion goes unnoticed.
            self.source.clear_would_block(ready, Direction::Read);
            let mut outcome = Outcome::default();
            self.state.lock().reap(&mut outcome);
            outcome.tell();
        }
    }

    /// Hands a request to the kernel; back to the caller if the ring takes no more.
    pub(crate) fn start<R: Request>(self: &Arc<Self>, request: R) -> Result<Op<R>, R> {
        if self.maker.is_left() {
            return Err(request);
        }
        let mut request = Box::new(request);
        let entry = request.entry();
        let mut outcome = Outcome::default();
        let mut state = self.state.lock();
        if state.closed || state.broken {
            return Err(*request);
        }
        let index = state.insert();
        state.backlog.push_back(entry.user_data(index as u64));
        state.submit(&mut outcome);
        let refused = state.broken;
        if refused {
            state.remove(index);
        } else {
            state.reap(&mut outcome);
        }
        drop(state);
        outcome.tell();
        if refused {
            return Err(*request);
        }
        Ok(Op {
            ring: Arc::clone(self),
            index,
            request: Some(request),
        })
    }

    /// Whether an operation is under way, or its completion not taken out.
    pub(crate) fn is_busy(&self) -> bool {
        self.state.lock().in_flight > 0
    }

    /// Ends the ring; see the head of this file.
    pub(crate) fn close(&self) {
        let mut outcome = Outcome::default();
        let mut state = self.state.lock();
        state.closed = true;
        state.cancel_awaited(&mut outcome);
        for slot in &mut state.slots {
            if let Slot::Waiting(waker) = slot {
                outcome.wakers.extend(waker.take());
            }
        }
        drop(state);
        outcome.tell();
    }
}

fn is_cancellation(entry: &squeue::Entry) -> bool {
    entry.get_user_data() == CANCELLATION
}

/// Whether the kernel is short of memory, or has completions to get rid of first.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM)
    )
}

/// Whether the kernel has what the requests need, from 5.11 on.
fn check_support(uring: &IoUring) -> io::Result<()> {
    let mut probe = Probe::new();
    uring.submitter().register_probe(&mut probe)?;
    let codes = [
        opcode::Read::CODE,
        opcode::Write::CODE,
        opcode::OpenAt::CODE,
        opcode::Fsync::CODE,
        opcode::AsyncCancel::CODE,
    ];
    let parameters = uring.params();
    let supported = codes.into_iter().all(|code| probe.is_supported(code))
        && parameters.is_feature_nodrop()
        && parameters.is_feature_rw_cur_pos()
        && parameters.is_feature_ext_arg();
    supported
        .then_some(())
        .ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "this io_uring is too old"))
}

impl State {
    fn insert(&mut self) -> usize {
        let slot = Slot::Waiting(None);
        if let Some(index) = self.free.pop() {
            self.slots[index] = slot;
            return index;
        }
        self.slots.push(slot);
        self.slots.len() - 1
    }

    fn remove(&mut self, index: usize) -> Slot {
        self.free.push(index);
        mem::replace(&mut self.slots[index], Slot::Free)
    }

    /// Hands over as much of the backlog as may be under way.
    fn submit(&mut self, outcome: &mut Outcome) {
        let mut tries = 0;
        while !self.broken {
            self.fill_queue();
            if self.handed.is_empty() {
                return;
            }
            match self.uring.submit() {
                Ok(taken) => drop(self.handed.drain(..taken)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_passing(&error) && tries < SUBMISSION_TRIES => {
                    tries += 1;
                    self.take_out(outcome);
                    thread::yield_now();
                }
                Err(error) => self.break_off(&error, outcome),
            }
        }
    }

    fn fill_queue(&mut self) {
        let mut queue = self.uring.submission();
        while !queue.is_full()
            && let Some(first) = self.backlog.front()
            && (self.in_flight < self.limit || is_cancellation(first))
            && let Some(entry) = self.backlog.pop_front()
        {
            // SAFETY: the memory that the entry names stays where it is until its completion has been
            // taken out (U1).
            let pushed = unsafe { queue.push(&entry) };
            debug_assert!(pushed.is_ok(), "it is not full");
            self.in_flight += 1;
            self.handed.push_back(entry.get_user_data());
        }
    }

    /// The kernel takes no more. What it has not taken it never gets, since nothing is submitted to a
    /// broken ring.
    fn break_off(&mut self, error: &io::Error, outcome: &mut Outcome) {
        self.broken = true;
        let refused = -error.raw_os_error().unwrap_or(libc::EIO);
        let waiting = self.backlog.drain(..).map(|entry| entry.get_user_data());
        let names: Vec<u64> = self.handed.iter().copied().chain(waiting).collect();
        self.in_flight -= self.handed.len() as u32;
        self.handed.clear();
        for name in names {
            self.complete(name, refused, outcome);
        }
    }

    /// Takes completions out, and hands over what has waited for them.
    fn reap(&mut self, outcome: &mut Outcome) {
        self.take_out(outcome);
        if !self.backlog.is_empty() {
            self.submit(outcome);
            self.take_out(outcome);
        }
    }

    fn take_out(&mut self, outcome: &mut Outcome) {
        loop {
            let completion = self.uring.completion().next();
            let Some(completion) = completion else {
                // The kernel keeps what did not fit until it is asked again.
                if self.broken || !self.uring.submission().cq_overflow() {
                    return;
                }
                let _ = self.uring.submit();
                continue;
            };
            self.in_flight -= 1;
            self.complete(completion.user_data(), completion.result(), outcome);
        }
    }

    /// An operation is out of the kernel's hands.
    fn complete(&mut self, name: u64, result: i32, outcome: &mut Outcome) {
        if name == CANCELLATION {
            return;
        }
        let index = name as usize;
        match mem::replace(&mut self.slots[index], Slot::Done(result)) {
            Slot::Waiting(waker) => outcome.wakers.extend(waker),
            Slot::Abandoned(request) => {
                self.remove(index);
                outcome.abandoned.push((request, result));
            }
            Slot::Free | Slot::Done(_) => unreachable!("an operation completes once"),
        }
    }

    /// Asks the kernel to give an operation up, if it has it already; else it never gets it.
    fn cancel(&mut self, index: usize, outcome: &mut Outcome) {
        let name = index as u64;
        let mut backlog = self.backlog.iter();
        if let Some(place) = backlog.position(|entry| entry.get_user_data() == name) {
            self.backlog.remove(place);
            return self.complete(name, -libc::ECANCELED, outcome);
        }
        // Ahead of all others: it makes room.
        let cancellation = opcode::AsyncCancel::new(name).build();
        self.backlog
            .push_front(cancellation.user_data(CANCELLATION));
        self.submit(outcome);
    }

    fn cancel_awaited(&mut self, outcome: &mut Outcome) {
        for index in 0..self.slots.len() {
            if matches!(self.slots[index], Slot::Waiting(_)) {
                self.cancel(index, outcome);
            }
        }
    }

    /// Blocks until something completes, or the time is over.
    fn wait(&self, limit: Duration) {
        if self.broken {
            // Completions come without a call, and a call could hand entries over.
            return thread::park_timeout(LAST_WAIT / 1000);
        }
        let limit = Timespec::from(limit);
        let arguments = SubmitArgs::new().timespec(&limit);
        // Whatever ends it, the caller looks again.
        let _ = self.uring.submitter().submit_with_args(1, &arguments);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.maker.is_left() {
            return;
        }
        // Each `Op` keeps the ring, so what is under way is abandoned: writes, which are wanted, and
        // what is cancelled already.
        let state = self.state.get_mut();
        let mut outcome = Outcome::default();
        let until = Instant::now() + LAST_WAIT;
        state.reap(&mut outcome);
        while state.in_flight > 0 && Instant::now() < until {
            state.wait(LAST_WAIT / 10);
            state.reap(&mut outcome);
        }
        if state.in_flight > 0 {
            // U1: the kernel may still write there. A leak is the lesser evil.
            mem::forget(mem::take(&mut state.slots));
        }
        outcome.tell();
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("Ring")
            .field("edges", &self.edges)
            .field("in_flight", &state.in_flight)
            .field("backlog", &state.backlog.len())
            .field("closed", &state.closed)
            .finish_non_exhaustive()
    }
}

/// An operation in the kernel's hands. Dropping it leaves its request with the ring until the kernel
/// is done.
pub(crate) struct Op<R: Request> {
    ring: Arc<Ring>,
    index: usize,
    /// `None` once the output has been given out.
    request: Option<Box<R>>,
}

impl<R: Request> Op<R> {
    /// The answer, if it has come; otherwise the waker is kept.
    fn look(&self, waker: Waker) -> Option<i32> {
        let mut waker = Some(waker);
        let mut outcome = Outcome::default();
        let mut state = self.ring.state.lock();
        // Nobody polls a closed ring any more: see "The end".
        while state.closed && matches!(state.slots[self.index], Slot::Waiting(_)) {
            state.wait(LAST_WAIT / 10);
            state.reap(&mut outcome);
        }
        let found = match &mut state.slots[self.index] {
            Slot::Done(result) => Some(*result),
            Slot::Waiting(kept) => {
                mem::swap(kept, &mut waker);
                None
            }
            Slot::Free | Slot::Abandoned(_) => unreachable!("the slot is this operation's"),
        };
        if found.is_some() {
            state.remove(self.index);
        }
        drop(state);
        outcome.tell();
        found
    }
}

impl<R: Request> Future for Op<R> {
    type Output = R::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R::Output> {
        assert!(self.request.is_some(), "an operation is polled to its end");
        if let Err(forked) = self.ring.maker.check() {
            let request = self.request.take().expect("asserted above");
            return Poll::Ready(Request::finish(*request, Err(forked.into())));
        }
        let Some(result) = self.look(cx.waker().clone()) else {
            return Poll::Pending;
        };
        let request = self.request.take().expect("asserted above");
        Poll::Ready(Request::finish(*request, to_result(result)))
    }
}

impl<R: Request> Drop for Op<R> {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else {
            return;
        };
        if self.ring.maker.is_left() {
            return;
        }
        let mut outcome = Outcome::default();
        let mut state = self.ring.state.lock();
        // The old value goes when the lock is released: there may be a waker in it.
        let old = mem::replace(&mut state.slots[self.index], Slot::Abandoned(request));
        if let Slot::Done(result) = old {
            if let Slot::Abandoned(request) = state.remove(self.index) {
                outcome.abandoned.push((request, result));
            }
        } else if R::IS_VAIN_ALONE {
            state.cancel(self.index, &mut outcome);
            state.take_out(&mut outcome);
        }
        drop(state);
        contain(|| drop(old));
        outcome.tell();
    }
}

impl<R: Request> fmt::Debug for Op<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Op")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

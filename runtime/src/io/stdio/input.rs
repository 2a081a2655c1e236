//! The thread that reads the process's input.
//!
//! There is one for the whole process, started by the first read. A read of a terminal or a pipe may last
//! for ever, so no runtime owns the thread, and nobody waits for its end.
//!
//! # States
//!
//! **idle** → (somebody wants bytes) → **reading** → (the read returns) → **idle**, with an answer, which
//! stays until somebody takes it. It reads no more than was asked for: what is behind that may be meant
//! for another program.

use std::io::{self, Read};
use std::mem;
use std::task::{Context, Poll, Waker, ready};
use std::thread;

use parking_lot::{Condvar, Mutex};
use rt_reactor::Process;
use rt_scheduler::coop::poll_proceed;

use crate::contain::contain;
use crate::sys::file::Destination;

/// The largest piece that is read at once.
const PIECE: usize = 64 << 10;

static INPUT: Input = Input {
    state: Mutex::new(State {
        thread_of: None,
        wanted: None,
        answer: None,
        bytes: Vec::new(),
        taken: 0,
        waiters: Vec::new(),
    }),
    wanted: Condvar::new(),
};

struct Input {
    state: Mutex<State>,
    /// The thread waits here to be asked.
    wanted: Condvar,
}

struct State {
    /// The process that has the thread: it does not survive a fork.
    thread_of: Option<Process>,
    /// How many bytes the thread is to read; it is reading while this is set.
    wanted: Option<usize>,
    /// How a read has ended that nobody has been told of: its error, or that it brought nothing.
    answer: Option<io::Result<()>>,
    /// What reads have brought, of which so many bytes have been given out.
    bytes: Vec<u8>,
    taken: usize,
    waiters: Vec<Waker>,
}

pub(super) fn poll_read(
    cx: &mut Context<'_>,
    buf: &mut Destination<'_>,
) -> Poll<io::Result<usize>> {
    if buf.len() == 0 {
        return Poll::Ready(Ok(0));
    }
    let coop = ready!(poll_proceed(cx));
    let waker = cx.waker().clone();
    let mut state = INPUT.state.lock();
    if let Some(result) = state.take(buf) {
        drop(state);
        coop.made_progress();
        return Poll::Ready(result);
    }
    state.start_thread()?;
    if !state.waiters.iter().any(|waiter| waiter.will_wake(&waker)) {
        state.waiters.push(waker);
    }
    if state.wanted.is_none() {
        state.wanted = Some(buf.len().min(PIECE));
        INPUT.wanted.notify_one();
    }
    Poll::Pending
}

impl State {
    /// What is there to be given out.
    fn take(&mut self, buf: &mut Destination<'_>) -> Option<io::Result<usize>> {
        let left = &self.bytes[self.taken..];
        if left.is_empty() {
            let answer = self.answer.take()?;
            return Some(answer.map(|()| 0));
        }
        let taken = buf.copy_from(left);
        self.taken += taken;
        Some(Ok(taken))
    }

    fn start_thread(&mut self) -> io::Result<()> {
        if self.thread_of.is_none_or(Process::is_left) {
            let builder = thread::Builder::new().name("rt-stdin".to_owned());
            builder.spawn(read_when_asked)?;
            self.thread_of = Some(Process::current());
            self.wanted = None;
        }
        Ok(())
    }

    /// A read has ended; returns those who are to be woken.
    fn answer(&mut self, result: io::Result<usize>, bytes: &mut Vec<u8>) -> Vec<Waker> {
        self.wanted = None;
        match result {
            Ok(0) => self.answer = Some(Ok(())),
            Ok(read) => {
                bytes.truncate(read);
                mem::swap(&mut self.bytes, bytes);
                self.taken = 0;
            }
            Err(error) => self.answer = Some(Err(error)),
        }
        mem::take(&mut self.waiters)
    }
}

/// The life of the thread.
fn read_when_asked() {
    let mut bytes = Vec::new();
    loop {
        let len = {
            let mut state = INPUT.state.lock();
            loop {
                match state.wanted {
                    Some(len) => break len,
                    None => INPUT.wanted.wait(&mut state),
                }
            }
        };
        bytes.resize(len, 0);
        let result = loop {
            match io::stdin().lock().read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        let waiters = INPUT.state.lock().answer(result, &mut bytes);
        for waiter in waiters {
            // A waker that panics is its task's affair; the thread serves others too.
            contain(|| waiter.wake());
        }
    }
}

//! The reactor: turns what the kernel reports into wake-ups.
//!
//! It knows what an event means, and nothing of tasks or of who polls. Its caller decides which
//! thread may [`poll`](Reactor::poll); what that thread got, it [`dispatch`](Reactor::dispatch)es
//! afterwards, when another may already be polling.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::Waker;
use std::time::Duration;

use crate::clock::{Basis, Clock};
use crate::deadline::Deadline;
use crate::primitive::sync::Arc;
use crate::primitive::sync::atomic::AtomicU64;
use crate::primitive::sync::atomic::Ordering::Relaxed;
use crate::readiness::bits_of;
use crate::registry::{Registry, Token};
use crate::source::Source;
use crate::sys::{self, Epoll, EventFd, TimerFd};
use crate::timers::Timers;
use crate::wake::wake_all;
use crate::wheel::Wheel;

#[cfg(all(test, not(loom)))]
mod tests;

/// The token of the bell. No source has it or the next: their indices end earlier.
const BELL: u64 = u64::MAX;
/// The token of the alarm.
const ALARM: u64 = u64::MAX - 1;

/// With fewer events than this, none is far enough ahead of its turn for its memory to be fetched.
const WORTH_FETCHING: usize = 4;

/// Each file is registered once, for everything.
const EVERYTHING: u32 = sys::IN | sys::PRI | sys::OUT | sys::RDHUP | sys::EDGE;

/// An epoll set with the files that tasks wait for, a bell (eventfd) that interrupts the wait, and
/// an alarm (timerfd) that ends it when a timer is due.
///
/// Every method may be called from any thread; only [`poll`](Reactor::poll) asks for something.
pub struct Reactor {
    epoll: Epoll,
    bell: EventFd,
    registry: Registry,
    timers: Timers,
    counts: Counts,
}

/// Written by whoever polls, apart from what the others read.
#[derive(Default)]
#[repr(align(128))]
struct Counts {
    polls: AtomicU64,
    events: AtomicU64,
}

/// How [`Reactor::poll`] waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all: gives the events that are there.
    Now,
    /// Until there is an event, or about this long. Timers are events: this is for a watchdog.
    For(Duration),
    /// Until there is an event.
    Forever,
}

impl Wait {
    /// As `epoll_wait` takes it, rounded up.
    fn milliseconds(self) -> i32 {
        match self {
            Wait::Now => 0,
            Wait::For(limit) => limit
                .as_nanos()
                .div_ceil(1_000_000)
                .try_into()
                .unwrap_or(i32::MAX),
            Wait::Forever => -1,
        }
    }
}

/// Room for the events of one poll. Each thread that polls keeps its own and uses it again.
pub struct Events {
    buffer: sys::Buffer,
    /// The clock has been moved to a deadline.
    jumped: bool,
    wakers: Vec<Waker>,
}

impl Events {
    /// Room for `capacity` events, but at least for one.
    pub fn with_capacity(capacity: usize) -> Events {
        Events {
            buffer: sys::Buffer::with_capacity(capacity),
            jumped: false,
            wakers: Vec::new(),
        }
    }
}

impl Events {
    /// Whether a [`kick`](Reactor::kick) ended the poll, or was there when it began.
    pub fn were_kicked(&self) -> bool {
        self.buffer.iter().any(|(token, _)| token == BELL)
    }

    fn sources(&self) -> impl Iterator<Item = Token> + Clone {
        let tokens = self.buffer.iter().map(|(token, _)| token);
        let of_sources = tokens.filter(|&token| token != BELL && token != ALARM);
        of_sources.map(Token::from_bits)
    }
}

impl Reactor {
    /// Makes a reactor with so many timer wheels (at least one): one for each worker, and the last
    /// for all other threads.
    ///
    /// # Errors
    ///
    /// If the process or the system has no file descriptors left.
    pub fn new(wheels: usize) -> io::Result<Arc<Reactor>> {
        Reactor::with_clock(wheels, Clock::monotonic())
    }

    /// As [`new`](Reactor::new), with timers that follow `clock`.
    ///
    /// # Errors
    ///
    /// If the process or the system has no file descriptors left.
    pub fn with_clock(wheels: usize, clock: Clock) -> io::Result<Arc<Reactor>> {
        let epoll = Epoll::new()?;
        let bell = EventFd::new()?;
        epoll.add(bell.as_fd(), BELL, sys::IN | sys::EDGE)?;
        let timer = match clock.basis() {
            Basis::Hand => None,
            basis => Some(TimerFd::new(basis)?),
        };
        if let Some(timer) = &timer {
            epoll.add(timer.as_fd(), ALARM, sys::IN | sys::EDGE)?;
        }
        Ok(Arc::new(Reactor {
            epoll,
            bell,
            registry: Registry::new(),
            timers: Timers::new(wheels.max(1), timer, clock),
            counts: Counts::default(),
        }))
    }

    /// Gets events from the kernel, and says how many there are, kicks not counted. They wake
    /// nobody before they are [`dispatch`](Reactor::dispatch)ed.
    ///
    /// One thread may poll at a time; the caller sees to that. A second one does no harm to memory,
    /// but a kick meant for one may reach the other.
    ///
    /// # Errors
    ///
    /// In a forked child of the process that made the reactor. No others are known; being
    /// interrupted by a signal is none: the wait goes on.
    pub fn poll(&self, events: &mut Events, wait: Wait) -> io::Result<usize> {
        self.registry.reclaim();
        self.epoll.wait(&mut events.buffer, wait.milliseconds())?;
        let kicks = events.buffer.iter().filter(|event| event.0 == BELL).count();
        let real = events.buffer.len() - kicks;
        self.counts.add(real);
        Ok(real)
    }

    /// Wakes those whom the events concern, and fires the timers that are due. Says how many wakers
    /// were woken. Several threads may dispatch what each has polled.
    pub fn dispatch(&self, events: &mut Events) -> usize {
        if events.buffer.len() >= WORTH_FETCHING && self.registry.is_large() {
            self.registry.fetch(events.sources());
        }
        let mut alarm = std::mem::take(&mut events.jumped);
        for (token, flags) in events.buffer.iter() {
            match token {
                BELL => {}
                ALARM => alarm = true,
                token => {
                    let token = Token::from_bits(token);
                    let bits = bits_of(flags);
                    self.registry.deliver(token, bits, &mut events.wakers);
                }
            }
        }
        events.buffer.clear();
        let mut woken = wake_all(&mut events.wakers);
        if alarm {
            woken += self.timers.fire(&mut events.wakers);
        }
        woken
    }

    /// Ends the wait of the thread that polls, or the next wait if there is none now.
    ///
    /// # Panics
    ///
    /// If foreign code has closed the eventfd.
    pub fn kick(&self) {
        self.bell.ring().expect("the eventfd is open");
    }

    /// Begins to watch a file.
    ///
    /// A socket that is to be connected is best registered after `connect` has been called: an idle
    /// one reports that it is closed.
    ///
    /// # Errors
    ///
    /// * [`io::ErrorKind::Unsupported`] if epoll cannot watch this kind of file, as with regular
    ///   files and directories.
    /// * [`io::ErrorKind::AlreadyExists`] if it is registered already.
    /// * [`io::ErrorKind::Other`] if the reactor has been shut down.
    /// * Whatever else the kernel says.
    ///
    /// Nothing is left behind then.
    pub fn register(self: &Arc<Self>, fd: BorrowedFd<'_>) -> io::Result<Source> {
        let token = self.registry.acquire()?;
        // From here on the entry is given back on every path, by the drop of the source.
        let source = Source::new(Arc::clone(self), token);
        self.epoll
            .add(fd, token.to_bits(), EVERYTHING)
            .map_err(explain)?;
        Ok(source)
    }

    /// The wheel for worker `index`; the last is for threads that are no workers.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`wheels`](Reactor::wheels).
    #[track_caller]
    pub fn wheel(&self, index: usize) -> &Arc<Wheel> {
        &self.timers.wheels()[index]
    }

    /// How many wheels there are.
    pub fn wheels(&self) -> usize {
        self.timers.wheels().len()
    }

    /// The clock that its timers follow.
    pub fn clock(&self) -> &Clock {
        self.timers.alarm().clock()
    }

    /// When the next timer event is due, maybe for a timer that is gone. It is not later than the
    /// earliest timer, but for up to 100 µs when others have just fired; by a paused clock never.
    pub fn next_deadline(&self) -> Deadline {
        self.timers.alarm().armed()
    }

    /// For whoever may poll: moves a clock that stands still to the earliest deadline that somebody
    /// waits for. Its timers are events of these `events`, to be [`dispatch`](Reactor::dispatch)ed.
    /// `false`: nobody waits for the time, or the clock runs.
    pub fn jump(&self, events: &mut Events) -> bool {
        let earliest = self.timers.earliest();
        events.jumped = !earliest.is_never() && self.clock().try_advance_to(earliest);
        events.jumped
    }

    /// Lets a paused clock run on, and its timers with it. `false`: it runs already, or never does.
    pub fn resume(&self) -> bool {
        let resumed = self.clock().resume();
        if resumed {
            // Arms the kernel timer, which was left alone until now.
            self.fire_timers();
        }
        resumed
    }

    /// Fires the timers that are due, without an event; how many were woken.
    ///
    /// Whoever [moves](Clock::advance_to) a clock by hand calls this afterwards.
    pub fn fire_timers(&self) -> usize {
        self.timers.fire(&mut Vec::new())
    }

    /// Ends every wait for a source with an error, now and from now on. Files can no longer be
    /// registered. Whoever waits for a timer is woken, and panics: no timer fires any more.
    pub fn shutdown(&self) {
        let mut wakers = Vec::new();
        self.registry.shut_down(&mut wakers);
        wake_all(&mut wakers);
        self.timers.close(&mut wakers);
    }

    /// How many sources are registered.
    pub fn live_sources(&self) -> usize {
        self.registry.live()
    }

    /// How many timers wait.
    pub fn live_timers(&self) -> usize {
        self.timers.wheels().iter().map(|wheel| wheel.live()).sum()
    }

    /// How many timers have fired since the beginning.
    pub fn timers_fired(&self) -> u64 {
        self.timers.wheels().iter().map(|wheel| wheel.fired()).sum()
    }

    /// How many times it has been polled.
    pub fn polls(&self) -> u64 {
        self.counts.polls.load(Relaxed)
    }

    /// How many events the polls have given.
    pub fn events(&self) -> u64 {
        self.counts.events.load(Relaxed)
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Stops watching a file.
    pub(crate) fn unwatch(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.epoll.delete(fd)
    }
}

impl Counts {
    /// Counts one poll. Only the one thread that may poll writes, so a load and a store will do.
    fn add(&self, events: usize) {
        let polls = self.polls.load(Relaxed);
        self.polls.store(polls + 1, Relaxed);
        let seen = self.events.load(Relaxed);
        self.events.store(seen + events as u64, Relaxed);
    }
}

/// Says in words what the kernel means by `EPERM`.
fn explain(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return error;
    }
    io::Error::new(
        io::ErrorKind::Unsupported,
        "epoll cannot watch this kind of file (a regular file or a directory): it never blocks in \
         the way that epoll reports, so use blocking file operations",
    )
}

impl fmt::Debug for Reactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reactor")
            .field("sources", &self.live_sources())
            .field("timers", &self.live_timers())
            .field("next_deadline", &self.next_deadline())
            .field("polls", &self.polls())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("len", &self.buffer.len())
            .finish_non_exhaustive()
    }
}

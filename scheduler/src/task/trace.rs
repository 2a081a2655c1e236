//! What a task leaves behind for a dump: how often it was polled, since when it waits, and for what.
//!
//! Two words of the header, written with plain stores by the thread that polls the task. What it waits for is
//! noted by the runtime's own leaf futures where they say `Pending` ([`note`]); a poll begins with a
//! clean word, so a note is never older than the last poll. The time is the thread's own idea of now
//! ([`tick`]), which a worker refreshes where it has slept or looks at the clock anyway: it is late by no more than
//! what the worker has run without a pause.
//!
//! # Orderings
//!
//! Relaxed everywhere: hints for a reader who looks while things change, each whole in itself. [`AGAIN`] alone
//! is more than a hint, and only the thread that polls reads it.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::task::Poll;
use std::time::{Duration, Instant};

use super::Id;
use crate::scope;

/// See the module.
#[derive(Default)]
pub(crate) struct Trace {
    /// A kind, [`OTHERS`], [`AGAIN`], [`POLLED`], and a payload; 0 for nothing.
    waits: AtomicU64,
    /// Polls that have said `Pending`.
    pending: AtomicU32,
    /// When the last of them did, in milliseconds of [`tick`].
    since: AtomicU32,
}

/// What a task waits for, as far as its leaf futures are the runtime's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Waits {
    /// A file descriptor, until it can be read.
    Read(i32),
    /// A file descriptor, until it can be written.
    Write(i32),
    /// A timer, until so many milliseconds on the runtime's clock; all bits set: for ever.
    Timer(u64),
    /// A value from the channel at this address.
    Receive(u64),
    /// Room in the channel at this address.
    Send(u64),
    /// The end of a task, by the low bits of its id.
    Join(u64),
    /// The children of a scope.
    Scope(u64),
    /// The cancellation of a scope or token.
    Cancellation(u64),
}

const KIND: u32 = 56;
/// A further leaf of the same poll waits as well.
const OTHERS: u64 = 1 << 55;
/// The task has woken itself in this poll.
const AGAIN: u64 = 1 << 54;
/// The task is being polled.
const POLLED: u64 = 1 << 53;
const PAYLOAD: u64 = POLLED - 1;

impl Waits {
    #[inline]
    fn word(self) -> u64 {
        let (kind, payload) = match self {
            Waits::Read(fd) => (1, u64::from(fd.cast_unsigned())),
            Waits::Write(fd) => (2, u64::from(fd.cast_unsigned())),
            Waits::Timer(at) => (3, at.min(PAYLOAD)),
            Waits::Receive(channel) => (4, channel & PAYLOAD),
            Waits::Send(channel) => (5, channel & PAYLOAD),
            Waits::Join(task) => (6, task & PAYLOAD),
            Waits::Scope(scope) => (7, scope & PAYLOAD),
            Waits::Cancellation(scope) => (8, scope & PAYLOAD),
        };
        kind << KIND | payload
    }

    fn from_word(word: u64) -> Option<Waits> {
        let payload = word & PAYLOAD;
        let fd = (payload as u32).cast_signed();
        Some(match word >> KIND {
            1 => Waits::Read(fd),
            2 => Waits::Write(fd),
            3 => Waits::Timer(if payload == PAYLOAD {
                u64::MAX
            } else {
                payload
            }),
            4 => Waits::Receive(payload),
            5 => Waits::Send(payload),
            6 => Waits::Join(payload),
            7 => Waits::Scope(payload),
            8 => Waits::Cancellation(payload),
            _ => return None,
        })
    }

    /// For the end of the task `id`.
    pub(crate) fn end_of(id: Id) -> Waits {
        Waits::Join(id.number())
    }
}

/// Notes what the task whose code runs on this thread waits for: the first of several, and that there are others.
#[inline]
pub fn note(waits: Waits) {
    scope::with_task(|task| {
        if let Some(task) = task {
            task.header().trace.note(waits.word());
        }
    });
}

/// As [`note`], where `poll` is `Pending`.
#[inline]
pub fn noted<T>(poll: Poll<T>, waits: impl FnOnce() -> Waits) -> Poll<T> {
    if poll.is_pending() {
        note(waits());
    }
    poll
}

impl Trace {
    #[inline]
    pub(super) fn begin_poll(&self) {
        self.waits.store(POLLED, Relaxed);
    }

    /// Whether a thread polls the task.
    pub(super) fn is_polled(&self) -> bool {
        self.waits.load(Relaxed) & POLLED != 0
    }

    /// After a poll that has said `Pending`. This thread has `RUNNING`. Returns whether the task has woken
    /// itself.
    #[inline]
    pub(super) fn end_poll(&self) -> bool {
        let pending = self.pending.load(Relaxed);
        self.pending.store(pending.wrapping_add(1), Relaxed);
        self.since.store(TICK.get(), Relaxed);
        let waits = self.waits.load(Relaxed);
        self.waits.store(waits & !POLLED, Relaxed);
        waits & AGAIN != 0
    }

    /// The code of the task, in a poll, has woken it. This thread has `RUNNING`.
    #[inline]
    pub(super) fn wake_again(&self) {
        let before = self.waits.load(Relaxed);
        self.waits.store(before | AGAIN, Relaxed);
    }

    #[inline]
    fn note(&self, word: u64) {
        let before = self.waits.load(Relaxed);
        let first = before & !(AGAIN | POLLED);
        if first == 0 {
            self.waits.store(before | word, Relaxed);
        } else if first != word {
            self.waits.store(before | OTHERS, Relaxed);
        }
    }

    /// Polls that have said `Pending`.
    pub(super) fn pending(&self) -> u32 {
        self.pending.load(Relaxed)
    }

    /// How long ago the last of them was.
    pub(super) fn idle_for(&self) -> Duration {
        let now = since_start(Instant::now());
        let ago = now.wrapping_sub(self.since.load(Relaxed));
        // A tick that another thread took meanwhile lies a little ahead.
        let ago = if ago.cast_signed() < 0 && ago > u32::MAX - 1000 {
            0
        } else {
            ago
        };
        Duration::from_millis(u64::from(ago))
    }

    /// What it waits for, and whether for anything else.
    pub(super) fn waits(&self) -> (Option<Waits>, bool) {
        let word = self.waits.load(Relaxed);
        (Waits::from_word(word), word & OTHERS != 0)
    }
}

thread_local! {
    /// This thread's idea of now, in milliseconds since [`start`].
    static TICK: Cell<u32> = const { Cell::new(0) };
}

/// When the clock of [`tick`] was first asked.
fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// Milliseconds; they come round again after 49 days.
fn since_start(now: Instant) -> u32 {
    let time = now.saturating_duration_since(start());
    (time.as_secs() as u32)
        .wrapping_mul(1000)
        .wrapping_add(time.subsec_millis())
}

/// Tells this thread the time.
pub(crate) fn tick(now: Instant) {
    TICK.set(since_start(now));
}

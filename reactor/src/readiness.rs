//! The readiness word: what a source is ready for, how fresh that is, and whose it is.
//!
//! The kernel reports edges, once each. The word turns them into a level that any number of tasks
//! may look at: an event sets bits, and they stay until a task has found that there is nothing
//! left. Because readiness is a level, no waiter owns it; one that is woken and then goes away
//! has taken nothing from the others.
//!
//! # States
//!
//! One `u64`: the generation (32 bits), the event tick (24 bits), the readiness bits (8).
//!
//! * **generation**: counts the sources that have lived in this entry. An event carries the
//!   generation it was registered under, so that one that arrives late, after its file was closed
//!   and the entry reused, changes nothing.
//! * **event tick**: counts the events. A task that saw the word under one tick may clear it only
//!   under the same, so that an event which came while the task was busy finding nothing is not
//!   lost. A false match needs 2^24 events between a look and its clear.
//! * **bits**: [`READABLE`] and [`WRITABLE`] come and go. [`READ_CLOSED`] and [`WRITE_CLOSED`]
//!   survive a short transfer, since its bytes and the end behind them may have come in one edge.
//!   A call that would have blocked proves them wrong and takes them away too, as with a FIFO
//!   whose next writer has come; only when everything is over (both closed, and an error) they
//!   stay. [`PRIORITY`] says that urgent data has come. A read stops where it lies in the stream, so
//!   from then on a short read no longer proves that there was no more: the bytes behind the mark
//!   may have come in the same edge. [`SHUT_DOWN`] is set once, by the reactor.
//!
//! # Orderings
//!
//! There is one edge. The `Release` exchange in [`Word::set`] publishes what the kernel showed to
//! the thread that got the event; the `Acquire` load in [`Word::load`] that sees the bit orders
//! the task's own call behind it. Clears are `Relaxed`: they publish nothing, and being
//! read-modify-writes they keep the edge of the `set` before them alive. `readiness/model.rs`
//! fails when either end of the edge is weakened, or when a clear ignores the tick.

use std::io;

use crate::interest::{Direction, Interest, Ready};
use crate::primitive::sync::atomic::AtomicU64;
use crate::primitive::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use crate::sys;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

pub(crate) const READABLE: u8 = 1;
pub(crate) const WRITABLE: u8 = 1 << 1;
pub(crate) const READ_CLOSED: u8 = 1 << 2;
pub(crate) const WRITE_CLOSED: u8 = 1 << 3;
pub(crate) const ERROR: u8 = 1 << 4;
const PRIORITY: u8 = 1 << 5;
const SHUT_DOWN: u8 = 1 << 7;

/// All bits of a stream that is over in both directions, by an error.
const OVER: u8 = READ_CLOSED | WRITE_CLOSED | ERROR;

const TICK_SHIFT: u32 = 8;
const TICK_MASK: u32 = (1 << 24) - 1;
const GENERATION_SHIFT: u32 = 32;

/// The readiness word of one entry.
pub(crate) struct Word(AtomicU64);

/// A value of the word.
#[derive(Clone, Copy)]
struct Snapshot(u64);

impl Snapshot {
    const fn new(generation: u32, tick: u32, bits: u8) -> Snapshot {
        let generation = (generation as u64) << GENERATION_SHIFT;
        let tick = ((tick & TICK_MASK) as u64) << TICK_SHIFT;
        Snapshot(generation | tick | bits as u64)
    }

    const fn generation(self) -> u32 {
        (self.0 >> GENERATION_SHIFT) as u32
    }

    const fn tick(self) -> u32 {
        (self.0 >> TICK_SHIFT) as u32 & TICK_MASK
    }

    const fn bits(self) -> u8 {
        self.0 as u8
    }
}

/// Turns what the kernel reported into readiness bits.
#[inline]
pub(crate) const fn bits_of(flags: u32) -> u8 {
    /// What it nearly always is: there is something to read, and room to write as ever.
    const USUAL: u32 = sys::IN | sys::OUT;
    if flags == USUAL {
        return READABLE | WRITABLE;
    }
    bits_of_any(flags)
}

const fn bits_of_any(flags: u32) -> u8 {
    let mut bits = 0;
    if flags & sys::IN != 0 {
        bits |= READABLE;
    }
    if flags & sys::PRI != 0 {
        bits |= READABLE | PRIORITY;
    }
    if flags & sys::OUT != 0 {
        bits |= WRITABLE;
    }
    if flags & sys::RDHUP != 0 {
        bits |= READABLE | READ_CLOSED;
    }
    if flags & sys::HUP != 0 {
        bits |= READABLE | WRITABLE | READ_CLOSED | WRITE_CLOSED;
    }
    if flags & sys::ERR != 0 {
        bits |= READABLE | WRITABLE | ERROR;
    }
    bits
}

impl Word {
    pub(crate) fn new() -> Word {
        Word(AtomicU64::new(0))
    }

    #[inline]
    fn load(&self) -> Snapshot {
        // ORDERING: Acquire, the end of the edge from `set`.
        Snapshot(self.0.load(Acquire))
    }

    /// What a waiter for `interest` gets now, if it need not wait.
    #[inline]
    pub(crate) fn check(&self, interest: Interest) -> Option<io::Result<Ready>> {
        let seen = self.load();
        if seen.bits() & (interest.bits() | SHUT_DOWN) == 0 {
            return None;
        }
        if seen.bits() & SHUT_DOWN != 0 {
            return Some(Err(shut_down_error()));
        }
        Some(Ok(Ready::new(
            seen.bits() & (interest.bits() | ERROR),
            seen.tick(),
        )))
    }

    /// What the source is ready for now, of `interest`; possibly nothing.
    pub(crate) fn ready(&self, interest: Interest) -> Ready {
        let seen = self.load();
        Ready::new(seen.bits() & (interest.bits() | ERROR), seen.tick())
    }

    /// Adds the bits of an event; `false` if it was meant for an earlier generation.
    #[must_use = "an event for another generation wakes nobody"]
    pub(crate) fn set(&self, generation: u32, bits: u8) -> bool {
        // ORDERING: Release, the edge to `load`.
        self.update(Release, |seen| {
            (seen.generation() == generation)
                .then(|| Snapshot::new(generation, seen.tick().wrapping_add(1), seen.bits() | bits))
        })
    }

    /// After a transfer that reached the end of what there was: `ready` no longer holds for the
    /// direction, unless an event came since, the stream is closed, or a read may have stopped at
    /// an urgent mark.
    pub(crate) fn clear(&self, ready: Ready, direction: Direction) {
        self.take_away(ready, |bits| match direction {
            Direction::Read if bits & PRIORITY != 0 => 0,
            _ => direction.open(),
        });
    }

    /// After a call that would have blocked: nothing of `ready` holds for the direction, unless an
    /// event came since or all is over.
    pub(crate) fn clear_would_block(&self, ready: Ready, direction: Direction) {
        self.take_away(ready, |bits| {
            if bits & OVER == OVER {
                return direction.open();
            }
            direction.bits() | ERROR
        });
    }

    fn take_away(&self, ready: Ready, which: impl Fn(u8) -> u8) {
        // ORDERING: Relaxed. Taking bits away publishes nothing.
        self.update(Relaxed, |seen| {
            let bits = seen.bits() & !which(seen.bits());
            (seen.tick() == ready.tick() && bits != seen.bits())
                .then(|| Snapshot::new(seen.generation(), seen.tick(), bits))
        });
    }

    /// Ends every wait with an error, from now on.
    pub(crate) fn shut_down(&self) {
        // ORDERING: Relaxed. The bit says all there is to say.
        self.0.fetch_or(u64::from(SHUT_DOWN), Relaxed);
    }

    pub(crate) fn generation(&self) -> u32 {
        self.load().generation()
    }

    /// Begins the next generation: ready for nothing, and deaf to events of the one before.
    pub(crate) fn renew(&self) {
        let next = self.generation().wrapping_add(1);
        // ORDERING: Relaxed. The next source gets the entry through the registry's lock. It is an
        // exchange, and so in one order with those of late events: they come before, and are
        // overwritten, or after, and find another generation.
        self.0.swap(Snapshot::new(next, 0, 0).0, Relaxed);
    }

    /// Exchanges the value for what `next` makes of it; `false` if `next` declines.
    fn update(&self, success: Ordering, next: impl Fn(Snapshot) -> Option<Snapshot>) -> bool {
        // ORDERING: Relaxed for the looks: only the exchange that succeeds counts.
        let mut seen = self.0.load(Relaxed);
        while let Some(next) = next(Snapshot(seen)) {
            match self.0.compare_exchange_weak(seen, next.0, success, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }
}

/// How every wait ends once the reactor has been shut down.
#[cold]
pub(crate) fn shut_down_error() -> io::Error {
    io::Error::other("runtime is shutting down")
}

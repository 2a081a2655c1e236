//! What one thread did last: a ring with one writer, which never waits, and readers at any time.
//!
//! # The protocol
//!
//! The writer fills the slot of its next index, then raises `head` past it. A reader copies what is
//! below `head`, then looks at `head` again: what may have been overwritten meanwhile is thrown away.
//! The fences make that look late enough: a reader that has seen one word of event *n* sees a
//! `head` of at least *n*, so it knows that the event before it in that slot is gone.
//!
//! Slots are allocated as they are first needed, so a thread that does little costs little.

#![expect(unsafe_code, reason = "the place of a task is a pointer to a static")]

use std::panic::Location;
use std::ptr;
use std::sync::OnceLock;

use crate::primitive::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::primitive::sync::atomic::{AtomicPtr, AtomicU64, fence};

use super::{Event, Kind};
use crate::task::Id;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

/// Slots that are allocated at a time.
const CHUNK: usize = 256;

/// The bytes of a name that a slot keeps.
const NAME: usize = 31;

/// The length of something that goes on.
const OPEN: u64 = u64::MAX;

/// One event: 64 bytes. Each word is whole in itself; the protocol says which belong together.
struct Slot {
    /// Ticks since the recorder began, and the kind in the lowest eight bits.
    at_and_kind: AtomicU64,
    /// Ticks, or [`OPEN`].
    lasts: AtomicU64,
    /// The task's id, or 0.
    id: AtomicU64,
    /// Where the task was spawned, or null.
    place: AtomicPtr<Location<'static>>,
    /// A length in the lowest byte and so many bytes of the task's name.
    name: [AtomicU64; (NAME + 1) / 8],
}

impl Slot {
    fn new() -> Self {
        Slot {
            at_and_kind: AtomicU64::new(0),
            lasts: AtomicU64::new(0),
            id: AtomicU64::new(0),
            place: AtomicPtr::new(ptr::null_mut()),
            name: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    fn set_name(&self, name: &str) {
        let mut bytes = [0; NAME + 1];
        let longest = name.len().min(NAME);
        let cut = (0..=longest).rev().find(|&at| name.is_char_boundary(at));
        let length = cut.unwrap_or(0);
        bytes[0] = length as u8;
        bytes[1..=length].copy_from_slice(&name.as_bytes()[..length]);
        for (word, bytes) in self.name.iter().zip(bytes.chunks_exact(8)) {
            let mut word_bytes = [0; 8];
            word_bytes.copy_from_slice(bytes);
            word.store(u64::from_le_bytes(word_bytes), Relaxed);
        }
    }

    fn name(&self) -> Option<String> {
        let mut bytes = [0; NAME + 1];
        for (word, bytes) in self.name.iter().zip(bytes.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        let length = usize::from(bytes[0]).min(NAME);
        // Bytes of two names are no UTF-8, perhaps; such an event is thrown away afterwards.
        (length > 0).then(|| String::from_utf8_lossy(&bytes[1..=length]).into_owned())
    }

    fn read(&self) -> Event {
        let at_and_kind = self.at_and_kind.load(Relaxed);
        let lasts = self.lasts.load(Relaxed);
        // SAFETY: null, or a pointer made from a `&'static Location` by `note`.
        let place = unsafe { self.place.load(Relaxed).cast_const().as_ref() };
        Event {
            kind: Kind::from_number(at_and_kind as u8),
            at: at_and_kind >> 8,
            lasts: (lasts != OPEN).then_some(lasts),
            id: Id::from_number(self.id.load(Relaxed)),
            place,
            name: self.name(),
        }
    }
}

/// The last events of one thread.
pub(super) struct Ring {
    /// How many events there have been.
    head: AtomicU64,
    /// Slots that are allocated at a time, a power of two.
    chunk: usize,
    chunks: Box<[OnceLock<Box<[Slot]>>]>,
}

impl Ring {
    /// For at least `events` events, rounded up to a power of two.
    pub(super) fn new(events: usize) -> Self {
        Ring::in_chunks(events, CHUNK)
    }

    fn in_chunks(events: usize, chunk: usize) -> Self {
        debug_assert!(chunk.is_power_of_two());
        let chunks = events.div_ceil(chunk).max(1).next_power_of_two();
        Ring {
            head: AtomicU64::new(0),
            chunk,
            chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
        }
    }

    fn capacity(&self) -> u64 {
        (self.chunks.len() * self.chunk) as u64
    }

    fn slot(&self, index: u64) -> &Slot {
        let at = (index & (self.capacity() - 1)) as usize;
        let chunk = self.chunks[at >> self.chunk.trailing_zeros()]
            .get_or_init(|| (0..self.chunk).map(|_| Slot::new()).collect());
        &chunk[at & (self.chunk - 1)]
    }

    /// Writes an event down; one that lasts goes on until [`end`](Ring::end). For the writer alone.
    pub(super) fn note(
        &self,
        kind: Kind,
        at: u64,
        id: Option<Id>,
        place: Option<&'static Location<'static>>,
        name: Option<&str>,
    ) -> u64 {
        // ORDERING: Relaxed: written by this thread, or handed over with the right to write.
        let index = self.head.load(Relaxed);
        let slot = self.slot(index);
        // ORDERING: pairs with the reader's: who sees a word that is stored below sees `head`.
        fence(Release);
        slot.at_and_kind.store(at << 8 | kind as u64, Relaxed);
        let lasts = if kind.is_slice() { OPEN } else { 0 };
        slot.lasts.store(lasts, Relaxed);
        slot.id.store(id.map_or(0, Id::number), Relaxed);
        let place = place.map_or(ptr::null(), ptr::from_ref);
        slot.place.store(place.cast_mut(), Relaxed);
        match name {
            Some(name) => slot.set_name(name),
            None => slot.name[0].store(0, Relaxed),
        }
        // ORDERING: Release: who sees the count sees the event.
        self.head.store(index + 1, Release);
        index
    }

    /// Says when what was noted as `index` has ended. Nothing if it has been overwritten. For the
    /// writer alone.
    pub(super) fn end(&self, index: u64, now: u64) {
        if self.head.load(Relaxed) - index <= self.capacity() {
            let slot = self.slot(index);
            let began = slot.at_and_kind.load(Relaxed) >> 8;
            slot.lasts.store(now.saturating_sub(began), Relaxed);
        }
    }

    /// What is there, the oldest first.
    pub(super) fn read(&self) -> Vec<Event> {
        // ORDERING: Acquire: the events below are whole, or newer.
        let head = self.head.load(Acquire);
        let first = head.saturating_sub(self.capacity());
        let mut events: Vec<Event> = (first..head).map(|index| self.slot(index).read()).collect();
        fence(Acquire);
        // The slot that `head` names may be half written by now.
        let gone = (self.head.load(Relaxed) + 1).saturating_sub(self.capacity());
        let gone = gone.saturating_sub(first).min(events.len() as u64);
        events.drain(..gone as usize);
        events
    }
}

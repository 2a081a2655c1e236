//! A timer wheel: entries by deadline, with every operation but firing in constant time.
//!
//! Each worker has a wheel of its own, so that making and dropping timers, which is most of what
//! happens to timers, contends with nobody. The entries live in the timers themselves; a wheel
//! allocates nothing after it is made.
//!
//! # States
//!
//! Time is cut into wheel ticks of 1.024 µs. There are 7 levels of 256 slots. A slot of level 0 is one
//! wheel tick, a slot of a level above spans all 256 of the level below, and 7 levels span every deadline
//! there is. An entry is in the lowest level in which its tick and `now` differ only there and
//! below. When `now` enters a slot of an upper level, its entries move down (they *cascade*).
//!
//! Each move costs a cache miss when timers are many, so the levels are wide rather than many: a
//! timer of a second moves twice, and with 64 slots a level it would move three times. And a slot
//! (`slot.rs`) has its entries in several lists, so that the misses do not wait for one another.
//!
//! # Invariants
//!
//! * **H1** Every entry of a level is earlier than every entry of the levels above; within a level,
//!   slots are in order. So the earliest entry is in the first occupied slot of the lowest occupied
//!   level, unless a cascade is under way: then the slot that is being emptied comes first.
//! * **H2** `now` never passes an occupied slot's start without emptying the slot; entries of the
//!   very tick of `now` stay in level 0 until their exact deadline has passed. Nothing fires early.
//! * **H3** An entry's `place` is the number of the list it is in, and changes only under the wheel's lock
//!   while it is in one. An entry in a list has a waker, others have none.
//!
//! # Bounds
//!
//! The lock is held for at most [`MAX_WAKES`] wake-ups or [`MAX_MOVES`] moves at a time, and one walk
//! along the entries of the present tick; between two holds the wakers run. An entry moves at most
//! once a level. Looking for the earliest deadline ahead stops after [`MAX_LOOKS`] entries of a slot
//! and takes the start of the slot, which is earlier.
//!
//! # Orderings
//!
//! All but one edge are those of the lock. The one is in `place`: the `Release` store of [`FIRED`] is the
//! last that a firing thread does to an entry, and the owner that sees it with its `Acquire` load
//! may use or free the entry without the lock. `timer/model.rs` fails when either is weakened.

#![expect(unsafe_code, reason = "entries are linked by raw pointers")]

use std::fmt;
use std::mem;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use crate::alarm::Alarm;
use crate::deadline::Deadline;
use crate::list::{Links, Node};
use crate::primitive::cell::UnsafeCell;
use crate::primitive::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::primitive::sync::atomic::{AtomicU16, AtomicU64};
use crate::primitive::sync::{Arc, Mutex};
use crate::slot::{LANES, Slot};
use crate::wake::wake_all;

#[cfg(all(test, not(loom)))]
mod tests;

/// A wheel tick is 2^10 ns.
const TICK_BITS: u32 = 10;
const SLOT_BITS: u32 = 8;
const SLOTS: usize = 1 << SLOT_BITS;
/// 7 levels of 8 bits have room for the 54 bits of a tick.
const LEVELS: usize = 7;
/// Slots whose bits are in one word.
const WORD: usize = u64::BITS as usize;

/// Wakers collected in one hold of the lock.
const MAX_WAKES: usize = 64;
/// Entries moved down in one hold of the lock.
const MAX_MOVES: usize = 256;
/// Entries of a slot looked at for the earliest deadline.
const MAX_LOOKS: usize = 64;

/// In no list, and not fired.
const IDLE: u16 = u16::MAX;
/// In no list, and fired.
const FIRED: u16 = u16::MAX - 1;

/// The timers of one worker. See [`Reactor::wheel`](crate::Reactor::wheel).
#[repr(align(128))]
pub struct Wheel {
    core: Mutex<Core>,
    alarm: Arc<Alarm>,
}

/// A timer's part in a wheel.
pub(crate) struct Entry {
    links: Links<Entry>,
    /// Written by the owner only, and under the lock while the entry is in a list.
    deadline: AtomicU64,
    /// Guarded by the lock while the entry is in a list, else the owner's (H3).
    waker: UnsafeCell<Option<Waker>>,
    /// The list it is in, or [`IDLE`] or [`FIRED`].
    place: AtomicU16,
}

/// What an entry is doing, as far as its owner can tell without the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Idle,
    /// It was in a list; it may have fired by now.
    Linked,
    /// It has fired, and no other thread will touch it.
    Fired,
}

/// What a round of firing has done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fired {
    pub(crate) woken: usize,
    /// Not later than any entry that is left.
    pub(crate) next: Deadline,
}

struct Core {
    /// The tick up to which all is done.
    now: u64,
    /// The level whose slot at `now` is being emptied, or 0.
    cascading: usize,
    /// A bit for each slot that is not empty, in the order of time (H1).
    occupied: [u64; LEVELS * SLOTS / WORD],
    slots: Box<[Slot<Entry>]>,
    live: usize,
    fired: u64,
}

/// The first occupied slot, and the tick it begins with.
struct First {
    level: usize,
    index: usize,
    start: u64,
}

// SAFETY: the links are the entry's own field.
unsafe impl Node for Entry {
    fn links(&self) -> &Links<Entry> {
        &self.links
    }
}

// SAFETY: of a shared entry, the waker alone is neither atomic nor guarded by the list, and it is
// touched under the wheel's lock or by the owner of an entry that is in no list (H3).
unsafe impl Sync for Entry {}

impl Entry {
    pub(crate) fn new(deadline: Deadline) -> Entry {
        Entry {
            links: Links::new(),
            deadline: AtomicU64::new(deadline.as_nanos()),
            waker: UnsafeCell::new(None),
            place: AtomicU16::new(IDLE),
        }
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        // ORDERING: Acquire, the end of the edge from `fire`.
        match self.place.load(Acquire) {
            IDLE => Phase::Idle,
            FIRED => Phase::Fired,
            _ => Phase::Linked,
        }
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Deadline {
        // ORDERING: Relaxed, here and at each store. The owner reads its own value, and the wheel
        // reads under the lock.
        Deadline::from_nanos(self.deadline.load(Relaxed))
    }

    /// Gives an entry that is in no list a new deadline, to wait for from the next poll.
    pub(crate) fn restart(&self, deadline: Deadline) {
        self.deadline.store(deadline.as_nanos(), Relaxed);
        // ORDERING: Relaxed. It is the owner's alone.
        self.place.store(IDLE, Relaxed);
    }

    /// Notes that an entry that is in no list need not wait.
    pub(crate) fn finish(&self) {
        // ORDERING: Relaxed. It is the owner's alone.
        self.place.store(FIRED, Relaxed);
    }

    /// The list it is in.
    ///
    /// The answer holds for as long as the wheel's lock is held.
    fn list(&self) -> Option<usize> {
        // ORDERING: Relaxed. The lock orders it.
        match self.place.load(Relaxed) {
            IDLE | FIRED => None,
            place => Some(usize::from(place)),
        }
    }

    /// Exchanges the waker.
    ///
    /// # Safety
    ///
    /// The lock of the wheel that the entry is in, or is about to be in, is held.
    unsafe fn replace(&self, waker: Option<Waker>) -> Option<Waker> {
        // SAFETY: by the contract nobody else touches the waker now (H3).
        self.waker
            .with_mut(|slot| unsafe { mem::replace(&mut *slot, waker) })
    }

    /// Whether waking this entry wakes the task of `cx`.
    ///
    /// # Safety
    ///
    /// The lock of the wheel that the entry is in is held.
    unsafe fn wakes(&self, cx: &Context<'_>) -> bool {
        // SAFETY: by the contract nobody else touches the waker now (H3).
        let waker = self.waker.with(|slot| unsafe { (*slot).as_ref() });
        // Compares two pointers; it runs no foreign code.
        waker.is_some_and(|waker| waker.will_wake(cx.waker()))
    }
}

impl Wheel {
    pub(crate) fn new(alarm: Arc<Alarm>) -> Wheel {
        Wheel {
            core: Mutex::new(Core::new(tick_of(alarm.clock().now()))),
            alarm,
        }
    }

    /// Whether a deadline has passed, by the clock of the wheel.
    #[inline]
    pub(crate) fn has_passed(&self, deadline: Deadline) -> bool {
        self.alarm.clock().has_passed(deadline)
    }

    /// Puts an entry in, to wake `waker` at its deadline.
    ///
    /// # Safety
    ///
    /// The entry is in no list, the caller owns it, and it stays where it is until it has fired or
    /// been taken out of this wheel again.
    pub(crate) unsafe fn link(&self, entry: &Entry, waker: Waker) {
        let mut core = self.core.lock();
        // SAFETY: the lock is held.
        let old = unsafe { entry.replace(Some(waker)) };
        debug_assert!(old.is_none(), "an entry outside a wheel has no waker (H3)");
        // SAFETY: the caller's contract, and the lock.
        unsafe { core.insert(NonNull::from(entry)) };
        core.live += 1;
        drop(core);
        self.alarm.ensure(entry.deadline());
    }

    /// Makes a linked entry wake the task of `cx`; `false` if it has fired.
    ///
    /// # Safety
    ///
    /// The entry has been linked into this wheel last.
    pub(crate) unsafe fn refresh(&self, entry: &Entry, cx: &Context<'_>) -> bool {
        let core = self.core.lock();
        if entry.list().is_none() {
            return false;
        }
        // SAFETY: it is in this wheel, whose lock is held.
        if unsafe { entry.wakes(cx) } {
            return true;
        }
        drop(core);
        let waker = cx.waker().clone();
        let core = self.core.lock();
        let linked = entry.list().is_some();
        let spare = if linked {
            // SAFETY: as above.
            unsafe { entry.replace(Some(waker)) }
        } else {
            Some(waker)
        };
        drop(core);
        drop(spare);
        linked
    }

    /// Takes an entry out, if it has not fired, and gives its waker. It is idle then.
    ///
    /// # Safety
    ///
    /// The entry has been linked into this wheel last.
    #[must_use = "the waker is to be dropped where no lock is held"]
    pub(crate) unsafe fn unlink(&self, entry: &Entry) -> Option<Waker> {
        let mut core = self.core.lock();
        let place = entry.list()?;
        // SAFETY: it is in this wheel's list `place` (H3).
        unsafe { core.remove(place, NonNull::from(entry)) };
        core.live -= 1;
        // ORDERING: Relaxed. It is the owner who asks for this, and who looks next.
        entry.place.store(IDLE, Relaxed);
        // SAFETY: the lock is held.
        unsafe { entry.replace(None) }
    }

    /// Moves an entry to a new deadline with the waker it has, if it has not fired.
    ///
    /// # Safety
    ///
    /// The entry has been linked into this wheel last.
    pub(crate) unsafe fn relink(&self, entry: &Entry, deadline: Deadline) {
        let mut core = self.core.lock();
        let Some(place) = entry.list() else {
            // Its task has been woken, and will poll it again.
            return entry.restart(deadline);
        };
        if core.index_of(deadline) == place / LANES {
            entry.deadline.store(deadline.as_nanos(), Relaxed);
        } else {
            // SAFETY: it is in this wheel's list `place` (H3), and stays pinned.
            unsafe {
                core.remove(place, NonNull::from(entry));
                entry.deadline.store(deadline.as_nanos(), Relaxed);
                core.insert(NonNull::from(entry));
            }
        }
        drop(core);
        self.alarm.ensure(deadline);
    }

    /// Wakes all entries that are due at `now`, the earlier ones first. `wakers` is room to work
    /// in, and empty.
    pub(crate) fn fire(&self, now: Deadline, wakers: &mut Vec<Waker>) -> Fired {
        wakers.reserve(MAX_WAKES);
        let mut woken = 0;
        loop {
            // The lock is released at the end of this statement.
            let next = self.core.lock().advance(now, wakers);
            woken += wake_all(wakers);
            if let Some(next) = next {
                return Fired { woken, next };
            }
        }
    }

    /// The earliest deadline of all entries, exactly. It looks at every entry of one slot.
    pub(crate) fn earliest(&self) -> Deadline {
        let mut core = self.core.lock();
        let first = core.first();
        first.map_or(Deadline::NEVER, |first| core.earliest(&first, usize::MAX))
    }

    /// Nobody fires here any more.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.alarm.is_closed()
    }

    /// Ready, unless `deadline` will never come here, because the reactor has been shut down. Then it panics, unless
    /// the caller `ends` as well.
    #[inline]
    pub(crate) fn come_or_end(&self, deadline: Deadline, ends: impl FnOnce() -> bool) -> Poll<()> {
        if !self.alarm.is_closed() || self.has_passed(deadline) {
            return Poll::Ready(());
        }
        assert!(
            ends(),
            "a timer was waited for whose runtime has been shut down"
        );
        Poll::Pending
    }

    pub(crate) fn live(&self) -> usize {
        self.core.lock().live
    }

    pub(crate) fn fired(&self) -> u64 {
        self.core.lock().fired
    }
}

impl Core {
    fn new(now: u64) -> Core {
        Core {
            now,
            cascading: 0,
            occupied: [0; LEVELS * SLOTS / WORD],
            slots: (0..LEVELS * SLOTS).map(|_| Slot::new()).collect(),
            live: 0,
            fired: 0,
        }
    }

    /// The slot that a deadline belongs to, seen from `now`; a passed one to that of `now`.
    fn index_of(&self, deadline: Deadline) -> usize {
        let tick = tick_of(deadline).max(self.now);
        let level = level_of(tick ^ self.now);
        level * SLOTS + slot_of(tick, level)
    }

    /// Puts an entry where its deadline belongs.
    ///
    /// # Safety
    ///
    /// The lock is held; the entry is in no list, and stays where it is until it is removed.
    unsafe fn insert(&mut self, node: NonNull<Entry>) {
        // SAFETY: the caller vouches for the entry.
        let entry = unsafe { node.as_ref() };
        let index = self.index_of(entry.deadline());
        self.occupied[index / WORD] |= 1 << (index % WORD);
        // SAFETY: the caller's contract.
        let lane = unsafe { self.slots[index].push(node) };
        // ORDERING: Relaxed. The lock orders it for those who look under it, and the owner only
        // wants to know that the entry is in some list.
        entry.place.store((index * LANES + lane) as u16, Relaxed);
    }

    /// Takes an entry out of its list.
    ///
    /// # Safety
    ///
    /// The lock is held, and the entry is in list `place`.
    unsafe fn remove(&mut self, place: usize, node: NonNull<Entry>) {
        let (index, lane) = (place / LANES, place % LANES);
        // SAFETY: the caller's contract.
        let empty = unsafe { self.slots[index].remove(lane, node) };
        if empty {
            self.occupied[index / WORD] &= !(1 << (index % WORD));
        }
    }

    /// Does a part of what is due at `now`. `None` if there is more, else the time of the next work.
    fn advance(&mut self, now: Deadline, wakers: &mut Vec<Waker>) -> Option<Deadline> {
        let end = tick_of(now);
        let mut moves = MAX_MOVES;
        loop {
            let Some(first) = self.first().filter(|first| first.start <= end) else {
                self.now = self.now.max(end);
                let first = self.first();
                return Some(first.map_or(Deadline::NEVER, |f| self.earliest(&f, MAX_LOOKS)));
            };
            self.now = first.start;
            if first.level > 0 {
                self.cascading = first.level;
                moves = self.cascade(&first, moves)?;
                continue;
            }
            let left = self.fire_slot(first.index, now, wakers)?;
            if !self.slots[first.index].is_empty() {
                // Later in this very tick.
                return Some(left);
            }
        }
    }

    /// Where the earliest entry is (H1).
    fn first(&mut self) -> Option<First> {
        if self.cascading > 0 {
            let level = self.cascading;
            let index = level * SLOTS + slot_of(self.now, level);
            if !self.slots[index].is_empty() {
                return Some(First {
                    level,
                    index,
                    start: self.now,
                });
            }
            self.cascading = 0;
        }
        let word = self.occupied.iter().position(|&slots| slots != 0)?;
        let index = word * WORD + self.occupied[word].trailing_zeros() as usize;
        let (level, slot) = (index / SLOTS, index % SLOTS);
        let shift = SLOT_BITS * level as u32;
        let above = self.now >> shift >> SLOT_BITS << SLOT_BITS;
        Some(First {
            level,
            index,
            start: (above | slot as u64) << shift,
        })
    }

    /// Moves entries down out of a slot that `now` has entered; how many moves are left then, or
    /// `None` if they did not suffice.
    fn cascade(&mut self, first: &First, mut moves: usize) -> Option<usize> {
        let mut walk = self.slots[first.index].walk();
        // SAFETY: the walk's nodes are in this slot until they are moved, each before the next is asked for,
        // and the lock is held, as `&mut self` shows.
        while let Some((lane, node)) = unsafe { walk.next(&self.slots[first.index]) } {
            moves = moves.checked_sub(1)?;
            // SAFETY: as above.
            unsafe {
                self.remove(first.index * LANES + lane, node);
                self.insert(node);
            }
        }
        Some(moves)
    }

    /// Collects the wakers of the entries of a level-0 slot that are due, and gives the earliest
    /// deadline of those that stay; `None` if there was not room for all.
    fn fire_slot(
        &mut self,
        index: usize,
        now: Deadline,
        wakers: &mut Vec<Waker>,
    ) -> Option<Deadline> {
        let mut left = Deadline::NEVER;
        let mut walk = self.slots[index].walk();
        // SAFETY: the walk's nodes are in this slot until they are fired, each before the next is asked for,
        // and the lock is held, as `&mut self` shows.
        while let Some((lane, node)) = unsafe { walk.next(&self.slots[index]) } {
            if wakers.len() >= MAX_WAKES {
                return None;
            }
            // SAFETY: as above.
            let entry = unsafe { node.as_ref() };
            if entry.deadline() > now {
                left = left.min(entry.deadline());
                continue;
            }
            // SAFETY: as above.
            unsafe {
                self.remove(index * LANES + lane, node);
                wakers.extend(entry.replace(None));
            }
            self.live -= 1;
            self.fired += 1;
            // ORDERING: Release, the edge to `phase`. The owner may free the entry now.
            entry.place.store(FIRED, Release);
        }
        Some(left)
    }

    /// A time not later than any entry of the first slot, and exact unless there are more of them
    /// than `looks`.
    fn earliest(&self, first: &First, looks: usize) -> Deadline {
        let slot = &self.slots[first.index];
        let mut earliest = Deadline::NEVER;
        let mut walk = slot.walk();
        for _ in 0..looks {
            // SAFETY: nothing is moved meanwhile: the lock is held, as the caller's `&mut` shows.
            let Some((_, node)) = (unsafe { walk.next(slot) }) else {
                return earliest;
            };
            // SAFETY: `node` is in this slot, so it is alive.
            earliest = earliest.min(unsafe { node.as_ref() }.deadline());
        }
        // SAFETY: as above.
        if unsafe { walk.next(slot) }.is_some() {
            return Deadline::from_nanos(first.start << TICK_BITS);
        }
        earliest
    }
}

fn tick_of(deadline: Deadline) -> u64 {
    deadline.as_nanos() >> TICK_BITS
}

/// The level of the highest digit that is not zero.
fn level_of(difference: u64) -> usize {
    (difference | 1).ilog2() as usize / SLOT_BITS as usize
}

/// The digit of a tick at a level.
fn slot_of(tick: u64, level: usize) -> usize {
    (tick >> (SLOT_BITS as usize * level)) as usize % SLOTS
}

impl fmt::Debug for Wheel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let core = self.core.lock();
        f.debug_struct("Wheel")
            .field("live", &core.live)
            .field("fired", &core.fired)
            .finish_non_exhaustive()
    }
}

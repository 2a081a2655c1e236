//! A channel for one value: one allocation and one word.
//!
//! # Roles
//!
//! * The **sender** writes the value, or goes without.
//! * The **receiver** waits for that, and may close before.
//!
//! # States
//!
//! | bit | set by | meaning |
//! |---|---|---|
//! | `VALUE` | sender | the value is in its cell, and is the receiver's |
//! | `ENDED` | sender | it has sent, or will not |
//! | `CLOSED` | receiver | it wants no value any more |
//! | `RX_WAKER`, `TX_WAKER` | who waits | its waker is in its cell |
//! | `RX_GONE`, `TX_GONE` | each | it touches the memory no more |
//!
//! # Invariants
//!
//! * **O1** The value's cell is the sender's until it sets `VALUE`, which it does only while `CLOSED`
//!   is clear, and the receiver's from then on.
//! * **O2** A waker's cell is its own side's while its bit is clear. The first of `ENDED` and `CLOSED` to be
//!   set decides for the cells whose bits are set in that moment: whoever sets it takes the wakers out,
//!   the other side's to wake it and its own to drop it.
//! * **O3** Whoever sets the second of the `GONE` bits frees.
//!
//! # Orderings
//!
//! Every change is a read-modify-write with `AcqRel`, so that they form a chain and each side sees what the
//! other did before: the value, the waker, and all uses before the memory is freed. The
//! `Acquire` loads join the chain to read only.

#![expect(
    unsafe_code,
    reason = "value, wakers and memory are passed on by the word"
)]

use std::fmt;
use std::mem::{self, MaybeUninit};
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use crate::primitive::cell::UnsafeCell;
use crate::primitive::sync::atomic::AtomicU8;
use crate::primitive::sync::atomic::Ordering::{AcqRel, Acquire};
use crate::wake::wake;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

const VALUE: u8 = 1;
const ENDED: u8 = 1 << 1;
const CLOSED: u8 = 1 << 2;
const RX_WAKER: u8 = 1 << 3;
const TX_WAKER: u8 = 1 << 4;
const RX_GONE: u8 = 1 << 5;
const TX_GONE: u8 = 1 << 6;

struct Cell<T> {
    word: AtomicU8,
    value: UnsafeCell<MaybeUninit<T>>,
    receiver: UnsafeCell<Option<Waker>>,
    sender: UnsafeCell<Option<Waker>>,
}

/// The sender's half of the right to a cell.
pub struct Sender<T> {
    cell: NonNull<Cell<T>>,
}

/// The receiver's half.
pub struct Receiver<T> {
    cell: NonNull<Cell<T>>,
    /// The value has been taken.
    taken: bool,
}

// SAFETY: the halves pass a `T` and wakers from one thread to another by the word, and share neither.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: through a shared reference only the word can be reached.
unsafe impl<T: Send> Sync for Sender<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Receiver<T> {}

/// What a receiver finds.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<T> {
    /// The value, which it has now taken.
    Value(T),
    /// Nothing, and nothing will come.
    Nothing,
    /// Nothing yet.
    NotYet,
}

/// A pair.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let cell = Box::new(Cell {
        word: AtomicU8::new(0),
        value: UnsafeCell::new(MaybeUninit::uninit()),
        receiver: UnsafeCell::new(None),
        sender: UnsafeCell::new(None),
    });
    let cell = NonNull::from(Box::leak(cell));
    (Sender { cell }, Receiver { cell, taken: false })
}

/// The last use of a half: sets its bit, and frees if the other's is set.
///
/// # Safety
///
/// The half that `gone` stands for does not use the cell afterwards, nor called this before.
unsafe fn let_go<T>(cell: NonNull<Cell<T>>, gone: u8) {
    // SAFETY: the half lives until here, so the memory does (O3).
    let before = unsafe { cell.as_ref() }.word.fetch_or(gone, AcqRel);
    if before & (RX_GONE | TX_GONE) != 0 {
        // SAFETY: it came from a box, and both halves are done with it (O3).
        drop(unsafe { Box::from_raw(cell.as_ptr()) });
    }
}

/// Leaves `waker` in the caller's own cell until the other side sets `end`. `false`: it has.
fn wait(
    word: &AtomicU8,
    cell: &UnsafeCell<Option<Waker>>,
    bit: u8,
    end: u8,
    waker: &Waker,
) -> bool {
    if word.load(Acquire) & bit != 0 && word.fetch_and(!bit, AcqRel) & end != 0 {
        // The other side has found the bit, and has the cell (O2).
        return false;
    }
    // SAFETY: the bit is clear, and was when the other side ended if it has: the cell is ours (O2).
    let is_same =
        cell.with_mut(|old| unsafe { (*old).as_ref().is_some_and(|old| old.will_wake(waker)) });
    if !is_same {
        // Copied before the cell is touched: a copy may panic.
        let copy = waker.clone();
        // SAFETY: as above.
        drop(cell.with_mut(|old| unsafe { (*old).replace(copy) }));
    }
    if word.fetch_or(bit, AcqRel) & end == 0 {
        return true;
    }
    // SAFETY: the other side ended without having found the bit: the cell is still ours (O2).
    drop(unsafe { take(cell) });
    false
}

/// # Safety
///
/// The cell is the caller's by O2.
unsafe fn take(cell: &UnsafeCell<Option<Waker>>) -> Option<Waker> {
    // SAFETY: by the contract.
    cell.with_mut(|waker| unsafe { (*waker).take() })
}

/// The wakers that whoever ended first has found (O2): the other side's is woken.
///
/// # Safety
///
/// The caller has set the first of `ENDED` and `CLOSED`, in the step that found `before`.
unsafe fn take_both<T>(cell: &Cell<T>, before: u8, by_sender: bool) {
    let theirs_and_own = if by_sender {
        [(&cell.receiver, RX_WAKER), (&cell.sender, TX_WAKER)]
    } else {
        [(&cell.sender, TX_WAKER), (&cell.receiver, RX_WAKER)]
    };
    let [theirs, own] = theirs_and_own.map(|(cell, bit)| {
        // SAFETY: the bit was set in the deciding step (O2).
        (before & bit != 0).then(|| unsafe { take(cell) }).flatten()
    });
    wake(theirs);
    drop(own);
}

impl<T> Sender<T> {
    fn cell(&self) -> &Cell<T> {
        // SAFETY: the memory lives until this half lets go, with which it ends (O3).
        unsafe { self.cell.as_ref() }
    }

    /// Sends, unless the receiver has closed.
    ///
    /// # Errors
    ///
    /// The value.
    #[inline]
    pub fn send(self, value: T) -> Result<(), T> {
        let cell = self.cell();
        let mut seen = cell.word.load(Acquire);
        if seen & CLOSED != 0 {
            return Err(value);
        }
        // SAFETY: `VALUE` is clear, so the cell is the sender's (O1).
        cell.value.with_mut(|place| unsafe {
            (*place).write(value);
        });
        loop {
            if seen & CLOSED != 0 {
                // SAFETY: it was written above, and without `VALUE` the cell is the sender's (O1).
                return Err(cell
                    .value
                    .with_mut(|place| unsafe { (*place).assume_init_read() }));
            }
            // Nobody to wake: the last step and the last use are one.
            let alone = seen & (RX_WAKER | TX_WAKER) == 0;
            let next = seen | VALUE | ENDED | if alone { TX_GONE } else { 0 };
            match cell.word.compare_exchange(seen, next, AcqRel, Acquire) {
                Ok(_) if alone => {
                    mem::forget(self);
                    return Ok(());
                }
                Ok(before) => {
                    // SAFETY: `CLOSED` was clear.
                    unsafe { take_both(cell, before, true) };
                    return Ok(());
                }
                Err(now) => seen = now,
            }
        }
    }

    /// Whether the receiver wants no value any more.
    pub fn is_closed(&self) -> bool {
        self.cell().word.load(Acquire) & CLOSED != 0
    }

    /// Waits until the receiver wants no value any more.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let cell = self.cell();
        if self.is_closed() || !wait(&cell.word, &cell.sender, TX_WAKER, CLOSED, cx.waker()) {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let cell = self.cell();
        if cell.word.load(Acquire) & ENDED == 0 {
            let before = cell.word.fetch_or(ENDED, AcqRel);
            if before & CLOSED == 0 {
                // SAFETY: `ENDED` and `CLOSED` were clear.
                unsafe { take_both(cell, before, true) };
            }
        }
        // SAFETY: this half ends here. `send` has not done it: it forgets the sender when it does.
        unsafe { let_go(self.cell, TX_GONE) };
    }
}

impl<T> Receiver<T> {
    fn cell(&self) -> &Cell<T> {
        // SAFETY: the memory lives until this half lets go, with which it ends (O3).
        unsafe { self.cell.as_ref() }
    }

    /// Looks for the value, which is given once.
    #[inline]
    pub fn look(&mut self) -> Found<T> {
        let seen = self.cell().word.load(Acquire);
        if let Some(value) = self.take(seen) {
            return Found::Value(value);
        }
        if seen & (ENDED | CLOSED) != 0 {
            return Found::Nothing;
        }
        Found::NotYet
    }

    /// The value, if `seen` says that it is there and it has not been taken.
    fn take(&mut self, seen: u8) -> Option<T> {
        if seen & VALUE == 0 || self.taken {
            return None;
        }
        self.taken = true;
        let cell = self.cell();
        // SAFETY: by `VALUE` it was written, and the cell is the receiver's (O1), which reads it once.
        Some(
            cell.value
                .with_mut(|place| unsafe { (*place).assume_init_read() }),
        )
    }

    /// Waits until there is something to be found.
    #[inline]
    pub fn poll_look(&mut self, cx: &mut Context<'_>) -> Found<T> {
        let found = self.look();
        if let Found::NotYet = found {
            let cell = self.cell();
            if !wait(&cell.word, &cell.receiver, RX_WAKER, ENDED, cx.waker()) {
                return self.look();
            }
        }
        found
    }

    /// Whether the value is there.
    pub fn has_value(&self) -> bool {
        self.cell().word.load(Acquire) & VALUE != 0 && !self.taken
    }

    /// Whether the value has been taken, or will not come.
    pub fn is_over(&self) -> bool {
        self.taken || self.cell().word.load(Acquire) & (ENDED | CLOSED) != 0 && !self.has_value()
    }

    /// Wants no value any more. One that was sent before can still be taken.
    pub fn close(&mut self) {
        let cell = self.cell();
        if cell.word.load(Acquire) & (ENDED | CLOSED) != 0 {
            return;
        }
        let before = cell.word.fetch_or(CLOSED, AcqRel);
        if before & ENDED == 0 {
            // SAFETY: `ENDED` and `CLOSED` were clear.
            unsafe { take_both(cell, before, false) };
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.close();
        let seen = self.cell().word.load(Acquire);
        let value = self.take(seen);
        // SAFETY: this half ends here.
        unsafe { let_go(self.cell, RX_GONE) };
        // Foreign code, and the last thing that is done.
        drop(value);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("has_value", &self.has_value())
            .finish_non_exhaustive()
    }
}

//! A timer, as the task that waits for it sees it.
//!
//! # Roles
//!
//! * The **owner** has the timer pinned, and makes, polls, resets and drops it.
//! * A **firing** thread takes the entry out of the wheel under the wheel's lock, and wakes.
//!
//! # States
//!
//! **idle** → (poll) → **linked** → (fire) → **fired**; a poll that comes too late goes straight to
//! fired, and a reset goes back to idle, or stays linked at another place of the same wheel. The
//! owner makes every step but the fire, and each step out of *linked* is made under the lock of the
//! wheel that the timer remembers. So of a fire and a reset or drop at the same moment, one comes
//! first, and the other finds it done.
//!
//! # Invariants
//!
//! * **T1** While the entry is linked, `wheel` is the wheel it is linked into. This also keeps the wheel
//!   alive for as long as it has entries.
//! * **T2** The timer is pinned from its first poll on, and unlinks when it is dropped.

#![expect(unsafe_code, reason = "a pinned timer lends its entry to the wheel")]

use std::fmt;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::deadline::Deadline;
use crate::primitive::sync::Arc;
use crate::wheel::{Entry, Phase, Wheel};

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

/// Waits for one deadline, or one after the other.
///
/// It is never early. It costs no allocation, and until its first poll nothing at all: only that
/// puts it into a [`Wheel`]. It belongs to no thread: it may be polled, reset and dropped on any.
pub struct Timer {
    /// The wheel that the entry is in, or was in last (T1).
    wheel: Option<Arc<Wheel>>,
    entry: Entry,
    _pinned: PhantomPinned,
}

impl Timer {
    /// Makes a timer that does nothing before it is polled.
    pub fn new(deadline: Deadline) -> Timer {
        Timer {
            wheel: None,
            entry: Entry::new(deadline),
            _pinned: PhantomPinned,
        }
    }

    /// What it waits for.
    pub fn deadline(&self) -> Deadline {
        self.entry.deadline()
    }

    /// Whether it has fired, or a poll has found that it need not wait. It looks at no clock: a
    /// timer whose deadline has passed just now, or that has not been polled, says `false`.
    pub fn is_elapsed(&self) -> bool {
        self.entry.phase() == Phase::Fired
    }

    /// Makes it wait for another deadline.
    ///
    /// A task that waits for it goes on waiting, and is woken at the new deadline (at once, if that has
    /// passed) without polling it again. A timer that has fired has to be polled again.
    pub fn reset(self: Pin<&mut Self>, deadline: Deadline) {
        let (wheel, entry) = self.parts();
        if entry.phase() != Phase::Linked {
            return entry.restart(deadline);
        }
        let wheel = home(wheel.as_ref());
        if !wheel.has_passed(deadline) {
            // SAFETY: by T1 the entry is in this wheel if it is in one.
            return unsafe { wheel.relink(entry, deadline) };
        }
        // SAFETY: as above.
        let waker = unsafe { wheel.unlink(entry) };
        entry.restart(deadline);
        entry.finish();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ready once the deadline has passed; until then the task is woken when it does. Stays ready
    /// until it is [`reset`](Timer::reset).
    ///
    /// A deadline that has passed is noticed here, whether or not the reactor has come to it.
    /// `place` says which wheel to use; it is asked only if the timer is in none.
    ///
    /// # Panics
    ///
    /// If the deadline has not passed and the reactor has been shut down: it would wait for ever.
    pub fn poll(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        place: impl FnOnce() -> Arc<Wheel>,
    ) -> Poll<()> {
        self.poll_or_end(cx, place, || false)
    }

    /// As [`poll`](Timer::poll), but where that would panic `ends` is asked whether the caller is to be dropped with
    /// the reactor, and so need not be told: then it is pending.
    pub fn poll_or_end(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        place: impl FnOnce() -> Arc<Wheel>,
        ends: impl FnOnce() -> bool,
    ) -> Poll<()> {
        let (wheel, entry) = self.parts();
        match entry.phase() {
            // It may have been woken only to learn that nobody will.
            Phase::Fired => wheel.as_ref().map_or(Poll::Ready(()), |wheel| {
                wheel.come_or_end(entry.deadline(), ends)
            }),
            Phase::Linked => poll_linked(home(wheel.as_ref()), entry, cx),
            Phase::Idle => {
                let wheel = wheel.insert(place());
                if wheel.has_passed(entry.deadline()) {
                    entry.finish();
                    return Poll::Ready(());
                }
                let waker = cx.waker().clone();
                // SAFETY: an idle entry is in no list, and this is its owner. It is pinned, and the
                // drop takes it out (T2).
                unsafe { wheel.link(entry, waker) };
                // After the link: a shutdown fires what it finds, and is seen by what comes later.
                if wheel.is_closed() {
                    // SAFETY: by T1 the entry is in this wheel if it is in one.
                    drop(unsafe { wheel.unlink(entry) });
                    let comes = wheel.come_or_end(entry.deadline(), ends);
                    if comes.is_ready() {
                        entry.finish();
                    }
                    return comes;
                }
                Poll::Pending
            }
        }
    }

    /// The owner's part, and the part that is shared with the wheel.
    fn parts(self: Pin<&mut Self>) -> (&mut Option<Arc<Wheel>>, &Entry) {
        // SAFETY: nothing is moved: the entry is given out as shared only, and where the pointer to
        // the wheel lies does not matter.
        let this = unsafe { self.get_unchecked_mut() };
        (&mut this.wheel, &this.entry)
    }
}

fn poll_linked(wheel: &Wheel, entry: &Entry, cx: &Context<'_>) -> Poll<()> {
    if wheel.has_passed(entry.deadline()) {
        // SAFETY: by T1 the entry is in this wheel if it is in one.
        let waker = unsafe { wheel.unlink(entry) };
        entry.finish();
        drop(waker);
        return Poll::Ready(());
    }
    // SAFETY: as above.
    if unsafe { wheel.refresh(entry, cx) } {
        return Poll::Pending;
    }
    Poll::Ready(())
}

fn home(wheel: Option<&Arc<Wheel>>) -> &Wheel {
    wheel.expect("a linked timer remembers its wheel (T1)")
}

impl Drop for Timer {
    fn drop(&mut self) {
        if self.entry.phase() == Phase::Linked {
            // SAFETY: by T1 the entry is in this wheel if it is in one.
            let waker = unsafe { home(self.wheel.as_ref()).unlink(&self.entry) };
            drop(waker);
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("deadline", &self.deadline())
            .field("phase", &self.entry.phase())
            .finish_non_exhaustive()
    }
}

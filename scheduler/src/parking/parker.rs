//! Where one worker sleeps: a word that says how to wake it.
//!
//! Every change is a swap or a compare-exchange, never a plain store: a notification that lands
//! between two steps of the sleeper is consumed, not overwritten.
//!
//! # Orderings
//!
//! One edge: the fence in [`close`](super::Parking::close), before its unparks, and the `Acquire` in
//! [`end`](Parker::end) carry `closed`, so that a worker that was woken to stop does not sleep
//! again. What a notifier did for a task reaches the sleeper through the lock of the idle account.

use crate::primitive::sync::atomic::AtomicU32;
use crate::primitive::sync::atomic::Ordering::{Acquire, Relaxed};
use crate::primitive::thread::Token;

const EMPTY: u32 = 0;
const WAITING: u32 = 1;
/// In the driver, as the gate's owner.
pub(super) const LEADING: u32 = 2;
const NOTIFIED: u32 = 3;

/// Where one worker sleeps.
pub(super) struct Parker {
    pub(super) state: AtomicU32,
    pub(super) token: Token,
}

impl Parker {
    pub(super) fn new() -> Self {
        Parker {
            state: AtomicU32::new(EMPTY),
            token: Token::default(),
        }
    }

    /// Publishes how this worker sleeps. `false`: it was notified already, and that is consumed.
    pub(super) fn begin(&self, how: u32) -> bool {
        if self
            .state
            .compare_exchange(EMPTY, how, Relaxed, Relaxed)
            .is_ok()
        {
            return true;
        }
        self.end();
        false
    }

    /// Ends the sleep and says whether a notification had come.
    pub(super) fn end(&self) -> bool {
        self.state.swap(EMPTY, Acquire) == NOTIFIED
    }

    /// Sleeps on the token until notified.
    pub(super) fn wait(&self) {
        if self.begin(WAITING) {
            while self.state.load(Relaxed) == WAITING {
                self.token.wait();
            }
            self.end();
        }
    }

    /// Notifies, and returns how the worker slept.
    pub(super) fn unpark(&self) -> u32 {
        let slept = self.state.swap(NOTIFIED, Relaxed);
        if slept == WAITING {
            self.token.wake();
        }
        slept
    }
}

//! What the scheduler asks of a reactor.
//!
//! The scheduler decides which thread polls and when; the driver knows what is polled. A pool
//! without a driver (the CPU pool) parks on thread tokens alone.

use std::time::Duration;

/// How long a poll may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    Now,
    /// As [`Forever`](Wait::Forever), but no longer than about this.
    For(Duration),
    /// Until an event or a [`kick`](Driver::kick) comes.
    Forever,
}

/// A source of events that one thread at a time may wait for.
///
/// Each polling thread has a buffer of its own, named by a number: the workers' are their indices,
/// the reactor thread's is the number after them.
pub trait Driver: Send + Sync + 'static {
    /// Waits for events and keeps them in `buffer`. Returns how many there are, kicks not counted.
    ///
    /// Only the owner of the gate calls this, so calls never overlap, and one call sees all that
    /// the ones before it did.
    fn poll(&self, buffer: usize, wait: Wait) -> usize;

    /// Wakes whoever waits for the events in `buffer`, and empties it. Returns how many were woken.
    ///
    /// Called without the gate, by the thread that polled into this buffer, while others may poll
    /// or dispatch. It runs wakers, so it is called with no lock held.
    fn dispatch(&self, buffer: usize) -> usize;

    /// Told on the reactor thread, every few milliseconds as long as workers are awake: so many are.
    fn tick(&self, _awake: usize) {}

    /// Ends the current or the next [`poll`](Driver::poll), whichever thread's it is.
    fn kick(&self);
}

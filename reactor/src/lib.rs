//! The reactor of the `rt` runtime: turns what the kernel reports into wake-ups.
//!
//! A [`Reactor`] holds one epoll set. Tasks wait for files through a [`Source`] and for the time
//! through a [`Timer`]; both take a [`Waker`](std::task::Waker) and know nothing of tasks, queues
//! or pools. Which thread polls, and when, is for the caller to decide.
//!
//! # A round
//!
//! A thread that has the right to poll calls [`Reactor::poll`], which fills its [`Events`], gives
//! the right on, and then calls [`Reactor::dispatch`], which wakes. Several threads may dispatch at
//! once, each what it has polled.
//!
//! ```
//! use std::io::Write;
//! use std::os::fd::AsFd;
//! use std::os::unix::net::UnixStream;
//!
//! use rt_reactor::{Events, Interest, Reactor, Wait};
//!
//! # fn main() -> std::io::Result<()> {
//! let reactor = Reactor::new(1)?;
//! let mut events = Events::with_capacity(64);
//!
//! let (near, mut far) = UnixStream::pair()?;
//! let source = reactor.register(near.as_fd())?;
//! far.write_all(b"hello")?;
//! while !source.now(Interest::READABLE).is_readable() {
//!     reactor.poll(&mut events, Wait::Forever)?;
//!     reactor.dispatch(&mut events);
//! }
//! source.deregister(near.as_fd())?;
//! # Ok(())
//! # }
//! ```
//!
//! # The life of an event
//!
//! 1. The kernel puts an edge into the set. It carries a token: an index and a generation, never a
//!    descriptor or an address, so that it cannot be taken for an event of whoever has the number
//!    next.
//! 2. `dispatch` finds the entry by the index, without a lock, and sets bits in its *readiness word*
//!    if the generation is still the same. From here on it is a level, not an edge.
//! 3. It takes the wakers of those who wait for these bits, releases the lock, and wakes them in the
//!    order in which they came.
//! 4. A task tries its call. If that would block, it clears the bits, which succeeds only if no newer
//!    event has come, and waits again.
//!
//! # The life of a timer
//!
//! 1. The first poll links it into a [`Wheel`], usually that of the worker that polls it.
//! 2. If its deadline is earlier than what the *alarm* (a timerfd in the epoll set) is armed for, the
//!    thread that links it sets the alarm anew. That wakes nobody.
//! 3. The alarm is an event like others. Its dispatch takes what is due out of all wheels, wakes, and
//!    arms the alarm for what is left. Timers that follow each other closely share alarms.
//! 4. Dropping a timer takes it out of its wheel, in constant time and without a system call.
//!
//! # What holds everywhere
//!
//! * No waker is cloned, woken or dropped under a lock of this crate. Debug builds check it.
//! * A waker that panics costs nobody else a wake-up.
//! * Nothing here blocks but [`Reactor::poll`].
//! * `EINTR` is retried, every return code is checked, and no descriptor is inherited.
//!
//! # Where to read on
//!
//! `readiness.rs` (the word), `waiters.rs` (who waits), `registry.rs` (tokens and entries), `alarm.rs`
//! (the protocol of timers and timerfd), `wheel.rs`, `timer.rs`. System calls are in `sys.rs` only.
//! Under `cfg(loom)` that module is replaced by stand-ins, and the models beside each file run every
//! interleaving of it.

mod alarm;
mod clock;
mod deadline;
#[cfg(all(test, not(loom)))]
mod drive;
mod fetch;
mod interest;
mod list;
mod primitive;
#[cfg(test)]
mod probe;
mod reactor;
mod readiness;
mod registry;
mod slab;
mod slot;
mod source;
#[cfg_attr(loom, path = "fake.rs")]
mod sys;
mod timer;
mod timers;
mod waiters;
mod wake;
mod wheel;

pub use clock::Clock;
pub use deadline::Deadline;
pub use interest::{Direction, Interest, Ready};
pub use reactor::{Events, Reactor, Wait};
pub use source::{Readiness, Source};
#[cfg(not(loom))]
pub use sys::{Forked, Process, pipe, socket};
pub use timer::Timer;
pub use wheel::Wheel;

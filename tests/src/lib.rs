//! What the tests of `rt` share: runtimes of every flavour, a limit on how long a test may hang,
//! drop counters, odd wakers, and a look at the process from outside.
//!
//! The tests use the public API alone. They wait for events, not for time; where there is no event
//! to wait for (a thread that ends, a counter) they look again until it is so, and the watchdog
//! ends what never comes.

mod alone;
mod census;
mod flavour;
mod fork;
mod memory;
mod process;
mod wait;
mod waker;
mod watchdog;

pub use alone::{alone, alone_after};
pub use census::{Census, Counted};
pub use flavour::{FLAVOURS, Flavour, everywhere, with};
pub use fork::{in_child, lives_on_as_child};
pub use memory::{memory, memory_in_use};
pub use process::{allowed_cpus, cpu_time, fds, sleeps, thread_names, threads, threads_named};
pub use wait::{GOES_ON, poll_once, until, until_yielding};
pub use waker::{Fault, FaultyWaker, counting_waker};
pub use watchdog::Watchdog;

/// The program in the README, which must compile.
#[doc = include_str!("../../README.md")]
#[cfg(doctest)]
#[derive(Debug)]
pub struct Readme;

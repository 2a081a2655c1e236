//! Time: instants, sleeping, ticks, and limits on how long a future may take.
//!
//! | to | use |
//! |---|---|
//! | wait | [`sleep`], [`sleep_until`] |
//! | do something again and again | [`interval`], [`interval_at`] |
//! | give a future only so long | [`timeout`], [`timeout_at`] |
//! | say when | [`Instant`] |
//! | test all this in no time | [`pause`], [`advance`], [`resume`] |
//!
//! # Precision
//!
//! Nothing here ever ends early. How late it ends is up to the kernel: some tens of microseconds for a
//! wait alone, as the runtime arms a kernel timer for its exact deadline. Where many timers end close
//! together, those that follow others share wake-ups and come up to a tenth of a millisecond later. A
//! duration of zero and a deadline that has passed are ready at the first poll.
//!
//! Every [`Duration`](std::time::Duration) is accepted. An [`Instant`] saturates where `std`'s panics:
//! what lies beyond its reach of some centuries, such as now and
//! [`Duration::MAX`](std::time::Duration::MAX), never comes.
//!
//! A timer is part of its future, and linked into a wheel of the worker that polls it. To make, reset
//! and drop one takes constant time however many there are, and allocates nothing, but for an
//! [`Interval`], which has one box.
//!
//! # Clocks
//!
//! Timers and [`Instant::now`] follow the clock of the current runtime. That is the kernel's monotonic
//! clock, which stands still while the machine is suspended, or, by
//! [`Builder::clock`](crate::runtime::Builder::clock), the one that [counts that too](Clock::Boottime).
//! Neither is ever set. Instants of two runtimes may be compared as long as both have the same clock.
//!
//! # Virtual time
//!
//! On a current-thread runtime the clock can be [paused](pause). Time then stands still while anything
//! can run, and jumps to the next deadline when nothing can. `#[rt::test(start_paused = true)]` is a
//! test that begins like this:
//!
//! ```
//! use std::time::Duration;
//! use rt::time::{Instant, sleep, timeout};
//!
//! # #[rt::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let start = Instant::now();
//! let slow = async {
//!     sleep(Duration::from_secs(90)).await;
//!     "done"
//! };
//! assert!(timeout(Duration::from_secs(60), slow).await.is_err());
//! assert_eq!(start.elapsed(), Duration::from_secs(60));
//! # }
//! ```
//!
//! # Determinism
//!
//! On a current-thread runtime nothing but its seed decides what runs when, as long as all that tasks
//! wait for is one another and, with a paused clock, the time. With
//! [`Builder::seed`](crate::runtime::Builder::seed), or `seed = 7` in `#[rt::test]`, ready tasks are
//! polled in an order drawn from the seed, and so is the order in which `select!` looks at its
//! branches. The same seed gives the same run, so a run that fails can be repeated, step by step; and
//! another seed gives another run, so a thousand seeds find what hides in one order of many.
//!
//! `seed = random` draws a new seed each time and prints it, so that a failure tells how to repeat it.
//!
//! ```
//! use std::time::Duration;
//!
//! // Which of two tasks comes first? No run tells, but all of them do.
//! fn first(seed: u64) -> &'static str {
//!     let runtime = rt::Runtime::builder().current_thread().seed(seed).start_paused(true);
//!     runtime.build().unwrap().block_on(async {
//!         let hour = Duration::from_secs(3600);
//!         let (tell, told) = std::sync::mpsc::channel();
//!         let tasks = ["left", "right"].map(|name| {
//!             let tell = tell.clone();
//!             rt::spawn(async move {
//!                 rt::time::sleep(hour).await;
//!                 tell.send(name).unwrap();
//!             })
//!         });
//!         for task in tasks {
//!             task.await.unwrap();
//!         }
//!         told.recv().unwrap()
//!     })
//! }
//! assert_eq!(first(1), first(1));
//! let seeds = 0..100;
//! assert!(seeds.clone().any(|seed| first(seed) == "left"));
//! assert!(seeds.clone().any(|seed| first(seed) == "right"));
//! ```

pub use self::clock::{Clock, advance, pause, resume};
pub use self::instant::Instant;
pub use self::interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use self::sleep::{Sleep, sleep, sleep_until};
pub use self::timeout::{Elapsed, Timeout, timeout, timeout_at};

mod clock;
mod instant;
mod interval;
mod sleep;
mod timeout;

//! Which clock the time follows, and a clock that stands still.

use std::sync::Arc;
use std::time::Duration;

use rt_reactor::Reactor;

use super::Instant;
use super::instant::LAST;
use crate::context;

/// A clock of the kernel, for [`Builder::clock`](crate::runtime::Builder::clock).
///
/// Both are monotonic: they are never set, and never go back. They differ while the machine is
/// suspended (a laptop whose lid is closed, a virtual machine that is paused by its own kernel).
///
/// # Examples
///
/// ```
/// use rt::time::Clock;
///
/// assert_eq!(Clock::default(), Clock::Monotonic);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Clock {
    /// `CLOCK_MONOTONIC`: stands still while the machine is suspended. A sleep of an hour during which
    /// the machine sleeps for ten ends after eleven. So a machine that wakes up does not find every
    /// timeout over at once, before anything had a chance to happen in time.
    #[default]
    Monotonic,
    /// `CLOCK_BOOTTIME`: counts suspensions. The same sleep ends as soon as the machine is awake
    /// again, which it does not bring about. For leases, tokens and whatever else runs out by the time
    /// of the world outside.
    Boottime,
}

/// Makes the current runtime's clock stand still.
///
/// From then on [`Instant::now`] stays the same, and time goes on in two ways only: by [`advance`], and
/// by itself when nothing can run. Then it jumps to the earliest deadline that somebody waits for. So
/// a test of a day's work takes milliseconds, and every timer still ends in its order.
///
/// Whatever the runtime knows to run holds time back: tasks of either pool, blocking jobs that run or
/// wait for a thread, and other threads in the runtime's `block_on`. A blocking job that waits for
/// time to pass must therefore wait in [`Handle::block_on`](crate::Handle::block_on), which the runtime
/// knows to wait. Threads of the program's own and peers at the other end of a socket hold nothing
/// back: a timeout around a socket's read ends at once unless the answer is already there. And a task
/// that yields in a loop until it is time can always run, so it never will be.
///
/// Deadlines of blocking calls that the kernel keeps, and `std`'s clock, go on as ever.
///
/// # Panics
///
/// Outside a runtime, on one that is not [`current_thread`](crate::runtime::Builder::current_thread),
/// and if the clock stands still already.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use rt::time::{self, Instant};
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// time::pause();
/// let (start, real) = (Instant::now(), std::time::Instant::now());
/// time::sleep(Duration::from_secs(3600)).await;
/// assert_eq!(start.elapsed(), Duration::from_secs(3600));
/// assert!(real.elapsed() < Duration::from_secs(3600));
/// # }
/// ```
#[track_caller]
pub fn pause() {
    let reactor = pausable("time::pause");
    let paused = reactor.clock().pause();
    assert!(paused, "`time::pause`: the clock stands still already");
    // Whoever waits for a kernel timer waits for this clock from now on.
    reactor.kick();
}

/// Lets a paused clock run on from where it stands, as fast as the real one.
///
/// # Panics
///
/// Outside a runtime, on one that is not [`current_thread`](crate::runtime::Builder::current_thread),
/// and if the clock runs already.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use rt::time::{self, Instant};
///
/// # #[rt::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// time::resume();
/// let real = std::time::Instant::now();
/// time::sleep(Duration::from_millis(3)).await;
/// assert!(real.elapsed() >= Duration::from_millis(3));
/// # }
/// ```
#[track_caller]
pub fn resume() {
    let resumed = pausable("time::resume").resume();
    assert!(resumed, "`time::resume`: the clock is not paused");
}

/// Moves a paused clock forward, at once and in one step, and lets the tasks that this wakes run.
///
/// Timers that are due by then fire in their order, but all of them see the new time. To go from each
/// deadline to the next, as time would, just [`sleep`](super::sleep) on the paused clock. A duration
/// that is too long for the clock moves it to its end.
///
/// # Panics
///
/// Outside a runtime, on one that is not [`current_thread`](crate::runtime::Builder::current_thread),
/// and if the clock is not paused.
///
/// # Cancel safety
///
/// The clock is moved by the first poll. What is dropped after that is only the wait for the tasks.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use rt::time;
///
/// # #[rt::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let hour = Duration::from_secs(3600);
/// let sleeper = rt::spawn(time::sleep(hour));
/// rt::yield_now().await;
/// time::advance(hour).await;
/// assert!(sleeper.is_finished());
/// # }
/// ```
pub async fn advance(duration: Duration) {
    let reactor = pausable("time::advance");
    let target = Instant::now().checked_add(duration).unwrap_or(LAST);
    let moved = reactor.clock().try_advance_to(target.to_deadline());
    assert!(moved, "`time::advance`: the clock is not paused");
    rt_scheduler::wake_in_order(|| {
        reactor.fire_timers();
    });
    crate::yield_now().await;
}

/// The current runtime's reactor, whose clock can be paused; panics for `name` where it cannot.
#[track_caller]
fn pausable(name: &str) -> Arc<Reactor> {
    let reactor = context::reactor();
    assert!(
        reactor.clock().is_pausable(),
        "`{name}` needs a current-thread runtime (`Builder::current_thread`, or \
         `flavor = \"current_thread\"`): time can stand still only where one thread runs all tasks"
    );
    reactor
}

//! Spawning into the current runtime.

use std::future::Future;
use std::io;
use std::panic::Location;

use rt_scheduler::{JoinHandle, Lane};

use crate::context;
use crate::dispatcher::Dispatcher;
use crate::handle::{BOX_ABOVE, box_if_large};

/// Spawns a task onto the current runtime's IO pool. See [`Handle::spawn`](crate::Handle::spawn).
///
/// # Panics
///
/// Outside a runtime.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let task = rt::spawn(async { 6 * 7 });
/// assert_eq!(task.await.unwrap(), 42);
/// # }
/// ```
///
/// A task may outlive its spawner, so it borrows nothing, and it may change threads, so it is
/// [`Send`]:
///
/// ```compile_fail
/// # #[rt::main]
/// # async fn main() {
/// let shared = std::rc::Rc::new(1);
/// rt::spawn(async move { println!("{shared}") });
/// # }
/// ```
///
/// ```compile_fail
/// # #[rt::main]
/// # async fn main() {
/// let local = String::from("borrowed");
/// rt::spawn(async { println!("{}", &local) });
/// # }
/// ```
#[track_caller]
#[inline]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let location = Location::caller();
    box_if_large!(future => {
        context::with(|handle| handle.spawn_at(Dispatcher::Io, future, location))
    })
}

/// Spawns a task onto the pool that `dispatcher` names. See
/// [`Handle::spawn_on`](crate::Handle::spawn_on).
///
/// # Panics
///
/// Outside a runtime; on a current-thread runtime, if the CPU pool's threads cannot be started.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let sum = rt::spawn_on(rt::Dispatcher::Cpu, async { (1..=1000u64).sum::<u64>() });
/// assert_eq!(sum.await.unwrap(), 500_500);
/// # }
/// ```
#[track_caller]
pub fn spawn_on<F>(dispatcher: Dispatcher, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let location = Location::caller();
    box_if_large!(future => {
        context::with(|handle| handle.spawn_at(dispatcher, future, location))
    })
}

/// Runs a closure that may block on a thread of its own. See
/// [`Handle::spawn_blocking`](crate::Handle::spawn_blocking).
///
/// # Panics
///
/// Outside a runtime, and if the operating system refuses a thread while there is none to run the job.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() -> std::io::Result<()> {
/// let name = rt::spawn_blocking(|| std::fs::read_to_string("/proc/self/comm")).await?;
/// println!("{}", name?);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn spawn_blocking<F, T>(job: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let location = Location::caller();
    if size_of::<F>() > BOX_ABOVE {
        let job = Box::new(job);
        context::with(|handle| handle.spawn_blocking_at(job, location))
    } else {
        context::with(|handle| handle.spawn_blocking_at(job, location))
    }
}

/// Runs one of the runtime's own blocking calls in its lane, in the current runtime.
#[track_caller]
pub(crate) fn try_spawn_lane<F, T>(lane: Lane, job: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let location = Location::caller();
    context::with(|handle| handle.try_spawn_lane(lane, job, location))
}

/// Runs a closure that may block, on this thread.
///
/// A worker first leaves its other tasks to its pool, which calls a spare worker in if all others
/// are busy, so `f` delays nobody but its own task. For long jobs that need no `&` to the task's own
/// data, [`spawn_blocking`] is better. On a current-thread runtime, and on a thread that is no
/// worker, `f` just runs. Inside, [`Handle::block_on`](crate::Handle::block_on) may be used.
///
/// # Examples
///
/// ```
/// # #[rt::main]
/// # async fn main() {
/// let words = String::from("borrowed is fine here");
/// let count = rt::block_in_place(|| words.split(' ').count());
/// assert_eq!(count, 4);
/// # }
/// ```
pub fn block_in_place<R>(f: impl FnOnce() -> R) -> R {
    rt_scheduler::block_in_place(f)
}

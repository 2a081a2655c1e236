//! `shield`: work that a cancellation does not cut.

use std::future::{Future, pending};
use std::panic::{Location, resume_unwind};
use std::sync::Arc;

use rt_scheduler::scope::{Child, Kind};

use super::body::Open;
use crate::context;
use crate::dispatcher::Dispatcher;

/// Runs `future` to its end, even if the caller is cancelled meanwhile.
///
/// It runs as a task of its own, which no cancellation and no deadline reaches: inside,
/// [`is_cancelled`](rt::is_cancelled) is false. It starts when this is first polled. If this is dropped
/// after that, the task in which it is dropped does not complete, and so the scope around it does not
/// end, before `future` has ended. Only the end of the runtime cuts it.
///
/// # Panics
///
/// Outside a runtime, and with the panic of `future`. In a `block_on`, if the runtime is shut down before
/// `future` has ended; a task ends with its runtime anyway.
///
/// # Cancel safety
///
/// What was begun is ended; its value is lost.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
///
/// # #[rt::main]
/// # async fn main() {
/// let saved = Arc::new(AtomicBool::new(false));
/// let flag = Arc::clone(&saved);
/// let (begin, begun) = std::sync::mpsc::channel();
/// let task = rt::spawn(rt::shield(async move {
///     begin.send(()).unwrap();
///     rt::delay(std::time::Duration::from_millis(5)).await;
///     flag.store(true, SeqCst);
/// }));
/// rt::block_in_place(|| begun.recv()).unwrap();
/// task.abort();
/// let _cancelled = task.await;
/// assert!(saved.load(SeqCst));
/// # }
/// ```
#[track_caller]
pub fn shield<F>(future: F) -> impl Future<Output = F::Output> + Send
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    run(future, Location::caller())
}

async fn run<F>(future: F, location: &'static Location<'static>) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let open = Open::new(Kind::Shield);
    let child = Child(Arc::clone(open.node()));
    let task = context::with(|runtime| {
        let pool = if Dispatcher::Cpu.is_here(&runtime.inner) {
            Dispatcher::Cpu
        } else {
            Dispatcher::Io
        };
        runtime.inner.spawn_as(child, pool, future, location)
    });
    let ended = task.await;
    open.ended().await;
    match ended.map_err(rt_scheduler::JoinError::try_into_panic) {
        Ok(value) => value,
        Err(Ok(payload)) => resume_unwind(payload),
        Err(Err(_)) => {
            assert!(
                context::ends_here(),
                "the runtime was shut down before the work of `shield` had ended"
            );
            // A task of a runtime that ends is not polled again: it is about to be dropped.
            pending().await
        }
    }
}

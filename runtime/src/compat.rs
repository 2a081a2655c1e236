//! Running what insists on tokio.
//!
//! Some libraries call tokio's runtime themselves: they spawn on it, use its sockets or its timers, and
//! panic where there is none. With
//! [`Builder::tokio_context`](crate::runtime::Builder::tokio_context) there is one: a single thread,
//! `rt-tokio`, runs a small tokio runtime for the whole process, and every thread of this runtime is
//! inside its context. So `reqwest`, `sqlx` or tonic's transport are called like anything else.
//!
//! # What it costs
//!
//! Little, until such a library is used: the helper thread sleeps. A socket of tokio's is watched by the
//! helper, so that each time a task of ours waits for it, two threads are involved, and the wake-up
//! goes from one to the other. A future that talks much is better moved to the helper as a whole, with
//! [`tokio()`]: there it costs what it costs on tokio. What tokio spawns runs on that one thread.
//!
//! `tokio::task::spawn_local` still panics, and tokio's paused clock and its budget mean nothing to tasks
//! of this runtime.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::thread;

use parking_lot::Mutex;
use rt_reactor::Process;
use tokio::runtime::{self, EnterGuard};
use tokio::task::JoinHandle;

/// The helper's handle. One helper serves all runtimes of the process, and stays.
static HELPER: OnceLock<Helper> = OnceLock::new();

struct Helper {
    tokio: runtime::Handle,
    /// Where its thread is: a forked child has the handle, but nobody who runs anything.
    maker: Process,
}

/// Held while the helper is started, so that there is one.
static STARTING: Mutex<()> = Mutex::new(());

thread_local! {
    /// Keeps a thread of a runtime inside tokio's context for the thread's life.
    static ADOPTED: RefCell<Option<EnterGuard<'static>>> = const { RefCell::new(None) };
}

/// Starts the helper, unless it runs.
pub(crate) fn start() -> io::Result<()> {
    let _one = STARTING.lock();
    if let Some(helper) = HELPER.get() {
        return Ok(helper.maker.check()?);
    }
    let tokio = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let helper = Helper {
        tokio: tokio.handle().clone(),
        maker: Process::current(),
    };
    thread::Builder::new()
        .name("rt-tokio".to_owned())
        .spawn(move || tokio.block_on(std::future::pending::<()>()))?;
    HELPER.get_or_init(|| helper);
    Ok(())
}

/// Enters tokio's context for as long as the guard lives.
pub(crate) fn enter() -> Option<EnterGuard<'static>> {
    HELPER.get().map(|helper| helper.tokio.enter())
}

/// Enters tokio's context until [`leave_thread`].
pub(crate) fn adopt_thread() {
    let guard = enter();
    // A thread without its locals is ending: nothing of tokio will run on it.
    let _ = ADOPTED.try_with(|adopted| adopted.replace(guard));
}

/// The end of an adopted thread.
pub(crate) fn leave_thread() {
    let _ = ADOPTED.try_with(RefCell::take);
}

/// Runs `future` on tokio's own thread and gives its value back.
///
/// # Panics
///
/// If no runtime of this process was built with
/// [`tokio_context`](crate::runtime::Builder::tokio_context), and in a forked child. A panic of the future resumes where this
/// one is awaited.
///
/// # Cancel safety
///
/// Dropping the returned future aborts the one on tokio.
///
/// # Examples
///
/// ```
/// let runtime = rt::Runtime::builder().tokio_context(true).build()?;
/// let thread = runtime.block_on(rt::compat::tokio(async {
///     tokio::time::sleep(std::time::Duration::from_millis(1)).await;
///     std::thread::current().name().map(str::to_owned)
/// }));
/// assert_eq!(thread.as_deref(), Some("rt-tokio"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn tokio<F>(future: F) -> Tokio<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let helper = HELPER
        .get()
        .expect("no runtime was built with `Builder::tokio_context(true)`");
    if let Err(error) = helper.maker.check() {
        panic!("{error}");
    }
    Tokio(helper.tokio.spawn(future))
}

/// Future of [`tokio()`].
#[must_use = "dropping it aborts what it stands for"]
pub struct Tokio<T>(JoinHandle<T>);

impl<T> Future for Tokio<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match Pin::new(&mut self.0).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(value)) => Poll::Ready(value),
            // Nobody else has a handle to abort it, and the helper's runtime never ends.
            Poll::Ready(Err(error)) => resume_unwind(error.into_panic()),
        }
    }
}

impl<T> Drop for Tokio<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T> fmt::Debug for Tokio<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokio").finish_non_exhaustive()
    }
}

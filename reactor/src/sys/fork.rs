//! Which process this is: threads, and the right to use what is shared with a parent, do not survive
//! a fork.
//!
//! A child shares the epoll set, the timerfd and the eventfd with its parent: what it did to them would
//! happen to its parent. So each remembers the process that made it, and refuses to work in another.
//!
//! The kernel is not asked: a handler that runs in the child of every `fork` counts the generations
//! of processes, and to compare costs the load of a static. A child that was made behind libc's back
//! (a bare `clone`) is not noticed.

use std::fmt;
use std::io;
use std::sync::Once;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// How many forks lie between this process and the first one that asked.
///
/// ORDERING: Relaxed. It is written once, while the process has one thread.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// A process, to be compared with the one that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// The process that runs. From the first call on forks are noticed.
    pub fn current() -> Process {
        static WATCH: Once = Once::new();
        WATCH.call_once(|| {
            // SAFETY: the handler is a function of the right kind, and does nothing but an atomic
            // addition, which may be done in a child of a process with many threads. It fails
            // for lack of memory only, and then forks are not noticed.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        });
        Process(GENERATION.load(Relaxed))
    }

    /// Whether another process than this one runs: a child of it.
    #[inline]
    pub fn is_left(self) -> bool {
        GENERATION.load(Relaxed) != self.0
    }

    /// An error that says so, in a child of this process.
    ///
    /// # Errors
    ///
    /// [`Forked`], if another process runs.
    #[inline]
    pub fn check(self) -> Result<(), Forked> {
        if self.is_left() {
            return Err(Forked(()));
        }
        Ok(())
    }
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Relaxed);
}

/// A runtime was used in a child of the process that made it.
#[derive(Debug)]
pub struct Forked(());

impl fmt::Display for Forked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "this process was forked from the one that made this `rt` runtime; threads do not \
             survive a fork, so the runtime does not work here: make a new one in the child",
        )
    }
}

impl std::error::Error for Forked {}

impl From<Forked> for io::Error {
    fn from(error: Forked) -> Self {
        io::Error::other(error)
    }
}

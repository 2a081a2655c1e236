//! Whether anything of a current-thread runtime can run: while its clock is paused, only then does time
//! go on.
//!
//! The thread that leads asks, when it has run dry itself. What else may run are blocking jobs, tasks
//! of the CPU pool, jobs of rayon, file operations in the kernel's hands, and threads that have blocked
//! on a future without having got the worker. A thread of the runtime's own that blocks like that (a
//! blocking job in `Handle::block_on`) is busy by its
//! part's account, yet waits: it is taken off again.
//!
//! What the runtime cannot see holds nothing back: a thread of the program's own, a peer at the other
//! end of a socket.

use rt_scheduler::{Activity, Pool, at_rest};

use crate::context;
use crate::handle::{Inner, IoPool};

/// The parts at one moment.
#[derive(PartialEq, Eq)]
struct Look {
    jobs: Activity,
    cpu: Activity,
    parallel: Activity,
    aside: Activity,
    /// Whether the kernel works on files.
    files: bool,
    /// Threads that are busy in `jobs`, `cpu` or `parallel` and only wait in `aside`.
    waiting: usize,
}

/// Whether nothing can run but the calling thread, which is about to sleep in the driver.
pub(crate) fn is_quiet(inner: &Inner) -> bool {
    at_rest(|| Look::take(inner), Look::is_quiet)
}

impl Look {
    fn take(inner: &Inner) -> Look {
        let (aside, waiting) = match &inner.io {
            IoPool::Threads(_) => Default::default(),
            IoPool::Current(current) => current.activity(),
        };
        Look {
            jobs: inner.blocking.activity(),
            cpu: inner.cpu.started().map(Pool::activity).unwrap_or_default(),
            #[cfg(feature = "rayon")]
            parallel: inner.rayon.activity(),
            #[cfg(not(feature = "rayon"))]
            parallel: Activity::default(),
            aside,
            files: inner.files.is_busy(),
            // The calling thread waits as well, if it is one of them.
            waiting: waiting + usize::from(context::started_by(inner)),
        }
    }

    fn is_quiet(&self) -> bool {
        let busy = self.jobs.busy + self.cpu.busy + self.parallel.busy;
        !self.files && self.aside.busy == 0 && busy <= self.waiting
    }
}

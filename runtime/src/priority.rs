//! How the workers of the two pools share the CPUs.
//!
//! When both pools are busy, the operating system decides who runs. Left alone it lets a worker that
//! computes run for several milliseconds, to the end of a timer tick, before it lets in one that was
//! woken by a socket. So the workers of both pools ask for short slices: an IO worker is let in sooner,
//! and a CPU worker lets in sooner whoever waits. The shares stay the same, so computing is not starved
//! by a flood of requests, nor the other way round. A nice value for the CPU pool changes the shares: a
//! server under full load then computes hardly at all, so that is left to whoever wants it.
//! `benches/README.md` has the figures.
//!
//! Threads inherit both from those that start them. Blocking threads, which workers start, take the slices
//! off again; a nice value can only be raised without privilege, so it stays.
//!
//! All of it is asked for without privilege, and what is refused is done without;
//! [`RuntimeMetrics`](crate::RuntimeMetrics) tells what came of it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::sys::priority;

/// The slices of both pools' workers. The kernel takes no shorter ones.
const SLICE: Duration = Duration::from_micros(100);

/// What the kernel has granted the workers that have started so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Granted(Arc<Mutex<Grants>>);

/// What the last worker of each kind that has started was granted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Grants {
    /// The CPU pool's nice value.
    pub(crate) cpu_nice: Option<i8>,
    pub(crate) cpu_slice: Option<Duration>,
    pub(crate) io_slice: Option<Duration>,
}

impl Granted {
    /// A worker of the IO pool, or the reactor thread, begins.
    pub(crate) fn begin_io(&self) {
        self.0.lock().io_slice = ask_for_slice();
    }

    /// A worker of the CPU pool begins.
    pub(crate) fn begin_cpu(&self, nice: Option<i8>) {
        if let Some(nice) = nice {
            // A lower value than the process's own needs a privilege; then that one stays.
            let _ = priority::set_nice(nice);
        }
        let slice = ask_for_slice();
        let nice = priority::nice().ok();
        let mut grants = self.0.lock();
        grants.cpu_slice = slice;
        grants.cpu_nice = nice;
    }

    pub(crate) fn read(&self) -> Grants {
        *self.0.lock()
    }
}

/// A blocking thread begins. It has the slices of the worker that has started it; they go.
pub(crate) fn begin_blocking() {
    let _ = priority::set_slice(Duration::ZERO);
}

/// Asks for short slices. `None`: this kernel has one length for all.
fn ask_for_slice() -> Option<Duration> {
    priority::set_slice(SLICE).ok()?;
    priority::slice().ok().filter(|slice| *slice == SLICE)
}

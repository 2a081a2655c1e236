//! How the parts of a runtime in the making reach it: its threads start before it is whole.

use std::process;
use std::sync::{Arc, OnceLock, Weak};

use rt_reactor::Process;
use rt_scheduler::{Hook, Hooks};

use crate::context;
use crate::handle::{Handle, Inner};

/// Where the threads of a runtime in the making find it: they start before it is whole.
#[derive(Clone, Default)]
pub(crate) struct Home(pub(crate) Arc<OnceLock<Weak<Inner>>>);

impl Home {
    /// Told of panics that no handle tells of.
    pub(crate) fn on_unhandled_panic(&self) -> Hook {
        let home = self.clone();
        Arc::new(move || {
            if let Some(inner) = home.0.get().and_then(Weak::upgrade) {
                inner.unhandled_panic();
            }
        })
    }

    /// The user's hooks, with the runtime made current before the first one, and `begin` called.
    pub(crate) fn hooks(&self, user: &Hooks, begin: impl Fn() + Send + Sync + 'static) -> Hooks {
        let home = self.clone();
        let on_start = user.on_thread_start.clone();
        let start: Hook = Arc::new(move || {
            begin();
            if let Some(inner) = home.0.wait().upgrade() {
                context::adopt_thread(Handle { inner });
            }
            if let Some(on_start) = &on_start {
                on_start();
            }
        });
        let on_stop = user.on_thread_stop.clone();
        let stop: Hook = Arc::new(move || {
            let _left = LeaveThread;
            if let Some(on_stop) = &on_stop {
                on_stop();
            }
        });
        Hooks {
            on_thread_start: Some(start),
            on_thread_stop: Some(stop),
            ..user.clone()
        }
    }
}

/// Forgets the thread's runtime, also when the user's hook panics.
struct LeaveThread;

impl Drop for LeaveThread {
    fn drop(&mut self) {
        context::leave_thread();
    }
}

/// Called before a worker sleeps: in a forked child nobody would wake it.
///
/// A task has forked there, and the child has come back to the worker.
pub(crate) fn abort_in_child(maker: Process) {
    if let Err(error) = maker.check() {
        eprintln!("{error}");
        process::abort();
    }
}

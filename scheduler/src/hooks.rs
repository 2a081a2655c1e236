//! What a user wants to hear of the runtime's threads.

use std::fmt;
use std::sync::Arc;

use crate::record::{self, Recorder};
use crate::task::contain_all;

/// A function that a thread calls at one point of its life.
pub type Hook = Arc<dyn Fn() + Send + Sync>;

/// The hooks of a pool. A hook that panics is contained: the thread goes on.
#[derive(Clone, Default)]
pub struct Hooks {
    /// A thread of the runtime begins.
    pub on_thread_start: Option<Hook>,
    /// A thread of the runtime is about to end.
    pub on_thread_stop: Option<Hook>,
    /// A worker is about to sleep.
    pub on_thread_park: Option<Hook>,
    /// A worker has woken.
    pub on_thread_unpark: Option<Hook>,
    /// A task's own code has panicked, and no handle tells of it.
    pub on_unhandled_panic: Option<Hook>,
    /// What the threads do is written down here.
    pub recorder: Option<Arc<Recorder>>,
}

impl Hooks {
    pub(crate) fn start(&self) {
        record::attach(self.recorder.as_ref());
        call(self.on_thread_start.as_ref());
    }

    pub(crate) fn stop(&self) {
        call(self.on_thread_stop.as_ref());
        record::detach();
    }

    pub(crate) fn park(&self) {
        call(self.on_thread_park.as_ref());
    }

    pub(crate) fn unpark(&self) {
        call(self.on_thread_unpark.as_ref());
    }
}

pub(crate) fn call(hook: Option<&Hook>) {
    if let Some(hook) = hook {
        contain_all(|| hook());
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("on_thread_start", &self.on_thread_start.is_some())
            .field("on_thread_stop", &self.on_thread_stop.is_some())
            .field("on_thread_park", &self.on_thread_park.is_some())
            .field("on_thread_unpark", &self.on_thread_unpark.is_some())
            .field("on_unhandled_panic", &self.on_unhandled_panic.is_some())
            .field("recorder", &self.recorder)
            .finish()
    }
}

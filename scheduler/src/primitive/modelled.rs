//! The same primitives as loom sees them.

use std::time::Duration;

use loom::sync::{MutexGuard, Notify};

/// Real fences on both sides: for a model the two are worth the same.
pub(crate) mod barrier {
    use loom::sync::atomic::{Ordering::SeqCst, fence};

    pub(crate) fn light() {
        fence(SeqCst);
    }

    pub(crate) fn heavy() -> bool {
        fence(SeqCst);
        true
    }
}

/// loom's mutex without poisoning.
#[derive(Debug)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("a model does not panic under a lock")
    }
}

/// A place where one thread sleeps until another wakes it.
#[derive(Debug)]
pub(crate) struct Token(Notify);

impl Default for Token {
    fn default() -> Self {
        Token(Notify::new())
    }
}

impl Token {
    #[expect(clippy::unused_self, reason = "a real token is told its thread")]
    pub(crate) fn bind(&self) {}

    pub(crate) fn wait(&self) {
        self.0.wait();
    }

    /// Time passes whenever nothing else does.
    #[expect(clippy::unused_self, reason = "a thread waits at its own token")]
    pub(crate) fn wait_timeout(&self, _: Duration) {
        loom::thread::yield_now();
    }

    pub(crate) fn wake(&self) {
        self.0.notify();
    }
}

/// Explores `model` with so many preemptions, or with as many as `LOOM_MAX_PREEMPTIONS` says: four
/// threads that lock and sleep are too many for a deep search at every change.
#[cfg(test)]
pub(crate) fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.check(model);
}

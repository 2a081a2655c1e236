//! The same primitives as loom sees them.

/// loom's mutex in the place of the spin lock.
#[derive(Debug)]
pub(crate) struct Lock<T>(loom::sync::Mutex<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Lock(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> Guard<'_, T> {
        self.0.lock().expect("a model does not panic under a lock")
    }

    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.0.try_lock().ok()
    }
}

pub(crate) use loom::sync::MutexGuard as Guard;

/// Lets the holder go on.
pub(crate) fn relax(_: u32) {
    loom::thread::yield_now();
}

/// One lock held. Models run many threads on one, so they do not count.
pub(crate) struct Held;

impl Held {
    pub(crate) fn new() -> Held {
        Held
    }
}

pub(crate) fn assert_unlocked() {}

/// Explores `model` with so many preemptions, or with as many as `LOOM_MAX_PREEMPTIONS` says.
#[cfg(test)]
pub(crate) fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.check(model);
}

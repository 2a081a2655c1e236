//! What the runtime calls on its threads.

use std::sync::Arc;

use rt_scheduler::{OnStall, Stall};

use super::Builder;

impl Builder {
    /// Called on each of the runtime's threads when it begins.
    pub fn on_thread_start(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.on_thread_start = Some(Arc::new(f));
        self
    }

    /// Called on each of the runtime's threads before it ends.
    pub fn on_thread_stop(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.on_thread_stop = Some(Arc::new(f));
        self
    }

    /// Called on a worker before it sleeps.
    pub fn on_thread_park(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.on_thread_park = Some(Arc::new(f));
        self
    }

    /// Called on a worker when it has woken.
    pub fn on_thread_unpark(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.on_thread_unpark = Some(Arc::new(f));
        self
    }

    /// Told of each stall on the IO pool, while it lasts. It runs on the reactor thread, so it must
    /// be quick. With the feature `tracing` the first stall from each place is also a warning.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::builder()
    ///     .on_stall(|stall| eprintln!("a task from {} blocks its worker", stall.location))
    ///     .build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn on_stall(mut self, f: impl Fn(&Stall) + Send + Sync + 'static) -> Self {
        self.on_stall = Some(OnStall::new(f));
        self
    }
}

//! The CPU pool: started with the runtime, or, on a current-thread runtime, when it is first used.

use std::io;
use std::sync::OnceLock;
use std::time::Instant;

use parking_lot::Mutex;
use rt_scheduler::{Config, Pool};

/// A pool that may not have started yet.
#[derive(Debug)]
pub(crate) struct LazyPool {
    config: Config,
    pool: OnceLock<Pool>,
    /// Held while the pool starts, and says whether it may.
    closed: Mutex<bool>,
}

impl LazyPool {
    pub(crate) fn new(config: Config) -> Self {
        LazyPool {
            config,
            pool: OnceLock::new(),
            closed: Mutex::new(false),
        }
    }

    /// Starts the pool now.
    pub(crate) fn start(&self) -> io::Result<&Pool> {
        let closed = self.closed.lock();
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        let pool = Pool::start(&self.config, None)?;
        if *closed {
            pool.close();
        }
        Ok(self.pool.get_or_init(|| pool))
    }

    /// The pool, started.
    #[track_caller]
    pub(crate) fn get(&self) -> &Pool {
        if let Some(pool) = self.pool.get() {
            return pool;
        }
        match self.start() {
            Ok(pool) => pool,
            Err(error) => panic!("the CPU pool's threads could not be started: {error}"),
        }
    }

    /// The pool, if it has started.
    pub(crate) fn started(&self) -> Option<&Pool> {
        self.pool.get()
    }

    /// How many workers it has, or will have.
    pub(crate) fn workers(&self) -> usize {
        self.config.workers
    }

    pub(crate) fn close(&self) {
        *self.closed.lock() = true;
        if let Some(pool) = self.pool.get() {
            pool.close();
        }
    }

    pub(crate) fn join(&self, until: Option<Instant>) -> bool {
        self.pool.get().is_none_or(|pool| pool.join(until))
    }
}

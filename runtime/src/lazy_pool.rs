//! The CPU pool: started with the runtime, or, on a current-thread runtime, when it is first used.

use std::io;
use std::sync::OnceLock;
use std::time::Instant;

use parking_lot::Mutex;
use rt_scheduler::{Config, Pool};

/// A pool that may not have started yet.
#[derive(Debug)]
pub(crate) struct LazyPool {
    workers: usize,
    pool: OnceLock<Pool>,
    /// Held while it starts.
    waiting: Mutex<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    config: Config,
    closed: bool,
}

impl LazyPool {
    pub(crate) fn new(config: Config) -> Self {
        LazyPool {
            workers: config.workers,
            pool: OnceLock::new(),
            waiting: Mutex::new(Waiting {
                config,
                closed: false,
            }),
        }
    }

    /// Starts the pool now; the guard of `io` looks after it.
    pub(crate) fn start_beside(&self, io: &Pool) -> io::Result<()> {
        self.start_with(|config| io.start_beside(config)).map(drop)
    }

    fn start_with(&self, start: impl FnOnce(Config) -> io::Result<Pool>) -> io::Result<&Pool> {
        let waiting = self.waiting.lock();
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        let pool = start(waiting.config.clone())?;
        if waiting.closed {
            pool.close();
        }
        Ok(self.pool.get_or_init(|| pool))
    }

    /// The pool, started: with a guard of its own, as an IO pool without threads has none.
    #[track_caller]
    pub(crate) fn get(&self) -> &Pool {
        if let Some(pool) = self.pool.get() {
            return pool;
        }
        match self.start_with(|config| Pool::start(config, None)) {
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
        self.workers
    }

    pub(crate) fn close(&self) {
        self.waiting.lock().closed = true;
        if let Some(pool) = self.pool.get() {
            pool.close();
        }
    }

    pub(crate) fn join_polling(&self, until: Option<Instant>) -> bool {
        self.pool.get().is_none_or(|pool| pool.join_polling(until))
    }

    pub(crate) fn join(&self, until: Option<Instant>) -> bool {
        self.pool.get().is_none_or(|pool| pool.join(until))
    }
}

//! The limit on how long a test may take: generous, since it is there for hangs, not for speed.

use std::panic::Location;
use std::process;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(1);

/// Aborts the process with a message that names the test, unless it is dropped in time.
#[derive(Debug)]
#[must_use = "the watchdog watches only while it lives"]
pub struct Watchdog {
    /// Dropping it tells the thread to end.
    alive: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Watches the calling test for a minute.
    #[expect(clippy::new_without_default, reason = "it acts: a default is a value")]
    #[track_caller]
    pub fn new() -> Self {
        Self::with_limit(LIMIT)
    }

    /// Watches the calling test for `limit`.
    ///
    /// # Panics
    ///
    /// If the operating system refuses a thread.
    #[track_caller]
    pub fn with_limit(limit: Duration) -> Self {
        let name = thread::current().name().unwrap_or("?").to_owned();
        let place = Location::caller();
        let (alive, ended) = mpsc::channel::<()>();
        let watch = move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                eprintln!("watchdog: `{name}`, at {place}, still runs after {limit:?}");
                process::abort();
            }
        };
        let thread = thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(watch);
        let thread = thread.expect("a thread for the watchdog");
        Watchdog {
            alive: Some(alive),
            thread: Some(thread),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // Joined, so that tests that count threads do not count this one.
            let _ = thread.join();
        }
    }
}

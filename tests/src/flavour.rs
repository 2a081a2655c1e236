//! Every kind of runtime that a test must hold on.

use std::thread;
use std::time::Duration;

use rt::Runtime;
use rt::runtime::Builder;

use crate::Watchdog;

/// A kind of runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// The caller of `block_on` does everything.
    CurrentThread,
    /// So many IO workers, and a reactor.
    Workers(usize),
}

/// One thread, one worker, as many as there are CPUs here and there, and more than that.
pub const FLAVOURS: [Flavour; 4] = [
    Flavour::CurrentThread,
    Flavour::Workers(1),
    Flavour::Workers(2),
    Flavour::Workers(8),
];

impl Flavour {
    /// The settings of such a runtime, to be changed.
    pub fn builder(self) -> Builder {
        let builder = Runtime::builder().cpu_threads(2);
        match self {
            Flavour::CurrentThread => builder.current_thread(),
            Flavour::Workers(workers) => builder.io_threads(workers),
        }
    }

    /// Such a runtime.
    ///
    /// # Panics
    ///
    /// If the operating system refuses it.
    pub fn build(self) -> Runtime {
        self.builder().build().expect("a runtime")
    }

    /// Whether tasks run while nobody blocks.
    pub fn runs_by_itself(self) -> bool {
        self != Flavour::CurrentThread
    }
}

/// Runs a test on each flavour, with a minute for each.
#[track_caller]
pub fn everywhere(test: impl Fn(&Runtime)) {
    for flavour in FLAVOURS {
        with(flavour, &test);
    }
}

/// Runs a test on a runtime of one flavour. The runtime's end is part of the test: it must come
/// without a limit on the wait.
#[track_caller]
pub fn with(flavour: Flavour, test: impl FnOnce(&Runtime)) {
    let _watchdog = Watchdog::new();
    let _name = NameOnPanic(flavour);
    let runtime = flavour.build();
    test(&runtime);
    runtime.shutdown_timeout(Duration::MAX);
}

/// Tells which flavour a test failed on.
struct NameOnPanic(Flavour);

impl Drop for NameOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("that was on {:?}", self.0);
        }
    }
}

//! Notices when a round hangs, and says which one, so that its seed is not lost with the process.

use std::io::{self, Write};
use std::process;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rt_tests::GOES_ON;

/// Writes a line past the harness, which would keep it until the test ends, and lose it if the
/// process aborts.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// What the test is at, and until when it may be.
struct Phase {
    name: String,
    end: Instant,
    /// When the ticker was last heard of, in a phase in which it ticks.
    ticked: Option<Instant>,
}

impl Phase {
    fn is_over(&self) -> bool {
        let silent = self.ticked.is_some_and(|at| at.elapsed() > GOES_ON);
        silent || Instant::now() > self.end
    }
}

/// A thread that aborts the process when a phase takes too long, or when the ticker is silent.
pub(crate) struct Watch {
    phase: Arc<Mutex<Phase>>,
    alive: Option<Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// Between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl Watch {
    pub(crate) fn new(seed: u64) -> Self {
        let phase = Phase {
            name: "start".to_owned(),
            end: Instant::now() + GOES_ON,
            ticked: None,
        };
        let phase = Arc::new(Mutex::new(phase));
        let watched = Arc::clone(&phase);
        let (alive, ended) = mpsc::channel::<()>();
        let watch = move || {
            while ended.recv_timeout(LOOK_AGAIN) == Err(RecvTimeoutError::Timeout) {
                let phase = watched.lock().unwrap();
                if phase.is_over() {
                    let silence = phase.ticked.map(|at| at.elapsed());
                    say(&format!(
                        "stress: hangs in {}, ticker {silence:?} ago, RT_STRESS_SEED={seed}",
                        phase.name
                    ));
                    process::abort();
                }
            }
        };
        Watch {
            phase,
            alive: Some(alive),
            thread: Some(thread::spawn(watch)),
        }
    }

    /// A new phase begins, and may take so long.
    pub(crate) fn phase(&self, name: String, limit: Duration) {
        let end = Instant::now() + limit;
        let ticked = None;
        *self.phase.lock().unwrap() = Phase { name, end, ticked };
    }

    /// Called by the ticker again and again, until the phase that it ticks in is over.
    pub(crate) fn ticker(&self) -> impl Fn() + Send + 'static {
        let phase = Arc::clone(&self.phase);
        move || phase.lock().unwrap().ticked = Some(Instant::now())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

//! What each thread of a runtime does, as a picture: its polls, its sleep, and who wakes whom.
//!
//! A runtime that is made with [`Builder::record`] keeps the last events of each of its threads in
//! memory. [`Handle::record_to`] writes them to a file at any moment, and [`Recording::to`] has them
//! written as the runtime ends. The file is in the Chrome trace format: open it at
//! <https://ui.perfetto.dev>, or in `chrome://tracing`.
//!
//! | in the picture | what |
//! |---|---|
//! | a bar named as a task, or `file:line` of its spawn | one poll; its arguments are the task's id and place |
//! | `block_on` | a poll of the future that `block_on` waits for |
//! | `park`, and `lead` within | a worker that has nothing to do, and waits in the kernel for all of them |
//! | `watch` | the reactor thread that waits in the kernel |
//! | `dispatch` | tasks are woken for events and timers |
//! | `harvest` | a busy worker looks for events |
//! | `block_in_place` | a closure blocks, and has said so |
//! | `steal`, `stall`, `spare` | moments: tasks taken from another worker; a poll that lasts too long, as the guard notices it; a spare worker that comes to help |
//! | an arrow | from whatever woke or spawned a task to the poll that follows |
//!
//! A wake from a thread that is none of the runtime's has no arrow, as there is no bar for it to begin
//! at; a thread that calls `block_on` counts as one of the runtime's.
//!
//! # Costs
//!
//! While it is off, a worker looks at one field a poll and a push, and the branch is always the same.
//! While it is on, what lasts costs two looks at the clock and a moment one, and 64 bytes, of which
//! each thread keeps at most [`Recording::events_per_thread`]. To spawn a task that does nothing, and to join
//! it, costs a tenth to a sixth more (two polls and two wakes, 30 ns on the machine of the README's
//! numbers) where the kernel goes by the processor's own clock, and more than twice as much where it does not.
//! No lock is taken, and no thread waits for another one, also not while a file is written.
//!
//! [`Builder::record`]: crate::runtime::Builder::record
//!
//! # Examples
//!
//! ```
//! use rt::record::Recording;
//!
//! let path = std::env::temp_dir().join(format!("rt-record-{}.json", std::process::id()));
//! let runtime = rt::Runtime::builder()
//!     .record(Recording::last(std::time::Duration::from_secs(10)))
//!     .build()?;
//! runtime.block_on(async {
//!     let task = rt::task::Builder::new().name("greeter").spawn(async { println!("hello") });
//!     task.await.unwrap();
//! });
//! // Perhaps because something was slow just now.
//! runtime.handle().record_to(&path)?;
//! assert!(std::fs::read_to_string(&path)?.contains("greeter"));
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rt_scheduler::record::Recorder;

use crate::builder::Builder;
use crate::handle::{Handle, Inner};

mod chrome;
mod flows;

pub(crate) use chrome::write;

/// What those are told who ask for a recording that there is not.
pub(crate) const NOT_RECORDED: &str = "this runtime is not recorded; `Builder::record` does that";

/// How many events a thread keeps, unless told otherwise: 4 MiB of them.
const EVENTS: usize = 1 << 16;

/// How a runtime is recorded. See the [module](self).
///
/// # Examples
///
/// ```
/// use rt::record::Recording;
///
/// let path = std::env::temp_dir().join(format!("rt-recording-{}.json", std::process::id()));
/// let runtime = rt::Runtime::builder().record(Recording::to(&path)).build()?;
/// runtime.block_on(runtime.spawn_on(rt::Dispatcher::Cpu, async { 6 * 7 })).unwrap();
/// drop(runtime);
/// assert!(std::fs::read_to_string(&path)?.contains("traceEvents"));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "it is given to `Builder::record`"]
pub struct Recording {
    path: Option<PathBuf>,
    last: Duration,
    events: usize,
}

impl Recording {
    /// Writes a file as the runtime ends: all that its threads have done, as far back as
    /// [`events_per_thread`](Recording::events_per_thread) go.
    ///
    /// The file is made when the runtime is. If it cannot be written at the end, nobody is told: a
    /// drop has no way to. [`Handle::record_to`] tells.
    pub fn to(path: impl Into<PathBuf>) -> Self {
        Recording {
            path: Some(path.into()),
            last: Duration::MAX,
            events: EVENTS,
        }
    }

    /// Keeps what has happened in the last `time`, for [`Handle::record_to`], as far back as
    /// [`events_per_thread`](Recording::events_per_thread) go.
    pub fn last(time: Duration) -> Self {
        Recording {
            path: None,
            last: time,
            events: EVENTS,
        }
    }

    /// How many events each thread keeps at most, at 64 bytes each. Default: 65536. Rounded up to a
    /// power of two, 256 at least.
    pub fn events_per_thread(mut self, events: usize) -> Self {
        self.events = events;
        self
    }

    pub(crate) fn begin(self) -> io::Result<Record> {
        let file = match &self.path {
            None => None,
            Some(path) => Some(File::create(path).map_err(|error| about(path, &error))?),
        };
        Ok(Record {
            recorder: Recorder::new(self.events),
            last: self.last,
            file,
        })
    }
}

/// What a runtime records, while it does.
#[derive(Debug)]
pub(crate) struct Record {
    recorder: Arc<Recorder>,
    last: Duration,
    /// Written at the end.
    file: Option<File>,
}

impl Record {
    pub(crate) fn recorder(&self) -> Arc<Recorder> {
        Arc::clone(&self.recorder)
    }

    /// How much of the last `time` is to be told.
    #[cfg(feature = "inspect")]
    pub(crate) fn limit(&self, time: Duration) -> Duration {
        time.min(self.last)
    }

    fn write(&self, file: &File) -> io::Result<()> {
        let mut file = BufWriter::new(file);
        write(&mut file, &self.recorder, self.last)?;
        file.flush()
    }
}

impl Inner {
    /// Writes the file that was asked for, at the runtime's end.
    pub(crate) fn write_recording(&self) {
        if let Some(record) = &self.record
            && let Some(file) = &record.file
        {
            // See `Recording::to`.
            let _nobody_to_tell = record.write(file);
        }
    }
}

impl Builder {
    /// Writes down what each thread does: the last of it is kept in memory, for
    /// [`Handle::record_to`], or written as the runtime ends. See [`record`](crate::record). Default:
    /// it does not.
    ///
    /// [`build`](Builder::build) gives the error of a file that cannot be made.
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::record::Recording;
    ///
    /// let last = Recording::last(std::time::Duration::from_secs(5)).events_per_thread(10_000);
    /// let runtime = rt::Runtime::builder().record(last).build()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn record(mut self, recording: Recording) -> Self {
        self.record = Some(recording);
        self
    }
}

impl Handle {
    /// Writes what the runtime's threads have done to a file that `ui.perfetto.dev` opens; see
    /// [`record`](crate::record). An old file is overwritten.
    ///
    /// It blocks as `std::fs::write` does, so a task calls it through
    /// [`spawn_blocking`](crate::spawn_blocking). The runtime's threads go on meanwhile.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](io::ErrorKind::Unsupported) if the runtime was made without
    /// [`Builder::record`](crate::runtime::Builder::record); otherwise the operating system's, when
    /// it refuses the file.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = rt::Runtime::new()?;
    /// let error = runtime.handle().record_to("trace.json").unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn record_to(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let Some(record) = &self.inner.record else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, NOT_RECORDED));
        };
        let path = path.as_ref();
        let write = || record.write(&File::create(path)?);
        write().map_err(|error| about(path, &error))
    }
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

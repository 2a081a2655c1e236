//! The ways that a call on a file may go, and which of them a runtime takes.

use std::fs::File;
use std::future::Future;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::panic::{self, Location};
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use rt_reactor::Reactor;
use rt_scheduler::{JoinHandle, Lane};

use crate::context;
use crate::sys::file::{self, CHUNK, Room};
use crate::sys::uring::{self, Ring};

/// How a runtime reads and writes files; see [`fs`](crate::fs) for the ways that there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileIo {
    /// The first way that fits: at once, by `io_uring` if the kernel has it and allows it, on a blocking
    /// thread.
    #[default]
    Auto,
    /// As `Auto`, but without `io_uring`.
    NoUring,
    /// By `io_uring` alone, also what could be done at once; what it cannot do still goes to a blocking
    /// thread. Making the runtime fails if the kernel refuses it.
    Uring,
    /// On blocking threads alone.
    Blocking,
}

/// A runtime's means of file I/O.
pub(crate) struct Files {
    how: FileIo,
    reactor: Arc<Reactor>,
    /// Made when it is first needed. `None`: the kernel refuses it.
    ring: OnceLock<Option<Arc<Ring>>>,
}

impl Files {
    pub(crate) fn new(how: FileIo, reactor: &Arc<Reactor>) -> io::Result<Files> {
        let files = Files {
            how,
            reactor: Arc::clone(reactor),
            ring: OnceLock::new(),
        };
        if how == FileIo::Uring {
            let ring = Ring::new(reactor)?;
            files.ring.get_or_init(|| Some(ring));
        }
        Ok(files)
    }

    fn ring(&self) -> Option<Arc<Ring>> {
        if matches!(self.how, FileIo::NoUring | FileIo::Blocking) {
            return None;
        }
        self.ring
            .get_or_init(|| Ring::new(&self.reactor).ok())
            .clone()
    }

    /// Ends what is under way, once the reactor is shut down.
    pub(crate) fn close(&self) {
        if let Some(ring) = self.ring.get_or_init(|| None) {
            ring.close();
        }
    }

    /// Whether the kernel has operations in its hands.
    pub(crate) fn is_busy(&self) -> bool {
        let ring = self.ring.get().and_then(Option::as_ref);
        ring.is_some_and(|ring| ring.is_busy())
    }

    /// How many descriptors of its own are registered with the reactor.
    pub(crate) fn sources(&self) -> usize {
        usize::from(self.ring.get().is_some_and(Option::is_some))
    }
}

/// Whether calls may be done at once, in the task itself. Outside a runtime they may.
fn may_try_now() -> bool {
    context::try_with(|handle| matches!(handle.inner.files.how, FileIo::Auto | FileIo::NoUring))
        .unwrap_or(true)
}

#[track_caller]
fn ring() -> Option<Arc<Ring>> {
    context::with(|handle| {
        handle.inner.check_process();
        handle.inner.files.ring()
    })
}

/// An open file, and what is known of it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) file: Arc<File>,
    /// The kernel does not do reads, or writes, of this file at once.
    never_reads_now: AtomicBool,
    never_writes_now: AtomicBool,
}

impl Shared {
    pub(crate) fn new(file: File) -> Shared {
        Shared {
            file: Arc::new(file),
            never_reads_now: AtomicBool::new(false),
            never_writes_now: AtomicBool::new(false),
        }
    }

    /// The file itself, if no call that was given up still uses it.
    pub(crate) fn try_into_file(self) -> Result<File, Shared> {
        Arc::try_unwrap(self.file).map_err(|file| Shared {
            file,
            never_reads_now: self.never_reads_now,
            never_writes_now: self.never_writes_now,
        })
    }

    /// Reads what can be read at once; `None` is for the other ways.
    pub(crate) fn read_now(
        &self,
        read: impl FnOnce(&File) -> io::Result<usize>,
    ) -> Option<io::Result<usize>> {
        self.try_now(&self.never_reads_now, read)
    }

    /// Writes what can be written at once; `None` is for the other ways.
    pub(crate) fn write_now(&self, bytes: &[u8], at: Option<u64>) -> Option<io::Result<usize>> {
        let bytes = &bytes[..bytes.len().min(CHUNK)];
        self.try_now(&self.never_writes_now, |file| {
            file::write_now(file.as_fd(), bytes, at)
        })
    }

    fn try_now(
        &self,
        never: &AtomicBool,
        op: impl FnOnce(&File) -> io::Result<usize>,
    ) -> Option<io::Result<usize>> {
        if never.load(Relaxed) || !may_try_now() {
            return None;
        }
        match op(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                never.store(true, Relaxed);
                None
            }
            result => Some(result),
        }
    }
}

/// Reads on into `room`, not at once.
pub(crate) async fn read(
    file: &Arc<File>,
    room: Room,
    at: Option<u64>,
) -> (io::Result<usize>, Room) {
    let mut room = room;
    if let Some(ring) = ring() {
        let (start, asked) = (start(file, at), room.unfilled(CHUNK).len());
        let request = uring::Read {
            file: Arc::clone(file),
            room,
            at,
        };
        match ring.start(request) {
            Ok(op) => {
                let (result, room) = op.await;
                if let (Ok(read), Some(start)) = (&result, start)
                    && (1..asked).contains(read)
                {
                    step_over(file, start, *read);
                }
                return (result, room);
            }
            Err(request) => room = request.room,
        }
    }
    let file = Arc::clone(file);
    let (job, lent) = lend(room, move |room| room.fill(&file, CHUNK, at));
    let result = blocking(job).await;
    (result, take_back(&lent))
}

/// Writes the bytes of `buf` from `from` on, as many as one call takes.
pub(crate) async fn write<B>(
    file: &Arc<File>,
    buf: B,
    from: usize,
    at: Option<u64>,
) -> (io::Result<usize>, B)
where
    B: AsRef<[u8]> + Send + 'static,
{
    let mut buf = buf;
    if let Some(ring) = ring() {
        let start = start(file, at);
        let request = uring::Write {
            file: Arc::clone(file),
            buf,
            from,
            at,
        };
        match ring.start(request) {
            Ok(op) => {
                let (result, buf) = op.await;
                if let (Ok(written), Some(start)) = (&result, start)
                    && from + *written < buf.as_ref().len()
                {
                    step_over(file, start, *written);
                }
                return (result, buf);
            }
            Err(request) => buf = request.buf,
        }
    }
    let file = Arc::clone(file);
    let (job, lent) = lend(buf, move |buf| {
        let bytes = buf.as_ref().get(from..).unwrap_or_default();
        file::write(&file, bytes, at)
    });
    let result = blocking(job).even_if_alone().await;
    (result, take_back(&lent))
}

/// The file's own position, if that is where an operation begins. A pipe has none that could be wrong.
fn start(file: &File, at: Option<u64>) -> Option<u64> {
    let mut file = file;
    at.is_none().then(|| file.stream_position().ok()).flatten()
}

/// Moves the position behind what was read or written. When a disk becomes full in the middle of a write, or
/// cannot be read from somewhere on, `io_uring` tells how much went well, but leaves the position where it
/// was (seen on Linux 6.18): the rest would be written over the start, the same bytes be read again.
fn step_over(file: &File, start: u64, moved: usize) {
    let mut file = file;
    if file.stream_position().is_ok_and(|now| now == start) {
        // What tells its position lets itself be moved to another.
        let _ = file.seek(SeekFrom::Start(start + moved as u64));
    }
}

/// Sends what was written to the disk.
pub(crate) async fn sync(file: &Arc<File>, data_only: bool) -> io::Result<()> {
    if let Some(ring) = ring() {
        let file = Arc::clone(file);
        if let Ok(op) = ring.start(uring::Sync { file, data_only }) {
            return op.await;
        }
    }
    let file = Arc::clone(file);
    blocking(move || {
        if data_only {
            file.sync_data()
        } else {
            file.sync_all()
        }
    })
    .await
}

/// Opens a file by `io_uring`. `None`: there is none, and `std` has to do it on a blocking thread.
pub(crate) async fn open(request: uring::Open) -> Option<io::Result<File>> {
    match ring()?.start(request) {
        Ok(op) => Some(op.await),
        Err(_) => None,
    }
}

/// A job that borrows a value: it takes it out of a place that the caller keeps, and puts it back. So
/// the value comes back also from a job that never runs.
fn lend<T, R>(
    value: T,
    job: impl FnOnce(&mut T) -> R + Send + 'static,
) -> (impl FnOnce() -> R + Send + 'static, Arc<Mutex<Option<T>>>)
where
    T: Send + 'static,
{
    let place = Arc::new(Mutex::new(Some(value)));
    let lent = Arc::clone(&place);
    let job = move || {
        let mut value = take_back(&lent);
        let result = job(&mut value);
        *lent.lock() = Some(value);
        result
    };
    (job, place)
}

fn take_back<T>(place: &Mutex<Option<T>>) -> T {
    place
        .lock()
        .take()
        .expect("one takes it at a time: the job, then its caller")
}

/// Runs a job that may block on a thread for that. If the future is dropped before the job has begun,
/// it never does.
#[track_caller]
pub(crate) fn blocking<T, F>(job: F) -> Blocking<T>
where
    F: FnOnce() -> io::Result<T> + Send + 'static,
    T: Send + 'static,
{
    let location = Location::caller();
    Blocking {
        job: context::with(|handle| handle.try_spawn_lane(Lane::Files, job, location))
            .map_err(Some),
        is_vain_alone: true,
    }
}

/// The future of [`blocking`].
#[derive(Debug)]
pub(crate) struct Blocking<T> {
    /// Or why there is no thread for it, until that is told.
    job: Result<JoinHandle<io::Result<T>>, Option<io::Error>>,
    is_vain_alone: bool,
}

impl<T> Blocking<T> {
    /// The job runs although nobody may wait for it any more.
    fn even_if_alone(mut self) -> Self {
        self.is_vain_alone = false;
        self
    }
}

impl<T> Future for Blocking<T> {
    type Output = io::Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let handle = match &mut self.job {
            Ok(handle) => handle,
            Err(refused) => {
                let error = refused.take();
                return Poll::Ready(Err(
                    error.expect("a future is polled to its end, and no more")
                ));
            }
        };
        match ready!(Pin::new(handle).poll(cx)) {
            Ok(result) => Poll::Ready(result),
            Err(error) => match error.try_into_panic() {
                Ok(payload) => panic::resume_unwind(payload),
                Err(_) => Poll::Ready(Err(io::Error::other("the runtime has been shut down"))),
            },
        }
    }
}

impl<T> Drop for Blocking<T> {
    fn drop(&mut self) {
        if self.is_vain_alone
            && let Ok(handle) = &self.job
        {
            handle.abort();
        }
    }
}

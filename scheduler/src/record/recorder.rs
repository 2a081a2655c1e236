//! The threads that are recorded, and what they call.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::clock::{Clock, Scale};
use super::ring::Ring;
use super::{Event, Kind};
use crate::context;
use crate::task::{Id, Runnable};

/// How many threads are remembered. Beyond, one that has ended is forgotten for each new one.
const TRACKS: usize = 256;

/// Something in this process is or was recorded.
///
/// ORDERING: Relaxed: a thread that sees it late has no track yet.
static ON: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// This thread's track, unless that is its worker's.
    static TRACK: RefCell<Option<Arc<Track>>> = const { RefCell::new(None) };
}

/// Remembers what a runtime's threads did last, in a bounded memory.
pub struct Recorder {
    clock: Arc<Clock>,
    /// Events a thread.
    events: usize,
    tracks: Mutex<Vec<Arc<Track>>>,
}

/// One thread of a recorder.
pub(crate) struct Track {
    name: String,
    clock: Arc<Clock>,
    ring: Ring,
}

impl Recorder {
    /// Remembers the last `events` events of each thread, at 64 bytes each.
    pub fn new(events: usize) -> Arc<Self> {
        ON.store(true, Relaxed);
        Arc::new(Recorder {
            clock: Arc::new(Clock::new()),
            events,
            tracks: Mutex::default(),
        })
    }

    /// The names of the threads and what they did, the oldest first, and the time after that, as
    /// [`Event::at`] has it. Threads go on meanwhile.
    pub fn threads(&self) -> (Vec<(String, Vec<Event>)>, u64) {
        let tracks = self.lock().clone();
        let read = |track: &Arc<Track>| (track.name.clone(), track.ring.read());
        let mut threads: Vec<_> = tracks.iter().map(read).collect();
        let scale = self.clock.scale();
        for (_, events) in &mut threads {
            for event in events {
                in_nanos(event, scale);
            }
        }
        (threads, scale.nanos(self.clock.now()))
    }

    /// Records this thread, unless it is already recorded by this recorder: from now on until it ends.
    pub fn attach_thread(&self) {
        let attached = with_cell(|track| track.as_ref().is_some_and(|track| self.has(track)));
        if attached == Some(false) {
            let thread = thread::current();
            let name = thread.name().unwrap_or("?").to_owned();
            let track = self.track(name);
            with_cell(|cell| *cell = Some(track));
        }
    }

    /// A track for a thread, or for a worker that moves between threads.
    pub(crate) fn track(&self, name: String) -> Arc<Track> {
        let track = Arc::new(Track {
            name,
            clock: Arc::clone(&self.clock),
            ring: Ring::new(self.events),
        });
        let mut tracks = self.lock();
        // Whoever writes to a track holds it.
        let ended = |track: &Arc<Track>| Arc::strong_count(track) == 1;
        if tracks.len() >= TRACKS
            && let Some(at) = tracks.iter().position(ended)
        {
            tracks.remove(at);
        }
        tracks.push(Arc::clone(&track));
        track
    }

    fn has(&self, track: &Arc<Track>) -> bool {
        self.lock().iter().any(|other| Arc::ptr_eq(other, track))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Track>>> {
        self.tracks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Track {
    fn now(&self) -> u64 {
        self.clock.now()
    }

    /// A poll begins. Gives what [`end`](Track::end) wants.
    pub(crate) fn poll(&self, task: &Runnable) -> u64 {
        let (id, place) = (Some(task.id()), Some(task.location()));
        let name = task.name().map(|name| &**name);
        self.ring.note(Kind::Poll, self.now(), id, place, name)
    }

    pub(crate) fn end(&self, index: u64) {
        self.ring.end(index, self.now());
    }

    /// A task is made runnable.
    #[cold]
    #[inline(never)]
    pub(crate) fn wake(&self, task: Id) {
        self.ring
            .note(Kind::Wake, self.now(), Some(task), None, None);
    }

    /// Something without a task begins.
    pub(crate) fn slice(self: &Arc<Self>, kind: Kind) -> Slice {
        let index = self.ring.note(kind, self.now(), None, None, None);
        Slice(Some((Arc::clone(self), index)))
    }

    /// Something without a task happens.
    pub(crate) fn instant(&self, kind: Kind) {
        self.ring.note(kind, self.now(), None, None, None);
    }
}

/// Something that a thread does, until this is dropped.
#[must_use = "it ends when this is dropped"]
pub struct Slice(Option<(Arc<Track>, u64)>);

impl Drop for Slice {
    fn drop(&mut self) {
        if let Some((track, index)) = &self.0 {
            track.end(*index);
        }
    }
}

/// Says that this thread does `kind` until the slice is dropped.
pub fn slice(kind: Kind) -> Slice {
    match current() {
        Some(track) => track.slice(kind),
        None => Slice(None),
    }
}

/// As [`slice`], for a poll outside a worker's own loop.
pub(crate) fn poll(task: &Runnable) -> Slice {
    match current() {
        Some(track) => {
            let index = track.poll(task);
            Slice(Some((track, index)))
        }
        None => Slice(None),
    }
}

/// Says that this thread makes `task` runnable, beyond its own worker's queue.
#[inline]
pub(crate) fn wake(task: Id) {
    if ON.load(Relaxed)
        && let Some(track) = current()
    {
        track.wake(task);
    }
}

/// Says that something happened on this thread.
pub(crate) fn instant(
    kind: Kind,
    id: Option<Id>,
    place: Option<&'static Location<'static>>,
    name: Option<&str>,
) {
    if let Some(track) = current() {
        track.ring.note(kind, track.now(), id, place, name);
    }
}

/// The track of the worker that this thread runs, or its own.
pub(crate) fn current() -> Option<Arc<Track>> {
    if !ON.load(Relaxed) {
        return None;
    }
    let worker = context::with_worker(|worker| Some(worker?.track()?.clone()));
    worker.or_else(|| with_cell(|track| track.clone()).flatten())
}

/// A thread of a runtime begins.
pub(crate) fn attach(recorder: Option<&Arc<Recorder>>) {
    if let Some(recorder) = recorder {
        recorder.attach_thread();
    }
}

/// A thread of a runtime ends.
pub(crate) fn detach() {
    if ON.load(Relaxed) {
        with_cell(|track| *track = None);
    }
}

/// `None` while the thread ends.
fn with_cell<R>(f: impl FnOnce(&mut Option<Arc<Track>>) -> R) -> Option<R> {
    TRACK.try_with(|track| f(&mut track.borrow_mut())).ok()
}

/// Turns ticks into nanoseconds. Begin and end each, so that what was within stays within.
fn in_nanos(event: &mut Event, scale: Scale) {
    let at = scale.nanos(event.at);
    let end = event.lasts.map(|lasts| scale.nanos(event.at + lasts));
    event.at = at;
    event.lasts = end.map(|end| end - at);
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("events", &self.events)
            .field("threads", &self.lock().len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slice").finish_non_exhaustive()
    }
}

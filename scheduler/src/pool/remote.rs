//! What a worker shows to the others, to the guard, and to dumps.

#![expect(
    unsafe_code,
    reason = "the place of the running task is a pointer to a static"
)]

use std::panic::Location;
use std::ptr;
use std::time::Duration;

use crossbeam_deque::{Stealer, Worker as Deque};

use crate::hot::Hot;
use crate::kernel::thread_number;
use crate::primitive::sync::atomic::Ordering::Relaxed;
use crate::primitive::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
use crate::primitive::sync::{Arc, Mutex};
use crate::slot::Slot;
use crate::stats::Stats;
use crate::task::{Id, Runnable};

/// What a worker shows to the others.
pub(crate) struct Remote {
    pub(crate) slot: Slot<Runnable>,
    /// Where the task that runs was spawned; null before the first.
    ///
    /// ORDERING: Relaxed, as for all that follows: hints for the guard, each whole in itself.
    running: AtomicPtr<Location<'static>>,
    /// Its id; 0 while none does.
    running_id: AtomicU64,
    /// The last task here that had a name, and that name. Locked for a moment: by the worker before
    /// such a task's poll, and by the guard in a stall.
    named: Mutex<Option<(Id, Arc<str>)>>,
    /// How long it has run when the guard last looked, in nanoseconds; 0 unless it was in the same poll before.
    stuck_ns: AtomicU64,
    /// The tasks that have kept it busy.
    pub(crate) hot: Hot,
    /// A thread serves this place.
    seated: AtomicBool,
    /// The kernel's number of the thread that has served last; 0 for none.
    thread: AtomicU32,
    /// The worker blocks and has said so.
    in_place: AtomicBool,
    /// It has found its CPUs contended.
    contended: AtomicBool,
    pub(super) stealers: [Stealer<Runnable>; 2],
    /// Which of the two is the queue; the other holds the tasks that have yielded.
    ///
    /// ORDERING: Relaxed everywhere. It only ranks two queues that are both safe to steal from.
    pub(crate) current: AtomicUsize,
    pub(crate) stats: Stats,
}

impl Remote {
    pub(super) fn new(queues: &[Deque<Runnable>; 2]) -> Self {
        Remote {
            slot: Slot::new(),
            running: AtomicPtr::new(ptr::null_mut()),
            running_id: AtomicU64::new(0),
            named: Mutex::new(None),
            stuck_ns: AtomicU64::new(0),
            hot: Hot::default(),
            seated: AtomicBool::new(false),
            thread: AtomicU32::new(0),
            in_place: AtomicBool::new(false),
            contended: AtomicBool::new(false),
            stealers: [queues[0].stealer(), queues[1].stealer()],
            current: AtomicUsize::new(0),
            stats: Stats::default(),
        }
    }

    /// Says which task is about to run.
    #[inline]
    pub(crate) fn runs(&self, task: &Runnable) {
        self.running
            .store(ptr::from_ref(task.location()).cast_mut(), Relaxed);
        self.running_id.store(task.id().number(), Relaxed);
        if let Some(name) = task.name() {
            self.note_name(task.id(), name);
        }
    }

    #[cold]
    fn note_name(&self, id: Id, name: &Arc<str>) {
        let mut named = self.named.lock();
        if named.as_ref().is_none_or(|(last, _)| *last != id) {
            *named = Some((id, Arc::clone(name)));
        }
    }

    /// The name of the task `id`, if it is the last that had one.
    pub(crate) fn name_of(&self, id: Id) -> Option<Arc<str>> {
        let named = self.named.lock();
        let mine = named.as_ref().filter(|(last, _)| *last == id);
        mine.map(|(_, name)| Arc::clone(name))
    }

    /// Says that it does not run any more.
    #[inline]
    pub(crate) fn rests(&self) {
        self.running_id.store(0, Relaxed);
    }

    /// Says whether it finds its CPUs contended.
    pub(crate) fn contend(&self, contended: bool) {
        self.contended.store(contended, Relaxed);
    }

    /// Whether it has found its CPUs contended.
    pub(crate) fn is_contended(&self) -> bool {
        self.contended.load(Relaxed)
    }

    /// Whether a task runs.
    pub(crate) fn is_polling(&self) -> bool {
        self.running_id.load(Relaxed) != 0
    }

    /// Says how long the guard has seen one poll; zero for a new one.
    pub(crate) fn stuck(&self, elapsed: Duration) {
        let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.stuck_ns.store(nanos, Relaxed);
    }

    /// How long the poll that goes on has lasted at least, if the guard has noticed.
    pub(crate) fn stuck_for(&self) -> Option<Duration> {
        let nanos = self.stuck_ns.load(Relaxed);
        (nanos > 0).then(|| Duration::from_nanos(nanos))
    }

    /// The task that runs, and where it was spawned: both of one task while the poll counter stands
    /// still.
    pub(crate) fn running(&self) -> Option<(Id, &'static Location<'static>)> {
        let id = Id::from_number(self.running_id.load(Relaxed))?;
        // SAFETY: null, or a pointer made from a `&'static Location` by `runs`.
        let location = unsafe { self.running.load(Relaxed).cast_const().as_ref() }?;
        Some((id, location))
    }

    pub(crate) fn seat(&self, seated: bool) {
        if seated {
            self.thread.store(thread_number().unwrap_or(0), Relaxed);
        }
        self.seated.store(seated, Relaxed);
    }

    pub(crate) fn thread(&self) -> Option<u32> {
        Some(self.thread.load(Relaxed)).filter(|&thread| thread > 0)
    }

    pub(crate) fn is_seated(&self) -> bool {
        self.seated.load(Relaxed)
    }

    pub(crate) fn block_in_place(&self, blocks: bool) {
        self.in_place.store(blocks, Relaxed);
    }

    pub(crate) fn is_in_place(&self) -> bool {
        self.in_place.load(Relaxed)
    }

    /// The queues that others may take from just now: a lone yielded task is its worker's.
    pub(super) fn stealable(&self) -> impl Iterator<Item = &Stealer<Runnable>> {
        let current = self.current.load(Relaxed);
        let queue = Some(&self.stealers[current]).filter(|queue| !queue.is_empty());
        let yielded = Some(&self.stealers[1 - current]).filter(|yielded| yielded.len() > 1);
        queue.into_iter().chain(yielded)
    }
}

//! Who looks on while a worker runs its tasks: the recorder, and the histograms, each on request.
//!
//! A worker that nobody observes has no observer: that is one branch a poll and a push, for both.

use crossbeam_utils::CachePadded;

use crate::histogram::{Counts, Histogram};
use crate::primitive::sync::Arc;
use crate::record::{Kind, Slice, Stopwatch, Track};
use crate::stamps::Stamps;
use crate::task::{Id, Runnable};

/// What is measured of each poll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measures {
    /// How long it takes.
    pub poll_times: bool,
    /// How long its task was queued.
    pub schedule_latencies: bool,
}

/// What is measured in a pool.
pub(crate) struct Timing {
    watch: Stopwatch,
    /// One of each for every place. A worker writes to its own.
    poll_times: Option<Box<[CachePadded<Counts>]>>,
    latencies: Option<(Stamps, Box<[CachePadded<Counts>]>)>,
}

impl Timing {
    /// `None`: nothing is to be measured.
    pub(crate) fn new(measures: Measures, places: usize) -> Option<Arc<Self>> {
        let counts = || (0..places).map(|_| CachePadded::default()).collect();
        (measures != Measures::default()).then(|| {
            let latencies = || (Stamps::new(), counts());
            Arc::new(Timing {
                watch: Stopwatch::new(),
                poll_times: measures.poll_times.then(counts),
                latencies: measures.schedule_latencies.then(latencies),
            })
        })
    }

    /// A task is about to be queued.
    #[cold]
    pub(crate) fn queued(&self, task: Id) {
        if let Some((stamps, _)) = &self.latencies {
            stamps.put(task.number(), self.watch.now());
        }
    }

    /// A worker begins to poll a task. Returns the time, in ticks.
    fn begin(&self, worker: usize, task: Id) -> u64 {
        let now = self.watch.now();
        if let Some((stamps, counts)) = &self.latencies
            && let Some(waited) = stamps.waited(task.number(), now)
        {
            counts[worker].record(self.watch.nanos(waited, now));
        }
        now
    }

    /// The poll that began at `began` has ended; the task was woken meanwhile if it is here again.
    fn end(&self, worker: usize, began: u64, again: Option<Id>) {
        if let Some(counts) = &self.poll_times {
            let now = self.watch.now();
            let took = now.saturating_sub(began);
            counts[worker].record(self.watch.nanos(took, now));
        }
        if let Some(task) = again {
            self.queued(task);
        }
    }

    /// How long the polls have taken.
    pub(crate) fn poll_times(&self) -> Option<Histogram> {
        self.poll_times.as_deref().map(sum)
    }

    /// How long tasks were queued before them.
    pub(crate) fn latencies(&self) -> Option<Histogram> {
        self.latencies.as_ref().map(|(_, counts)| sum(counts))
    }
}

fn sum(counts: &[CachePadded<Counts>]) -> Histogram {
    let mut sum = Histogram::default();
    for counts in counts {
        counts.add_to(&mut sum);
    }
    sum
}

/// See the module.
pub(crate) struct Observer {
    track: Option<Arc<Track>>,
    timing: Option<Arc<Timing>>,
    worker: usize,
}

/// A poll that is observed.
pub(crate) struct Poll {
    /// Its event in the track.
    event: Option<u64>,
    began: Option<u64>,
}

impl Observer {
    /// `None` if nobody wants to know.
    pub(crate) fn new(
        track: Option<Arc<Track>>,
        timing: Option<Arc<Timing>>,
        worker: usize,
    ) -> Option<Box<Self>> {
        (track.is_some() || timing.is_some()).then(|| {
            Box::new(Observer {
                track,
                timing,
                worker,
            })
        })
    }

    /// Where it is written down what the worker does.
    pub(crate) fn track(&self) -> Option<&Arc<Track>> {
        self.track.as_ref()
    }

    /// Something without a task begins.
    #[cold]
    #[inline(never)]
    pub(crate) fn slice(&self, kind: Kind) -> Option<Slice> {
        self.track.as_ref().map(|track| track.slice(kind))
    }

    /// The worker is about to queue a task that was spawned or woken on its thread.
    #[cold]
    #[inline(never)]
    pub(crate) fn queued(&self, task: Id) {
        if let Some(track) = &self.track {
            track.wake(task);
        }
        if let Some(timing) = &self.timing {
            timing.queued(task);
        }
    }

    /// A poll begins.
    pub(crate) fn begin(&self, task: &Runnable) -> Poll {
        let begin = |timing: &Arc<Timing>| timing.begin(self.worker, task.id());
        Poll {
            event: self.track.as_ref().map(|track| track.poll(task)),
            began: self.timing.as_ref().map(begin),
        }
    }

    /// It has ended, and gave the task back if that was woken meanwhile.
    pub(crate) fn end(&self, poll: &Poll, again: Option<&Runnable>) {
        if let (Some(timing), Some(began)) = (&self.timing, poll.began) {
            timing.end(self.worker, began, again.map(Runnable::id));
        }
        if let (Some(track), Some(event)) = (&self.track, poll.event) {
            track.end(event);
        }
    }
}

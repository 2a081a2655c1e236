//! What a worker tells the others of its queues, and whether they are worth a wake-up.

use super::Local;
use crate::parking::Queues;
use crate::primitive::sync::atomic::Ordering::Relaxed;
use crate::sharing::Sharing;

impl Local {
    /// Wakes another worker if the queue is worth it.
    #[inline]
    pub(super) fn share(&self) {
        if self.queue_is_worth(Sharing::is_worth) {
            self.shared.parking.notify();
        }
    }

    /// Whether what waits in the queue is worth waking another worker.
    #[inline]
    fn queue_is_worth(&self, rule: impl FnOnce(u64) -> bool) -> bool {
        let tasks = self.queue().len();
        tasks > 0 && (!self.shared.weighs || rule(self.queued_ns(tasks)))
    }

    /// Whether this worker and others stand back from one another.
    #[inline]
    fn may_stand_back(&self) -> bool {
        self.shared.may_stand_back.load(Relaxed) && self.sharing.saw_contention()
    }

    /// How long so many polls take.
    #[inline]
    fn queued_ns(&self, tasks: usize) -> u64 {
        (tasks as u64).saturating_mul(self.pace.mean_ns())
    }
}

impl Queues for Local {
    fn any_work(&self) -> bool {
        self.shared.any_work() || self.local_work()
    }

    fn local_work(&self) -> bool {
        !self.queue().is_empty() || !self.remote().slot.is_empty() || !self.yielded().is_empty()
    }

    fn loose_work(&self) -> bool {
        !self.shared.injector.is_empty() || self.local_work()
    }

    fn worth_sharing(&self) -> bool {
        if self.may_stand_back() {
            self.queue_is_worth(Sharing::is_worth_alone)
        } else {
            self.queue_is_worth(|nanos| self.sharing.is_worth_after_events(nanos))
        }
    }

    fn stands_back(&self) -> bool {
        self.may_stand_back()
            && !Sharing::is_worth_alone(self.queued_ns(self.shared.longest_queue()))
    }
}

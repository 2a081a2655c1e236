//! How a worker leaves its place, for good or for a while: what is queued goes to others, or ends.

use crossbeam_deque::Worker as Deque;

use super::Local;
use crate::primitive::sync::atomic::Ordering::Relaxed;
use crate::task::Runnable;

impl Local {
    /// Gives up the right to search before the loop is left for good or for a while.
    pub(crate) fn leave(&self) {
        if self.searching.replace(false) {
            self.shared.parking.found_work(self);
        }
    }

    /// Whatever is queued here.
    fn queued(&self) -> Option<Runnable> {
        let slot = self.remote().slot.take();
        slot.or_else(|| self.queues[0].pop())
            .or_else(|| self.queues[1].pop())
    }

    /// Leaves whatever is queued here to the other workers. Returns whether somebody will come.
    pub(crate) fn hand_over(&self) -> bool {
        let mut moved = 0;
        while let Some(task) = self.queued() {
            self.shared.injector.push(task);
            moved += 1;
        }
        self.remote().stats.overflow.add(moved);
        moved == 0 || self.shared.parking.notify()
    }

    /// Gives the empty queues back, for the next worker in this place.
    pub(crate) fn into_queues(self) -> [Deque<Runnable>; 2] {
        self.remote().current.store(0, Relaxed);
        self.queues
    }

    /// Cancels whatever is queued here.
    pub(crate) fn drain(&self) {
        while let Some(task) = self.queued() {
            task.cancel();
        }
    }
}

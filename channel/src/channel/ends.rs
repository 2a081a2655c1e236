//! The two ends of a channel: how many senders and receivers there are, and what the last one does.

use super::{Channel, drop_value};
use crate::primitive::sync::atomic::Ordering::{AcqRel, Relaxed};
use crate::wake::wake_all;

impl<T> Channel<T> {
    /// One more sender, by one.
    pub fn add_sender(&self) {
        // ORDERING: Relaxed, as in `Arc`: the caller is a sender, so the count is not 0.
        self.senders.fetch_add(1, Relaxed);
    }

    /// One more sender, unless the last one has gone.
    #[must_use = "`false`: there is no new sender"]
    pub fn try_add_sender(&self) -> bool {
        let more = |count: usize| (count > 0).then_some(count + 1);
        self.senders.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    /// One sender less. The last one closes.
    pub fn drop_sender(&self) {
        if self.senders.fetch_sub(1, AcqRel) == 1 {
            self.close();
        }
    }

    /// How many senders there are.
    pub fn senders(&self) -> usize {
        self.senders.load(Relaxed)
    }

    /// One more receiver, by one.
    pub fn add_receiver(&self) {
        // ORDERING: as for senders.
        self.receivers.fetch_add(1, Relaxed);
    }

    /// One receiver less. With the last one the channel is closed, and what is in it is dropped.
    pub fn drop_receiver(&self) {
        if self.receivers.fetch_sub(1, AcqRel) != 1 {
            return;
        }
        let mut wakers = Vec::new();
        let left = self.locked_both(|state, side| state.abandon(&mut wakers, side));
        wake_all(wakers);
        drop_value(left);
    }

    /// How many receivers there are.
    pub fn receivers(&self) -> usize {
        self.receivers.load(Relaxed)
    }
}

//! The way of a channel that has one message at a time, whose receiver waits for each: a short one.
//!
//! What is done here is what `state.rs` does in the same place, less what the other cases need. Where it
//! turns out to be one of those, the steps there go on under the same stay under the lock.

use std::task::{Context, Poll, Waker};

use super::Channel;
use crate::primitive::assert_unlocked;
use crate::primitive::sync::Guard;
use crate::primitive::sync::atomic::Ordering::Relaxed;
use crate::state::State;
use crate::waiters::{Visitor, Waiting};

impl<T> Channel<T> {
    /// Receives. `None`: nothing is there, and nothing will come.
    #[inline]
    pub fn poll_recv(&self, cx: &mut Context<'_>, place: &mut Waiting) -> Poll<Option<T>> {
        if place.is_some() {
            let mut state = self.back.0.state.lock();
            if let Some(item) = state.take_single(place, self.front()) {
                self.back.0.ready.store(state.queue.len() > 0, Relaxed);
                return Poll::Ready(Some(item));
            }
            return self.poll_recv_on(state, None, cx, place);
        }
        if self.front().len() == 0 && self.looks_empty() {
            assert_unlocked();
            let copy = cx.waker().clone();
            let mut state = self.back.0.state.lock();
            return match state.wait_for_first(place, copy, self.front()) {
                Ok(()) => Poll::Pending,
                Err(copy) => self.poll_recv_on(state, Some(copy), cx, place),
            };
        }
        self.poll_recv_anew(cx, place)
    }

    /// Receives, where something seems to be there.
    #[inline(never)]
    fn poll_recv_anew(&self, cx: &mut Context<'_>, place: &mut Waiting) -> Poll<Option<T>> {
        if let Some(item) = self.take_from_front() {
            return Poll::Ready(Some(item));
        }
        self.poll_recv_on(self.back.0.state.lock(), None, cx, place)
    }

    /// Receives, or waits, with the back's lock held.
    #[inline(never)]
    fn poll_recv_on(
        &self,
        state: Guard<'_, State<T>>,
        copy: Option<Waker>,
        cx: &mut Context<'_>,
        place: &mut Waiting,
    ) -> Poll<Option<T>> {
        let visitor = Visitor::with_copy(cx.waker(), copy);
        self.attempt_on(state, visitor, |state, visitor, side| {
            state.receive(place, visitor, side)
        })
    }
}

//! The futures behind the async methods: each holds its place among those who wait, and gives it
//! back when it is dropped.

use std::collections::VecDeque;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, ready};

use rt_channel::{Channel, Closed, Waiting};
use rt_scheduler::coop::Coop;
use rt_scheduler::{Waits, coop, noted};

use super::SendError;

/// A number for a dump that tells a channel from others that there are at the same time.
fn number<T>(channel: &Channel<T>) -> u64 {
    ptr::from_ref(channel).addr() as u64
}

/// Notes who waits for room.
#[inline]
fn sends<T, R>(channel: &Channel<T>, poll: Poll<R>) -> Poll<R> {
    noted(poll, || Waits::Send(number(channel)))
}

/// Notes who waits for a value.
#[inline]
fn receives<T, R>(channel: &Channel<T>, poll: Poll<R>) -> Poll<R> {
    noted(poll, || Waits::Receive(number(channel)))
}

/// Sends one value.
pub(super) struct Send<'a, T> {
    channel: &'a Channel<T>,
    value: Option<T>,
    place: Waiting,
}

// The value is not pinned: it is moved into the channel.
impl<T> Unpin for Send<'_, T> {}

impl<'a, T> Send<'a, T> {
    #[inline]
    pub(super) fn new(channel: &'a Channel<T>, value: T) -> Self {
        Send {
            channel,
            value: Some(value),
            place: Waiting::new(),
        }
    }

    /// Sends, or waits, where that could not be done at once.
    #[inline(never)]
    fn poll_slowly(&mut self, cx: &mut Context<'_>, unit: Coop) -> Poll<Result<(), SendError<T>>> {
        let sent = ready!(sends(
            self.channel,
            self.channel.poll_send(cx, &mut self.value, &mut self.place)
        ));
        unit.made_progress();
        Poll::Ready(match (sent, self.value.take()) {
            (Err(Closed), Some(value)) => Err(SendError(value)),
            _ => Ok(()),
        })
    }

    /// Stops sending, and gives the value back unless it has been received.
    pub(super) fn cancel(&mut self) -> Option<T> {
        self.channel.cancel_send(&mut self.value, &mut self.place);
        self.value.take()
    }
}

impl<T> Future for Send<'_, T> {
    type Output = Result<(), SendError<T>>;

    #[expect(
        clippy::inline_always,
        reason = "a call would cost a twelfth of the message, in stores that the lock waits for"
    )]
    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let unit = ready!(coop::poll_proceed(cx));
        if !this.place.is_some() && this.channel.send_now(&mut this.value) {
            unit.made_progress();
            return Poll::Ready(Ok(()));
        }
        this.poll_slowly(cx, unit)
    }
}

impl<T> Drop for Send<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.place.is_some() {
            self.channel.cancel_send(&mut self.value, &mut self.place);
        }
    }
}

/// Waits for room.
pub(super) struct Reserve<'a, T> {
    channel: &'a Channel<T>,
    place: Waiting,
}

impl<'a, T> Reserve<'a, T> {
    pub(super) fn new(channel: &'a Channel<T>) -> Self {
        Reserve {
            channel,
            place: Waiting::new(),
        }
    }
}

impl<T> Future for Reserve<'_, T> {
    type Output = Result<(), Closed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        let unit = ready!(coop::poll_proceed(cx));
        let reserved = ready!(sends(
            self.channel,
            self.channel.poll_reserve(cx, &mut self.place)
        ));
        unit.made_progress();
        Poll::Ready(reserved)
    }
}

impl<T> Drop for Reserve<'_, T> {
    fn drop(&mut self) {
        self.channel.cancel_reserve(&mut self.place);
    }
}

/// Sends all of a queue, in parts as there is room.
pub(super) struct SendMany<'a, T> {
    channel: &'a Channel<T>,
    values: &'a mut VecDeque<T>,
    /// A rendezvous takes them one by one: the one that is being offered.
    offered: Option<Send<'a, T>>,
    place: Waiting,
}

impl<T> Unpin for SendMany<'_, T> {}

impl<'a, T> SendMany<'a, T> {
    pub(super) fn new(channel: &'a Channel<T>, values: &'a mut VecDeque<T>) -> Self {
        SendMany {
            channel,
            values,
            offered: None,
            place: Waiting::new(),
        }
    }

    fn poll_offers(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        loop {
            if self.offered.is_none() {
                let Some(value) = self.values.pop_front() else {
                    return Poll::Ready(Ok(()));
                };
                self.offered = Some(Send::new(self.channel, value));
            }
            if let Some(offered) = &mut self.offered {
                let sent = ready!(Pin::new(offered).poll(cx));
                self.offered = None;
                if let Err(SendError(value)) = sent {
                    self.values.push_front(value);
                    return Poll::Ready(Err(Closed));
                }
            }
        }
    }
}

impl<T> Future for SendMany<'_, T> {
    type Output = Result<(), Closed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        let this = self.get_mut();
        if this.channel.capacity() == 0 {
            return this.poll_offers(cx);
        }
        let unit = ready!(coop::poll_proceed(cx));
        let before = this.values.len();
        let sent = this
            .channel
            .poll_send_many(cx, this.values, &mut this.place);
        if sent.is_ready() || this.values.len() < before {
            unit.made_progress();
        }
        sends(this.channel, sent)
    }
}

impl<T> Drop for SendMany<'_, T> {
    fn drop(&mut self) {
        self.channel.cancel_reserve(&mut self.place);
        if let Some(value) = self.offered.as_mut().and_then(Send::cancel) {
            self.values.push_front(value);
        }
    }
}

/// Receives one value.
pub(super) struct Recv<'a, T> {
    channel: &'a Channel<T>,
    place: Waiting,
}

impl<'a, T> Recv<'a, T> {
    #[inline]
    pub(super) fn new(channel: &'a Channel<T>) -> Self {
        Recv {
            channel,
            place: Waiting::new(),
        }
    }
}

/// Receives one value within the budget.
#[inline]
pub(super) fn poll_recv<T>(
    channel: &Channel<T>,
    cx: &mut Context<'_>,
    place: &mut Waiting,
) -> Poll<Option<T>> {
    let unit = ready!(coop::poll_proceed(cx));
    if !place.is_some()
        && let Some(value) = channel.recv_now()
    {
        unit.made_progress();
        return Poll::Ready(Some(value));
    }
    poll_recv_slowly(channel, cx, place, unit)
}

/// Receives, or waits, where that could not be done at once.
#[inline(never)]
fn poll_recv_slowly<T>(
    channel: &Channel<T>,
    cx: &mut Context<'_>,
    place: &mut Waiting,
    unit: Coop,
) -> Poll<Option<T>> {
    let received = ready!(receives(channel, channel.poll_recv(cx, place)));
    unit.made_progress();
    Poll::Ready(received)
}

/// Receives many values within the budget.
pub(super) fn poll_recv_many<T>(
    channel: &Channel<T>,
    cx: &mut Context<'_>,
    buffer: &mut Vec<T>,
    limit: usize,
    place: &mut Waiting,
) -> Poll<usize> {
    if limit == 0 {
        return Poll::Ready(0);
    }
    let unit = ready!(coop::poll_proceed(cx));
    let received = ready!(receives(
        channel,
        channel.poll_recv_many(cx, buffer, limit, place)
    ));
    unit.made_progress();
    Poll::Ready(received)
}

impl<T> Future for Recv<'_, T> {
    type Output = Option<T>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        poll_recv(self.channel, cx, &mut self.place)
    }
}

impl<T> Drop for Recv<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.place.is_some() {
            self.channel.cancel_recv(&mut self.place);
        }
    }
}

/// Receives many values.
pub(super) struct RecvMany<'a, T> {
    channel: &'a Channel<T>,
    buffer: &'a mut Vec<T>,
    limit: usize,
    place: Waiting,
}

impl<'a, T> RecvMany<'a, T> {
    pub(super) fn new(channel: &'a Channel<T>, buffer: &'a mut Vec<T>, limit: usize) -> Self {
        RecvMany {
            channel,
            buffer,
            limit,
            place: Waiting::new(),
        }
    }
}

impl<T> Future for RecvMany<'_, T> {
    type Output = usize;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<usize> {
        let this = self.get_mut();
        poll_recv_many(this.channel, cx, this.buffer, this.limit, &mut this.place)
    }
}

impl<T> Drop for RecvMany<'_, T> {
    fn drop(&mut self) {
        self.channel.cancel_recv(&mut self.place);
    }
}

/// Waits for the close.
pub(super) struct WaitClosed<'a, T> {
    channel: &'a Channel<T>,
    place: Waiting,
}

impl<'a, T> WaitClosed<'a, T> {
    pub(super) fn new(channel: &'a Channel<T>) -> Self {
        WaitClosed {
            channel,
            place: Waiting::new(),
        }
    }
}

impl<T> Future for WaitClosed<'_, T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.channel.poll_closed(cx, &mut self.place)
    }
}

impl<T> Drop for WaitClosed<'_, T> {
    fn drop(&mut self) {
        self.channel.cancel_closed(&mut self.place);
    }
}

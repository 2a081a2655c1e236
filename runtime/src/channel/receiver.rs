//! The receiving end.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rt_channel::{Channel, Closed, Waiting};

use super::wait::{self, Recv, RecvMany};
use super::{RecvTimeoutError, TryRecvError};
use crate::time::timeout;

/// The receiving end of a channel. Cloning it makes one more: each value goes to one of them.
///
/// It is also a `futures_core::Stream` (feature `stream`). When the last one is dropped, the channel is
/// closed and what is in it is dropped.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = rt::channel::bounded(4);
/// let other = rx.clone();
/// tx.send(1).await.unwrap();
/// tx.send(2).await.unwrap();
/// assert_eq!(other.recv().await, Some(1));
/// assert_eq!(rx.recv().await, Some(2));
/// # }
/// ```
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
    /// The place of the `poll_` methods, which have no future of their own.
    place: Waiting,
}

impl<T> Receiver<T> {
    /// Takes over the count of one receiver.
    pub(super) fn new(channel: Arc<Channel<T>>) -> Self {
        Receiver {
            channel,
            place: Waiting::new(),
        }
    }

    /// The next value; `None` once the channel is closed and empty.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if it is dropped before it is ready, no value has left the channel, and the next
    /// receiver is told of one that this was woken for.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (tx, rx) = rt::channel::bounded(1);
    /// tx.send(1).await.unwrap();
    /// drop(tx);
    /// assert_eq!(rx.recv().await, Some(1));
    /// assert_eq!(rx.recv().await, None);
    /// # }
    /// ```
    #[inline]
    pub fn recv(&self) -> impl Future<Output = Option<T>> + use<'_, T> {
        Recv::new(&self.channel)
    }

    /// A value that is there now.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`], or [`TryRecvError::Closed`] if nothing will come.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded(1);
    /// assert!(rx.try_recv().is_err());
    /// tx.try_send(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match self.channel.try_recv() {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(TryRecvError::Empty),
            Err(Closed) => Err(TryRecvError::Closed),
        }
    }

    /// As [`recv`](Receiver::recv), for a limited time.
    ///
    /// # Errors
    ///
    /// [`RecvTimeoutError::Timeout`], or [`RecvTimeoutError::Closed`] if nothing will come.
    ///
    /// # Panics
    ///
    /// Outside of a runtime, if it has to wait.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, as [`recv`](Receiver::recv).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use std::time::Duration;
    ///
    /// let (tx, rx) = rt::channel::bounded(1);
    /// assert!(rx.recv_timeout(Duration::from_millis(1)).await.is_err());
    /// tx.send(1).await.unwrap();
    /// assert_eq!(rx.recv_timeout(Duration::from_secs(1)).await, Ok(1));
    /// # }
    /// ```
    pub async fn recv_timeout(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        match timeout(limit, Recv::new(&self.channel)).await {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(RecvTimeoutError::Closed),
            Err(_) => Err(RecvTimeoutError::Timeout),
        }
    }

    /// As [`recv`](Receiver::recv), for plain threads: blocks the thread.
    ///
    /// # Panics
    ///
    /// In a task, where it would keep others waiting.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::unbounded();
    /// let thread = std::thread::spawn(move || rx.blocking_recv());
    /// tx.try_send(7).unwrap();
    /// assert_eq!(thread.join().unwrap(), Some(7));
    /// ```
    #[track_caller]
    pub fn blocking_recv(&self) -> Option<T> {
        rt_scheduler::block_on(Recv::new(&self.channel))
    }

    /// Waits for a value, and adds it and those behind it to `buffer`, at most `limit`.
    ///
    /// Says how many. That is 0 only if the channel is closed and empty, or `limit` is 0.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if it is dropped before it is ready, no value has left the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (tx, rx) = rt::channel::unbounded();
    /// for value in 0..5 {
    ///     tx.send(value).await.unwrap();
    /// }
    /// let mut values = Vec::new();
    /// assert_eq!(rx.recv_many(&mut values, 3).await, 3);
    /// assert_eq!(rx.recv_many(&mut values, 3).await, 2);
    /// assert_eq!(values, [0, 1, 2, 3, 4]);
    /// # }
    /// ```
    pub async fn recv_many(&self, buffer: &mut Vec<T>, limit: usize) -> usize {
        RecvMany::new(&self.channel, buffer, limit).await
    }

    /// As [`recv_many`](Receiver::recv_many), for plain threads: blocks the thread.
    ///
    /// # Panics
    ///
    /// In a task, where it would keep others waiting.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::unbounded();
    /// (0..3).for_each(|value| tx.try_send(value).unwrap());
    /// let mut values = Vec::new();
    /// assert_eq!(rx.blocking_recv_many(&mut values, 2), 2);
    /// assert_eq!(values, [0, 1]);
    /// ```
    #[track_caller]
    pub fn blocking_recv_many(&self, buffer: &mut Vec<T>, limit: usize) -> usize {
        rt_scheduler::block_on(RecvMany::new(&self.channel, buffer, limit))
    }

    /// Polls for the next value.
    ///
    /// Only the waker of the latest call is woken. To wait no more, drop the receiver or poll until it is ready.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use std::future::poll_fn;
    ///
    /// let (tx, mut rx) = rt::channel::bounded(1);
    /// tx.send(1).await.unwrap();
    /// assert_eq!(poll_fn(|cx| rx.poll_recv(cx)).await, Some(1));
    /// # }
    /// ```
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        wait::poll_recv(&self.channel, cx, &mut self.place)
    }

    /// Polls for values, as [`recv_many`](Receiver::recv_many) awaits them.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (tx, mut rx) = rt::channel::unbounded();
    /// (0..3).for_each(|value| tx.try_send(value).unwrap());
    /// let mut values = Vec::new();
    /// std::future::poll_fn(|cx| rx.poll_recv_many(cx, &mut values, 8)).await;
    /// assert_eq!(values, [0, 1, 2]);
    /// # }
    /// ```
    pub fn poll_recv_many(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        wait::poll_recv_many(&self.channel, cx, buffer, limit, &mut self.place)
    }

    /// Closes the channel: sends fail from here on, and who waits to send gets its value back. What is in the
    /// channel, and what is sent with permits given before, can still be received.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (tx, rx) = rt::channel::bounded(2);
    /// tx.send(1).await.unwrap();
    /// rx.close();
    /// assert!(tx.send(2).await.is_err());
    /// assert_eq!(rx.recv().await, Some(1));
    /// assert_eq!(rx.recv().await, None);
    /// # }
    /// ```
    pub fn close(&self) {
        self.channel.close();
    }

    /// Whether the channel is closed. There may still be values in it.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded::<u8>(1);
    /// assert!(!rx.is_closed());
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.channel.is_closed()
    }

    /// How many values are in the channel. Values of senders that wait are not.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded(2);
    /// tx.try_send(7).unwrap();
    /// assert_eq!(rx.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.channel.len()
    }

    /// Whether no value is in the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded(2);
    /// assert!(rx.is_empty());
    /// tx.try_send(7).unwrap();
    /// assert!(!rx.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.channel.is_empty()
    }

    /// How many values could be sent now without waiting; see [`Sender::capacity`](super::Sender::capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded(2);
    /// tx.try_send(7).unwrap();
    /// assert_eq!(rx.capacity(), 1);
    /// ```
    pub fn capacity(&self) -> usize {
        self.channel.room()
    }

    /// How many values the channel has room for when it is empty. `usize::MAX` if it is unbounded.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded(2);
    /// tx.try_send(7).unwrap();
    /// assert_eq!(rx.max_capacity(), 2);
    /// ```
    pub fn max_capacity(&self) -> usize {
        self.channel.capacity()
    }

    /// Whether both receive from the same channel.
    ///
    /// # Examples
    ///
    /// ```
    /// let (_tx, rx) = rt::channel::bounded::<u8>(1);
    /// assert!(rx.same_channel(&rx.clone()));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }

    /// How many senders there are. By the time it is read, it may be another number.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded::<u8>(1);
    /// let _other = tx.clone();
    /// assert_eq!(rx.sender_strong_count(), 2);
    /// ```
    pub fn sender_strong_count(&self) -> usize {
        self.channel.senders()
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.channel.add_receiver();
        Receiver::new(Arc::clone(&self.channel))
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.channel.cancel_recv(&mut self.place);
        self.channel.drop_receiver();
    }
}

#[cfg(feature = "stream")]
impl<T> futures_core::Stream for Receiver<T> {
    type Item = T;

    fn poll_next(self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.get_mut().poll_recv(cx)
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("channel", &self.channel)
            .finish_non_exhaustive()
    }
}

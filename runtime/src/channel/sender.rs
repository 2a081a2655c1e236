//! The sending end.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rt_channel::{Channel, Closed, Refused};

use super::wait::{Reserve, Send, SendMany, WaitClosed};
use super::{OwnedPermit, Permit, SendError, SendTimeoutError, TrySendError};
use crate::time::timeout;

/// The sending end of a channel. Cloning it makes one more.
///
/// When the last one is dropped, the channel is closed.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = rt::channel::bounded(4);
/// for task in 0..4 {
///     let tx = tx.clone();
///     rt::spawn(async move { tx.send(task).await });
/// }
/// drop(tx);
/// let mut sum = 0;
/// while let Some(task) = rx.recv().await {
///     sum += task;
/// }
/// assert_eq!(sum, 6);
/// # }
/// ```
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Sender<T> {
    /// Takes over the count of one sender.
    pub(super) fn new(channel: Arc<Channel<T>>) -> Self {
        Sender { channel }
    }

    pub(super) fn channel(&self) -> &Channel<T> {
        &self.channel
    }

    /// Sends a value, once there is room; through a channel of capacity 0, until it has been received.
    ///
    /// # Errors
    ///
    /// [`SendError`] with the value, if the channel is closed or is closed while this waits.
    ///
    /// # Cancel safety
    ///
    /// If it is dropped before it is ready, the value was not sent and is dropped with it; use
    /// [`reserve`](Sender::reserve) for a value that must not be lost. Through a channel of capacity 0 the value may have been received
    /// without this having been told.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (tx, rx) = rt::channel::bounded(1);
    /// tx.send(1).await.unwrap();
    /// rx.close();
    /// assert_eq!(tx.send(2).await.unwrap_err().into_inner(), 2);
    /// # }
    /// ```
    #[inline]
    pub fn send(&self, value: T) -> impl Future<Output = Result<(), SendError<T>>> + use<'_, T> {
        Send::new(&self.channel, value)
    }

    /// Sends a value if there is room now.
    ///
    /// Through a channel of capacity 0 that is so if more receivers wait than values are on their
    /// way to them. Should such a receiver be dropped before it takes its value, the next one gets it.
    ///
    /// # Errors
    ///
    /// [`TrySendError`] with the value.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded(1);
    /// assert!(tx.try_send(1).is_ok());
    /// assert!(tx.try_send(2).unwrap_err().is_full());
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.channel.try_send(value).map_err(TrySendError::from)
    }

    /// As [`send`](Sender::send), for a limited time.
    ///
    /// # Errors
    ///
    /// [`SendTimeoutError`] with the value, if the time is over or the channel closed.
    ///
    /// # Panics
    ///
    /// Outside of a runtime, if it has to wait.
    ///
    /// # Cancel safety
    ///
    /// As for [`send`](Sender::send).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use std::time::Duration;
    ///
    /// let (tx, _rx) = rt::channel::bounded(1);
    /// tx.send_timeout(1, Duration::from_secs(1)).await.unwrap();
    /// let late = tx.send_timeout(2, Duration::from_millis(1)).await;
    /// assert!(late.unwrap_err().is_timeout());
    /// # }
    /// ```
    pub async fn send_timeout(&self, value: T, limit: Duration) -> Result<(), SendTimeoutError<T>> {
        let mut send = Send::new(&self.channel, value);
        match timeout(limit, &mut send).await {
            Ok(sent) => sent.map_err(|SendError(value)| SendTimeoutError::Closed(value)),
            Err(_) => match send.cancel() {
                Some(value) => Err(SendTimeoutError::Timeout(value)),
                // A rendezvous: it was received in the last moment.
                None => Ok(()),
            },
        }
    }

    /// As [`send`](Sender::send), for plain threads: blocks the thread.
    ///
    /// # Errors
    ///
    /// [`SendError`] with the value, if the channel is closed or is closed while this waits.
    ///
    /// # Panics
    ///
    /// In a task, where it would keep others waiting.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded(0);
    /// let thread = std::thread::spawn(move || tx.blocking_send(7));
    /// assert_eq!(rx.blocking_recv(), Some(7));
    /// assert_eq!(thread.join().unwrap(), Ok(()));
    /// ```
    #[track_caller]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        rt_scheduler::block_on(self.send(value))
    }

    /// Sends all of `values`, from the front, as many at a time as there is room for.
    ///
    /// Costs less than sending them one by one. Values of other senders may come between them.
    ///
    /// # Errors
    ///
    /// [`SendError`] if the channel is closed. What was not sent is in `values`.
    ///
    /// # Cancel safety
    ///
    /// What was not sent is in `values`. Through a channel of capacity 0, this holds too.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::collections::VecDeque;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (tx, rx) = rt::channel::bounded(8);
    /// let mut values: VecDeque<_> = (0..100).collect();
    /// let sending = rt::spawn(async move { tx.send_many(&mut values).await });
    /// for value in 0..100 {
    ///     assert_eq!(rx.recv().await, Some(value));
    /// }
    /// assert_eq!(sending.await.unwrap(), Ok(()));
    /// # }
    /// ```
    pub async fn send_many(&self, values: &mut VecDeque<T>) -> Result<(), SendError<()>> {
        let sent = SendMany::new(&self.channel, values).await;
        sent.map_err(|Closed| SendError(()))
    }

    /// Waits for room for one value and keeps it.
    ///
    /// # Errors
    ///
    /// [`SendError`] if the channel is closed or is closed while this waits.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping it gives up its place among those who wait, and nothing else.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (tx, rx) = rt::channel::bounded(1);
    /// let permit = tx.reserve().await.unwrap();
    /// permit.send("made when there was room");
    /// assert!(rx.recv().await.is_some());
    /// # }
    /// ```
    pub async fn reserve(&self) -> Result<Permit<'_, T>, SendError<()>> {
        match Reserve::new(&self.channel).await {
            Ok(()) => Ok(Permit::new(&self.channel)),
            Err(Closed) => Err(SendError(())),
        }
    }

    /// Keeps room for one value if there is some now.
    ///
    /// # Errors
    ///
    /// [`TrySendError`].
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = rt::channel::bounded::<u8>(1);
    /// let permit = tx.try_reserve().unwrap();
    /// assert!(tx.try_reserve().unwrap_err().is_full());
    /// drop(permit);
    /// assert!(tx.try_reserve().is_ok());
    /// ```
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        self.channel.try_reserve().map_err(TrySendError::from)?;
        Ok(Permit::new(&self.channel))
    }

    /// As [`reserve`](Sender::reserve), with a permit that borrows nothing. It gives the sender back.
    ///
    /// # Errors
    ///
    /// [`SendError`] if the channel is closed or is closed while this waits.
    ///
    /// # Cancel safety
    ///
    /// As for [`reserve`](Sender::reserve); the sender is dropped too, so give it a clone.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (tx, rx) = rt::channel::bounded(1);
    /// let tx = tx.reserve_owned().await.unwrap().send(1);
    /// assert_eq!(rx.recv().await, Some(1));
    /// assert!(!tx.is_closed());
    /// # }
    /// ```
    pub async fn reserve_owned(self) -> Result<OwnedPermit<T>, SendError<()>> {
        match Reserve::new(&self.channel).await {
            Ok(()) => Ok(OwnedPermit::new(self)),
            Err(Closed) => Err(SendError(())),
        }
    }

    /// As [`try_reserve`](Sender::try_reserve), with a permit that borrows nothing.
    ///
    /// # Errors
    ///
    /// [`TrySendError`] with the sender.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded(1);
    /// let tx = tx.try_reserve_owned().unwrap().send(1);
    /// assert!(tx.try_reserve_owned().unwrap_err().is_full());
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        match self.channel.try_reserve() {
            Ok(()) => Ok(OwnedPermit::new(self)),
            Err(Refused::Full(())) => Err(TrySendError::Full(self)),
            Err(Refused::Closed(())) => Err(TrySendError::Closed(self)),
        }
    }

    /// Closes the channel: sends fail from here on, and who waits to send gets its value back.
    /// Receivers get what is in the channel, and then `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (tx, rx) = rt::channel::bounded(1);
    /// tx.send(1).await.unwrap();
    /// tx.close();
    /// assert!(tx.send(2).await.is_err());
    /// assert_eq!(rx.recv().await, Some(1));
    /// assert_eq!(rx.recv().await, None);
    /// # }
    /// ```
    pub fn close(&self) {
        self.channel.close();
    }

    /// Waits until the channel is closed, because the receivers are gone for instance.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (tx, rx) = rt::channel::bounded::<u8>(1);
    /// rt::spawn(async move { drop(rx) });
    /// tx.closed().await;
    /// assert!(tx.is_closed());
    /// # }
    /// ```
    pub async fn closed(&self) {
        WaitClosed::new(&self.channel).await;
    }

    /// Whether the channel is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded::<u8>(1);
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.channel.is_closed()
    }

    /// How many values are in the channel. Values of senders that wait are not.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = rt::channel::bounded(2);
    /// tx.try_send(1).unwrap();
    /// assert_eq!((tx.len(), tx.capacity(), tx.max_capacity()), (1, 1, 2));
    /// ```
    pub fn len(&self) -> usize {
        self.channel.len()
    }

    /// Whether no value is in the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = rt::channel::bounded(2);
    /// assert!(tx.is_empty());
    /// tx.try_send(7).unwrap();
    /// assert!(!tx.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.channel.is_empty()
    }

    /// How many values could be sent now without waiting, as with `tokio`'s channels:
    /// [`max_capacity`](Sender::max_capacity) less what is in the channel or reserved. `usize::MAX` if it is unbounded.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = rt::channel::bounded(2);
    /// tx.try_send(7).unwrap();
    /// assert_eq!(tx.capacity(), 1);
    /// ```
    pub fn capacity(&self) -> usize {
        self.channel.room()
    }

    /// How many values the channel has room for when it is empty. `usize::MAX` if it is unbounded.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = rt::channel::bounded::<u8>(2);
    /// assert_eq!(tx.max_capacity(), 2);
    /// ```
    pub fn max_capacity(&self) -> usize {
        self.channel.capacity()
    }

    /// Whether both send to the same channel.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = rt::channel::bounded::<u8>(1);
    /// assert!(tx.same_channel(&tx.clone()));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }

    /// A sender that does not keep the channel open.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded(1);
    /// let weak = tx.downgrade();
    /// weak.upgrade().unwrap().try_send(1).unwrap();
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// assert_eq!(rx.blocking_recv(), Some(1));
    /// assert_eq!(rx.blocking_recv(), None);
    /// ```
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender {
            channel: Arc::clone(&self.channel),
        }
    }

    /// How many senders there are. By the time it is read, it may be another number.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = rt::channel::bounded::<u8>(1);
    /// let other = tx.clone();
    /// assert_eq!(other.strong_count(), 2);
    /// ```
    pub fn strong_count(&self) -> usize {
        self.channel.senders()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.channel.add_sender();
        Sender {
            channel: Arc::clone(&self.channel),
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.channel.drop_sender();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("channel", &self.channel)
            .finish()
    }
}

/// A sender that does not keep its channel open, from [`Sender::downgrade`].
///
/// # Examples
///
/// A task that talks to itself, and ends with the last of the others:
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = rt::channel::unbounded();
/// let again = tx.downgrade();
/// let task = rt::spawn(async move {
///     let mut steps = 0;
///     while let Some(left) = rx.recv().await {
///         steps += 1;
///         if let (1.., Some(tx)) = (left, again.upgrade()) {
///             tx.send(left - 1).await.unwrap();
///         }
///     }
///     steps
/// });
/// tx.send(3).await.unwrap();
/// while !tx.is_empty() {
///     rt::yield_now().await;
/// }
/// drop(tx);
/// assert_eq!(task.await.unwrap(), 4);
/// # }
/// ```
pub struct WeakSender<T> {
    channel: Arc<Channel<T>>,
}

impl<T> WeakSender<T> {
    /// A sender, unless the last one is gone.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = rt::channel::bounded::<u8>(1);
    /// let weak = tx.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.channel.try_add_sender().then(|| Sender {
            channel: Arc::clone(&self.channel),
        })
    }

    /// How many senders there are. By the time it is read, it may be another number.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = rt::channel::bounded::<u8>(1);
    /// assert_eq!(tx.downgrade().strong_count(), 1);
    /// ```
    pub fn strong_count(&self) -> usize {
        self.channel.senders()
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        WeakSender {
            channel: Arc::clone(&self.channel),
        }
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender")
            .field("channel", &self.channel)
            .finish()
    }
}

//! What can go wrong with a channel: it is closed, it is full or empty, the time is over.

use std::error::Error;
use std::fmt;

use rt_channel::Refused;

/// The error of a send: the channel is closed. The value comes back with it.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// use rt::channel::SendError;
///
/// let (tx, rx) = rt::channel::bounded(1);
/// drop(rx);
/// assert_eq!(tx.send("letter").await, Err(SendError("letter")));
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// The error of [`Sender::try_send`](super::Sender::try_send) and [`try_reserve`](super::Sender::try_reserve).
///
/// # Examples
///
/// ```
/// use rt::channel::TrySendError;
///
/// let (tx, rx) = rt::channel::bounded(1);
/// tx.try_send(1).unwrap();
/// assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
/// drop(rx);
/// assert_eq!(tx.try_send(3), Err(TrySendError::Closed(3)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// There is no room now.
    Full(T),
    /// The channel is closed.
    Closed(T),
}

/// The error of [`Sender::send_timeout`](super::Sender::send_timeout).
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// use std::time::Duration;
/// use rt::channel::SendTimeoutError;
///
/// let (tx, _rx) = rt::channel::bounded(0);
/// let late = tx.send_timeout("letter", Duration::from_millis(1)).await;
/// assert_eq!(late, Err(SendTimeoutError::Timeout("letter")));
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// The time was over first.
    Timeout(T),
    /// The channel is closed.
    Closed(T),
}

/// The error of [`oneshot::Receiver`](super::oneshot::Receiver): the sender went without sending.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = rt::channel::oneshot::<u8>();
/// drop(tx);
/// assert!(rx.await.is_err());
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError(pub(super) ());

/// The error of the `try_recv`s.
///
/// # Examples
///
/// ```
/// use rt::channel::TryRecvError;
///
/// let (tx, rx) = rt::channel::bounded::<u8>(1);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
/// drop(tx);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing is there now.
    Empty,
    /// Nothing is there, and nothing will come.
    Closed,
}

/// The error of [`Receiver::recv_timeout`](super::Receiver::recv_timeout).
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// use std::time::Duration;
/// use rt::channel::RecvTimeoutError;
///
/// let (_tx, rx) = rt::channel::bounded::<u8>(1);
/// let late = rx.recv_timeout(Duration::from_millis(1)).await;
/// assert_eq!(late, Err(RecvTimeoutError::Timeout));
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// The time was over first.
    Timeout,
    /// Nothing is there, and nothing will come.
    Closed,
}

const CLOSED: &str = "the channel is closed";
const LATE: &str = "the time is over";

impl<T> SendError<T> {
    /// The value that was not sent.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded(1);
    /// drop(rx);
    /// assert_eq!(tx.blocking_send(7).unwrap_err().into_inner(), 7);
    /// ```
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> TrySendError<T> {
    /// The value that was not sent.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = rt::channel::bounded(0);
    /// assert_eq!(tx.try_send(7).unwrap_err().into_inner(), 7);
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            TrySendError::Full(value) | TrySendError::Closed(value) => value,
        }
    }

    /// Whether there is only no room now.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = rt::channel::bounded(0);
    /// assert!(tx.try_send(7).unwrap_err().is_full());
    /// ```
    pub fn is_full(&self) -> bool {
        matches!(self, TrySendError::Full(_))
    }

    /// Whether the channel is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded(1);
    /// drop(rx);
    /// assert!(tx.try_send(7).unwrap_err().is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, TrySendError::Closed(_))
    }
}

impl<T> SendTimeoutError<T> {
    /// The value that was not sent.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (tx, rx) = rt::channel::bounded(1);
    /// drop(rx);
    /// let sent = tx.send_timeout(7, std::time::Duration::MAX).await;
    /// assert_eq!(sent.unwrap_err().into_inner(), 7);
    /// # }
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            SendTimeoutError::Timeout(value) | SendTimeoutError::Closed(value) => value,
        }
    }

    /// Whether the time was over first.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (tx, _rx) = rt::channel::bounded(0);
    /// let sent = tx.send_timeout(7, std::time::Duration::ZERO).await;
    /// assert!(sent.unwrap_err().is_timeout());
    /// # }
    /// ```
    pub fn is_timeout(&self) -> bool {
        matches!(self, SendTimeoutError::Timeout(_))
    }

    /// Whether the channel is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (tx, rx) = rt::channel::bounded(1);
    /// drop(rx);
    /// let sent = tx.send_timeout(7, std::time::Duration::MAX).await;
    /// assert!(sent.unwrap_err().is_closed());
    /// # }
    /// ```
    pub fn is_closed(&self) -> bool {
        matches!(self, SendTimeoutError::Closed(_))
    }
}

impl<T> From<Refused<T>> for TrySendError<T> {
    fn from(refused: Refused<T>) -> Self {
        match refused {
            Refused::Full(value) => TrySendError::Full(value),
            Refused::Closed(value) => TrySendError::Closed(value),
        }
    }
}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(error: SendError<T>) -> Self {
        TrySendError::Closed(error.0)
    }
}

// The value is left out of what is printed, so that it need not be printable.

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrySendError::Full(_) => "Full(..)",
            TrySendError::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Debug for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SendTimeoutError::Timeout(_) => "Timeout(..)",
            SendTimeoutError::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CLOSED)
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrySendError::Full(_) => "the channel is full",
            TrySendError::Closed(_) => CLOSED,
        })
    }
}

impl<T> fmt::Display for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SendTimeoutError::Timeout(_) => LATE,
            SendTimeoutError::Closed(_) => CLOSED,
        })
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CLOSED)
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryRecvError::Empty => "the channel is empty",
            TryRecvError::Closed => "the channel is empty and closed",
        })
    }
}

impl fmt::Display for RecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecvTimeoutError::Timeout => LATE,
            RecvTimeoutError::Closed => "the channel is empty and closed",
        })
    }
}

impl<T> Error for SendError<T> {}
impl<T> Error for TrySendError<T> {}
impl<T> Error for SendTimeoutError<T> {}
impl Error for RecvError {}
impl Error for TryRecvError {}
impl Error for RecvTimeoutError {}

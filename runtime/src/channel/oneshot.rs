//! A channel for one value.
//!
//! See [`oneshot()`].

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, ready};

use rt_channel::oneshot::{self as core, Found};
use rt_scheduler::{Waits, coop, note};

pub use super::{RecvError, TryRecvError};

/// A channel for one value.
///
/// Sending never waits. The receiver is a future.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = rt::channel::oneshot();
/// rt::spawn(async move { tx.send("done") });
/// assert_eq!(rx.await, Ok("done"));
/// # }
/// ```
pub fn oneshot<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = core::channel();
    (Sender { core: sender }, Receiver { core: receiver })
}

/// The sending end. Dropped without having sent, it leaves the receiver with a [`RecvError`].
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = rt::channel::oneshot();
/// tx.send(7).unwrap();
/// assert_eq!(rx.await, Ok(7));
/// # }
/// ```
pub struct Sender<T> {
    core: core::Sender<T>,
}

/// The receiving end, a future.
///
/// # Cancel safety
///
/// Awaiting it by reference (`&mut rx`) is cancel safe. Dropping the receiver itself drops a value that was sent.
///
/// Polled again after it was ready, it says that nothing will come.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, mut rx) = rt::channel::oneshot::<u8>();
/// assert!(rx.try_recv().is_err());
/// tx.send(7).unwrap();
/// assert_eq!((&mut rx).await, Ok(7));
/// # }
/// ```
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Receiver<T> {
    core: core::Receiver<T>,
}

impl<T> Sender<T> {
    /// Sends the value.
    ///
    /// That it was sent does not mean that it will be received: the receiver may be dropped with it.
    ///
    /// # Errors
    ///
    /// The value, if the receiver is gone or has closed.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::oneshot();
    /// drop(rx);
    /// assert_eq!(tx.send(7), Err(7));
    /// ```
    #[inline]
    pub fn send(self, value: T) -> Result<(), T> {
        self.core.send(value)
    }

    /// Whether the receiver is gone or has closed.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::oneshot::<u8>();
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.core.is_closed()
    }

    /// Waits until the receiver is gone or closes: the value is not wanted any more.
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
    /// let (mut tx, rx) = rt::channel::oneshot::<u8>();
    /// rt::spawn(async move { drop(rx) });
    /// tx.closed().await;
    /// # }
    /// ```
    pub async fn closed(&mut self) {
        poll_fn(|cx| self.poll_closed(cx)).await;
    }

    /// Polls for what [`closed`](Sender::closed) awaits.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let (mut tx, rx) = rt::channel::oneshot::<u8>();
    /// rt::spawn(async move { drop(rx) });
    /// std::future::poll_fn(|cx| tx.poll_closed(cx)).await;
    /// # }
    /// ```
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.core.poll_closed(cx)
    }
}

impl<T> Receiver<T> {
    /// The value, if it has been sent.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`], or [`TryRecvError::Closed`] if it will not come or was received before.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, mut rx) = rt::channel::oneshot();
    /// tx.send(7).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(7));
    /// assert!(rx.try_recv().is_err());
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        match self.core.look() {
            Found::Value(value) => Ok(value),
            Found::Nothing => Err(TryRecvError::Closed),
            Found::NotYet => Err(TryRecvError::Empty),
        }
    }

    /// Waits for the value in a plain thread, which it blocks.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if it will not come.
    ///
    /// # Panics
    ///
    /// In a task, where it would keep others waiting.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::oneshot();
    /// std::thread::spawn(move || tx.send(7));
    /// assert_eq!(rx.blocking_recv(), Ok(7));
    /// ```
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        rt_scheduler::block_on(self)
    }

    /// Wants no value any more: [`Sender::send`] fails from here on. One that was sent before can
    /// still be received.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, mut rx) = rt::channel::oneshot();
    /// rx.close();
    /// assert_eq!(tx.send(7), Err(7));
    /// ```
    pub fn close(&mut self) {
        self.core.close();
    }

    /// Whether no value is there now.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::oneshot();
    /// assert!(rx.is_empty());
    /// tx.send(7).unwrap();
    /// assert!(!rx.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        !self.core.has_value()
    }

    /// Whether the value has been received, or will not come.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, mut rx) = rt::channel::oneshot();
    /// tx.send(7).unwrap();
    /// assert!(!rx.is_terminated());
    /// assert_eq!(rx.try_recv(), Ok(7));
    /// assert!(rx.is_terminated());
    /// ```
    pub fn is_terminated(&self) -> bool {
        self.core.is_over()
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let unit = ready!(coop::poll_proceed(cx));
        let found = match self.core.poll_look(cx) {
            Found::NotYet => {
                note(Waits::Receive(ptr::from_ref(&*self).addr() as u64));
                return Poll::Pending;
            }
            Found::Value(value) => Ok(value),
            Found::Nothing => Err(RecvError(())),
        };
        unit.made_progress();
        Poll::Ready(found)
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}

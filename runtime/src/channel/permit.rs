//! Room that is reserved before there is a value to send.

use std::fmt;
use std::mem;

use rt_channel::Channel;

use super::Sender;

/// Room for one value, from [`Sender::reserve`].
///
/// [`send`](Permit::send) uses it at once and cannot fail. Dropping it gives the room to the next.
///
/// # Examples
///
/// A value that is dear to make is made only when it can be sent, so that a loser of a `select!` has none to lose:
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = rt::channel::bounded(1);
/// let permit = tx.reserve().await.unwrap();
/// assert!(tx.try_send("another").is_err(), "the room is taken");
/// permit.send("dear");
/// assert_eq!(rx.recv().await, Some("dear"));
/// # }
/// ```
#[must_use = "dropping a permit gives the room back"]
pub struct Permit<'a, T> {
    channel: &'a Channel<T>,
}

impl<'a, T> Permit<'a, T> {
    /// Takes over room that was promised.
    pub(super) fn new(channel: &'a Channel<T>) -> Self {
        Permit { channel }
    }

    /// Sends.
    ///
    /// The value arrives also if the channel was closed after the reservation, unless all receivers
    /// are gone: then it is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded(1);
    /// tx.try_reserve().unwrap().send(7);
    /// assert_eq!(rx.try_recv(), Ok(7));
    /// ```
    pub fn send(self, value: T) {
        self.channel.redeem(Some(value));
        mem::forget(self);
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        self.channel.redeem(None);
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

/// Room for one value that owns its sender, from [`Sender::reserve_owned`].
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = rt::channel::bounded(1);
/// let permit = tx.reserve_owned().await.unwrap();
/// rt::spawn(async move { permit.send(7) });
/// assert_eq!(rx.recv().await, Some(7));
/// # }
/// ```
#[must_use = "dropping a permit gives the room back"]
pub struct OwnedPermit<T> {
    /// Gone once the permit is used.
    sender: Option<Sender<T>>,
}

impl<T> OwnedPermit<T> {
    /// Takes over room that was promised.
    pub(super) fn new(sender: Sender<T>) -> Self {
        OwnedPermit {
            sender: Some(sender),
        }
    }

    /// Sends, as [`Permit::send`], and gives the sender back.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = rt::channel::bounded(1);
    /// let tx = tx.try_reserve_owned().unwrap().send(7);
    /// assert_eq!((tx.len(), rx.try_recv()), (1, Ok(7)));
    /// ```
    pub fn send(mut self, value: T) -> Sender<T> {
        self.redeem(Some(value))
    }

    /// Gives the room to the next, and the sender back.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = rt::channel::bounded::<u8>(1);
    /// let tx = tx.try_reserve_owned().unwrap().release();
    /// assert_eq!(tx.capacity(), 1);
    /// ```
    pub fn release(mut self) -> Sender<T> {
        self.redeem(None)
    }

    fn redeem(&mut self, value: Option<T>) -> Sender<T> {
        let Some(sender) = self.sender.take() else {
            unreachable!("a permit is used once");
        };
        sender.channel().redeem(value);
        sender
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if self.sender.is_some() {
            drop(self.redeem(None));
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").finish_non_exhaustive()
    }
}

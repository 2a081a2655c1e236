//! Channels: many senders, many receivers, waiting in tasks and in plain threads.
//!
//! [`bounded`] and [`unbounded`] are queues; [`bounded(0)`](bounded) is a rendezvous, where a send is complete
//! when its value has been received. [`oneshot()`] carries one value. All work on any runtime,
//! in plain threads, and between them.
//!
//! | | in a task | at once | with a limit | in a plain thread |
//! |---|---|---|---|---|
//! | send | [`send`](Sender::send) | [`try_send`](Sender::try_send) | [`send_timeout`](Sender::send_timeout) | [`blocking_send`](Sender::blocking_send) |
//! | receive | [`recv`](Receiver::recv) | [`try_recv`](Receiver::try_recv) | [`recv_timeout`](Receiver::recv_timeout) | [`blocking_recv`](Receiver::blocking_recv) |
//! | many | [`send_many`](Sender::send_many), [`recv_many`](Receiver::recv_many) | | | [`blocking_recv_many`](Receiver::blocking_recv_many) |
//! | reserve | [`reserve`](Sender::reserve) | [`try_reserve`](Sender::try_reserve) | | |
//!
//! # What they guarantee
//!
//! * Values of one sender arrive in the order in which they were sent, and each once.
//! * A value leaves the channel only in the poll that returns it: a [`recv`](Receiver::recv) that is dropped,
//!   as the loser of a [`select!`](crate::select) is, loses nothing.
//! * Who waits is served first come first served, as far as those who come are there to be served: a
//!   future that is woken and then not polled, or forgotten, holds up nobody who comes after it.
//! * A value that cannot be sent comes back in the error.
//!
//! # The end
//!
//! A channel is closed by [`close`](Sender::close), or when all senders or all receivers are gone. Sends then fail;
//! receivers get what is still in the channel, and then `None`.
//!
//! # Examples
//!
//! Four workers that share their work, and one who adds up:
//!
//! ```
//! # #[rt::main(flavor = "current_thread")]
//! # async fn main() {
//! let (jobs, queue) = rt::channel::bounded::<u64>(16);
//! let (results, answers) = rt::channel::unbounded::<u64>();
//! for _ in 0..4 {
//!     let (queue, results) = (queue.clone(), results.clone());
//!     rt::spawn(async move {
//!         while let Some(job) = queue.recv().await {
//!             results.send(job * job).await.unwrap();
//!         }
//!     });
//! }
//! drop(results);
//! for job in 1..=10 {
//!     jobs.send(job).await.unwrap();
//! }
//! drop(jobs);
//! let mut sum = 0;
//! while let Some(square) = answers.recv().await {
//!     sum += square;
//! }
//! assert_eq!(sum, 385);
//! # }
//! ```

use std::sync::Arc;

use rt_channel::{Channel, UNBOUNDED};

mod error;
pub mod oneshot;
mod permit;
mod receiver;
mod sender;
mod wait;

pub use self::error::{
    RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
};
pub use self::oneshot::oneshot;
pub use self::permit::{OwnedPermit, Permit};
pub use self::receiver::Receiver;
pub use self::sender::{Sender, WeakSender};

/// A channel with room for `capacity` values.
///
/// When it is full, senders wait. With a capacity of 0 it is a *rendezvous*: a send waits until its
/// value has been received.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = rt::channel::bounded(2);
/// tx.send(1).await.unwrap();
/// tx.send(2).await.unwrap();
/// assert!(tx.try_send(3).is_err());
/// assert_eq!(rx.recv().await, Some(1));
/// assert_eq!(rx.recv().await, Some(2));
/// # }
/// ```
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel::new(capacity));
    (Sender::new(Arc::clone(&channel)), Receiver::new(channel))
}

/// A channel that is never full.
///
/// Nothing slows its senders down: if they are faster than the receivers for long, memory grows.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = rt::channel::unbounded();
/// for number in 0..1000 {
///     tx.send(number).await.unwrap();
/// }
/// assert_eq!(rx.len(), 1000);
/// assert_eq!(rx.recv().await, Some(0));
/// # }
/// ```
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    bounded(UNBOUNDED)
}

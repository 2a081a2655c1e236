//! The peers: what a workload asks of a runtime, and who can do it.
//!
//! A workload in `work/` is written once, generic over [`Exec`] (and [`Net`], [`Offload`] or
//! [`Channel`] where it needs them), and each peer gives those in one thin file. Peers whose
//! coroutines are no futures (`may`, Go, the hand-written epoll loop) bring their own form of the work.
//!
//! Everybody gets [`WORKERS`] worker threads.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::time::Duration;

use crate::work::Measured;

pub(crate) mod axum;
pub mod channels;
pub(crate) mod files;
pub(crate) mod go;
pub(crate) mod hyper;
pub(crate) mod may;
pub(crate) mod raw;
mod registry;
pub mod rt;
pub mod smol;
pub mod tokio;

pub(crate) use registry::{server, work};

/// Worker threads of every runtime.
pub const WORKERS: usize = 2;

/// A workload that runs in a process of its own, with its size.
pub(crate) type Work = fn(u64) -> Measured;

/// A server that runs in a process of its own until it is killed.
pub(crate) type Serve = fn(TcpListener) -> io::Result<()>;

/// A runtime for futures.
pub trait Exec: Sized + Send + 'static {
    /// Waits for a task and gives its value.
    type Join<T: Send + 'static>: Future<Output = T> + Send + 'static;

    /// Starts the runtime, runs `future` on the calling thread and returns its value. A process
    /// measures one runtime, so this is called once in it (twice at most, from benches that repeat).
    fn block_on<F: Future>(future: F) -> F::Output;

    /// Starts a task.
    fn spawn<F>(future: F) -> Self::Join<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    /// Starts a task that nobody waits for.
    fn detach<F>(future: F)
    where
        F: Future<Output = ()> + Send + 'static;

    /// Lets other tasks run.
    fn yield_now() -> impl Future<Output = ()> + Send;

    /// Ends after `time`.
    fn sleep(time: Duration) -> impl Future<Output = ()> + Send;
}

/// A runtime with TCP.
pub trait Net: Exec {
    /// Accepts connections.
    type Listener: Send + 'static;
    /// A connection.
    type Stream: Send + 'static;

    /// Takes over a listener that is already bound.
    ///
    /// # Errors
    ///
    /// If the runtime cannot register it.
    fn listener(listener: TcpListener) -> io::Result<Self::Listener>;

    /// The next connection, with `TCP_NODELAY` set.
    fn accept(
        listener: &mut Self::Listener,
    ) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Connects to a loopback port.
    fn connect(port: u16) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Reads what is there, at least a byte unless the other side has closed.
    fn read(
        stream: &mut Self::Stream,
        buffer: &mut [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send;

    /// Writes all of `bytes`.
    fn write_all(
        stream: &mut Self::Stream,
        bytes: &[u8],
    ) -> impl Future<Output = io::Result<()>> + Send;
}

/// A way to run a piece of computing without holding up the runtime.
pub trait Offload: Send + 'static {
    /// Runs `piece` somewhere and ends when it has.
    fn run<F: FnOnce() + Send + 'static>(piece: F) -> impl Future<Output = ()> + Send;
}

/// The naive way: the piece is an ordinary task.
#[derive(Debug)]
pub struct Inline<E>(std::marker::PhantomData<fn(E)>);

impl<E: Exec> Offload for Inline<E> {
    async fn run<F: FnOnce() + Send + 'static>(piece: F) {
        E::spawn(async move { piece() }).await;
    }
}

/// A channel of integers.
pub trait Channel: Send + 'static {
    /// The sending end, one for each producer.
    type Sender: Clone + Send + 'static;
    /// The receiving end.
    type Receiver: Send + 'static;

    /// A channel with room for `capacity` messages; unbounded ones ignore it.
    fn open(capacity: usize) -> (Self::Sender, Self::Receiver);

    /// Sends a message, waiting for room.
    ///
    /// # Panics
    ///
    /// If the receivers are gone: no workload drops them early.
    fn send(sender: &mut Self::Sender, message: u64) -> impl Future<Output = ()> + Send;

    /// The next message; `None` when the senders are gone and all is received.
    fn receive(receiver: &mut Self::Receiver) -> impl Future<Output = Option<u64>> + Send;
}

/// A channel that several may receive from.
pub trait SharedChannel: Channel<Receiver: Clone> {}

/// A channel for one value.
pub trait Oneshot: Send + 'static {
    /// The sending end.
    type Sender: Send + 'static;
    /// The receiving end.
    type Receiver: Future<Output = u64> + Send + 'static;

    /// A fresh pair.
    fn open() -> (Self::Sender, Self::Receiver);

    /// Sends the value.
    fn send(sender: Self::Sender, value: u64);
}

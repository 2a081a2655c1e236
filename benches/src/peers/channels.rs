//! Channels of the peers, and the one-value channel that all of them use.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::{mpsc, oneshot};

use super::{Channel, Oneshot, SharedChannel};

/// `tokio::sync::mpsc`, bounded.
#[derive(Debug)]
pub struct TokioBounded;

impl Channel for TokioBounded {
    type Sender = mpsc::Sender<u64>;
    type Receiver = mpsc::Receiver<u64>;

    fn open(capacity: usize) -> (Self::Sender, Self::Receiver) {
        mpsc::channel(capacity)
    }

    async fn send(sender: &mut Self::Sender, message: u64) {
        sender.send(message).await.expect(RECEIVED);
    }

    async fn receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await
    }
}

/// `tokio::sync::mpsc`, unbounded.
#[derive(Debug)]
pub struct TokioUnbounded;

impl Channel for TokioUnbounded {
    type Sender = mpsc::UnboundedSender<u64>;
    type Receiver = mpsc::UnboundedReceiver<u64>;

    fn open(_: usize) -> (Self::Sender, Self::Receiver) {
        mpsc::unbounded_channel()
    }

    async fn send(sender: &mut Self::Sender, message: u64) {
        sender.send(message).expect(RECEIVED);
    }

    async fn receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await
    }
}

const RECEIVED: &str = "the workload keeps its receivers to the end";

/// Channels that are alike but for names: many producers, many consumers, `Result` at both ends.
macro_rules! shared {
    ($($name:ident, $doc:literal, $sender:ty, $receiver:ty, $open:expr, $send:ident, $recv:ident;)*) => {$(
        #[doc = $doc]
        #[derive(Debug)]
        pub struct $name;

        impl Channel for $name {
            type Sender = $sender;
            type Receiver = $receiver;

            fn open(capacity: usize) -> (Self::Sender, Self::Receiver) {
                ($open)(capacity)
            }

            async fn send(sender: &mut Self::Sender, message: u64) {
                sender.$send(message).await.expect(RECEIVED);
            }

            async fn receive(receiver: &mut Self::Receiver) -> Option<u64> {
                receiver.$recv().await.ok()
            }
        }

        impl SharedChannel for $name {}
    )*};
}

shared! {
    KanalBounded, "kanal, bounded.", kanal::AsyncSender<u64>, kanal::AsyncReceiver<u64>, kanal::bounded_async, send, recv;
    KanalUnbounded, "kanal, unbounded.", kanal::AsyncSender<u64>, kanal::AsyncReceiver<u64>, |_| kanal::unbounded_async(), send, recv;
    FlumeBounded, "flume, bounded.", flume::Sender<u64>, flume::Receiver<u64>, flume::bounded, send_async, recv_async;
    FlumeUnbounded, "flume, unbounded.", flume::Sender<u64>, flume::Receiver<u64>, |_| flume::unbounded(), send_async, recv_async;
    AsyncBounded, "async-channel, bounded.", async_channel::Sender<u64>, async_channel::Receiver<u64>, async_channel::bounded, send, recv;
    AsyncUnbounded, "async-channel, unbounded.", async_channel::Sender<u64>, async_channel::Receiver<u64>, |_| async_channel::unbounded(), send, recv;
}

/// `tokio::sync::oneshot`, which needs no runtime and serves every peer alike.
#[derive(Debug)]
pub struct TokioOneshot;

/// The receiving end of [`TokioOneshot`], without the error that no workload provokes.
#[derive(Debug)]
pub struct Received(oneshot::Receiver<u64>);

impl Future for Received {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u64> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|value| value.expect("the workload sends a value"))
    }
}

impl Oneshot for TokioOneshot {
    type Sender = oneshot::Sender<u64>;
    type Receiver = Received;

    fn open() -> (Self::Sender, Received) {
        let (sender, receiver) = oneshot::channel();
        (sender, Received(receiver))
    }

    fn send(sender: Self::Sender, value: u64) {
        // A receiver that has gone away wants no value.
        let _ = sender.send(value);
    }
}

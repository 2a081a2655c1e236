//! `rt` itself.

use std::future::Future;
use std::io;
use std::net::TcpListener as StdListener;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rt::Dispatcher;
use rt::channel;
use rt::net::{TcpListener, TcpStream};
use rt::task::JoinHandle;

use super::{Channel, Exec, Net, Offload, Oneshot, SharedChannel, WORKERS};

/// The multi-threaded flavour.
#[derive(Debug)]
pub struct Rt;

/// A task's handle, without the error that no workload provokes.
#[derive(Debug)]
pub struct Join<T>(JoinHandle<T>);

impl<T> Future for Join<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|joined| joined.expect("no task of a workload panics or is aborted"))
    }
}

impl Exec for Rt {
    type Join<T: Send + 'static> = Join<T>;

    fn block_on<F: Future>(future: F) -> F::Output {
        rt::Runtime::builder()
            .io_threads(WORKERS)
            .cpu_threads(WORKERS)
            .build()
            .expect("the kernel grants threads and an epoll set")
            .block_on(future)
    }

    fn spawn<F>(future: F) -> Join<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Join(rt::spawn(future))
    }

    fn detach<F>(future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        drop(rt::spawn(future));
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        rt::yield_now()
    }

    fn sleep(time: Duration) -> impl Future<Output = ()> + Send {
        rt::time::sleep(time)
    }
}

impl Net for Rt {
    type Listener = TcpListener;
    type Stream = TcpStream;

    fn listener(listener: StdListener) -> io::Result<TcpListener> {
        listener.set_nonblocking(true)?;
        TcpListener::from_std(listener)
    }

    async fn accept(listener: &mut TcpListener) -> io::Result<TcpStream> {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn connect(port: u16) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        stream.read(buffer).await
    }

    async fn write_all(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
        stream.write_all(bytes).await
    }
}

/// Computing on the CPU pool.
#[derive(Debug)]
pub struct Cpu;

impl Offload for Cpu {
    async fn run<F: FnOnce() + Send + 'static>(piece: F) {
        let task = rt::spawn_on(Dispatcher::Cpu, async move { piece() });
        task.await.expect("no piece panics");
    }
}

/// Its channel, bounded.
#[derive(Debug)]
pub struct Bounded;

/// Its channel, unbounded.
#[derive(Debug)]
pub struct Unbounded;

impl Channel for Bounded {
    type Sender = channel::Sender<u64>;
    type Receiver = channel::Receiver<u64>;

    fn open(capacity: usize) -> (Self::Sender, Self::Receiver) {
        channel::bounded(capacity)
    }

    async fn send(sender: &mut Self::Sender, message: u64) {
        sender.send(message).await.expect(RECEIVED);
    }

    async fn receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await
    }
}

impl Channel for Unbounded {
    type Sender = channel::Sender<u64>;
    type Receiver = channel::Receiver<u64>;

    fn open(_: usize) -> (Self::Sender, Self::Receiver) {
        channel::unbounded()
    }

    async fn send(sender: &mut Self::Sender, message: u64) {
        sender.send(message).await.expect(RECEIVED);
    }

    async fn receive(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await
    }
}

impl SharedChannel for Bounded {}
impl SharedChannel for Unbounded {}

const RECEIVED: &str = "the workload keeps its receivers to the end";

/// Its channel for one value.
#[derive(Debug)]
pub struct One;

/// The receiving end of [`One`], without the error that no workload provokes.
#[derive(Debug)]
pub struct Received(channel::oneshot::Receiver<u64>);

impl Future for Received {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u64> {
        Pin::new(&mut self.0)
            .poll(cx)
            .map(|value| value.expect("the workload sends a value"))
    }
}

impl Oneshot for One {
    type Sender = channel::oneshot::Sender<u64>;
    type Receiver = Received;

    fn open() -> (Self::Sender, Received) {
        let (sender, receiver) = channel::oneshot();
        (sender, Received(receiver))
    }

    fn send(sender: Self::Sender, value: u64) {
        // A receiver that has gone away wants no value.
        let _ = sender.send(value);
    }
}

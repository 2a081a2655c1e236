//! `rt` itself.

use std::future::Future;
use std::io;
use std::net::TcpListener as StdListener;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rt::Dispatcher;
use rt::net::{TcpListener, TcpStream};
use rt::task::JoinHandle;

use super::{Exec, Net, Offload, WORKERS};

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

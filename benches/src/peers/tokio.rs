//! tokio: multi-threaded with two workers, and its current-thread flavour.

use std::future::Future;
use std::io;
use std::net::TcpListener as StdListener;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Exec, Net, Offload, WORKERS};

/// The multi-threaded flavour.
#[derive(Debug)]
pub struct Tokio;

/// The current-thread flavour.
#[derive(Debug)]
pub struct TokioCurrent;

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

/// Both flavours differ in how the runtime is built and in nothing else.
macro_rules! flavour {
    ($name:ty, $builder:expr) => {
        impl Exec for $name {
            type Join<T: Send + 'static> = Join<T>;

            fn block_on<F: Future>(future: F) -> F::Output {
                $builder
                    .enable_all()
                    .build()
                    .expect("the kernel grants threads and an epoll set")
                    .block_on(future)
            }

            fn spawn<F>(future: F) -> Join<F::Output>
            where
                F: Future + Send + 'static,
                F::Output: Send + 'static,
            {
                Join(tokio::spawn(future))
            }

            fn detach<F>(future: F)
            where
                F: Future<Output = ()> + Send + 'static,
            {
                drop(tokio::spawn(future));
            }

            fn yield_now() -> impl Future<Output = ()> + Send {
                tokio::task::yield_now()
            }

            fn sleep(time: Duration) -> impl Future<Output = ()> + Send {
                tokio::time::sleep(time)
            }
        }

        impl Net for $name {
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
    };
}

flavour!(Tokio, Builder::new_multi_thread().worker_threads(WORKERS));
flavour!(TokioCurrent, Builder::new_current_thread());

/// Computing on tokio's blocking threads.
#[derive(Debug)]
pub struct Blocking;

impl Offload for Blocking {
    async fn run<F: FnOnce() + Send + 'static>(piece: F) {
        tokio::task::spawn_blocking(piece)
            .await
            .expect("no piece panics");
    }
}

/// Computing in an ordinary task that tells tokio to move its worker's duties elsewhere.
#[derive(Debug)]
pub struct InPlace;

impl Offload for InPlace {
    async fn run<F: FnOnce() + Send + 'static>(piece: F) {
        let task = tokio::spawn(async move { tokio::task::block_in_place(piece) });
        task.await.expect("no piece panics");
    }
}

/// Computing on a pool of rayon, of as many threads as the runtime has workers.
#[derive(Debug)]
pub struct Rayon;

impl Offload for Rayon {
    async fn run<F: FnOnce() + Send + 'static>(piece: F) {
        static POOL: std::sync::LazyLock<rayon::ThreadPool> = std::sync::LazyLock::new(|| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(WORKERS)
                .build()
                .expect("the kernel grants threads")
        });
        let (done, finished) = oneshot::channel();
        POOL.spawn(move || {
            piece();
            // The receiver is gone only if the runtime is being torn down.
            let _ = done.send(());
        });
        finished.await.expect("the piece sends before it ends");
    }
}

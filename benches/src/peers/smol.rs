//! smol: its executor (`async-executor`) on two threads, and its reactor (`async-io`).

use std::future::{Future, pending};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Once;
use std::thread;
use std::time::Duration;

use async_executor::{Executor, Task};
use async_io::{Async, Timer};
use futures_lite::{AsyncReadExt, AsyncWriteExt};

use super::{Exec, Net, Offload, WORKERS};

/// Put together as the crate `smol` does it.
#[derive(Debug)]
pub struct Smol;

static EXECUTOR: Executor<'static> = Executor::new();

/// The threads that run tasks. Each also takes its turn at the reactor, in `async_io::block_on`.
fn start_workers() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        for index in 0..WORKERS {
            thread::Builder::new()
                .name(format!("smol-{index}"))
                .spawn(|| async_io::block_on(EXECUTOR.run(pending::<()>())))
                .expect("the kernel grants threads");
        }
    });
}

impl Exec for Smol {
    type Join<T: Send + 'static> = Task<T>;

    fn block_on<F: Future>(future: F) -> F::Output {
        start_workers();
        async_io::block_on(future)
    }

    fn spawn<F>(future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        EXECUTOR.spawn(future)
    }

    fn detach<F>(future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        EXECUTOR.spawn(future).detach();
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        futures_lite::future::yield_now()
    }

    async fn sleep(time: Duration) {
        Timer::after(time).await;
    }
}

impl Net for Smol {
    type Listener = Async<TcpListener>;
    type Stream = Async<TcpStream>;

    fn listener(listener: TcpListener) -> io::Result<Async<TcpListener>> {
        Async::new(listener)
    }

    async fn accept(listener: &mut Async<TcpListener>) -> io::Result<Async<TcpStream>> {
        let (stream, _) = listener.accept().await?;
        stream.get_ref().set_nodelay(true)?;
        Ok(stream)
    }

    async fn connect(port: u16) -> io::Result<Async<TcpStream>> {
        let stream = Async::<TcpStream>::connect(([127, 0, 0, 1], port)).await?;
        stream.get_ref().set_nodelay(true)?;
        Ok(stream)
    }

    async fn read(stream: &mut Async<TcpStream>, buffer: &mut [u8]) -> io::Result<usize> {
        stream.read(buffer).await
    }

    async fn write_all(stream: &mut Async<TcpStream>, bytes: &[u8]) -> io::Result<()> {
        stream.write_all(bytes).await
    }
}

/// Computing on the threads of the crate `blocking`.
#[derive(Debug)]
pub struct Blocking;

impl Offload for Blocking {
    async fn run<F: FnOnce() + Send + 'static>(piece: F) {
        blocking::unblock(piece).await;
    }
}

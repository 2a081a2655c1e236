//! A TCP proxy: every connection is passed on to one upstream, byte for byte, both ways.
//!
//! ```text
//! cargo run --release -p rt-examples --example proxy [ADDRESS [UPSTREAM]]
//! ```
//!
//! * A direction that ends is ended at the other side, and the other direction goes on.
//! * Each direction has one buffer, so that memory is bounded: a slow reader slows its writer down.
//! * So many connections at a time; those above wait in the kernel's queue.
//! * A connection on which nothing flows either way for a while is cut off.
//!
//! Ctrl-C ends it.

use std::env;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rt::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use rt::net::{TcpListener, TcpStream};
use rt::time::{Instant, sleep, timeout};
use tokio::sync::Semaphore;

const CONNECTIONS: usize = 10_000;
const BUFFER: usize = 64 << 10;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

#[rt::main]
async fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let address = arguments.next().unwrap_or("127.0.0.1:7001".to_owned());
    let upstream = arguments.next().unwrap_or("127.0.0.1:7000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    println!("passing on to {upstream}");
    let accepting = rt::spawn(accept(listener, upstream.into()));
    rt::signal::ctrl_c().await?;
    accepting.abort();
    Ok(())
}

async fn accept(listener: TcpListener, upstream: Arc<str>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = Arc::clone(&room).acquire_owned().await;
        match listener.accept().await {
            Ok((client, peer)) => {
                let upstream = Arc::clone(&upstream);
                drop(rt::spawn(async move {
                    if let Err(error) = pass(client, &upstream).await {
                        eprintln!("{peer}: {error}");
                    }
                    drop(place);
                }));
            }
            Err(error) => {
                // Out of descriptors, most likely. They come back when connections end.
                eprintln!("cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn pass(client: TcpStream, upstream: &str) -> io::Result<()> {
    let server = TcpStream::connect_timeout(upstream, CONNECT_TIMEOUT).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let activity = Arc::new(Activity::new());
    let other = Arc::clone(&activity);
    let answers = rt::spawn(async move { copy(from_server, to_client, &other).await });
    let questions = copy(from_client, to_server, &activity).await;
    if questions.is_err() {
        answers.abort();
        return questions;
    }
    answers.await?
}

/// Copies one direction to its end. The writing half is dropped then, which ends it at the other side.
async fn copy(
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    activity: &Activity,
) -> io::Result<()> {
    let mut buf = vec![0; BUFFER];
    loop {
        activity.limit(|| reader.readable()).await?;
        let len = match reader.try_read(&mut buf) {
            Ok(0) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            result => result?,
        };
        activity.now();
        let mut rest = &buf[..len];
        while !rest.is_empty() {
            activity.limit(|| writer.writable()).await?;
            match writer.try_write(rest) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                result => rest = &rest[result?..],
            }
            activity.now();
        }
    }
}

/// When something last flowed on a connection, in either direction.
struct Activity {
    start: Instant,
    /// Milliseconds after the start.
    last: AtomicU64,
}

impl Activity {
    fn new() -> Activity {
        Activity {
            start: Instant::now(),
            last: AtomicU64::new(0),
        }
    }

    fn now(&self) {
        let now = self.start.elapsed().as_millis();
        self.last
            .store(u64::try_from(now).unwrap_or(u64::MAX), Relaxed);
    }

    fn idle(&self) -> Duration {
        let last = Duration::from_millis(self.last.load(Relaxed));
        self.start.elapsed().saturating_sub(last)
    }

    /// Waits until one direction is ready, as long as anything flows in the other.
    async fn limit<F: Future<Output = io::Result<()>>>(
        &self,
        wait: impl Fn() -> F,
    ) -> io::Result<()> {
        loop {
            let left = IDLE_TIMEOUT.saturating_sub(self.idle());
            match timeout(left, wait()).await {
                Ok(result) => return result,
                Err(_) if self.idle() < IDLE_TIMEOUT => {}
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
    }
}

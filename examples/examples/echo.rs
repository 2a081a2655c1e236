//! A TCP echo server that ends gracefully.
//!
//! ```text
//! cargo run --release -p rt-examples --example echo [ADDRESS]
//! ```
//!
//! On Ctrl-C it accepts no more, and gives the open connections a few seconds to end by themselves.
//! A second Ctrl-C ends it at once. Try it with `nc 127.0.0.1 7000`.

use std::env;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use rt::net::{TcpListener, TcpStream};
use rt::signal::unix::{SignalKind, signal};
use rt::time::{sleep, timeout};
use tokio::sync::mpsc;

/// How long open connections may go on after Ctrl-C.
const GRACE: Duration = Duration::from_secs(5);

#[rt::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1);
    let address = address.as_deref().unwrap_or("127.0.0.1:7000");
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);

    // Every connection holds a sender. When all are gone the receiver is told so.
    let (open, mut all_closed) = mpsc::channel::<()>(1);
    let accepting = rt::spawn(accept(listener, open));
    stop_signal().await?;

    println!("no longer accepting; open connections have {GRACE:?} to end");
    accepting.abort();
    match timeout(GRACE, all_closed.recv()).await {
        Ok(_) => println!("all connections have ended"),
        Err(_) => println!("the time is over; what is still open is cut off"),
    }
    Ok(())
}

async fn accept(listener: TcpListener, open: mpsc::Sender<()>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let open = open.clone();
                drop(rt::spawn(async move {
                    // A connection that breaks is that peer's affair.
                    let _ = echo(stream).await;
                    drop(open);
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

async fn echo(mut stream: TcpStream) -> io::Result<u64> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = stream.split();
    rt::io::copy(&mut reader, &mut writer).await
}

/// Waits for SIGINT or SIGTERM. The listeners are gone after the first, so that a second one ends the
/// process as it ends any other.
async fn stop_signal() -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let either = |cx: &mut Context<'_>| {
        if interrupt.poll_recv(cx).is_ready() || terminate.poll_recv(cx).is_ready() {
            return Poll::Ready(());
        }
        Poll::Pending
    };
    poll_fn(either).await;
    Ok(())
}

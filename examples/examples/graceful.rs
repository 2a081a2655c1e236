//! A server that ends in three steps: it stops accepting, lets requests finish, and cuts what is left.
//!
//! ```text
//! cargo run --release -p rt-examples --example graceful [ADDRESS [GRACE_MS]]
//! ```
//!
//! A request is a line with a number of milliseconds; it takes that long, and is answered `done`. On
//! Ctrl-C no connection is accepted any more, connections without a request end at once, requests
//! have five seconds (or `GRACE_MS`) to finish, and then they are cut. All of that is one scope: each connection is a
//! child of it, and nothing of it is left when the scope returns. Try `nc 127.0.0.1 7000`.

use std::env;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use rt::Scope;
use rt::net::{TcpListener, TcpStream};
use rt::time::sleep;

#[rt::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1);
    let address = address.as_deref().unwrap_or("127.0.0.1:7000");
    let grace = env::args().nth(2).and_then(|grace| grace.parse().ok());
    let grace = Duration::from_millis(grace.unwrap_or(5000));
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);

    // A connection that fails is that peer's affair: its siblings go on.
    let stopped = rt::supervisor(|s| async move {
        s.name("connections");
        let accepting = s.spawn(accept(listener, s.clone()));
        let stopped = rt::signal::ctrl_c().await;
        accepting.abort();
        println!("no longer accepting; {grace:?} for what is under way");
        s.cancel_graceful(grace);
        stopped
    });
    stopped.await?;
    println!("nothing is left");
    Ok(())
}

async fn accept(listener: TcpListener, s: Scope) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(s.spawn(serve(stream))),
            Err(error) => {
                // Out of descriptors, most likely. They come back when connections end.
                eprintln!("cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Serves one connection, until it is closed or, between two requests, asked to stop.
async fn serve(stream: TcpStream) -> io::Result<()> {
    while let Some(request) = unless_cancelled(read_line(&stream)).await {
        let Some(line) = request? else { break };
        let Ok(millis) = line.trim().parse() else {
            stream
                .write_all(b"a number of milliseconds, please\n")
                .await?;
            continue;
        };
        println!("a request of {millis} ms");
        let mut underway = Underway { done: false };
        sleep(Duration::from_millis(millis)).await;
        stream.write_all(b"done\n").await?;
        underway.done = true;
    }
    Ok(())
}

/// A request; it tells if it is cut.
struct Underway {
    done: bool,
}

impl Drop for Underway {
    fn drop(&mut self) {
        if !self.done {
            println!("a request was cut");
        }
    }
}

/// Reads one line. `None`: the peer has no more.
async fn read_line(stream: &TcpStream) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < 64 {
        if stream.read(&mut byte).await? == 0 {
            return Ok(None);
        }
        if byte[0] == b'\n' {
            break;
        }
        line.push(byte[0]);
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

/// Waits for `future`, or for the request to stop: then it is `None`.
async fn unless_cancelled<F: Future>(future: F) -> Option<F::Output> {
    let (mut future, mut cancelled) = (pin!(future), pin!(rt::cancelled()));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => cancelled.as_mut().poll(cx).map(|()| None),
    })
    .await
}

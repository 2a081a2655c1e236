//! Clients that keep the service busy, some of which lose interest, and what they have seen.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use rt::net::{TcpListener, TcpStream};
use rt::time::Instant;

use crate::batch::Stats;

/// Clients at a time, each over its own connection.
const CLIENTS: usize = 24;

/// How many tokens each asks for.
const TOKENS: usize = 16;

/// One answer in so many is given up after its first token.
const FICKLE: usize = 8;

/// What one client has seen.
#[derive(Default)]
struct Seen {
    /// From a request to its first token.
    first: Vec<Duration>,
    /// From one token to the next.
    gap: Vec<Duration>,
    /// From a request to the end of its answer.
    whole: Vec<Duration>,
    given_up: usize,
}

/// Serves and asks in one process for `duration`, and prints what has come of it.
#[expect(clippy::cast_precision_loss, reason = "rates to be read by people")]
pub(crate) async fn run(duration: Duration) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let stats = Arc::<Stats>::default();
    let (stop, stopped) = rt::channel::oneshot();
    let server = crate::serve(listener, Arc::clone(&stats), async move {
        // If the sender is gone, so are those who asked.
        let _: Result<(), _> = stopped.await;
    });
    let server = rt::spawn(server);

    let started = Instant::now();
    let until = started + duration;
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| rt::spawn(ask_until(address, client, until)))
        .collect();
    let mut seen = Seen::default();
    for client in clients {
        let one = client.await??;
        seen.first.extend(one.first);
        seen.gap.extend(one.gap);
        seen.whole.extend(one.whole);
        seen.given_up += one.given_up;
    }
    let seconds = started.elapsed().as_secs_f64();
    drop(stop);
    server.await??;

    report("first token", seen.first)?;
    report("next token", seen.gap)?;
    report("whole answer", seen.whole)?;
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let (tokens, steps) = (read(&stats.tokens), read(&stats.steps));
    println!(
        "{:.0} tokens/s, {:.1} a step; {} answers finished, {} cancelled ({} given up)",
        tokens as f64 / seconds,
        tokens as f64 / steps.max(1) as f64,
        read(&stats.finished),
        read(&stats.cancelled),
        seen.given_up,
    );
    Ok(())
}

fn report(name: &str, mut times: Vec<Duration>) -> io::Result<()> {
    times.sort_unstable();
    let last = times
        .len()
        .checked_sub(1)
        .ok_or_else(|| io::Error::other(format!("{name}: there was none")))?;
    let at = |percent: usize| times[last * percent / 100].as_secs_f64() * 1e3;
    println!(
        "{name}: p50 {:.2} ms, p95 {:.2} ms, p99 {:.2} ms",
        at(50),
        at(95),
        at(99)
    );
    Ok(())
}

/// One question after the other until the time is over.
async fn ask_until(address: SocketAddr, client: usize, until: Instant) -> io::Result<Seen> {
    let mut seen = Seen::default();
    let mut sender = connect(address).await?;
    for question in client.. {
        if Instant::now() >= until {
            break;
        }
        let give_up = question % FICKLE == FICKLE - 1;
        ask(&mut sender, give_up, &mut seen)
            .await
            .map_err(io::Error::other)?;
        if give_up {
            // Dropping an answer in the middle costs HTTP/1 the connection.
            sender = connect(address).await?;
        }
    }
    Ok(seen)
}

async fn connect(address: SocketAddr) -> io::Result<http1::SendRequest<Body>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
    drop(rt::spawn(connection));
    Ok(sender)
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn ask(
    sender: &mut http1::SendRequest<Body>,
    give_up: bool,
    seen: &mut Seen,
) -> Result<(), Failure> {
    let question = format!(r#"{{"prompt": "once upon a time", "tokens": {TOKENS}}}"#);
    let request = Request::post("/generate")
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(question))?;
    let started = Instant::now();
    let mut last = started;
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    if response.status() != StatusCode::OK {
        return Err(format!("refused with {}", response.status()).into());
    }
    let mut body = response.into_body();
    let mut events = Events::default();
    let mut count = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        events.0.extend_from_slice(&data);
        while let Some(event) = events.next() {
            if event.starts_with(b"event: done") {
                seen.whole.push(started.elapsed());
            } else if event.starts_with(b"event: ") {
                return Err("the answer is incomplete".into());
            } else {
                let times = if count == 0 {
                    &mut seen.first
                } else {
                    &mut seen.gap
                };
                times.push(last.elapsed());
                last = Instant::now();
                count += 1;
            }
        }
        if give_up && count > 0 {
            seen.given_up += 1;
            return Ok(());
        }
    }
    if count != TOKENS {
        return Err(format!("{count} tokens instead of {TOKENS}").into());
    }
    Ok(())
}

/// Server-sent events, out of pieces of a body that may end anywhere.
#[derive(Default)]
struct Events(Vec<u8>);

impl Events {
    fn next(&mut self) -> Option<Vec<u8>> {
        let end = self.0.windows(2).position(|end| end == b"\n\n")?;
        Some(self.0.drain(..end + 2).collect())
    }
}

//! An HTTP server that hashes on the CPU pool, while its health endpoint stays fast.
//!
//! ```text
//! cargo run --release -p rt-examples --example crunch -- 127.0.0.1:8080
//! curl http://127.0.0.1:8080/health
//! curl http://127.0.0.1:8080/hash/correct-horse
//! cargo run --release -p rt-examples --example crunch -- --load 5
//! ```
//!
//! A hash is stretched, as for passwords: some 20 ms of computing, which would keep every other
//! connection of its worker waiting. `run_on` moves it to the CPU pool and its value back. With `--load` the
//! program asks itself for so many seconds, over more connections than there are CPUs, and prints the
//! 99th percentiles of both endpoints.

use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::hint::black_box;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rt::Dispatcher;
use rt::net::{TcpListener, TcpStream};
use rt::time::{Instant, sleep, timeout};

/// The longest head of a request that is read.
const MAX_HEAD: usize = 8 * 1024;

/// How long a connection may be silent.
const IDLE: Duration = Duration::from_mins(1);

/// What a hash is to take.
const STRETCH: Duration = Duration::from_millis(20);

/// Connections that ask for hashes, and for health.
const CRUNCHERS: usize = 8;
const PROBES: usize = 4;

#[rt::main]
async fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("--load") {
        let seconds = arguments.next().and_then(|seconds| seconds.parse().ok());
        return load(Duration::from_secs(seconds.unwrap_or(3))).await;
    }
    let listener = TcpListener::bind(first.as_deref().unwrap_or("127.0.0.1:8080")).await?;
    println!("listening on http://{}", listener.local_addr()?);
    accept(listener, calibrate().await).await;
    Ok(())
}

/// How many rounds take [`STRETCH`] on this machine.
async fn calibrate() -> u32 {
    const TRIAL: u32 = 20_000;
    rt::run_on(Dispatcher::Cpu, async {
        let started = Instant::now();
        black_box(stretch("calibration", TRIAL));
        let took = started.elapsed().as_nanos().max(1);
        let rounds = u128::from(TRIAL) * STRETCH.as_nanos() / took;
        u32::try_from(rounds).unwrap_or(u32::MAX)
    })
    .await
}

/// A hash of a hash of a hash.
fn stretch(word: &str, rounds: u32) -> u64 {
    (0..rounds).fold(0, |salt, _| {
        let mut hasher = DefaultHasher::new();
        (word, salt).hash(&mut hasher);
        hasher.finish()
    })
}

async fn accept(listener: TcpListener, rounds: u32) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(rt::spawn(serve(stream, rounds))),
            Err(error) => {
                eprintln!("cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Answers the requests of one connection, one after the other, until either side ends it.
async fn serve(stream: TcpStream, rounds: u32) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut received = Vec::new();
    while let Ok(Some(head)) = timeout(IDLE, read_head(&stream, &mut received)).await? {
        let (status, body) = answer(&head, rounds).await;
        let length = body.len();
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}

async fn answer(head: &str, rounds: u32) -> (&'static str, String) {
    let mut words = head.split(' ');
    match (words.next(), words.next()) {
        (Some("GET"), Some("/health")) => ("200 OK", "well\n".to_owned()),
        (Some("GET"), Some(path)) => match path.strip_prefix("/hash/") {
            Some(word) => {
                let word = word.to_owned();
                let hash = async move { stretch(&word, rounds) };
                let hash = rt::run_on(Dispatcher::Cpu, hash).await;
                ("200 OK", format!("{hash:016x}\n"))
            }
            None => ("404 Not Found", String::new()),
        },
        _ => ("405 Method Not Allowed", String::new()),
    }
}

/// The next head, of a request or an answer, taken out of what has been received. `None`: there is no
/// more, or none that could be one.
async fn read_head(stream: &TcpStream, received: &mut Vec<u8>) -> io::Result<Option<String>> {
    let mut chunk = [0; 1024];
    loop {
        if let Some(at) = received.windows(4).position(|end| end == b"\r\n\r\n") {
            let head: Vec<u8> = received.drain(..at + 4).collect();
            return Ok(String::from_utf8(head).ok());
        }
        let read = stream.read(&mut chunk).await?;
        if read == 0 || received.len() > MAX_HEAD {
            return Ok(None);
        }
        received.extend_from_slice(&chunk[..read]);
    }
}

/// Serves and asks in one process, and prints what the askers have seen.
async fn load(duration: Duration) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = rt::spawn(accept(listener, calibrate().await));
    let until = Instant::now() + duration;
    let hashes: Vec<_> = (0..CRUNCHERS)
        .map(|_| rt::spawn(ask(address, "/hash/word", Duration::ZERO, until)))
        .collect();
    let probes: Vec<_> = (0..PROBES)
        .map(|_| rt::spawn(ask(address, "/health", Duration::from_millis(2), until)))
        .collect();
    for (name, askers) in [("hash", hashes), ("health", probes)] {
        let mut times = Vec::new();
        for asker in askers {
            times.extend(asker.await??);
        }
        times.sort_unstable();
        let Some(p99) = times.get(times.len() * 99 / 100) else {
            return Err(io::Error::other(format!("{name}: no answer")));
        };
        println!(
            "{name}: {} answers, p99 {:.3} ms",
            times.len(),
            p99.as_secs_f64() * 1e3
        );
    }
    server.abort();
    Ok(())
}

/// Asks again and again over one connection, with a pause in between, and says how long each answer took.
async fn ask(
    address: SocketAddr,
    path: &str,
    pause: Duration,
    until: Instant,
) -> io::Result<Vec<Duration>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let (mut received, mut times) = (Vec::new(), Vec::new());
    while Instant::now() < until {
        let started = Instant::now();
        stream.write_all(request.as_bytes()).await?;
        let head = read_head(&stream, &mut received).await?;
        let head = head.filter(|head| head.starts_with("HTTP/1.1 200"));
        let head = head.ok_or_else(|| io::Error::other(format!("{path} was not answered")))?;
        let length = head.split("content-length: ").nth(1);
        let length = length.and_then(|length| length.trim().parse::<usize>().ok());
        let mut body = vec![0; length.unwrap_or(0).saturating_sub(received.len())];
        stream.read_exact(&mut body).await?;
        // One question at a time: nothing of a next answer can be here.
        received.clear();
        times.push(started.elapsed());
        sleep(pause).await;
    }
    Ok(times)
}

//! A million coroutines, and as many live connections as the descriptors allow.
//!
//! ```text
//! cargo run --release -p rt-examples --example million [COROUTINES]
//! ulimit -n 16000; cargo run --release -p rt-examples --example million -- --connections [CONNECTIONS]
//! ```
//!
//! The first kind is a chain: each coroutine sleeps for a while, then waits for a token and passes it on to the
//! next. The token counts who has had it, so a single one that is lost shows. The second kind opens TCP
//! connections (15 000, if nothing else is said) from a second process and echoes through all of them. Both
//! print what one coroutine or connection takes of this process's memory, and of its CPU time.

use std::env;
use std::fs;
use std::io;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use rt::channel::oneshot;
use rt::io::{AsyncBufReadExt, BufReader};
use rt::net::{TcpListener, TcpStream};
use rt::process::Command;
use rt::sync::Barrier;
use rt::task::JoinSet;

/// The coroutines sleep between this and twice as long.
const SLEEP: Duration = Duration::from_secs(1);

/// How often each connection echoes when all are there.
const ROUNDS: u64 = 10;

/// Descriptors for everything that is no connection.
const SPARE: usize = 64;

const USAGE: &str = "usage: million [COROUTINES]\n       million --connections [CONNECTIONS]";

#[rt::main]
async fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &[&str]) -> io::Result<()> {
    match arguments {
        [] => chain(1_000_000).await,
        ["--connections"] => connections(15_000).await,
        ["--connections", count] => connections(number(count)?).await,
        ["--clients", address, count] => clients(address, number(count)?).await,
        [count] => chain(number(count)?).await,
        _ => Err(io::Error::other(USAGE)),
    }
}

fn number(text: &str) -> io::Result<usize> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| io::Error::other(USAGE))
}

/// Sends a token through `count` coroutines.
async fn chain(count: usize) -> io::Result<()> {
    let (started, before) = (Instant::now(), memory()?);
    let asleep = Arc::new(AtomicUsize::new(0));
    let (first, mut incoming) = oneshot::<usize>();
    for number in 0..count {
        let (next, outgoing) = oneshot();
        let token = std::mem::replace(&mut incoming, outgoing);
        let spread = share(SLEEP * number as u32, count);
        rt::spawn(link(Arc::clone(&asleep), SLEEP + spread, token, next));
    }
    while asleep.load(Relaxed) < count {
        rt::delay(Duration::from_millis(1)).await;
    }
    let bytes = memory()?.saturating_sub(before) / count;
    println!("{count} coroutines in {:?}", started.elapsed());
    println!("{bytes} bytes a coroutine");

    // The token starts at once: it is kept waiting by each coroutine that still sleeps.
    first
        .send(0)
        .map_err(|_| io::Error::other("the first coroutine is gone"))?;
    let passed = incoming
        .await
        .map_err(|_| io::Error::other("the token is lost"))?;
    if passed != count {
        return Err(io::Error::other(format!("{passed} have had the token")));
    }
    let (elapsed, cpu) = (started.elapsed(), cpu_time()?);
    println!("the token came through all of them, {elapsed:?} after the start");
    println!("CPU: {cpu:?}, {:?} a coroutine", share(cpu, count));
    Ok(())
}

/// One coroutine of the chain.
async fn link(
    asleep: Arc<AtomicUsize>,
    sleep: Duration,
    token: oneshot::Receiver<usize>,
    next: oneshot::Sender<usize>,
) {
    asleep.fetch_add(1, Relaxed);
    rt::delay(sleep).await;
    // Without a token the next one finds out by itself that nothing will come.
    if let Ok(passed) = token.await {
        let _ = next.send(passed + 1);
    }
}

/// Echoes through `wanted` connections at the same time, or as many as there are descriptors for. The clients
/// are in a process of their own, so that each has a descriptor for each connection.
async fn connections(wanted: usize) -> io::Result<()> {
    let count = wanted.min(descriptor_limit()?.saturating_sub(SPARE)).max(1);
    if count < wanted {
        println!("the limit on descriptors (ulimit -n) allows {count} of {wanted} connections");
    }
    let (started, before) = (Instant::now(), memory()?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut clients = Command::new(env::current_exe()?)
        .args(["--clients", &listener.local_addr()?.to_string()])
        .arg(count.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let server = rt::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await?;
            rt::spawn(echo(stream));
        }
        #[expect(unreachable_code, reason = "it tells the type of the errors")]
        Ok::<(), io::Error>(())
    });

    // A line when all connections live; then it waits for one.
    let stdout = clients.stdout.take();
    let mut told = BufReader::new(stdout.ok_or_else(|| io::Error::other("no output"))?);
    if told.read_line(&mut String::new()).await? == 0 {
        return Err(io::Error::other("the clients have ended early"));
    }
    let bytes = memory()?.saturating_sub(before) / count;
    println!("{count} live connections in {:?}", started.elapsed());
    println!("{bytes} bytes a connection");
    drop(clients.stdin.take());
    if !clients.wait().await?.success() {
        return Err(io::Error::other("the clients have lost something"));
    }
    server.abort();
    let echoes = count * (ROUNDS as usize + 1);
    let (elapsed, cpu) = (started.elapsed(), cpu_time()?);
    println!("{echoes} echoes, none lost, {elapsed:?} after the start");
    println!("CPU: {cpu:?}, {:?} an echo", share(cpu, echoes));
    Ok(())
}

/// The process of the clients.
async fn clients(address: &str, count: usize) -> io::Result<()> {
    let all_here = Arc::new(Barrier::new(count + 1));
    let mut clients = JoinSet::new();
    for number in 0..count {
        let stream = TcpStream::connect(address).await?;
        clients.spawn(client(stream, number as u64, Arc::clone(&all_here)));
    }
    all_here.wait().await;
    println!("all live");
    // Until the other process says that they may go on.
    rt::io::stdin().read(&mut [0]).await?;
    all_here.wait().await;
    while let Some(ended) = clients.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(())
}

/// The server's end of a connection.
async fn echo(mut stream: TcpStream) -> io::Result<u64> {
    let (mut reader, mut writer) = stream.split();
    rt::io::copy(&mut reader, &mut writer).await
}

/// The other end: once to show that the connection lives, the rest when all do.
async fn client(stream: TcpStream, number: u64, all_here: Arc<Barrier>) -> io::Result<()> {
    let first = ask(&stream, number).await;
    // Also after a failure, or the others would wait for ever.
    all_here.wait().await;
    all_here.wait().await;
    first?;
    for round in 1..=ROUNDS {
        ask(&stream, number + (round << 32)).await?;
    }
    Ok(())
}

async fn ask(stream: &TcpStream, word: u64) -> io::Result<()> {
    stream.write_all(&word.to_le_bytes()).await?;
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).await?;
    if u64::from_le_bytes(answer) != word {
        return Err(io::Error::other("another answer than what was sent"));
    }
    Ok(())
}

fn share(time: Duration, count: usize) -> Duration {
    Duration::from_nanos((time.as_nanos() / count.max(1) as u128) as u64)
}

/// The resident memory of this process in bytes.
fn memory() -> io::Result<usize> {
    let kilobytes = field("/proc/self/status", "VmRSS:")?;
    Ok(kilobytes * 1024)
}

/// The soft limit on open files.
fn descriptor_limit() -> io::Result<usize> {
    field("/proc/self/limits", "Max open files")
}

/// The first number behind `name` in a file of the kernel; a word instead stands for "no limit".
fn field(path: &str, name: &str) -> io::Result<usize> {
    let text = fs::read_to_string(path)?;
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    let word = value.and_then(|value| value.split_whitespace().next());
    let word = word.ok_or_else(|| io::Error::other(format!("no `{name}` in {path}")))?;
    Ok(word.parse().unwrap_or(usize::MAX))
}

/// What the threads of this process have used so far.
fn cpu_time() -> io::Result<Duration> {
    let mut nanos = 0;
    for thread in fs::read_dir("/proc/self/task")? {
        // A thread may end while it is looked at.
        let stat = fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        let used = stat.split_whitespace().next();
        nanos += used.and_then(|used| used.parse().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanos))
}

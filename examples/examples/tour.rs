//! A tour: three coroutines, their timeline, and what the waiting costs.
//!
//! ```text
//! cargo run --release -p rt-examples --example tour
//! cargo run --release -p rt-examples --example tour -- --record tour.json
//! ```
//!
//! Coroutine A asks an HTTP server that takes a second to answer, B waits for two seconds, and C
//! computes on the CPU pool. A runtime is an epoll set, coroutines, timers and threads: while A and
//! B wait, no thread runs. The story is told twice, on one thread and on several; the numbers at
//! its end say how often the process woke up and how long it computed. `--record` writes what each
//! thread did in the second telling, for <https://ui.perfetto.dev>.

#![expect(unsafe_code, reason = "the kernel tells what the process has used")]

use std::env;
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use rt::net::{TcpListener, TcpStream};
use rt::record::Recording;
use rt::task;
use rt::time::Instant;
use rt::{Dispatcher, Runtime};

/// The CPU clock of the whole process.
const PROCESS: libc::clockid_t = libc::CLOCK_PROCESS_CPUTIME_ID;
/// The CPU clock of the calling thread alone.
const THREAD: libc::clockid_t = libc::CLOCK_THREAD_CPUTIME_ID;

fn main() -> io::Result<()> {
    let file = record_to()?;
    let one = Runtime::builder().current_thread().build()?;
    act(
        "One thread runs the coroutines, polls epoll and fires the timers.",
        one,
    )?;
    println!();
    let mut several = Runtime::builder().io_threads(2).cpu_threads(2);
    if let Some(file) = file {
        several = several.record(Recording::to(file));
    }
    let title = "Two IO workers, two CPU workers and a reactor.";
    act(title, several.build()?)
}

/// The file after `--record`.
fn record_to() -> io::Result<Option<String>> {
    let mut args = env::args().skip(1);
    match (args.next().as_deref(), args.next(), args.next()) {
        (None, ..) => Ok(None),
        (Some("--record"), Some(file), None) => Ok(Some(file)),
        _ => Err(io::Error::other("usage: tour [--record FILE]")),
    }
}

/// Tells the story on one runtime, then what it has cost.
fn act(title: &str, runtime: Runtime) -> io::Result<()> {
    println!("{title}\n");
    println!("{:>8}  {:<14}  what", "time", "thread");
    let (cpu_before, wake_ups_before) = (cpu_time(PROCESS)?, wake_ups()?);
    let timeline = Timeline {
        start: Instant::now(),
    };
    let computed = runtime.block_on(story(timeline))?;
    let all = cpu_time(PROCESS)?.saturating_sub(cpu_before);
    let wake_ups = wake_ups()? - wake_ups_before;
    println!(
        "\nIn {:.1} s: {:.1} ms of CPU time for C, {:.1} ms for all the rest, {wake_ups} wake-ups.",
        timeline.start.elapsed().as_secs_f64(),
        millis(computed),
        millis(all.saturating_sub(computed)),
    );
    // Ends the threads of this runtime, so that the next act is counted alone.
    drop(runtime);
    Ok(())
}

/// Starts the server and the three coroutines, and waits for them. Returns C's CPU time.
async fn story(timeline: Timeline) -> io::Result<Duration> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = named("server").spawn(serve_one(listener, timeline));

    let a = named("A").spawn(async move {
        timeline.tell(
            "A",
            "asks the server, and suspends until its socket is readable",
        );
        let user = http_get(address, "/user").await?;
        timeline.tell("A", &format!("goes on with the answer: {user}"));
        Ok::<_, io::Error>(())
    });
    let b = named("B").spawn(async move {
        timeline.tell(
            "B",
            "delays for 2000 ms, and suspends until its timer fires",
        );
        rt::delay(Duration::from_secs(2)).await;
        timeline.tell("B", "goes on: the two seconds are over");
    });
    let c = named("C").dispatcher(Dispatcher::Cpu).spawn(async move {
        timeline.tell("C", "computes");
        let before = cpu_time(THREAD)?;
        let primes = (2..400_000_u32).filter(|n| is_prime(*n)).count();
        let used = cpu_time(THREAD)?.saturating_sub(before);
        timeline.tell("C", &format!("has counted {primes} primes"));
        Ok::<_, io::Error>(used)
    });

    let computed = c.await??;
    a.await??;
    server.await??;
    b.await?;
    timeline.tell("-", "nothing is left to do");
    Ok(computed)
}

fn named(name: &str) -> task::Builder {
    task::Builder::new().name(name)
}

/// Answers one request, one second after it has come.
async fn serve_one(listener: TcpListener, timeline: Timeline) -> io::Result<()> {
    let (stream, _) = listener.accept().await?;
    let mut request = [0; 256];
    stream.read(&mut request).await?;
    timeline.tell("server", "has the request, and takes 1000 ms to answer it");
    rt::delay(Duration::from_secs(1)).await;
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nAda";
    stream.write_all(answer.as_bytes()).await
}

/// Asks for `path` and returns the body of the answer.
async fn http_get(address: SocketAddr, path: &str) -> io::Result<String> {
    let stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    let mut buf = [0; 256];
    loop {
        match stream.read(&mut buf).await? {
            0 => break,
            read => answer.extend_from_slice(&buf[..read]),
        }
    }
    let answer = String::from_utf8_lossy(&answer);
    match answer.split_once("\r\n\r\n") {
        Some((_, body)) => Ok(body.to_owned()),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn is_prime(n: u32) -> bool {
    (2..=n.isqrt()).all(|divisor| !n.is_multiple_of(divisor))
}

/// Prints what happens, when, and on which thread.
#[derive(Clone, Copy)]
struct Timeline {
    start: Instant,
}

impl Timeline {
    fn tell(self, who: &str, what: &str) {
        let thread = thread::current();
        let name = thread.name().unwrap_or("?");
        let at = self.start.elapsed().as_millis();
        println!("{at:>5} ms  {name:<14}  {who} {what}");
    }
}

/// How long the processors have worked, by one of the kernel's CPU clocks.
fn cpu_time(clock: libc::clockid_t) -> io::Result<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is valid for writing one `timespec`.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let seconds = Duration::from_secs(time.tv_sec.unsigned_abs());
    Ok(seconds + Duration::from_nanos(time.tv_nsec.unsigned_abs()))
}

/// How often a thread of this process has waited, and so was woken later.
fn wake_ups() -> io::Result<i64> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is valid for writing one `rusage`.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, and so has filled it in.
    Ok(unsafe { usage.assume_init() }.ru_nvcsw)
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

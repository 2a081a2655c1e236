//! Runs a command for a limited time, with its output line by line.
//!
//! ```text
//! cargo run --release -p rt-examples --example run SECONDS COMMAND [ARGUMENT]...
//! ```
//!
//! Each line of the command's output is passed on as it comes, with the time and the stream that it came
//! from. A command that takes longer than it may is killed, and so it is on Ctrl-C.

use std::env;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::task::Poll;
use std::time::Duration;

use rt::io::{AsyncBufReadExt, AsyncRead, BufReader};
use rt::process::{Child, Command};
use rt::signal::ctrl_c;
use rt::time::{Instant, timeout};

/// As `timeout(1)` ends when the time is over.
const TIME_IS_OVER: u8 = 124;

#[rt::main(flavor = "current_thread")]
async fn main() -> io::Result<ExitCode> {
    let mut arguments = env::args().skip(1);
    let limit = arguments.next().and_then(|seconds| seconds.parse().ok());
    let limit = limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let (Some(limit), Some(program)) = (limit, arguments.next()) else {
        eprintln!("usage: run SECONDS COMMAND [ARGUMENT]...");
        return Ok(ExitCode::from(2));
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let started = Instant::now();
    let out = rt::spawn(pass_on("out", child.stdout.take(), started));
    let err = rt::spawn(pass_on("err", child.stderr.take(), started));

    let code = match timeout(limit, wait_or_ctrl_c(&mut child)).await {
        Ok(ended) => match ended? {
            Some(status) => report(status),
            None => end(&mut child, "interrupted").await?,
        },
        Err(_) => end(&mut child, "the time is over").await?,
    };
    // What it wrote before it ended.
    out.await??;
    err.await??;
    Ok(code)
}

/// The command's end; `None` on Ctrl-C.
async fn wait_or_ctrl_c(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let (mut wait, mut interrupt) = (pin!(child.wait()), pin!(ctrl_c()));
    poll_fn(|cx| {
        if let Poll::Ready(status) = wait.as_mut().poll(cx) {
            return Poll::Ready(status.map(Some));
        }
        interrupt.as_mut().poll(cx).map_ok(|()| None)
    })
    .await
}

async fn end(child: &mut Child, why: &str) -> io::Result<ExitCode> {
    eprintln!("run: {why}");
    child.kill().await?;
    Ok(ExitCode::from(TIME_IS_OVER))
}

fn report(status: ExitStatus) -> ExitCode {
    eprintln!("run: {status}");
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

async fn pass_on(
    name: &str,
    stream: Option<impl AsyncRead + Unpin>,
    started: Instant,
) -> io::Result<()> {
    let Some(stream) = stream else { return Ok(()) };
    let mut lines = BufReader::new(stream).lines();
    while let Some(line) = lines.next_line().await? {
        println!("{:8.3} {name} {line}", started.elapsed().as_secs_f64());
    }
    Ok(())
}

//! A few tasks to look at with tokio-console: one that computes, one that sleeps, two that pass messages, one that stays
//! on its thread, and a job that blocks.
//!
//! ```text
//! cd examples/console                      # cargo has to find `.cargo/config.toml` there
//! cargo run                                # until Ctrl-C; another address than 127.0.0.1:6669 as an argument
//! cargo install --locked tokio-console     # and call `tokio-console`
//! cargo run -- list http://127.0.0.1:6669  # or what it would list, once, as text
//! ```

mod list;

use std::error::Error;
use std::hint;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

use console_subscriber::{ConsoleLayer, Server};
use rt::task::Builder;
use rt::time::Instant;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => serve(SocketAddr::from((Server::DEFAULT_IP, Server::DEFAULT_PORT))),
        [address] => serve(address.parse()?),
        ["list", url] => list::print(url),
        _ => Err("arguments: [ADDRESS], or `list` and a URL".into()),
    }
}

/// Lets the tasks run until Ctrl-C.
fn serve(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    // The server has a thread and a runtime of its own. It must be there before the tasks that it is to see.
    let console = ConsoleLayer::builder().server_addr(address).spawn();
    tracing_subscriber::registry().with(console).init();
    println!("listening on {address}");
    rt::Runtime::new()?.block_on(tasks())?;
    Ok(())
}

async fn tasks() -> std::io::Result<()> {
    let named = |name| Builder::new().name(name);

    named("busy").spawn(async {
        loop {
            compute_for(Duration::from_millis(2));
            rt::delay(Duration::from_millis(8)).await;
        }
    });
    named("sleeper").spawn(async {
        loop {
            rt::delay(Duration::from_secs(1)).await;
        }
    });

    let (questions, asked) = rt::channel::bounded(1);
    named("asks").spawn(async move {
        while questions.send("how much?").await.is_ok() {
            rt::delay(Duration::from_millis(20)).await;
        }
    });
    named("answers").spawn(async move { while asked.recv().await.is_some() {} });

    named("yields").spawn_local(async {
        loop {
            rt::yield_now().await;
            rt::delay(Duration::from_millis(50)).await;
        }
    });

    let (done, wait) = mpsc::channel::<()>();
    let job = named("job").spawn_blocking(move || wait.recv());

    rt::signal::ctrl_c().await?;
    drop(done);
    // It ends with an error of its own: nobody has sent anything.
    let _ = job.await;
    Ok(())
}

fn compute_for(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        hint::spin_loop();
    }
}

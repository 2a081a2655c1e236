//! The front of a service that generates text with a model, one token after the other.
//!
//! ```text
//! cargo run --release -p rt-examples --example serving -- 127.0.0.1:8080
//! curl -N http://127.0.0.1:8080/generate --json '{"prompt": "once upon a time", "tokens": 20}'
//! curl http://127.0.0.1:8080/stats
//! cargo run --release -p rt-examples --example serving -- --load 5
//! ```
//!
//! A request's way: its handler, on the IO pool, has the prompt tokenized on the CPU pool and puts it into
//! a queue. A task takes requests out of it in batches: up to so many, or those that came within
//! a few milliseconds. One dedicated thread, in the place of an accelerator, computes a token for each
//! request of the batch at a time, and each goes out at once as a server-sent event. A client that goes away
//! takes its request with it, out of the queue or out of the batch.
//!
//! The model is a small one with made-up weights, so that what it says makes no sense; but its work is real:
//! matrix multiplications, whose cost for each request falls as a batch grows. With `--load` the program asks itself for
//! so many seconds and prints percentiles of what the clients have seen.

use std::env;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rt::net::TcpListener;

use batch::Stats;
use model::Model;

mod batch;
mod load;
mod model;
mod tokens;
mod web;

/// How long answers that have begun may take after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(10);

#[rt::main]
async fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("--load") {
        let seconds = arguments.next().and_then(|seconds| seconds.parse().ok());
        return load::run(Duration::from_secs(seconds.unwrap_or(3))).await;
    }
    let listener = TcpListener::bind(first.as_deref().unwrap_or("127.0.0.1:8080")).await?;
    println!("listening on http://{}", listener.local_addr()?);
    serve(listener, Arc::default(), async {
        if let Err(error) = rt::signal::ctrl_c().await {
            eprintln!("cannot listen for Ctrl-C: {error}");
            std::future::pending::<()>().await;
        }
    })
    .await?;
    println!("all answers have ended");
    Ok(())
}

/// Serves until `stop`, then answers what has begun.
async fn serve(
    listener: TcpListener,
    stats: Arc<Stats>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let (requests, queue) = rt::channel::bounded(web::QUEUE);
    // A batch waits for the worker's hands to be free, and others queue behind it.
    let (batches, work) = rt::channel::bounded(0);
    let worker = std::thread::Builder::new()
        .name("accelerator".to_owned())
        .spawn({
            let stats = Arc::clone(&stats);
            move || batch::work(&Model::new(), &work, &stats)
        })?;
    let batcher = rt::spawn(batch::collect(queue, batches));

    let app = web::app(requests, stats);
    let served = rt_axum::serve(listener, app)
        .with_graceful_shutdown(stop)
        .drain_timeout(PATIENCE)
        .await;
    // The last handler took the queue's last sender with it: the batcher ends, and then the worker.
    batcher.await?;
    rt::spawn_blocking(move || worker.join())
        .await?
        .map_err(|_| io::Error::other("the worker panicked"))?;
    served
}

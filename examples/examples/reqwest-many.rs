//! A hundred HTTP requests at once with reqwest, which insists on tokio's runtime.
//!
//! ```text
//! cargo run -p rt-examples --example reqwest-many
//! cargo run -p rt-examples --example reqwest-many -- http://127.0.0.1:8080/ 1000
//! ```
//!
//! `tokio_context` is all that it takes: every thread of the runtime is then inside the context of a small tokio
//! that only watches reqwest's sockets. The requests are tasks of one scope, so that the first
//! failure cancels the others. Without an address, they go to a server in this program.

use std::env;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use reqwest::Client;
use rt::net::TcpListener;
use rt::time::{Instant, sleep};

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let url = arguments.next();
    let count = arguments.next().map_or(Ok(100), |count| count.parse())?;
    let runtime = rt::Runtime::builder().tokio_context(true).build()?;
    runtime.block_on(async {
        let url = match url {
            Some(url) => url,
            None => format!("http://{}/", serve().await?),
        };
        let started = Instant::now();
        let bytes = fetch(url, count).await?;
        let took = started.elapsed();
        println!("{count} answers, {bytes} bytes, in {took:?}");
        Ok(())
    })
}

/// All answers together, in bytes.
async fn fetch(url: String, count: usize) -> Result<usize, Failure> {
    let client = Client::builder().timeout(Duration::from_secs(30)).build()?;
    rt::try_scope(|scope| async move {
        let requests: Vec<_> = (0..count)
            .map(|number| {
                let request = client.get(format!("{url}{number}"));
                scope.spawn(async move {
                    let response = request.send().await?.error_for_status()?;
                    Ok::<_, Failure>(response.bytes().await?.len())
                })
            })
            .collect();
        let mut bytes = 0;
        for request in requests {
            // A request that failed has failed the scope.
            bytes += request.await.unwrap_or_default();
        }
        Ok(bytes)
    })
    .await
}

/// Starts a server that takes its time, so that the requests are under way together.
async fn serve() -> std::io::Result<SocketAddr> {
    let app = Router::new().route("/{number}", get(answer));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    drop(rt::spawn(
        async move { rt_axum::serve(listener, app).await },
    ));
    Ok(address)
}

async fn answer(Path(number): Path<u64>) -> String {
    sleep(Duration::from_millis(50)).await;
    format!("answer {number}\n")
}

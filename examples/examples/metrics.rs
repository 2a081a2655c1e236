//! A page for Prometheus: the runtime's metrics, and one of the program's own beside them.
//!
//! ```text
//! cargo run -p rt-examples --example metrics -- 127.0.0.1:8080
//! curl http://127.0.0.1:8080/work?tasks=100
//! curl http://127.0.0.1:8080/metrics
//! curl http://127.0.0.1:8080/table
//! ```
//!
//! `/metrics` is what Prometheus asks for, every few seconds; `/table` is the same for people. The exporter only keeps
//! and prints: it has no thread and no listener, so the metrics are given to it when somebody asks.
//!
//! In Prometheus, `rate(rt_worker_busy_nanoseconds_total[1m]) / 1e9` is how busy each worker is, and
//! `histogram_quantile(0.99, sum by (le) (rate(rt_schedule_latency_nanoseconds_bucket[1m])))` how long tasks wait for one.

use std::env;
use std::error::Error;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use metrics::counter;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use rt::net::TcpListener;
use rt::task::JoinSet;
use rt::{Dispatcher, Handle, Runtime};
use serde::Deserialize;

/// The most tasks that one request may start.
const MOST_TASKS: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let exporter = PrometheusBuilder::new().install_recorder()?;
    let runtime = Runtime::builder()
        .enable_metrics_poll_time_histogram()
        .enable_metrics_schedule_latency_histogram()
        .build()?;
    runtime.block_on(serve(exporter))
}

async fn serve(exporter: PrometheusHandle) -> Result<(), Box<dyn Error>> {
    let address = env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8080")).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let app = Router::new()
        .route("/metrics", get(metrics_page))
        .route("/table", get(table))
        .route("/work", get(work))
        .with_state(exporter);
    rt_axum::serve(listener, app)
        .with_graceful_shutdown(ctrl_c())
        .await?;
    Ok(())
}

async fn ctrl_c() {
    if let Err(error) = rt::signal::ctrl_c().await {
        eprintln!("cannot listen for Ctrl-C: {error}");
        std::future::pending::<()>().await;
    }
}

async fn metrics_page(State(exporter): State<PrometheusHandle>) -> impl IntoResponse {
    Handle::current().export_metrics();
    let prometheus = "text/plain; version=0.0.4; charset=utf-8";
    ([(CONTENT_TYPE, prometheus)], exporter.render())
}

async fn table() -> String {
    format!("{}\n", Handle::current().metrics())
}

/// What there is to do.
#[derive(Deserialize)]
struct Work {
    tasks: usize,
}

/// Something to measure: tasks on the CPU pool that add numbers up.
async fn work(Query(work): Query<Work>) -> String {
    counter!("work_requests_total").increment(1);
    let mut tasks = JoinSet::new();
    for task in 0..work.tasks.min(MOST_TASKS) as u64 {
        tasks.spawn_on(Dispatcher::Cpu, async move { (0..=task).sum::<u64>() });
    }
    let mut sum = 0;
    while let Some(ended) = tasks.join_next().await {
        sum += ended.unwrap_or(0);
    }
    format!("{sum}\n")
}

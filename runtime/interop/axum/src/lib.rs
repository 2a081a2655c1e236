//! Serves [axum] applications on the `rt` runtime.
//!
//! axum itself needs no runtime: a `Router` is a service. What needs one is the loop that accepts
//! connections, and that is here: [`serve`], over HTTP/1 and HTTP/2 on one port, with a graceful end.
//! Beside it there is what axum's own extras would start a tokio runtime for: websockets
//! ([`ws`]) and time limits ([`TimeoutLayer`]).
//!
//! # Examples
//!
//! ```
//! use axum::{Router, routing::get};
//! use rt::net::TcpListener;
//! use std::time::Duration;
//!
//! # #[rt::main]
//! # async fn main() -> std::io::Result<()> {
//! let app = Router::new().route("/", get(|| async { "Hello, World!" }));
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//!
//! # let ctrl_c = async { rt::delay(Duration::from_millis(5)).await };
//! rt_axum::serve(listener, app)
//!     .with_graceful_shutdown(ctrl_c)
//!     .drain_timeout(Duration::from_secs(5))
//!     .await
//! # }
//! ```
//!
//! # What of axum works, and what does not
//!
//! Extractors, `Json`, `State`, middleware, and server-sent events work as they are.
//! `axum::serve` and `axum::extract::ws` call tokio's runtime: use [`serve`] and [`ws`] in their
//! place. `Sse::keep_alive` uses tokio's timer: merge a stream of your own ticks, or use the
//! runtime's `tokio-context` feature.

mod connect_info;
mod listener;
mod serve;
mod timeout;
#[cfg(feature = "ws")]
pub mod ws;

pub use connect_info::{ConnectInfo, MissingConnectInfo};
pub use listener::Listener;
pub use serve::{Serve, ServeFuture, serve};
pub use timeout::{TimeoutLayer, TimeoutService};

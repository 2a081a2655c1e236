//! axum on `rt`, and on tokio: the `axum` row. Each is served by the loop that its users would take.

use std::io;
use std::net::TcpListener;

use axum::Router;
use axum::routing::get;
use axum::serve::ListenerExt;

use super::rt::Rt;
use super::tokio::Tokio;
use super::{Exec, Net};
use crate::control;

/// `rt_axum::serve`, until the process is killed.
pub(crate) fn on_rt(listener: TcpListener) -> io::Result<()> {
    Rt::block_on(async move {
        Rt::spawn(async move {
            let port = listener.local_addr()?.port();
            let listener = Rt::listener(listener)?;
            control::ready(port);
            rt_axum::serve(listener, hello()).await
        })
        .await
    })
}

/// `axum::serve`, until the process is killed.
pub(crate) fn on_tokio(listener: TcpListener) -> io::Result<()> {
    Tokio::block_on(async move {
        Tokio::spawn(async move {
            let port = listener.local_addr()?.port();
            // As `rt_axum::serve` does for itself.
            let listener = Tokio::listener(listener)?.tap_io(|stream| {
                let _ = stream.set_nodelay(true);
            });
            control::ready(port);
            axum::serve(listener, hello()).await
        })
        .await
    })
}

/// Answers with a short text.
fn hello() -> Router {
    Router::new().route("/", get(|| async { "Hello, World!" }))
}

//! hyper on tokio: the peer of the `http` row.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use super::tokio::Tokio;
use super::{Exec, Net};
use crate::control;

/// Answers every request with a short text, until the process is killed.
pub(crate) fn serve(listener: TcpListener) -> io::Result<()> {
    Tokio::block_on(async move { Tokio::spawn(accept(listener)).await })
}

async fn accept(listener: TcpListener) -> io::Result<()> {
    let port = listener.local_addr()?.port();
    let mut listener = <Tokio as Net>::listener(listener)?;
    control::ready(port);
    loop {
        let stream = Tokio::accept(&mut listener).await?;
        let connection =
            http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(hello));
        Tokio::detach(async move {
            // A load that closes in the middle of a request is no fault of the server.
            let _ = connection.await;
        });
    }
}

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(
        b"Hello, World!",
    ))))
}

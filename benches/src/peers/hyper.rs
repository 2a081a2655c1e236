//! hyper on `rt`, and on tokio: the `http` row.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use super::Net;
use super::rt::Rt;
use super::tokio::Tokio;
use crate::control;

/// A runtime whose connections hyper takes.
pub(crate) trait Serves: Net {
    type Io: Read + Write + Unpin + Send + 'static;

    fn io(stream: Self::Stream) -> Self::Io;
}

impl Serves for Rt {
    type Io = Self::Stream;

    fn io(stream: Self::Stream) -> Self::Io {
        stream
    }
}

impl Serves for Tokio {
    type Io = TokioIo<Self::Stream>;

    fn io(stream: Self::Stream) -> Self::Io {
        TokioIo::new(stream)
    }
}

/// Answers every request with a short text, until the process is killed.
pub(crate) fn serve<N: Serves>(listener: TcpListener) -> io::Result<()> {
    N::block_on(async move { N::spawn(accept::<N>(listener)).await })
}

async fn accept<N: Serves>(listener: TcpListener) -> io::Result<()> {
    let port = listener.local_addr()?.port();
    let mut listener = N::listener(listener)?;
    control::ready(port);
    loop {
        let stream = N::accept(&mut listener).await?;
        let connection = http1::Builder::new().serve_connection(N::io(stream), service_fn(hello));
        N::detach(async move {
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

//! A client's connection, made when it is needed and made again when it is lost.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::rt::{Read, Write};
use rt::net::TcpStream;
use rt::sync::Mutex;
use rt::time::timeout;
use tonic::Status;
use tonic::body::Body;
use tower::Service;

use crate::deadline;

/// How long a connection may take to come about, unless told otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection to a gRPC server, for the clients that tonic's code generator writes.
///
/// It is made at the first call, and made again at the next call after it was lost. Clones share it: HTTP/2
/// carries their calls side by side. A call's [`set_timeout`](tonic::Request::set_timeout) is kept on this
/// side too: the response must begin in time. A call that is dropped is cancelled at the server.
///
/// # Errors
///
/// A call fails with `Unavailable` if no connection can be made or the connection breaks, and with
/// `DeadlineExceeded` if its time is over.
#[derive(Clone)]
pub struct Channel {
    shared: Arc<Shared>,
}

struct Shared {
    scheme: Scheme,
    authority: Authority,
    connect: Connect,
    connect_timeout: Duration,
    keep_alive: Option<Duration>,
    /// Locked while a connection is made, so that one is made for all who wait.
    sender: Mutex<Option<SendRequest<Body>>>,
}

type Connect = Box<dyn Fn() -> Connecting + Send + Sync>;
type Connecting = Pin<Box<dyn Future<Output = io::Result<Connection>> + Send>>;

/// What HTTP/2 runs on.
pub(crate) trait Io: Read + Write + Unpin + Send + 'static {}
impl<T: Read + Write + Unpin + Send + 'static> Io for T {}
type Connection = Box<dyn Io>;

impl Channel {
    /// A channel to `http://host:port`, over TCP.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if `target` is no such URI. One of the scheme
    /// `https` needs a connector that speaks TLS: see [`builder`](Channel::builder).
    pub fn new<U>(target: U) -> io::Result<Channel>
    where
        U: TryInto<Uri>,
        U::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        Channel::builder(target)?.build()
    }

    /// A channel that is made another way: with other limits, or over something else than TCP.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if `target` has no scheme or no host.
    pub fn builder<U>(target: U) -> io::Result<ChannelBuilder>
    where
        U: TryInto<Uri>,
        U::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let target = target.try_into().map_err(|error| invalid(error.into()))?;
        let parts = target.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(invalid("the target must be like `http://host:port`".into()));
        };
        Ok(ChannelBuilder {
            scheme,
            authority,
            connect: None,
            connect_timeout: CONNECT_TIMEOUT,
            keep_alive: None,
        })
    }

    /// The connection as it is, or a new one.
    async fn sender(&self) -> Result<SendRequest<Body>, Status> {
        let mut place = self.shared.sender.lock().await;
        if let Some(sender) = place.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(sender.clone());
        }
        let fresh = timeout(self.shared.connect_timeout, self.connect())
            .await
            .map_err(|_| Status::unavailable("the connection took too long"))??;
        *place = Some(fresh.clone());
        Ok(fresh)
    }

    async fn connect(&self) -> Result<SendRequest<Body>, Status> {
        let shared = &self.shared;
        let io = (shared.connect)()
            .await
            .map_err(|error| unavailable(&error))?;
        let mut builder = http2::Builder::new(rt::hyper::Executor);
        builder.timer(rt::hyper::Timer);
        if let Some(interval) = shared.keep_alive {
            builder.keep_alive_interval(interval);
        }
        let (sender, connection) = builder
            .handshake(io)
            .await
            .map_err(|error| unavailable(&error))?;
        // It ends with the last sender. What goes wrong is told to those who wait for responses.
        drop(rt::spawn(connection));
        Ok(sender)
    }

    async fn send(self, mut request: Request<Body>) -> Result<Response<Incoming>, Status> {
        let limit = deadline::of(request.headers());
        *request.uri_mut() = self.absolute(request.uri());
        let response = self.send_now(request);
        match limit {
            None => response.await,
            Some(limit) => timeout(limit, response)
                .await
                .unwrap_or_else(|_| Err(deadline::exceeded())),
        }
    }

    /// Sends the request, and once more if the connection was lost before any of it was sent: that the
    /// server has gone may be learnt only now.
    async fn send_now(&self, mut request: Request<Body>) -> Result<Response<Incoming>, Status> {
        let mut first = true;
        loop {
            let mut sender = self.sender().await?;
            let error = match sender.ready().await {
                Err(error) => error,
                Ok(()) => match sender.try_send_request(request).await {
                    Ok(response) => return Ok(response),
                    Err(mut error) => {
                        let Some(unsent) = error.take_message() else {
                            return Err(unavailable(&error.into_error()));
                        };
                        request = unsent;
                        error.into_error()
                    }
                },
            };
            if !std::mem::take(&mut first) {
                return Err(unavailable(&error));
            }
        }
    }

    /// The generated clients know the path alone.
    fn absolute(&self, uri: &Uri) -> Uri {
        let path = uri.path_and_query().cloned();
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.shared.scheme.clone());
        parts.authority = Some(self.shared.authority.clone());
        parts.path_and_query = Some(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
        Uri::from_parts(parts).expect("all three parts are there and were parsed")
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("scheme", &self.shared.scheme)
            .field("authority", &self.shared.authority)
            .finish_non_exhaustive()
    }
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Incoming>;
    type Error = Status;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        // HTTP/2 bounds the calls in flight, and `send` waits for its turn.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> ResponseFuture {
        ResponseFuture(Box::pin(self.clone().send(request)))
    }
}

/// Future of a call through a [`Channel`].
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct ResponseFuture(Pin<Box<dyn Future<Output = Result<Response<Incoming>, Status>> + Send>>);

impl Future for ResponseFuture {
    type Output = Result<Response<Incoming>, Status>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for ResponseFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

/// A [`Channel`] in the making.
#[must_use = "a builder makes a channel only when `build` is called"]
pub struct ChannelBuilder {
    scheme: Scheme,
    authority: Authority,
    connect: Option<Connect>,
    connect_timeout: Duration,
    keep_alive: Option<Duration>,
}

impl ChannelBuilder {
    /// How long a connection may take to come about. Default: 10 s.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// Pings the server when nothing has come from it for `interval` while calls are open, and gives the
    /// connection up if it does not answer in 20 s. Default: never.
    pub fn keep_alive(mut self, interval: Duration) -> Self {
        self.keep_alive = Some(interval);
        self
    }

    /// How to connect: for TLS, for Unix sockets, for tests.
    pub fn connector<C, F, I>(mut self, connect: C) -> Self
    where
        C: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = io::Result<I>> + Send + 'static,
        I: Read + Write + Unpin + Send + 'static,
    {
        self.connect = Some(Box::new(move || {
            let connecting = connect();
            Box::pin(async move { Ok(Box::new(connecting.await?) as Connection) })
        }));
        self
    }

    /// The channel. Nothing is connected yet.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for another scheme than `http` without a
    /// [`connector`](ChannelBuilder::connector).
    pub fn build(self) -> io::Result<Channel> {
        let connect = match self.connect {
            Some(connect) => connect,
            None if self.scheme == Scheme::HTTP => tcp(&self.authority),
            None => {
                return Err(invalid(
                    format!("the scheme `{}` needs a connector", self.scheme).into(),
                ));
            }
        };
        Ok(Channel {
            shared: Arc::new(Shared {
                scheme: self.scheme,
                authority: self.authority,
                connect,
                connect_timeout: self.connect_timeout,
                keep_alive: self.keep_alive,
                sender: Mutex::new(None),
            }),
        })
    }
}

impl fmt::Debug for ChannelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelBuilder")
            .field("scheme", &self.scheme)
            .field("authority", &self.authority)
            .field("connect_timeout", &self.connect_timeout)
            .field("keep_alive", &self.keep_alive)
            .finish_non_exhaustive()
    }
}

/// Connects over TCP. Small frames go out at once.
fn tcp(authority: &Authority) -> Connect {
    let host = authority.host().trim_matches(['[', ']']).to_owned();
    let port = authority.port_u16().unwrap_or(80);
    Box::new(move || {
        let host = host.clone();
        Box::pin(async move {
            let stream = TcpStream::connect((host, port)).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Connection)
        })
    })
}

fn invalid(error: Box<dyn std::error::Error + Send + Sync>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}

/// The error with its causes: the outermost says little.
fn unavailable(error: &dyn std::error::Error) -> Status {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    Status::unavailable(message)
}

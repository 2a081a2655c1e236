//! The loop that accepts, and how it ends.
//!
//! Every connection is a task of one scope, so that none outlives [`serve`]: at the graceful end the
//! scope asks them to stop, waits, and after the drain time drops what is left.

use std::any::Any;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, IntoFuture, Pending, pending};
use std::io;
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::server::conn::auto::Builder;
use rt::Scope;
use tower::Service;
use tower::util::{Oneshot, ServiceExt};

use crate::{ConnectInfo, Listener};

/// How long the head of a request may take to come, unless told otherwise.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves `app` to every connection of `listener`, over HTTP/1 and HTTP/2 as the client wishes.
///
/// `app` is an `axum::Router`, or any tower service of that shape. Nothing happens until the returned
/// value is awaited. It ends after a [graceful shutdown](Serve::with_graceful_shutdown) only.
/// Dropping it, or aborting the task that awaits it, drops all its connections.
///
/// See the [crate page](crate) for an example.
pub fn serve<L, S>(listener: L, app: S) -> Serve<L, S, Pending<()>>
where
    L: Listener,
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    Serve {
        listener,
        app: put_together(app),
        signal: pending(),
        options: Options {
            drain_timeout: Duration::MAX,
            header_read_timeout: HEADER_READ_TIMEOUT,
            connect_info: false,
        },
    }
}

/// Has a router apply its layers to its handlers here; it would do so at each request.
fn put_together<S: 'static>(mut app: S) -> S {
    if let Some(router) = (&mut app as &mut dyn Any).downcast_mut::<Router>() {
        *router = mem::take(router).with_state(());
    }
    app
}

/// A server that is about to start: what [`serve`] gives. Await it.
#[must_use = "a server does nothing unless you `.await` it"]
pub struct Serve<L, S, F> {
    listener: L,
    app: S,
    signal: F,
    options: Options,
}

#[derive(Clone, Copy, Debug)]
struct Options {
    drain_timeout: Duration,
    header_read_timeout: Duration,
    connect_info: bool,
}

impl<L, S, F> Serve<L, S, F> {
    /// Ends the server when `signal` is ready.
    ///
    /// From then on no connection is accepted. Idle connections are closed; the others answer the
    /// requests that they have begun, for [`drain_timeout`](Serve::drain_timeout) at most.
    pub fn with_graceful_shutdown<G>(self, signal: G) -> Serve<L, S, G>
    where
        G: Future<Output = ()> + Send + 'static,
    {
        Serve {
            listener: self.listener,
            app: self.app,
            signal,
            options: self.options,
        }
    }

    /// How long requests may take to end after the signal; then their connections are cut. Without a
    /// limit if it is not called.
    pub fn drain_timeout(mut self, limit: Duration) -> Self {
        self.options.drain_timeout = limit;
        self
    }

    /// How long the head of a request may take to come, and so how long an HTTP/1 connection may idle.
    /// 30 s if it is not called.
    pub fn header_read_timeout(mut self, limit: Duration) -> Self {
        self.options.header_read_timeout = limit;
        self
    }

    /// Lets handlers extract the peer's address, a [`ConnectInfo`]. It costs an allocation a request.
    pub fn with_connect_info(mut self) -> Self {
        self.options.connect_info = true;
        self
    }
}

impl<L: Listener, S, F> Serve<L, S, F> {
    /// Where it will listen.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub fn local_addr(&self) -> io::Result<L::Addr> {
        self.listener.local_addr()
    }
}

impl<L: fmt::Debug, S, F> fmt::Debug for Serve<L, S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve")
            .field("listener", &self.listener)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl<L, S, F> IntoFuture for Serve<L, S, F>
where
    L: Listener,
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    F: Future<Output = ()> + Send + 'static,
{
    type Output = io::Result<()>;
    type IntoFuture = ServeFuture;

    fn into_future(self) -> ServeFuture {
        ServeFuture(Box::pin(run(self)))
    }
}

/// Future of [`Serve`].
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct ServeFuture(Pin<Box<dyn Future<Output = io::Result<()>> + Send>>);

impl Future for ServeFuture {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for ServeFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServeFuture").finish_non_exhaustive()
    }
}

async fn run<L, S, F>(server: Serve<L, S, F>) -> io::Result<()>
where
    L: Listener,
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    F: Future<Output = ()> + Send + 'static,
{
    let Serve {
        mut listener,
        app,
        signal,
        options,
    } = server;
    // A handler's panic ends its connection and is told by the panic hook; the server goes on.
    rt::supervisor(|scope| async move {
        let mut signal = pin!(signal);
        loop {
            let accepted = {
                let accept = pin!(listener.accept());
                first(signal.as_mut(), accept).await
            };
            let Some((io, peer)) = accepted else { break };
            let peer = options.connect_info.then(|| ConnectInfo(peer));
            let service = App {
                service: app.clone(),
                peer,
                scope: scope.clone(),
            };
            drop(scope.spawn(connection(io, service, options)));
        }
        // New connections are refused, not left in the queue.
        drop(listener);
        scope.cancel_graceful(options.drain_timeout);
    })
    .await;
    Ok(())
}

/// The output of `work`, or `None` once `signal` is ready: the signal comes first.
async fn first<T>(
    mut signal: Pin<&mut impl Future<Output = ()>>,
    mut work: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    std::future::poll_fn(|cx| {
        if signal.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        work.as_mut().poll(cx).map(Some)
    })
    .await
}

/// Serves one connection until it ends, or, once the scope asks, until its requests have ended.
#[cfg_attr(
    not(feature = "http1"),
    expect(unused_variables, reason = "HTTP/2 has no limit of this kind")
)]
async fn connection<I, A, S>(io: I, service: App<S, A>, options: Options)
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    A: Clone + Send + Sync + 'static,
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let mut builder = Builder::new(Streams(service.scope.clone()));
    #[cfg(feature = "http1")]
    builder
        .http1()
        .timer(rt::hyper::Timer)
        .header_read_timeout(options.header_read_timeout);
    #[cfg(feature = "http2")]
    builder
        .http2()
        .timer(rt::hyper::Timer)
        .enable_connect_protocol();
    let mut connection = pin!(builder.serve_connection_with_upgrades(io, service));
    let stopping = pin!(rt::cancelled());
    // A client that goes away in the middle of a request is no fault of this side, and what it did
    // is told to nobody.
    if let Some(_ended) = first(stopping, connection.as_mut()).await {
        return;
    }
    connection.as_mut().graceful_shutdown();
    let _ended = connection.await;
}

/// Runs what hyper spawns, the streams of HTTP/2, in the server's scope.
#[derive(Clone)]
struct Streams(Scope);

impl<F> hyper::rt::Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        drop(self.0.spawn(stream));
    }
}

/// The application, as hyper wants it for one connection.
struct App<S, A> {
    service: S,
    peer: Option<ConnectInfo<A>>,
    scope: Scope,
}

/// Where the tasks of upgraded connections belong.
#[derive(Clone)]
#[cfg_attr(
    not(feature = "ws"),
    expect(dead_code, reason = "only websockets have such tasks here")
)]
pub(crate) struct ServerScope(pub(crate) Scope);

impl<S, A> hyper::service::Service<hyper::Request<Incoming>> for App<S, A>
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone,
    A: Clone + Send + Sync + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Oneshot<S, Request>;

    fn call(&self, request: hyper::Request<Incoming>) -> Self::Future {
        let mut request = request.map(Body::new);
        if let Some(peer) = &self.peer {
            request.extensions_mut().insert(peer.clone());
        }
        if request.extensions().get::<OnUpgrade>().is_some() {
            let scope = ServerScope(self.scope.clone());
            request.extensions_mut().insert(scope);
        }
        self.service.clone().oneshot(request)
    }
}

//! The server's side: services of tonic, served as axum applications are.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, Pending};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use pin_project_lite::pin_project;
use rt::time::{Sleep, sleep};
use rt_axum::{Listener, Serve};
use tonic::service::Routes;
use tower::{Layer, Service};

use crate::deadline;

/// Serves gRPC services to every connection of `listener`.
///
/// What it gives is `rt-axum`'s server: it has the graceful end and the drain time. A call that its
/// client has given a timeout is dropped when that is over, unless its response has begun.
///
/// For other routes beside them, give [`DeadlineLayer`] to `routes.into_axum_router()`, merge the
/// routers, and use [`rt_axum::serve`].
pub fn serve<L: Listener>(listener: L, routes: Routes) -> Serve<L, Router, Pending<()>> {
    rt_axum::serve(listener, routes.into_axum_router().layer(DeadlineLayer))
}

/// Keeps the timeout that a client has given to its call (the header `grpc-timeout`): the handler is
/// dropped, and the client is told `DeadlineExceeded`.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeadlineLayer;

impl<S> Layer<S> for DeadlineLayer {
    type Service = DeadlineService<S>;

    fn layer(&self, inner: S) -> DeadlineService<S> {
        DeadlineService { inner }
    }
}

/// The service that [`DeadlineLayer`] makes.
#[derive(Clone, Debug)]
pub struct DeadlineService<S> {
    inner: S,
}

impl<S> Service<Request> for DeadlineService<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Limited<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        Limited {
            limit: deadline::of(request.headers()).map(sleep),
            response: self.inner.call(request),
        }
    }
}

pin_project! {
    /// Future of [`DeadlineService`].
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Limited<F> {
        #[pin]
        response: F,
        #[pin]
        limit: Option<Sleep>,
    }
}

impl<F> Future for Limited<F>
where
    F: Future<Output = Result<Response, Infallible>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if let Poll::Ready(response) = this.response.poll(cx) {
            return Poll::Ready(response);
        }
        match this.limit.as_pin_mut() {
            Some(limit) => ready!(limit.poll(cx)),
            None => return Poll::Pending,
        }
        Poll::Ready(Ok(deadline::exceeded().into_http()))
    }
}

impl<F> fmt::Debug for Limited<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limited")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

//! A tower layer that limits how long a request may take.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::http::StatusCode;
use pin_project_lite::pin_project;
use rt::time::{Sleep, sleep};
use tower::{Layer, Service};

/// Drops the work on a request that takes longer, and answers with a status in its place.
///
/// The status is `408 Request Timeout` unless [told otherwise](TimeoutLayer::status_code). The limit
/// holds until the response begins; a body may stream for longer.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use axum::{Router, routing::get};
/// use rt_axum::TimeoutLayer;
///
/// let app: Router = Router::new()
///     .route("/", get(|| async { "in time" }))
///     .layer(TimeoutLayer::new(Duration::from_secs(10)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TimeoutLayer {
    limit: Duration,
    status: StatusCode,
}

impl TimeoutLayer {
    /// A limit for each request.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        TimeoutLayer {
            limit,
            status: StatusCode::REQUEST_TIMEOUT,
        }
    }

    /// What to answer with: `503` or `504`, perhaps.
    #[must_use]
    pub fn status_code(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = TimeoutService<S>;

    fn layer(&self, inner: S) -> TimeoutService<S> {
        TimeoutService {
            inner,
            layer: *self,
        }
    }
}

/// The service that [`TimeoutLayer`] makes.
#[derive(Clone, Debug)]
pub struct TimeoutService<S> {
    inner: S,
    layer: TimeoutLayer,
}

impl<S, R, B> Service<R> for TimeoutService<S>
where
    S: Service<R, Response = axum::http::Response<B>>,
    B: Default,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Limited<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        Limited {
            response: self.inner.call(request),
            limit: sleep(self.layer.limit),
            status: self.layer.status,
        }
    }
}

pin_project! {
    /// Future of [`TimeoutService`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Limited<F> {
        #[pin]
        response: F,
        #[pin]
        limit: Sleep,
        status: StatusCode,
    }
}

impl<F, B, E> Future for Limited<F>
where
    F: Future<Output = Result<axum::http::Response<B>, E>>,
    B: Default,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if let Poll::Ready(response) = this.response.poll(cx) {
            return Poll::Ready(response);
        }
        ready!(this.limit.poll(cx));
        let mut response = axum::http::Response::new(B::default());
        *response.status_mut() = *this.status;
        Poll::Ready(Ok(response))
    }
}

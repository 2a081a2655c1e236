//! Websockets: an extractor that upgrades a request, and the socket that comes of it.
//!
//! The upgrade is hyper's and the protocol tungstenite's. HTTP/1.1 upgrades (RFC 6455) and HTTP/2's
//! extended `CONNECT` (RFC 8441) both work.
//!
//! # Examples
//!
//! ```
//! use axum::{Router, response::Response, routing::any};
//! use rt_axum::ws::{WebSocket, WebSocketUpgrade};
//!
//! async fn echo(upgrade: WebSocketUpgrade) -> Response {
//!     upgrade.on_upgrade(async |mut socket: WebSocket| {
//!         while let Some(Ok(message)) = socket.recv().await {
//!             if message.is_close() || socket.send(message).await.is_err() {
//!                 break;
//!             }
//!         }
//!     })
//! }
//!
//! let app: Router = Router::new().route("/ws", any(echo));
//! ```

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use futures_sink::Sink;
use hyper::upgrade::{OnUpgrade, Upgraded};
use rt::hyper::Io;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::serve::ServerScope;

pub use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
pub use tokio_tungstenite::tungstenite::{Error, Message};

/// Extracts the wish of a client to go on as a websocket.
///
/// A request that is none is answered with an error of the `4xx` kind.
pub struct WebSocketUpgrade {
    on_upgrade: OnUpgrade,
    /// `None` over HTTP/2, which needs no proof.
    accept: Option<HeaderValue>,
    offered: Vec<HeaderValue>,
    chosen: Option<HeaderValue>,
    config: WebSocketConfig,
    /// The server's scope, if it is [`serve`](crate::serve) that serves.
    scope: Option<ServerScope>,
}

impl WebSocketUpgrade {
    /// The subprotocols that the application speaks, the best first. The first one that the client
    /// offers too is agreed on.
    #[must_use]
    pub fn protocols<I>(mut self, known: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<Cow<'static, str>>,
    {
        self.chosen = known.into_iter().find_map(|known| {
            let known = known.into();
            let mut offered = self.offered.iter().filter_map(|value| value.to_str().ok());
            let agreed = offered.any(|value| value.split(',').any(|name| name.trim() == known));
            agreed.then(|| HeaderValue::from_str(&known).ok()).flatten()
        });
        self
    }

    /// The subprotocol that was agreed on.
    pub fn selected_protocol(&self) -> Option<&HeaderValue> {
        self.chosen.as_ref()
    }

    /// Limits on messages and frames, in bytes, and the sizes of buffers.
    #[must_use]
    pub fn config(mut self, config: WebSocketConfig) -> Self {
        self.config = config;
        self
    }

    /// Accepts: the response tells the client so, and `serve` runs in a task of its own once the
    /// connection has changed its protocol.
    ///
    /// If the client goes away before that, `serve` is never called. The task belongs to the server:
    /// its graceful end asks the task to stop ([`rt::cancelled`] tells) and waits for it, for as long
    /// as the drain time lasts.
    pub fn on_upgrade<C, F>(self, serve: C) -> Response
    where
        C: FnOnce(WebSocket) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let WebSocketUpgrade {
            on_upgrade,
            accept,
            chosen,
            config,
            scope,
            ..
        } = self;
        let protocol = chosen.clone();
        let task = async move {
            let Ok(upgraded) = on_upgrade.await else {
                return;
            };
            let io = Io::new(upgraded);
            let stream = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
            serve(WebSocket { stream, protocol }).await;
        };
        drop(match scope {
            Some(ServerScope(scope)) => scope.spawn(task),
            None => rt::spawn(task),
        });
        let mut response = Response::new(Body::empty());
        let headers = response.headers_mut();
        if let Some(protocol) = chosen {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        if let Some(accept) = accept {
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
            headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        }
        response
    }
}

impl fmt::Debug for WebSocketUpgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocketUpgrade")
            .field("offered", &self.offered)
            .field("chosen", &self.chosen)
            .finish_non_exhaustive()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for WebSocketUpgrade {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        let accept = if parts.version <= Version::HTTP_11 {
            Some(accept_of(parts)?)
        } else if parts.method == Method::CONNECT {
            None
        } else {
            return Err(Rejection::method());
        };
        if parts.headers.get(SEC_WEBSOCKET_VERSION) != Some(&HeaderValue::from_static("13")) {
            return Err(Rejection::bad("the websocket version must be 13"));
        }
        let Some(on_upgrade) = parts.extensions.remove::<OnUpgrade>() else {
            return Err(Rejection::bad("this connection cannot be upgraded"));
        };
        Ok(WebSocketUpgrade {
            on_upgrade,
            accept,
            offered: parts
                .headers
                .get_all(SEC_WEBSOCKET_PROTOCOL)
                .iter()
                .cloned()
                .collect(),
            chosen: None,
            config: WebSocketConfig::default(),
            scope: parts.extensions.get::<ServerScope>().cloned(),
        })
    }
}

/// What RFC 6455 wants of the request and of the answer to it.
fn accept_of(parts: &Parts) -> Result<HeaderValue, Rejection> {
    if parts.method != Method::GET {
        return Err(Rejection::method());
    }
    if !names(&parts.headers, CONNECTION, "upgrade") || !names(&parts.headers, UPGRADE, "websocket")
    {
        return Err(Rejection::bad("the request does not ask for a websocket"));
    }
    let key = parts.headers.get(SEC_WEBSOCKET_KEY);
    let Some(key) = key.filter(|key| !key.is_empty()) else {
        return Err(Rejection::bad("the websocket key is missing"));
    };
    HeaderValue::from_str(&derive_accept_key(key.as_bytes()))
        .map_err(|_| Rejection::bad("the websocket key is none"))
}

/// Whether a header's list has `word` in it.
fn names(headers: &HeaderMap, header: HeaderName, word: &str) -> bool {
    headers
        .get_all(header)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|name| name.trim().eq_ignore_ascii_case(word))
}

/// Why a request cannot become a websocket.
#[derive(Clone, Copy, Debug)]
pub struct Rejection {
    status: StatusCode,
    reason: &'static str,
}

impl Rejection {
    fn bad(reason: &'static str) -> Self {
        Rejection {
            status: StatusCode::BAD_REQUEST,
            reason,
        }
    }

    fn method() -> Self {
        Rejection {
            status: StatusCode::METHOD_NOT_ALLOWED,
            reason: "a websocket begins with GET, or over HTTP/2 with CONNECT",
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl std::error::Error for Rejection {}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        (self.status, self.reason).into_response()
    }
}

/// A websocket: a `Stream` of messages and a `Sink` for them.
///
/// Pings are answered while messages are received.
pub struct WebSocket {
    stream: WebSocketStream<Io<Upgraded>>,
    protocol: Option<HeaderValue>,
}

impl WebSocket {
    /// The next message; `None` once the connection has ended.
    ///
    /// # Cancel safety
    ///
    /// No message is lost if the future is dropped.
    pub async fn recv(&mut self) -> Option<Result<Message, Error>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Sends a message and flushes.
    ///
    /// # Errors
    ///
    /// If the connection has ended or the message is larger than the limits allow.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped the message may have been queued; the next `send` or `recv` goes on
    /// with it.
    pub async fn send(&mut self, message: Message) -> Result<(), Error> {
        std::future::poll_fn(|cx| Pin::new(&mut self.stream).poll_ready(cx)).await?;
        Pin::new(&mut self.stream).start_send(message)?;
        std::future::poll_fn(|cx| Pin::new(&mut self.stream).poll_flush(cx)).await
    }

    /// Says goodbye. Receive until `None` to hear the other side's.
    ///
    /// # Errors
    ///
    /// If the connection has ended already.
    pub async fn close(&mut self, frame: Option<CloseFrame>) -> Result<(), Error> {
        self.stream.close(frame).await
    }

    /// The subprotocol that was agreed on.
    pub fn protocol(&self) -> Option<&HeaderValue> {
        self.protocol.as_ref()
    }
}

impl fmt::Debug for WebSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocket")
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

impl Stream for WebSocket {
    type Item = Result<Message, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = Pin::new(&mut self.stream).poll_next(cx);
        if let Poll::Ready(Some(Ok(Message::Close(_)))) = next {
            // The answer to a goodbye lies in the buffer: it goes out now, since many a handler stops
            // here. What does not fit goes with the next call.
            let _ = Pin::new(&mut self.stream).poll_flush(cx);
        }
        next
    }
}

impl Sink<Message> for WebSocket {
    type Error = Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.stream).poll_ready(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, message: Message) -> Result<(), Error> {
        Pin::new(&mut self.stream).start_send(message)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.stream).poll_close(cx)
    }
}

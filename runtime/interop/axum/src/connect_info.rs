//! Who is at the other end of a connection, for handlers.

use std::any::type_name;
use std::fmt;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};

/// Extracts the address of the connection's other end, an [`Addr`](crate::Listener::Addr).
///
/// It is there if the server was told so by [`with_connect_info`](crate::Serve::with_connect_info);
/// otherwise the request is answered with `500`. axum's own extractor of this name belongs to its tokio
/// server.
///
/// # Examples
///
/// ```
/// use std::net::SocketAddr;
/// use axum::{Router, routing::get};
/// use rt_axum::ConnectInfo;
///
/// async fn whoami(ConnectInfo(peer): ConnectInfo<SocketAddr>) -> String {
///     peer.to_string()
/// }
/// let app: Router = Router::new().route("/", get(whoami));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ConnectInfo<A>(pub A);

impl<S, A> FromRequestParts<S> for ConnectInfo<A>
where
    S: Send + Sync,
    A: Clone + Send + Sync + 'static,
{
    type Rejection = MissingConnectInfo;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, MissingConnectInfo> {
        let info = parts.extensions.get::<Self>().cloned();
        info.ok_or(MissingConnectInfo(type_name::<A>()))
    }
}

/// The server was not told to keep addresses, or keeps those of another type.
#[derive(Clone, Copy, Debug)]
pub struct MissingConnectInfo(&'static str);

impl fmt::Display for MissingConnectInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no `ConnectInfo<{}>`: the server was built without `with_connect_info`, or its \
             listener has another type of address",
            self.0
        )
    }
}

impl std::error::Error for MissingConnectInfo {}

impl IntoResponse for MissingConnectInfo {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.to_string()).into_response()
    }
}

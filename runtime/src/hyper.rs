//! What hyper asks of a runtime: an [`Executor`] and a [`Timer`].
//!
//! The I/O types of [`net`](crate::net) implement `hyper::rt::{Read, Write}` themselves, so a
//! connection is handed to hyper as it is.
//!
//! Give hyper the timer always: without one it drops its own limits on how long the head of a request
//! may take to come, and says so only in its log.
//!
//! # Examples
//!
//! One HTTP/1 exchange, both sides on this runtime:
//!
//! ```
//! use std::convert::Infallible;
//!
//! use http_body_util::{BodyExt, Full};
//! use hyper::body::{Bytes, Incoming};
//! use hyper::{Request, Response, client, server, service::service_fn};
//! use rt::net::{TcpListener, TcpStream};
//!
//! async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
//!     Ok(Response::new(Full::from("Hello, World!")))
//! }
//!
//! # #[rt::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?;
//! let serving = rt::spawn(async move {
//!     let (stream, _) = listener.accept().await?;
//!     server::conn::http1::Builder::new()
//!         .timer(rt::hyper::Timer)
//!         .serve_connection(stream, service_fn(hello))
//!         .await
//!         .map_err(std::io::Error::other)
//! });
//!
//! let stream = TcpStream::connect(address).await?;
//! let (mut sender, connection) = client::conn::http1::handshake(stream).await?;
//! let connection = rt::spawn(connection);
//! let request = Request::get("/").header("host", "localhost").body(String::new())?;
//! let body = sender.send_request(request).await?.into_body().collect().await?;
//! assert_eq!(body.to_bytes(), "Hello, World!");
//!
//! drop(sender);
//! connection.await??;
//! serving.await??;
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "tokio-io")]
mod io;

#[cfg(feature = "tokio-io")]
pub use self::io::Io;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::time::{Instant, Sleep, sleep, sleep_until};

/// Spawns what hyper runs in the background onto the IO pool of the current runtime.
///
/// # Panics
///
/// When hyper spawns on a thread that belongs to no runtime.
#[derive(Clone, Copy, Debug, Default)]
pub struct Executor;

impl<F> hyper::rt::Executor<F> for Executor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        drop(crate::spawn(future));
    }
}

/// Gives hyper this runtime's timers, and its clock: the virtual one, where time is paused.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timer;

impl hyper::rt::Sleep for Sleep {}

impl hyper::rt::Timer for Timer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(sleep(duration))
    }

    fn sleep_until(&self, deadline: std::time::Instant) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(sleep_until(Instant::from_std(deadline)))
    }

    fn now(&self) -> std::time::Instant {
        Instant::now().into_std()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn hyper::rt::Sleep>>, deadline: std::time::Instant) {
        // In place, so that a connection's timer costs one allocation in its life.
        match sleep.as_mut().downcast_mut_pin::<Sleep>() {
            Some(sleep) => sleep.reset(Instant::from_std(deadline)),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

//! Input and output: readiness, and the traits that the I/O types implement.
//!
//! Every I/O type of `rt` has one native set of methods (`poll_read_uninit`, `poll_write`,
//! `readable`, `try_read`, `read`, …), which need no trait in scope. The traits of other crates are
//! thin covers over them, so that no wrapper type is ever needed:
//!
//! | feature | traits |
//! |---|---|
//! | `tokio-io` (default) | [`AsyncRead`] and [`AsyncWrite`] of `tokio::io`, on each type |
//! | `futures-io` (default) | `AsyncRead` and `AsyncWrite` of `futures_io`, on each type and on references to it |
//! | `hyper` | `Read` and `Write` of `hyper::rt`, on each type that a connection can be |
//!
//! With `tokio-io` this module also has what `tokio::io` makes of its traits: the extension traits,
//! buffers, `copy` and the rest. They need no runtime of that crate, and none is built.

// Links to what is not there without its feature.
#![cfg_attr(
    not(feature = "tokio-io"),
    doc = "",
    doc = "[`AsyncRead`]: https://docs.rs/tokio/latest/tokio/io/trait.AsyncRead.html",
    doc = "[`AsyncWrite`]: https://docs.rs/tokio/latest/tokio/io/trait.AsyncWrite.html"
)]

pub use rt_reactor::Interest;

pub use self::async_fd::{
    AsyncFd, AsyncFdReadyGuard, AsyncFdReadyMutGuard, AsyncFdRegisterError, TryIoError,
};
pub use self::ready::Ready;
pub use self::stdio::{Stderr, Stdin, Stdout, stderr, stdin, stdout};
#[cfg(feature = "tokio-io")]
pub(crate) use self::tokio_io::fill;
#[cfg(feature = "tokio-io")]
pub use self::tokio_io::*;

pub(crate) use self::registration::Registration;

mod async_fd;
#[cfg(feature = "futures-io")]
mod futures_io;
#[cfg(feature = "hyper")]
mod hyper_io;
mod messages;
pub(crate) mod methods;
mod ready;
mod registration;
mod stdio;
mod stream;
#[cfg(feature = "tokio-io")]
mod tokio_io;

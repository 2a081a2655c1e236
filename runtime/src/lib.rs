//! `rt`: a multi-threaded work-stealing coroutine runtime for Linux.
//!
//! A coroutine is a Rust future that suspends where it waits. `rt` runs many of them on few threads
//! and keeps three promises:
//!
//! * **It never stalls.** The reactor is a thread of its own that steps in when all workers are busy.
//! * **No task is orphaned.** Every task has an owner that can find it, and ends with it.
//! * **It is as fast as the machine.** The right to poll is lent to the workers, so that a socket's
//!   task runs on the thread that saw its event.
//!
//! # A first program
//!
//! ```
//! use std::time::Duration;
//!
//! #[rt::main]
//! async fn main() -> std::io::Result<()> {
//!     let listener = rt::net::TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!
//!     let server = rt::spawn(async move {
//!         let (stream, _peer) = listener.accept().await?;
//!         rt::delay(Duration::from_millis(10)).await;
//!         stream.write_all(b"hello").await
//!     });
//!
//!     let stream = rt::net::TcpStream::connect(address).await?;
//!     let mut greeting = [0; 5];
//!     stream.read_exact(&mut greeting).await?;
//!     assert_eq!(&greeting, b"hello");
//!     server.await?
//! }
//! ```
//!
//! # Where to look
//!
//! The [guide](mod@guide) is for reading, this table for finding:
//!
//! | to | see |
//! |---|---|
//! | make a runtime | [`#[main]`](macro@main), [`Runtime`], [`runtime::Builder`] |
//! | run things at the same time | [`spawn`], [`spawn_on`], [`Dispatcher`], [`spawn_blocking`] |
//! | wait for many tasks, name one, give it values of its own | [`task`] |
//! | run at most so many of them at once | [`Dispatcher::limited`] |
//! | move a piece of work to another pool | [`run_on`], `rayon` |
//! | end things together | [`mod@scope`], [`supervisor`], [`try_scope`], [`shield`], [`CancelToken`] |
//! | send values between tasks and threads | [`channel`] |
//! | wait for several things | [`select!`], [`join!`], [`try_join!`] |
//! | share state | [`sync`] |
//! | wait for time | [`time`], [`delay`] |
//! | test in no time, and repeat what has failed | [`#[test]`](macro@test), [virtual time](time#virtual-time), [seeds](time#determinism) |
//! | wait for sockets, pipes and other descriptors | [`net`], [`io`], [`io::AsyncFd`] |
//! | read and write files | [`fs`] |
//! | run other programs | [`process`] |
//! | wait for signals | [`signal`] |
//! | see what all tasks do | [`Handle::dump`], [`dump`] |
//! | count what the runtime does, and time it | [`Handle::metrics`], [`runtime::Histogram`], feature `metrics` |
//! | see what each thread does, and who wakes whom | [`record`] |
//! | watch it from outside, as `top` does | `inspect` |
//!
//! # Features
//!
//! | feature | default | gives |
//! |---|---|---|
//! | `tokio-io` | yes | `tokio::io::{AsyncRead, AsyncWrite}` on the I/O types, and [`io`]'s re-exports; traits and adapters only, no runtime of tokio |
//! | `stream` | yes | `futures_core::Stream` on [`channel::Receiver`] |
//! | `sync` | yes | [`sync`], which is `tokio::sync`; no runtime of tokio |
//! | `futures-io` | yes | `futures_io::{AsyncRead, AsyncWrite}` on the I/O types and on references to them |
//! | `serde` | no | `serde::Serialize` for [`RuntimeMetrics`] and [`Dump`] |
//! | `metrics` | no | `Handle::export_metrics`: the metrics for the crate `metrics`, and so for Prometheus and whatever else has an exporter |
//! | `inspect` | no | `Builder::inspect` and `rt::inspect`: a socket that tells `rtop`, or a script, what the runtime does |
//! | `tracing` | no | a span for each task and events for its wakers, which [tokio-console](guide::slow_service#the-tasks-live-in-tokio-console) shows; a warning, target `rt::stall`, for the first stall from each place: task id, place, how long so far, worker, pool; and one, target `rt::shutdown`, for each poll or job that the end of a runtime has waited for in vain |
//! | `tokio-context` | no | `Builder::tokio_context` and `rt::compat`: a helper thread with a tokio runtime, for libraries that insist on one |
//! | `rayon` | no | `rt::rayon`: a rayon pool of the CPU pool's size and priority, whose jobs can be awaited |
//! | `hyper` | no | `hyper::rt::{Read, Write}` on the I/O types, and `rt::hyper::{Executor, Timer}` |
//!
//! # The ecosystem
//!
//! | library | how it runs here |
//! |---|---|
//! | hyper | feature `hyper`: streams as they are, `rt::hyper::{Executor, Timer}` |
//! | axum, tonic, quinn | the packages `rt-axum`, `rt-tonic`, `rt-quinn` |
//! | tokio-rustls, tokio-tungstenite, tokio-util | over the I/O types as they are, by the feature `tokio-io` |
//! | what is made for `futures-io` | over the I/O types as they are, by the feature `futures-io` |
//! | what calls tokio's runtime itself | feature `tokio-context`: `Builder::tokio_context(true)` |

// Links to what is not there without its feature.
#![cfg_attr(
    not(feature = "sync"),
    doc = "",
    doc = "[`sync`]: https://docs.rs/tokio/latest/tokio/sync/"
)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(not(target_os = "linux"))]
compile_error!("`rt` is built on epoll, eventfd and timerfd: it runs on Linux only");

// The macros name this crate by the path that its users have for it.
extern crate self as rt;

mod builder;
pub mod channel;
#[cfg(feature = "tokio-context")]
pub mod compat;
mod contain;
mod context;
mod cpus;
mod dispatcher;
mod driver;
pub mod dump;
pub mod fs;
#[cfg(doc)]
pub mod guide;
mod handle;
mod home;
#[cfg(feature = "hyper")]
pub mod hyper;
#[cfg(feature = "inspect")]
pub mod inspect;
pub mod io;
mod lazy_pool;
mod leftovers;
#[doc(hidden)]
pub mod macros_support;
mod metrics;
pub mod net;
mod preemption;
mod priority;
pub mod process;
mod quiet;
#[cfg(feature = "rayon")]
pub mod rayon;
pub mod record;
mod root;
mod run_on;
pub mod runtime;
pub mod scope;
mod select;
pub mod signal;
mod spans;
mod spawn;
#[cfg(feature = "tracing")]
mod stalls;
#[cfg(feature = "sync")]
pub mod sync;
mod sys;
pub mod task;
pub mod time;
mod unhandled;

pub(crate) use rt_scheduler::Lane;
pub(crate) use spawn::try_spawn_lane;

pub use dispatcher::{Dispatcher, Limited};
pub use dump::Dump;
pub use metrics::RuntimeMetrics;
pub use rt_macros::{main, test};
pub use run_on::{RunOn, run_on};
pub use runtime::{Handle, Runtime, UnhandledPanic};
pub use scope::{
    CancelToken, Scope, TryScope, cancelled, is_cancelled, scope, shield, supervisor, try_scope,
};
pub use spawn::{block_in_place, spawn, spawn_blocking, spawn_on};
pub use task::yield_now;
pub use time::sleep as delay;

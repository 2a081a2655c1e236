//! gRPC on the `rt` runtime, by [tonic].
//!
//! tonic's generated clients and servers need no runtime; its transports do. In their place there are here
//! [`Channel`] for clients, and [`serve`] for servers. Generate the code with
//! `tonic_prost_build::configure().build_transport(false)`.
//!
//! TLS: give [`ChannelBuilder::connector`] a stream of `tokio-rustls` in an [`rt::hyper::Io`].
//!
//! # Examples
//!
//! The client's side is one value, which clones share. It connects when it is needed:
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! let channel = rt_tonic::Channel::new("http://127.0.0.1:50051")?;
//! // let client = GreeterClient::new(channel);
//! # drop(channel);
//! # Ok(())
//! # }
//! ```
//!
//! The example `grpc` of this repository has both sides, with all four kinds of calls.
//!
//! # What of tonic works, and what does not
//!
//! Generated code, `Routes`, interceptors, metadata, compression and streams work as they are. `tonic::transport`
//! calls tokio's runtime: use [`Channel`] and [`serve`] in its place, or the runtime's `tokio-context`
//! feature.

mod channel;
mod deadline;
mod serve;

pub use channel::{Channel, ChannelBuilder, ResponseFuture};
pub use serve::{DeadlineLayer, DeadlineService, Limited, serve};

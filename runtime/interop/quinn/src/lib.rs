//! QUIC on the `rt` runtime, by [quinn].
//!
//! [`Runtime`] is what quinn asks of a runtime: tasks, timers, and UDP sockets, which send and take many datagrams
//! with one system call where the kernel can (segmentation offload). [`client`] and [`server`] make endpoints
//! with it; everything else is quinn's own.
//!
//! An endpoint is made, and connects, on a thread of a runtime of `rt`, and ends with that runtime.
//!
//! # Examples
//!
//! Both sides of one stream:
//!
//! ```
//! use std::net::{Ipv4Addr, SocketAddr};
//! use std::sync::Arc;
//!
//! use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
//! use quinn::rustls::RootCertStore;
//! use quinn::{ClientConfig, ServerConfig};
//!
//! # #[rt::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
//! let certificate = made.cert.der().clone();
//! let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
//! let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
//!
//! let config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
//! let server = rt_quinn::server(config, any_port)?;
//! let address = server.local_addr()?;
//! let serving = rt::spawn(async move {
//!     let connection = server.accept().await.expect("it is open").await?;
//!     let (mut answer, mut question) = connection.accept_bi().await?;
//!     let question = question.read_to_end(1024).await?;
//!     answer.write_all(&question).await?;
//!     answer.finish()?;
//!     connection.closed().await;
//!     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
//! });
//!
//! let mut roots = RootCertStore::empty();
//! roots.add(certificate)?;
//! let mut client = rt_quinn::client(any_port)?;
//! client.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots))?);
//! let connection = client.connect(address, "localhost")?.await?;
//! let (mut question, mut answer) = connection.open_bi().await?;
//! question.write_all(b"hello").await?;
//! question.finish()?;
//! assert_eq!(answer.read_to_end(1024).await?, b"hello");
//!
//! connection.close(0u32.into(), b"done");
//! client.wait_idle().await;
//! serving.await??;
//! # Ok(())
//! # }
//! ```

mod runtime;
mod socket;

pub use runtime::Runtime;
pub use socket::Socket;

#[cfg(feature = "rustls-ring")]
mod endpoint;
#[cfg(feature = "rustls-ring")]
pub use endpoint::{client, server};

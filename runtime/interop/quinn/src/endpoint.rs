//! Endpoints with quinn's defaults.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn::{Endpoint, EndpointConfig, ServerConfig};

use crate::Runtime;

/// An endpoint that connects to others from `address`; port 0 is any that is free.
///
/// Give it a [`ClientConfig`](quinn::ClientConfig) with `set_default_client_config`. See the
/// [crate page](crate) for an example.
///
/// # Errors
///
/// What the operating system says to the address.
///
/// # Panics
///
/// On a thread that belongs to no runtime.
pub fn client(address: SocketAddr) -> io::Result<Endpoint> {
    endpoint(None, address)
}

/// An endpoint at `address` that others connect to. It can connect to others, too.
///
/// See the [crate page](crate) for an example.
///
/// # Errors
///
/// What the operating system says to the address.
///
/// # Panics
///
/// On a thread that belongs to no runtime.
pub fn server(config: ServerConfig, address: SocketAddr) -> io::Result<Endpoint> {
    endpoint(Some(config), address)
}

fn endpoint(config: Option<ServerConfig>, address: SocketAddr) -> io::Result<Endpoint> {
    let socket = UdpSocket::bind(address)?;
    Endpoint::new(EndpointConfig::default(), config, socket, Arc::new(Runtime))
}

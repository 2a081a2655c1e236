//! Addresses, and the names that stand for them.
//!
//! A literal is parsed where it stands. A name is looked up by the C library, which knows the host's
//! configuration (`/etc/hosts`, search domains, mDNS) but blocks, so that happens on a blocking
//! thread.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::option;
use std::vec;

#[cfg(test)]
mod tests;

/// What can be turned into socket addresses.
///
/// Implemented for socket addresses, `(IP address, port)`, `("name", port)`, `"name:port"`, slices of
/// addresses, and references to all of these. It cannot be implemented outside this crate.
///
/// # Examples
///
/// ```
/// use rt::net::{TcpListener, ToSocketAddrs};
///
/// async fn listen(address: impl ToSocketAddrs) -> std::io::Result<TcpListener> {
///     TcpListener::bind(address).await
/// }
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// listen("127.0.0.1:0").await?;
/// listen(("localhost", 0)).await?;
/// listen((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
/// # Ok(())
/// # }
/// ```
pub trait ToSocketAddrs: sealed::Resolve {}

impl<A: sealed::Resolve + ?Sized> ToSocketAddrs for A {}

/// Looks up a name.
///
/// The addresses come in the order in which the system prefers them. A literal address needs no
/// lookup and answers at once.
///
/// # Errors
///
/// Fails if the name is malformed, cannot be resolved, if there is no thread for the lookup, or if the runtime
/// shuts down.
///
/// # Panics
///
/// Panics outside a runtime, unless `host` is a literal.
///
/// # Cancel safety
///
/// Dropping the future abandons the lookup; its thread ends when the C library answers.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// for address in rt::net::lookup_host("localhost:80").await? {
///     assert!(address.ip().is_loopback());
/// }
/// # Ok(())
/// # }
/// ```
pub async fn lookup_host<A: ToSocketAddrs>(
    host: A,
) -> io::Result<impl Iterator<Item = SocketAddr>> {
    resolve(&host)?.addresses().await
}

/// The first step, without waiting: the addresses, or a name to look up.
pub(crate) fn resolve<A: ToSocketAddrs + ?Sized>(addr: &A) -> io::Result<Resolution> {
    addr.resolve(sealed::Internal)
}

/// Calls `attempt` with each address until one succeeds, and gives the last error if none does.
pub(crate) async fn try_each<T, F: Future<Output = io::Result<T>>>(
    resolution: Resolution,
    mut attempt: impl FnMut(SocketAddr) -> F,
) -> io::Result<T> {
    let mut last = None;
    for address in resolution.addresses().await? {
        match attempt(address).await {
            Ok(value) => return Ok(value),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(no_address))
}

pub(crate) fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the name has no address")
}

/// What an address turned out to be.
#[derive(Debug)]
#[doc(hidden)]
pub enum Resolution {
    Known(Addresses),
    Name(String, u16),
}

impl Resolution {
    pub(crate) async fn addresses(self) -> io::Result<Addresses> {
        match self {
            Resolution::Known(addresses) => Ok(addresses),
            Resolution::Name(host, port) => {
                let lookup = move || std::net::ToSocketAddrs::to_socket_addrs(&(&*host, port));
                let found = crate::try_spawn_lane(crate::Lane::Dns, lookup)?.await??;
                Ok(Addresses::Many(found))
            }
        }
    }
}

/// Socket addresses; a single one needs no allocation.
#[doc(hidden)]
pub enum Addresses {
    One(option::IntoIter<SocketAddr>),
    Many(vec::IntoIter<SocketAddr>),
}

impl Iterator for Addresses {
    type Item = SocketAddr;

    fn next(&mut self) -> Option<SocketAddr> {
        match self {
            Addresses::One(address) => address.next(),
            Addresses::Many(addresses) => addresses.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Addresses::One(address) => address.size_hint(),
            Addresses::Many(addresses) => addresses.size_hint(),
        }
    }
}

impl fmt::Debug for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Addresses::One(address) => address.fmt(f),
            Addresses::Many(addresses) => addresses.fmt(f),
        }
    }
}

fn one(address: impl Into<SocketAddr>) -> Resolution {
    Resolution::Known(Addresses::One(Some(address.into()).into_iter()))
}

fn host_and_port(host: &str, port: u16) -> Resolution {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return one((ip, port));
    }
    Resolution::Name(host.to_owned(), port)
}

fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

mod sealed {
    use super::{Resolution, io};

    /// Only this crate can name it, so only this crate can call `resolve`.
    #[derive(Debug)]
    pub struct Internal;

    pub trait Resolve {
        #[doc(hidden)]
        fn resolve(&self, _: Internal) -> io::Result<Resolution>;
    }
}

macro_rules! literal {
    ($($type:ty),*) => {$(
        impl sealed::Resolve for $type {
            fn resolve(&self, _: sealed::Internal) -> io::Result<Resolution> {
                Ok(one(*self))
            }
        }
    )*};
}

literal!(SocketAddr, SocketAddrV4, SocketAddrV6);
literal!((IpAddr, u16), (Ipv4Addr, u16), (Ipv6Addr, u16));

impl sealed::Resolve for [SocketAddr] {
    fn resolve(&self, _: sealed::Internal) -> io::Result<Resolution> {
        let addresses = Vec::from(self).into_iter();
        Ok(Resolution::Known(Addresses::Many(addresses)))
    }
}

impl sealed::Resolve for (&str, u16) {
    fn resolve(&self, _: sealed::Internal) -> io::Result<Resolution> {
        Ok(host_and_port(self.0, self.1))
    }
}

impl sealed::Resolve for (String, u16) {
    fn resolve(&self, _: sealed::Internal) -> io::Result<Resolution> {
        Ok(host_and_port(&self.0, self.1))
    }
}

impl sealed::Resolve for str {
    fn resolve(&self, _: sealed::Internal) -> io::Result<Resolution> {
        if let Ok(address) = self.parse::<SocketAddr>() {
            return Ok(one(address));
        }
        let (host, port) = self
            .rsplit_once(':')
            .ok_or_else(|| malformed("the address has no port"))?;
        let port = port
            .parse()
            .map_err(|_| malformed("the port is no number below 65536"))?;
        Ok(host_and_port(host, port))
    }
}

impl sealed::Resolve for String {
    fn resolve(&self, internal: sealed::Internal) -> io::Result<Resolution> {
        (**self).resolve(internal)
    }
}

impl<A: sealed::Resolve + ?Sized> sealed::Resolve for &A {
    fn resolve(&self, internal: sealed::Internal) -> io::Result<Resolution> {
        (**self).resolve(internal)
    }
}

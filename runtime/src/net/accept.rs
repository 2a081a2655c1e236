//! Accepting, once for every kind of listener.

use std::io;
use std::os::fd::AsFd;

use socket2::{SockAddr, SockRef, Socket};

/// Accepts one connection, non-blocking and closed on `exec` from birth.
pub(super) fn accept(listener: &impl AsFd) -> io::Result<(Socket, SockAddr)> {
    loop {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        match SockRef::from(listener).accept4(flags) {
            // It took the broken connection off the queue, so the next call meets another.
            Err(error) if is_of_the_connection(&error) => {}
            result => return result,
        }
    }
}

/// Whether an error of `accept` is about the connection that it took off the queue, not about the
/// listener: Linux passes on what the network had reported about it.
fn is_of_the_connection(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNABORTED
                | libc::EPROTO
                | libc::ENOPROTOOPT
                | libc::ENETDOWN
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::EHOSTUNREACH
                | libc::ENONET
        )
    )
}

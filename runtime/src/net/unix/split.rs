//! The halves of a Unix stream.

use std::os::unix::net;

use super::{SocketAddr, UnixStream, with_a_pair};
use crate::net::halves::halves;

/// An example that begins with a half of each end of a connection, `reader` and `writer`.
macro_rules! with_halves {
    ($($line:literal)*) => {
        crate::net::unix::with_connection!(
            [
                "// `reader` and `writer` are halves of the two ends of one connection."
                "# #[allow(unused_variables)]"
                "# let (reader, _writer) = server.into_split();"
                "# #[allow(unused_variables)]"
                "# let (_reader, writer) = client.into_split();"
            ]
            $($line)*
        )
    };
}

halves!(
    UnixStream,
    net::UnixStream,
    SocketAddr,
    with_a_pair,
    with_halves
);

//! TCP: sockets, listeners, streams, and the halves of a stream.

pub(crate) use self::listener::BACKLOG;
pub use self::listener::TcpListener;
pub use self::socket::TcpSocket;
pub use self::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use self::stream::TcpStream;

mod connect;
mod listener;
mod socket;
mod split;
mod stream;

/// An example that begins with the lines of `$setup`, in a task that has a connected pair of
/// streams, `client` and `server`, and their `listener`.
macro_rules! with_connection {
    ([$($setup:literal)*] $($line:literal)*) => {
        concat!(
            "# Examples\n\n",
            "```\n",
            "# use rt::net::{TcpListener, TcpStream};\n",
            "# #[rt::main(flavor = \"current_thread\")]\n",
            "# async fn main() -> std::io::Result<()> {\n",
            "# let listener = TcpListener::bind(\"127.0.0.1:0\").await?;\n",
            "# #[allow(unused_mut)]\n",
            "# let mut client = TcpStream::connect(listener.local_addr()?).await?;\n",
            "# #[allow(unused)]\n",
            "# let (mut server, address) = listener.accept().await?;\n",
            $($setup, "\n",)*
            $($line, "\n",)*
            "# Ok(())\n",
            "# }\n",
            "```",
        )
    };
}
use with_connection;

/// An example that begins with a connected pair of streams, `client` and `server`.
macro_rules! with_a_pair {
    ($($line:literal)*) => {
        crate::net::tcp::with_connection!(
            ["// `client` and `server` are the two ends of one connection."]
            $($line)*
        )
    };
}
use with_a_pair;

/// An example that begins with the two ends of a connection as `reader` and `writer`.
macro_rules! with_ends {
    ($($line:literal)*) => {
        crate::net::tcp::with_connection!(
            [
                "// `reader` and `writer` are the two ends of one connection."
                "# #[allow(unused_variables)]"
                "# let (reader, writer) = (server, client);"
            ]
            $($line)*
        )
    };
}
use with_ends;

#[cfg(test)]
mod tests;

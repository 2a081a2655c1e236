//! TCP: listeners, streams, and the halves of a stream.

pub use self::listener::TcpListener;
pub use self::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use self::stream::TcpStream;

mod listener;
mod split;
mod stream;
mod transfer;

/// An example that begins with a connected pair of streams, `client` and `server`.
macro_rules! with_a_pair {
    ($($line:literal)*) => {
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
            "// `client` and `server` are the two ends of one connection.\n",
            $($line, "\n",)*
            "# Ok(())\n",
            "# }\n",
            "```",
        )
    };
}
use with_a_pair;

#[cfg(test)]
mod tests;

//! A child's input and outputs: this process's ends of the pipes.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{self, Stdio};

use socket2::SockRef;

use crate::io::Registration;
use crate::io::methods::{borrow_impls, read_methods, ready_method, write_methods};
use crate::net::unix::pipe;

/// How much is read at a time when all is.
const PIECE: usize = 16 << 10;

/// An example that begins with `writer` and `reader`, the input and the output of a child that copies
/// the one to the other.
macro_rules! with_a_child {
    ($($line:literal)*) => {
        concat!(
            "# Examples\n\n",
            "```\n",
            "# use std::process::Stdio;\n",
            "# use rt::process::Command;\n",
            "# #[rt::main(flavor = \"current_thread\")]\n",
            "# async fn main() -> std::io::Result<()> {\n",
            "let mut command = Command::new(\"cat\");\n",
            "let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;\n",
            "let (writer, reader) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());\n",
            $($line, "\n",)*
            "# drop((writer, reader));\n",
            "# child.wait().await?;\n",
            "# Ok(())\n",
            "# }\n",
            "```",
        )
    };
}

/// A child's input, which is written to. The child reads its end once this is dropped.
#[doc = with_a_child!("writer.write_all(b\"hello\").await?;")]
pub struct ChildStdin {
    io: Registration<File>,
}

/// A child's output, which is read from.
#[doc = with_a_child!(
    "writer.write_all(b\"hello\").await?;"
    "let mut greeting = [0; 5];"
    "reader.read_exact(&mut greeting).await?;"
    "assert_eq!(&greeting, b\"hello\");"
)]
pub struct ChildStdout {
    io: Registration<File>,
}

/// A child's error output, which is read from.
pub struct ChildStderr {
    io: Registration<File>,
}

macro_rules! pipes {
    ($($type:ident),*) => {$(
        impl $type {
            /// Takes over a pipe of the standard library, and makes it non-blocking.
            ///
            /// # Errors
            ///
            /// Fails if it cannot be registered with epoll.
            ///
            /// # Panics
            ///
            /// Panics outside a runtime.
            #[track_caller]
            pub fn from_std(inner: process::$type) -> io::Result<Self> {
                let file = pipe::nonblocking(OwnedFd::from(inner).into())?;
                Ok($type {
                    io: Registration::new(file)?,
                })
            }

            /// Leaves the runtime and gives the descriptor back, made blocking.
            ///
            /// # Errors
            ///
            /// Fails, closing the pipe, if it cannot be taken out of epoll or be made blocking.
            pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
                let file = self.io.into_inner()?;
                SockRef::from(&file).set_nonblocking(false)?;
                Ok(file.into())
            }

            pub(crate) fn registration(&self) -> &Registration<File> {
                &self.io
            }
        }

        impl TryFrom<$type> for Stdio {
            type Error = io::Error;

            /// For another child, whose input or output it is to be.
            fn try_from(pipe: $type) -> io::Result<Stdio> {
                pipe.into_owned_fd().map(Stdio::from)
            }
        }

        borrow_impls!($type);
        ready_method!($type, with_a_child);
    )*};
}

macro_rules! outputs {
    ($($type:ident),*) => {$(
        impl $type {
            /// Reads to the end.
            pub(super) async fn read_all(self) -> io::Result<Vec<u8>> {
                let (mut all, mut piece) = (Vec::new(), vec![0; PIECE]);
                loop {
                    match self.read(&mut piece).await? {
                        0 => return Ok(all),
                        read => all.extend_from_slice(&piece[..read]),
                    }
                }
            }
        }

        read_methods!($type, with_a_child);
    )*};
}

pipes!(ChildStdin, ChildStdout, ChildStderr);
write_methods!(ChildStdin, with_a_child);
outputs!(ChildStdout, ChildStderr);

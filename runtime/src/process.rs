//! Child processes.
//!
//! Names and signatures are those of `tokio::process`. A [`Command`] is `std`'s, with a
//! [`spawn`](Command::spawn) that gives a [`Child`] whose end can be awaited and whose pipes are I/O types
//! of this crate.
//!
//! **No child stays behind as a zombie**, whatever is dropped and when: the end of a child is an
//! event of the reactor (a pidfd), and a `Child` that is dropped before it leaves that event to the
//! reactor. No signal handler takes part, so `SIGCHLD` is the program's own. A program that ignores it
//! gives up the exit codes: then waiting fails.
//!
//! # Examples
//!
//! ```
//! use rt::process::Command;
//!
//! # #[rt::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let output = Command::new("echo").arg("hello").output().await?;
//! assert!(output.status.success());
//! assert_eq!(output.stdout, b"hello\n");
//! # Ok(())
//! # }
//! ```

pub use self::child::Child;
pub use self::command::Command;
pub use self::stdio::{ChildStderr, ChildStdin, ChildStdout};

mod child;
mod command;
mod exit;
mod stdio;

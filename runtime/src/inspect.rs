//! A socket that tells what a runtime does, to `rtop` and to scripts.
//!
//! A runtime that is made with [`Builder::inspect`](crate::runtime::Builder::inspect) listens at a path of the file
//! system. The program `rtop` (a package of its own) shows what it hears there as `top` does processes; anything that can write a line to a
//! Unix socket can ask as well:
//!
//! ```text
//! $ echo metrics | socat - UNIX-CONNECT:/run/service/rt.sock
//! {"rt_inspect":1,"process":4711,"runtime":"rt","rt":"0.1.0"}
//! {"at":12.62,"metrics":{"io_threads":2,"cpu_threads":2,"live_tasks":17, ...}}
//! ```
//!
//! Threads of its own serve it, so that it answers also when every worker is stuck, and until the
//! runtime's last thread has ended.
//!
//! # Protocol
//!
//! Lines each way, in UTF-8. The runtime speaks first, and says which [version](VERSION) of this it
//! speaks. Then each line that comes is a request, and each has one answer: one JSON object on one line. Objects may get
//! more fields without a new version.
//!
//! | request | answer |
//! |---|---|
//! | `metrics` | `metrics`: [`RuntimeMetrics`](crate::RuntimeMetrics) |
//! | `dump`, `dump 100` | `dump`: a [`Dump`](crate::Dump) of so many tasks at most, of 10000 unless told otherwise; `left_out`: how many more there are |
//! | `record`, `record 2s`, `record 500ms` | `recording`: what the threads have done in that time until now, as in the file of [`Handle::record_to`](crate::Handle::record_to); needs [`Builder::record`](crate::runtime::Builder::record) |
//! | anything else | `error`: what is wrong with it |
//!
//! `at` is the time of the answer, in seconds since the runtime began to listen. Times are numbers of seconds, but for those
//! that [`RuntimeMetrics`](crate::RuntimeMetrics) has as `Duration`s: `{"secs":0,"nanos":0}`. If
//! tasks are left out of a dump, they are the ones that neither run nor have been busy.
//!
//! # Bounds
//!
//! The path has the mode 0600: who may read it is the user that the process runs as. A request has 256 bytes at most. There may be
//! 32 clients; one more takes the place of the one that has been silent for longest. A client that does not
//! read what it has asked for is left after five seconds, and one that takes a minute for an answer, too.
//!
//! # Cost
//!
//! Nothing for tasks: one thread sleeps until a client comes (a spawn and a join take the same 1080 instructions with it as
//! without). Of the answers, `metrics` takes some 28 µs of CPU time, a `dump` of a thousand tasks 0.7 ms, and one of the 2000
//! busiest of ten thousand 2.8 ms.

use std::path::PathBuf;

use crate::builder::Builder;

mod answer;
mod client;
mod server;
mod socket;

pub(crate) use server::Inspect;

/// The version of the protocol, `rt_inspect` in the first line.
pub const VERSION: u32 = 1;

impl Builder {
    /// Listens at `path`, a Unix socket, for those who want to see what the runtime does: `rtop PATH`, or a script. See
    /// [`inspect`](crate::inspect). Default: it does not.
    ///
    /// The path is gone when the runtime is. What a process that has died has left there is replaced.
    ///
    /// It is an error of [`build`](Builder::build) if another process listens there
    /// ([`AddrInUse`](std::io::ErrorKind::AddrInUse)), if there is something that is not a socket
    /// ([`AlreadyExists`](std::io::ErrorKind::AlreadyExists)), or if the operating system refuses the path.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::{BufRead, BufReader, Write};
    /// use std::os::unix::net::UnixStream;
    ///
    /// let path = std::env::temp_dir().join(format!("rt-inspect-{}.sock", std::process::id()));
    /// let runtime = rt::Runtime::builder().inspect(&path).build()?;
    ///
    /// let mut stream = UnixStream::connect(&path)?;
    /// stream.write_all(b"metrics\n")?;
    /// let lines: Vec<_> = BufReader::new(stream).lines().take(2).collect::<Result<_, _>>()?;
    /// assert!(lines[0].starts_with(r#"{"rt_inspect":1,"#));
    /// assert!(lines[1].contains(r#""live_tasks":0"#));
    ///
    /// drop(runtime);
    /// assert!(!path.exists());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn inspect(mut self, path: impl Into<PathBuf>) -> Self {
        self.inspect = Some(path.into());
        self
    }
}

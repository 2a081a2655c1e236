//! One client: its lines, and what is written to it.

use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::answer::{self, Request};
use super::server::Server;

#[cfg(test)]
mod tests;

/// The longest request.
const LINE: u64 = 256;

/// How long a client may take for reading.
const LIMITS: Limits = Limits {
    write: Duration::from_secs(5),
    answer: Duration::from_secs(60),
};

#[derive(Clone, Copy)]
struct Limits {
    /// What fits into its socket.
    write: Duration,
    /// All of an answer.
    answer: Duration,
}

/// What a client's thread has. It gives its place back when it is dropped.
pub(super) struct Client {
    server: Arc<Server>,
    number: u64,
    stream: Arc<UnixStream>,
}

impl Client {
    pub(super) fn new(server: Arc<Server>, number: u64, stream: Arc<UnixStream>) -> Client {
        Client {
            server,
            number,
            stream,
        }
    }

    pub(super) fn run(self) {
        // Whatever it is, the client is gone or does not read.
        let _gone = self.serve();
    }

    fn serve(&self) -> io::Result<()> {
        answer::hello(&self.server, &mut self.writer()?)?;
        let mut lines = BufReader::new(&*self.stream);
        let mut line = Vec::new();
        loop {
            if !self.server.begin_silence(self.number) {
                break;
            }
            line.clear();
            let read = (&mut lines).take(LINE).read_until(b'\n', &mut line)?;
            if !self.server.end_silence(self.number) {
                break;
            }
            if read == 0 {
                return Ok(());
            }
            if read as u64 == LINE && !line.ends_with(b"\n") {
                let message = format!("a request has {LINE} bytes at most");
                return answer::error(&mut self.writer()?, &message);
            }
            match Request::parse(&line) {
                Ok(request) => request.answer(&self.server, &mut self.writer()?)?,
                Err(message) => answer::error(&mut self.writer()?, &message)?,
            }
        }
        if !self.server.is_over() {
            refuse(&self.stream, "another client has come and taken the place");
        }
        Ok(())
    }

    fn writer(&self) -> io::Result<BufWriter<Limited<'_>>> {
        LIMITS.writer(&self.stream)
    }
}

impl Limits {
    /// For one answer.
    fn writer(self, stream: &UnixStream) -> io::Result<BufWriter<Limited<'_>>> {
        stream.set_write_timeout(Some(self.write))?;
        Ok(BufWriter::new(Limited {
            stream,
            begun: Instant::now(),
            limit: self.answer,
            over: false,
        }))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.server.remove(self.number);
        // A forked child may have the connection too: closing it would not end it.
        let _gone = self.stream.shutdown(Shutdown::Both);
    }
}

/// A client's end of the line, for one answer.
struct Limited<'a> {
    stream: &'a UnixStream,
    begun: Instant,
    limit: Duration,
    /// It has failed: the buffer in front of it tries again when it is dropped, which may last as long once more.
    over: bool,
}

impl Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.over || self.begun.elapsed() > self.limit {
            return Err(ErrorKind::TimedOut.into());
        }
        let result = self.stream.write(bytes);
        let failed = |error: &io::Error| error.kind() != ErrorKind::Interrupted;
        self.over = result.as_ref().is_err_and(failed);
        result
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Says why there is no answer, if that can be done without waiting.
pub(super) fn refuse(stream: &UnixStream, why: &str) {
    if stream.set_nonblocking(true).is_ok() {
        let _not_heard = answer::error(&mut &*stream, why);
    }
}

//! The connection, and one look at the runtime.

use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::model::{Dump, Hello, Metrics};

/// The version of the protocol that is spoken here.
const VERSION: u32 = 1;

/// How many tasks are asked for: more can hardly be looked at, and a million would take a second.
pub const TASKS: usize = 2000;

/// A runtime answers at once, unless its process is stopped or hangs.
const SILENCE: Duration = Duration::from_secs(10);

/// More than a runtime's first line has; whatever else listens there may not end its lines.
const FIRST_LINE: u64 = 1 << 16;

/// A connection to a runtime.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    hello: Hello,
}

/// What a runtime has told at one moment.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// When, in seconds of the runtime's own.
    pub at: f64,
    /// Its counters.
    pub metrics: Metrics,
    /// Its tasks.
    pub dump: Dump,
    /// Tasks that were too many to be told.
    pub left_out: u64,
}

#[derive(Deserialize)]
struct MetricsAnswer {
    metrics: Metrics,
}

#[derive(Deserialize)]
struct DumpAnswer {
    at: f64,
    dump: Dump,
    left_out: u64,
}

#[derive(Deserialize)]
struct RecordingAnswer {
    recording: Box<RawValue>,
}

#[derive(Deserialize)]
struct ErrorAnswer {
    error: String,
}

impl Client {
    /// Connects to the socket at `path`.
    ///
    /// # Errors
    ///
    /// If nobody listens there, it is no runtime, or it speaks another version of the protocol.
    pub fn connect(path: &Path) -> Result<Client, Error> {
        let stream = UnixStream::connect(path).map_err(|error| Error::connect(path, &error))?;
        let limit = Some(SILENCE);
        let limits =
            (stream.set_read_timeout(limit)).and_then(|()| stream.set_write_timeout(limit));
        limits.map_err(|error| Error::broken(&error))?;
        let mut stream = BufReader::new(stream);
        let line = read_line(&mut (&mut stream).take(FIRST_LINE))?;
        if let Ok(refusal) = serde_json::from_str::<ErrorAnswer>(&line) {
            return Err(Error(format!("the runtime says: {}", refusal.error)));
        }
        let Ok(hello) = serde_json::from_str::<Hello>(&line) else {
            let message = format!("what listens at {} is not an `rt` runtime", path.display());
            return Err(Error(message));
        };
        if hello.rt_inspect != VERSION {
            return Err(Error(format!(
                "the runtime speaks version {} of the protocol, and this `rtop` version {VERSION}: take the one of the same release",
                hello.rt_inspect
            )));
        }
        Ok(Client { stream, hello })
    }

    /// Which runtime it is.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Asks for all that is shown.
    ///
    /// # Errors
    ///
    /// If the connection is gone, or the runtime silent.
    pub fn look(&mut self) -> Result<Look, Error> {
        let request = format!("metrics\ndump {TASKS}\n");
        let asked = self.stream.get_mut().write_all(request.as_bytes());
        asked.map_err(|error| Error::broken(&error))?;
        let metrics: MetricsAnswer = self.answer()?;
        let dump: DumpAnswer = self.answer()?;
        Ok(Look {
            at: dump.at,
            metrics: metrics.metrics,
            dump: dump.dump,
            left_out: dump.left_out,
        })
    }

    /// Asks for a recording of what the threads have done in the last `time`, in the Chrome trace format.
    ///
    /// # Errors
    ///
    /// If the runtime is not recorded, the connection is gone, or the runtime silent.
    pub fn recording(&mut self, time: Duration) -> Result<String, Error> {
        let request = format!("record {}ms\n", time.as_millis());
        let asked = self.stream.get_mut().write_all(request.as_bytes());
        asked.map_err(|error| Error::broken(&error))?;
        let answer: RecordingAnswer = self.answer()?;
        Ok(answer.recording.get().to_owned())
    }

    fn answer<T: DeserializeOwned>(&mut self) -> Result<T, Error> {
        let line = read_line(&mut self.stream)?;
        serde_json::from_str(&line).map_err(|unexpected| {
            match serde_json::from_str::<ErrorAnswer>(&line) {
                Ok(answer) => Error(format!("the runtime says: {}", answer.error)),
                Err(_) => Error(format!("not an answer: {unexpected}")),
            }
        })
    }
}

fn read_line(stream: &mut impl BufRead) -> Result<String, Error> {
    let mut line = String::new();
    match stream.read_line(&mut line) {
        Ok(0) => Err(Error("the runtime has ended".to_owned())),
        Ok(_) => Ok(line),
        Err(error) => Err(Error::broken(&error)),
    }
}

/// Why there is nothing to show, in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(pub(crate) String);

impl Error {
    fn connect(path: &Path, error: &io::Error) -> Error {
        let is_socket = fs::metadata(path).is_ok_and(|there| there.file_type().is_socket());
        let path = path.display();
        Error(match error.kind() {
            io::ErrorKind::NotFound => format!("there is no socket at {path}"),
            io::ErrorKind::ConnectionRefused if is_socket => {
                format!("nobody listens at {path}: its process has ended")
            }
            io::ErrorKind::ConnectionRefused => format!("{path} is not a socket"),
            _ => format!("{path}: {error}"),
        })
    }

    fn broken(error: &io::Error) -> Error {
        Error(match error.kind() {
            io::ErrorKind::WouldBlock => {
                let seconds = SILENCE.as_secs();
                format!("no answer for {seconds} seconds: the process is stopped, or hangs")
            }
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                "the runtime has ended".to_owned()
            }
            io::ErrorKind::InvalidData => "what listens there is not an `rt` runtime".to_owned(),
            _ => format!("the connection is broken: {error}"),
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

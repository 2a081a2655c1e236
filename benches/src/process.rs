//! A child process and the conversation with it (see `control.rs`).

use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// A child that says nothing for this long hangs. Generous: it only has to be finite.
const PATIENCE: Duration = Duration::from_secs(90);

/// Why a run has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The process could not be started or looked at.
    System(io::Error),
    /// It ended, by a panic for example.
    Ended,
    /// It said nothing for a long time.
    Silent,
    /// It said something that was not expected.
    Unexpected(String),
    /// Its sum is not what the work adds up to.
    WrongSum { found: u64, wanted: u64 },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::System(error) => write!(f, "{error}"),
            Failure::Ended => write!(f, "ended without a result"),
            Failure::Silent => write!(f, "hung for {} s", PATIENCE.as_secs()),
            Failure::Unexpected(line) => write!(f, "said {line:?}"),
            Failure::WrongSum { found, wanted } => write!(f, "wrong sum {found}, not {wanted}"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::System(error)
    }
}

/// What a child found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) sum: u64,
    pub(crate) values: Vec<f64>,
}

impl Found {
    /// The values, if the sum is right.
    pub(crate) fn checked(self, wanted: u64) -> Result<Vec<f64>, Failure> {
        if self.sum == wanted {
            Ok(self.values)
        } else {
            Err(Failure::WrongSum {
                found: self.sum,
                wanted,
            })
        }
    }
}

/// A running child. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    /// Filled by a thread, as a pipe cannot be read with a time limit.
    lines: Receiver<String>,
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Result<Process, Failure> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked to be pipes");
        };
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Process {
            child,
            input,
            lines,
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that begins with `word`, and gives the rest of it.
    pub(crate) fn expect(&mut self, word: &str) -> Result<String, Failure> {
        let line = self
            .lines
            .recv_timeout(PATIENCE)
            .map_err(|error| match error {
                RecvTimeoutError::Timeout => Failure::Silent,
                RecvTimeoutError::Disconnected => Failure::Ended,
            })?;
        match line.strip_prefix(word) {
            Some(rest) => Ok(rest.trim().to_owned()),
            None => Err(Failure::Unexpected(line)),
        }
    }

    /// Waits for a result.
    pub(crate) fn result(&mut self) -> Result<Found, Failure> {
        let line = self.expect("result")?;
        found(&line).ok_or(Failure::Unexpected(line))
    }

    /// Asks a server how many pieces of work it has finished.
    pub(crate) fn count(&mut self) -> Result<u64, Failure> {
        self.nudge()?;
        let line = self.expect("count")?;
        line.parse().map_err(|_| Failure::Unexpected(line))
    }

    /// Says an empty line.
    pub(crate) fn nudge(&mut self) -> Result<(), Failure> {
        self.input.write_all(b"\n")?;
        Ok(self.input.flush()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads `SUM VALUE…`.
fn found(line: &str) -> Option<Found> {
    let mut words = line.split_whitespace();
    let sum = words.next()?.parse().ok()?;
    let values = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    Some(Found { sum, values })
}

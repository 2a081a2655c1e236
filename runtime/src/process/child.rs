//! A child process.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::process::{self, ExitStatus, Output};
use std::sync::Arc;
use std::task::{Context, Poll};

use rt_reactor::{Process, Reactor};

use super::exit::Exit;
use super::stdio::{ChildStderr, ChildStdin, ChildStdout};

/// A child process. Made by [`Command::spawn`](super::Command::spawn).
///
/// Dropping it neither ends the process nor leaves a zombie, unless
/// [`kill_on_drop`](super::Command::kill_on_drop) is set: then it is killed.
///
/// # Examples
///
/// ```
/// use rt::process::Command;
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let mut child = Command::new("true").spawn()?;
/// assert!(child.wait().await?.success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Child {
    /// Writes to the process's input, if it is a pipe.
    pub stdin: Option<ChildStdin>,
    /// Reads the process's output, if it is a pipe.
    pub stdout: Option<ChildStdout>,
    /// Reads the process's error output, if it is a pipe.
    pub stderr: Option<ChildStderr>,
    exit: Exit,
    kill_on_drop: bool,
    /// It is no child of this process's own children.
    parent: Process,
}

impl Child {
    /// Takes over a child that has just been started. On an error it is killed.
    pub(super) fn adopt(
        mut child: process::Child,
        reactor: &Arc<Reactor>,
        kill_on_drop: bool,
    ) -> io::Result<Child> {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let exit = Exit::watch(child, reactor)?;
        // From here on the drop sees to the process, whatever fails.
        let mut child = Child {
            stdin: None,
            stdout: None,
            stderr: None,
            exit,
            kill_on_drop: true,
            parent: Process::current(),
        };
        child.stdin = stdin.map(ChildStdin::from_std).transpose()?;
        child.stdout = stdout.map(ChildStdout::from_std).transpose()?;
        child.stderr = stderr.map(ChildStderr::from_std).transpose()?;
        child.kill_on_drop = kill_on_drop;
        Ok(child)
    }

    /// The process's number; `None` once it has been waited for, as the number may be another's then.
    pub fn id(&self) -> Option<u32> {
        self.exit.id()
    }

    /// Kills the process (SIGKILL) and waits for its end.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it has been waited for; else those of `kill`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the signal is sent by the first poll.
    pub async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await.map(drop)
    }

    /// Kills the process (SIGKILL) without waiting for its end.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it has been waited for; else those of `kill`.
    pub fn start_kill(&mut self) -> io::Result<()> {
        self.exit.kill()
    }

    /// Waits for the process's end. Its input, if it is still here, is closed before: a process that
    /// reads to the end of it would never end.
    ///
    /// Asked again, it says the same.
    ///
    /// # Errors
    ///
    /// If the runtime is shut down; or if something else has waited for the process, as with `SIGCHLD`
    /// ignored.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        poll_fn(|cx| self.exit.poll_wait(cx)).await
    }

    /// Whether the process has ended, and how. It never waits, and leaves the input open.
    ///
    /// # Errors
    ///
    /// Those of `waitpid`.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.exit.try_wait()
    }

    /// Waits for the process's end and collects what it writes meanwhile to the pipes that are still here.
    ///
    /// The input is closed before. A grandchild that has inherited the pipes keeps this waiting.
    ///
    /// # Errors
    ///
    /// Those of [`wait`](Child::wait) and of reading the pipes.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: what has been read is lost, and the child is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::process::Stdio;
    ///
    /// use rt::process::Command;
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    /// let input = child.stdin.take().unwrap();
    /// input.write_all(b"hello").await?;
    /// drop(input);
    /// assert_eq!(child.wait_with_output().await?.stdout, b"hello");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        let stdout = async {
            match stdout {
                Some(stdout) => stdout.read_all().await,
                None => Ok(Vec::new()),
            }
        };
        let stderr = async {
            match stderr {
                Some(stderr) => stderr.read_all().await,
                None => Ok(Vec::new()),
            }
        };
        // All at once: a process that waits for one full pipe does not fill the other.
        let (status, stdout, stderr) = (pin!(self.wait()), pin!(stdout), pin!(stderr));
        let mut status = Part::new(status);
        let mut stdout = Part::new(stdout);
        let mut stderr = Part::new(stderr);
        poll_fn(|cx| {
            let ready = [status.poll(cx)?, stdout.poll(cx)?, stderr.poll(cx)?];
            if ready.contains(&false) {
                return Poll::Pending;
            }
            Poll::Ready(io::Result::Ok(()))
        })
        .await?;
        Ok(Output {
            status: status.into_inner(),
            stdout: stdout.into_inner(),
            stderr: stderr.into_inner(),
        })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.kill_on_drop && self.exit.id().is_some() && !self.parent.is_left() {
            // It may have ended by itself. What is left is the drop of `exit`.
            let _ = self.exit.kill();
        }
    }
}

/// One of several futures that are awaited together.
struct Part<'a, F, T> {
    future: Pin<&'a mut F>,
    value: Option<T>,
}

impl<'a, F: Future<Output = io::Result<T>>, T> Part<'a, F, T> {
    fn new(future: Pin<&'a mut F>) -> Self {
        Part {
            future,
            value: None,
        }
    }

    /// Whether its value is there.
    fn poll(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        if self.value.is_none()
            && let Poll::Ready(value) = self.future.as_mut().poll(cx)
        {
            self.value = Some(value?);
        }
        Ok(self.value.is_some())
    }

    fn into_inner(self) -> T {
        self.value.expect("all parts are there")
    }
}

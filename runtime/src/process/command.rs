//! What is to be run, and how.

#![expect(unsafe_code, reason = "`pre_exec` is `std`'s, and as unsafe")]

use std::ffi::OsStr;
use std::future::Future;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, ExitStatus, Output, Stdio};

use super::child::Child;
use crate::context;

/// A program to run, with its arguments and surroundings; as [`std::process::Command`].
///
/// # Examples
///
/// ```
/// use rt::process::Command;
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let status = Command::new("test").args(["-d", "/proc"]).status().await?;
/// assert!(status.success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Command {
    std: process::Command,
    kill_on_drop: bool,
}

impl Command {
    /// A program by its path, or by a name that is looked for in `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Command {
        process::Command::new(program).into()
    }

    /// As the standard library has it.
    pub fn as_std(&self) -> &process::Command {
        &self.std
    }

    /// As the standard library has it, to be changed.
    pub fn as_std_mut(&mut self) -> &mut process::Command {
        &mut self.std
    }

    /// The command of the standard library.
    pub fn into_std(self) -> process::Command {
        self.std
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Command {
        self.std.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args<I, S>(&mut self, args: I) -> &mut Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.std.args(args);
        self
    }

    /// Sets the name by which the program is told that it was called. Default: its path.
    pub fn arg0(&mut self, arg: impl AsRef<OsStr>) -> &mut Command {
        self.std.arg0(arg);
        self
    }

    /// Sets an environment variable.
    pub fn env(&mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Command {
        self.std.env(key, value);
        self
    }

    /// Sets environment variables.
    pub fn envs<I, K, V>(&mut self, vars: I) -> &mut Command
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.envs(vars);
        self
    }

    /// Removes an environment variable, an inherited one too.
    pub fn env_remove(&mut self, key: impl AsRef<OsStr>) -> &mut Command {
        self.std.env_remove(key);
        self
    }

    /// Removes all environment variables, and inherits none.
    pub fn env_clear(&mut self) -> &mut Command {
        self.std.env_clear();
        self
    }

    /// Sets the folder to run in. Default: this process's.
    pub fn current_dir(&mut self, dir: impl AsRef<Path>) -> &mut Command {
        self.std.current_dir(dir);
        self
    }

    /// Where the input comes from. Default: inherited.
    pub fn stdin(&mut self, stdin: impl Into<Stdio>) -> &mut Command {
        self.std.stdin(stdin);
        self
    }

    /// Where the output goes. Default: inherited; a new pipe for [`output`](Command::output).
    pub fn stdout(&mut self, stdout: impl Into<Stdio>) -> &mut Command {
        self.std.stdout(stdout);
        self
    }

    /// Where the error output goes. Default: inherited; a new pipe for [`output`](Command::output).
    pub fn stderr(&mut self, stderr: impl Into<Stdio>) -> &mut Command {
        self.std.stderr(stderr);
        self
    }

    /// Whether the process is killed when its [`Child`] is dropped before it has been waited for, or
    /// the future of [`status`](Command::status) or [`output`](Command::output) is. Default: no.
    pub fn kill_on_drop(&mut self, kill_on_drop: bool) -> &mut Command {
        self.kill_on_drop = kill_on_drop;
        self
    }

    /// Whether [`kill_on_drop`](Command::kill_on_drop) is set.
    pub fn get_kill_on_drop(&self) -> bool {
        self.kill_on_drop
    }

    /// Runs as another user.
    pub fn uid(&mut self, id: u32) -> &mut Command {
        self.std.uid(id);
        self
    }

    /// Runs in another group of users.
    pub fn gid(&mut self, id: u32) -> &mut Command {
        self.std.gid(id);
        self
    }

    /// Puts the process into a process group; zero is one of its own, which Ctrl-C does not reach.
    pub fn process_group(&mut self, group: i32) -> &mut Command {
        self.std.process_group(group);
        self
    }

    /// Runs a closure in the child, before the program.
    ///
    /// # Safety
    ///
    /// As for [`CommandExt::pre_exec`]: the closure runs in a fork of this process, whose other threads are
    /// gone with whatever they held, so it may do little more than system calls.
    pub unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Command
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static,
    {
        // SAFETY: the caller keeps to the contract, which is the same.
        unsafe { self.std.pre_exec(f) };
        self
    }

    /// Starts the program.
    ///
    /// # Errors
    ///
    /// If it cannot be started; or if the process has no descriptors left to watch it, in which case it
    /// has been started, and is killed.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    #[track_caller]
    pub fn spawn(&mut self) -> io::Result<Child> {
        let reactor = context::reactor();
        Child::adopt(self.std.spawn()?, &reactor, self.kill_on_drop)
    }

    /// Starts the program at once, and waits for its end. Pipes are closed before.
    ///
    /// # Errors
    ///
    /// Those of [`spawn`](Command::spawn) and [`Child::wait`].
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the process goes on, unless
    /// [`kill_on_drop`](Command::kill_on_drop) is set.
    #[track_caller]
    pub fn status(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + use<> {
        let child = self.spawn();
        async {
            let mut child = child?;
            // Else a process that writes to them, or reads, would wait for ever.
            drop((child.stdin.take(), child.stdout.take(), child.stderr.take()));
            child.wait().await
        }
    }

    /// Starts the program at once, waits for its end, and collects what it writes. Its outputs are pipes,
    /// whatever has been set; its input is inherited, unless that has been set.
    ///
    /// # Errors
    ///
    /// Those of [`spawn`](Command::spawn) and [`Child::wait_with_output`].
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, what has been read is lost; the process goes on, unless
    /// [`kill_on_drop`](Command::kill_on_drop) is set.
    #[track_caller]
    pub fn output(&mut self) -> impl Future<Output = io::Result<Output>> + use<> {
        self.std.stdout(Stdio::piped());
        self.std.stderr(Stdio::piped());
        let child = self.spawn();
        async { child?.wait_with_output().await }
    }
}

impl From<process::Command> for Command {
    fn from(std: process::Command) -> Command {
        Command {
            std,
            kill_on_drop: false,
        }
    }
}

//! Any signal, by its kind.

use std::ffi::c_int;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};

use rt_reactor::Direction;

use crate::io::Registration;
use crate::sys::signal::Listening;

/// A kind of signal.
///
/// # Examples
///
/// ```
/// use rt::signal::unix::SignalKind;
///
/// assert_eq!(SignalKind::interrupt(), SignalKind::from_raw(2));
/// assert_eq!(SignalKind::terminate().as_raw_value(), 15);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SignalKind(c_int);

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident = $signal:ident;)*) => {
        impl SignalKind {
            $($(#[doc = $doc])+ pub const fn $name() -> Self {
                SignalKind(libc::$signal)
            })*
        }
    };
}

kinds! {
    /// SIGALRM: a timer of the kernel's has run out. Ends the process by default.
    alarm = SIGALRM;
    /// SIGCHLD: a child process has stopped, continued or ended. Ignored by default.
    child = SIGCHLD;
    /// SIGHUP: the terminal is gone. Ends the process by default; a server often reloads its
    /// configuration instead.
    hangup = SIGHUP;
    /// SIGINT: Ctrl-C. Ends the process by default.
    interrupt = SIGINT;
    /// SIGIO: a descriptor that asked for signals is ready. Ends the process by default.
    io = SIGIO;
    /// SIGPIPE: a write to a pipe that nobody reads. Rust programs ignore it from their start.
    pipe = SIGPIPE;
    /// SIGQUIT: Ctrl-\\. Ends the process with a core dump by default.
    quit = SIGQUIT;
    /// SIGTERM: the process is asked to end. Ends it by default.
    terminate = SIGTERM;
    /// SIGUSR1: means what the program says. Ends the process by default.
    user_defined1 = SIGUSR1;
    /// SIGUSR2: means what the program says. Ends the process by default.
    user_defined2 = SIGUSR2;
    /// SIGWINCH: the terminal has changed its size. Ignored by default.
    window_change = SIGWINCH;
}

impl SignalKind {
    /// The signal with this number, real-time ones included. Whether there is such a signal is
    /// found out when it is listened to.
    pub const fn from_raw(signum: c_int) -> Self {
        SignalKind(signum)
    }

    /// The signal's number.
    pub const fn as_raw_value(&self) -> c_int {
        self.0
    }
}

impl From<c_int> for SignalKind {
    fn from(signum: c_int) -> Self {
        SignalKind::from_raw(signum)
    }
}

impl From<SignalKind> for c_int {
    fn from(kind: SignalKind) -> c_int {
        kind.as_raw_value()
    }
}

/// Begins to listen to a signal.
///
/// From here on the signal no longer does what it did before, whether or not anybody awaits it, until
/// the last listener of this kind is dropped.
///
/// # Errors
///
/// * [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no such signal, or nobody may wait for
///   it: SIGKILL, SIGSTOP, and the faults SIGSEGV, SIGBUS, SIGFPE and SIGILL.
/// * The operating system's, if there are no file descriptors left.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Examples
///
/// Reload at each SIGHUP:
///
/// ```no_run
/// use rt::signal::unix::{SignalKind, signal};
///
/// # #[rt::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut hangups = signal(SignalKind::hangup())?;
/// while hangups.recv().await.is_some() {
///     println!("reading the configuration again");
/// }
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    let (listening, edges) = Listening::new(kind.0)?;
    let edges = Registration::new(edges)?;
    Ok(Signal { listening, edges })
}

/// A listener of one kind of signal. Made by [`signal`].
///
/// Signals that come while nobody awaits them are not lost, but are told as one.
pub struct Signal {
    listening: Listening,
    edges: Registration<OwnedFd>,
}

impl Signal {
    /// Waits until the signal has come since this was last called, or since the listener was made.
    /// `None` once the runtime has shut down.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: an arrival that was not returned is returned by the next call.
    ///
    /// # Examples
    ///
    /// ```
    /// use rt::signal::unix::{SignalKind, signal};
    ///
    /// # #[rt::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut signals = signal(SignalKind::user_defined1())?;
    /// let kill = format!("kill -USR1 {}", std::process::id());
    /// std::process::Command::new("sh").arg("-c").arg(kill).status()?;
    /// assert!(signals.recv().await.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn recv(&mut self) -> Option<()> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// As [`recv`](Signal::recv), for a hand-written future.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        self.poll_arrival(cx).map(Result::ok)
    }

    pub(super) async fn arrival(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_arrival(cx)).await
    }

    fn poll_arrival(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Signal { listening, edges } = self;
        edges.poll_io(cx, Direction::Read, |_| {
            if listening.take() {
                Ok(())
            } else {
                Err(io::ErrorKind::WouldBlock.into())
            }
        })
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal")
            .field("kind", &SignalKind(self.listening.signal()))
            .finish_non_exhaustive()
    }
}

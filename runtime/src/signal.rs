//! Signals of the operating system, as something to wait for.
//!
//! [`ctrl_c`] waits for one Ctrl-C. [`unix::signal`] listens to any signal, from the call on, for as
//! long as its [`Signal`](unix::Signal) lives.
//!
//! * **Signals coalesce.** A listener is told that its signal has come, not how often: several that
//!   come before it looks are one. This is the kernel's rule for signals in general.
//! * **Every listener is told**, in any number, on any runtime of the process; and so is a handler
//!   that other code had installed before.
//! * **The old behaviour comes back** when the last listener of a signal is dropped. A program that
//!   waits for Ctrl-C once is killed by the second; one that a `nohup` shields from hang-ups is
//!   shielded again. A signal that is on its way just then counts as coming after.

pub mod unix;

use std::io;

use self::unix::{SignalKind, signal};

/// Waits for one Ctrl-C (SIGINT).
///
/// It listens from the first poll until the future is dropped or done; outside of that, Ctrl-C does
/// what it did before, which for most programs is to end them. A program that handles several keeps
/// one listener: [`unix::signal`] with [`SignalKind::interrupt`].
///
/// # Errors
///
/// If the process has no file descriptors left, or the runtime shuts down.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Cancel safe: dropping the future ends the listening. A Ctrl-C that came meanwhile is forgotten.
///
/// # Examples
///
/// ```no_run
/// #[rt::main]
/// async fn main() -> std::io::Result<()> {
///     println!("running until Ctrl-C; a second one kills");
///     rt::signal::ctrl_c().await?;
///     println!("ending");
///     Ok(())
/// }
/// ```
pub async fn ctrl_c() -> io::Result<()> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    interrupts.arrival().await
}

//! Counts the system calls of another process, for the question "is it really idle?".
//!
//! Context switches would miss calls that do not block, and `strace` may not be installed, so the
//! threads are traced with `ptrace`. Attaching interrupts each thread's wait once, which makes a
//! runtime look round and wait again; what happens in a settling time is therefore not counted.
//!
//! The tracer is a thread of its own. With its end the kernel lets go of every thread that could not be let
//! go of by then; else such a thread would never be reaped, nor the process that it belongs to.
//!
//! **Bounds**: threads that the process starts while it is traced are not counted. The calling process
//! must be an ancestor of the traced one, or privileged.

use std::io;
use std::panic::resume_unwind;
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use super::check;
use crate::proc;

#[cfg(test)]
mod tests;

/// How often stopped threads are looked for. A busy process is slowed by the tracing, not its count.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// The number of system calls that process `pid` begins in `window`, after `settle`.
pub(crate) fn syscalls(pid: u32, settle: Duration, window: Duration) -> io::Result<u64> {
    let counted = thread::scope(|scope| scope.spawn(|| count(pid, settle, window)).join());
    counted.unwrap_or_else(|panic| resume_unwind(panic))
}

fn count(pid: u32, settle: Duration, window: Duration) -> io::Result<u64> {
    let tracees = Tracees::attach(pid)?;
    tracees.stops_until(Instant::now() + settle)?;
    let stops = tracees.stops_until(Instant::now() + window)?;
    // A call stops its thread twice, at entry and at exit.
    Ok(stops.div_ceil(2))
}

/// Threads that are being traced; let go when dropped.
struct Tracees {
    threads: Vec<libc::pid_t>,
}

impl Tracees {
    fn attach(pid: u32) -> io::Result<Tracees> {
        let mut tracees = Tracees {
            threads: Vec::new(),
        };
        for thread in proc::threads(pid) {
            let thread = thread as libc::pid_t;
            trace(
                libc::PTRACE_SEIZE,
                thread,
                libc::PTRACE_O_TRACESYSGOOD as usize,
            )?;
            tracees.threads.push(thread);
            trace(libc::PTRACE_INTERRUPT, thread, 0)?;
        }
        Ok(tracees)
    }

    /// Lets the threads run, and counts their stops at system calls until `end`.
    fn stops_until(&self, end: Instant) -> io::Result<u64> {
        let mut stops = 0;
        while Instant::now() < end {
            let mut found = false;
            for &thread in &self.threads {
                if let Some(signal) = stopped(thread)? {
                    found = true;
                    let at_call = signal == libc::SIGTRAP | 0x80;
                    stops += u64::from(at_call);
                    // A stop of the tracing itself carries SIGTRAP; a real signal is passed on.
                    let pass = if at_call || signal == libc::SIGTRAP {
                        0
                    } else {
                        signal
                    };
                    trace(libc::PTRACE_SYSCALL, thread, pass as usize)?;
                }
            }
            if !found {
                thread::sleep(LOOK_EVERY);
            }
        }
        Ok(stops)
    }
}

impl Drop for Tracees {
    fn drop(&mut self) {
        // Detaching works only on a stopped thread. One that is not stopped by then is let go of when this
        // thread ends.
        for &thread in &self.threads {
            let _ = trace(libc::PTRACE_INTERRUPT, thread, 0);
        }
        thread::sleep(Duration::from_millis(5));
        for &thread in &self.threads {
            if matches!(stopped(thread), Ok(Some(_))) {
                let _ = trace(libc::PTRACE_DETACH, thread, 0);
            }
        }
    }
}

fn trace(request: libc::c_uint, thread: libc::pid_t, data: usize) -> io::Result<()> {
    let none = ptr::null_mut::<libc::c_void>();
    // SAFETY: none of the requests made here reads or writes memory through its arguments: they take
    // options, a signal number, or nothing.
    match unsafe { libc::ptrace(request, thread, none, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The signal that a traced thread is stopped with, if it has stopped since it was last let run.
fn stopped(thread: libc::pid_t) -> io::Result<Option<libc::c_int>> {
    let mut status = 0;
    // SAFETY: `status` lives through the call.
    let found =
        check(unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | libc::WNOHANG) })?;
    Ok((found == thread && libc::WIFSTOPPED(status)).then(|| libc::WSTOPSIG(status)))
}

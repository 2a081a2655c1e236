//! Children that are forked and go on with the same program.

#![expect(unsafe_code, reason = "fork has no safe form")]

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The kernel ends a child that still runs after so many seconds.
const LIMIT: u32 = 60;

/// Forks, and runs `body` in the child, which ends with it.
///
/// To be called in a process of the test's own ([`alone`](crate::alone)): the child has a copy of
/// all that other tests were doing.
///
/// # Panics
///
/// If `body` panics or hangs in the child, or there is none.
#[track_caller]
pub fn in_child(body: impl FnOnce()) {
    let Some(child) = fork() else {
        let ended = catch_unwind(AssertUnwindSafe(body));
        // SAFETY: ends the child at once: its other threads, and what their ends would touch, are
        // not there.
        unsafe { libc::_exit(i32::from(ended.is_err())) }
    };
    assert_eq!(wait(child), Ok(0), "the child's end");
}

/// Forks, and returns in both: `Some` in the parent, with what waits for the child's end and gives its
/// exit code, or else the signal that ended it.
pub fn lives_on_as_child() -> Option<impl FnOnce() -> Result<i32, i32>> {
    fork().map(|child| move || wait(child))
}

/// `None` in the child.
fn fork() -> Option<libc::pid_t> {
    // SAFETY: the child is a copy of this thread alone; what it may do is what the tests are about,
    // and glibc keeps its allocator usable.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", io::Error::last_os_error());
    if child > 0 {
        return Some(child);
    }
    // SAFETY: takes no pointer. What hangs is ended.
    unsafe { libc::alarm(LIMIT) };
    None
}

fn wait(child: libc::pid_t) -> Result<i32, i32> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for the one `int` that the call writes.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        if waited == child {
            break;
        }
        let error = io::Error::last_os_error();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted, "{error}");
    }
    if libc::WIFEXITED(status) {
        return Ok(libc::WEXITSTATUS(status));
    }
    Err(libc::WTERMSIG(status))
}

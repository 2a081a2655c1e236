//! System calls that `rt` makes itself, beside those of the reactor.
//!
//! Each file wraps one kind of call. A descriptor is an `OwnedFd` from its first line and is never
//! inherited by a child program; every return code is checked.

#![expect(unsafe_code, reason = "these modules call libc")]

use std::io;

use libc::c_int;

pub(crate) mod priority;
pub(crate) mod signal;

/// The result of a call that returns -1 on failure.
fn check(code: c_int) -> io::Result<c_int> {
    if code == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(code)
}

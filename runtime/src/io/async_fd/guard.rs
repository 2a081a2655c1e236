//! What was seen of a descriptor, and the operation that may disprove it.

use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::AsFd;

use super::AsyncFd;
use crate::io::{Interest, Ready};

/// A descriptor that was ready: see [`AsyncFd::readable`].
///
/// The readiness lasts until it is cleared: by [`try_io`](Self::try_io), whose operation would have
/// blocked, or by [`clear_ready`](Self::clear_ready). An event that came after the guard is not cleared.
#[must_use = "the readiness lasts until an operation through the guard has found otherwise"]
pub struct AsyncFdReadyGuard<'a, T: AsFd> {
    fd: &'a AsyncFd<T>,
    ready: rt_reactor::Ready,
    interest: Interest,
}

/// As [`AsyncFdReadyGuard`], with the right to change the owner of the descriptor: see
/// [`AsyncFd::readable_mut`].
#[must_use = "the readiness lasts until an operation through the guard has found otherwise"]
pub struct AsyncFdReadyMutGuard<'a, T: AsFd> {
    fd: &'a mut AsyncFd<T>,
    ready: rt_reactor::Ready,
    interest: Interest,
}

macro_rules! guard {
    ($guard:ident, $reference:ty, $argument:ty) => {
        impl<'a, T: AsFd> $guard<'a, T> {
            pub(super) fn new(
                fd: $reference,
                ready: rt_reactor::Ready,
                interest: Interest,
            ) -> Self {
                $guard {
                    fd,
                    ready,
                    interest,
                }
            }

            /// What the descriptor was ready for.
            pub fn ready(&self) -> Ready {
                self.ready.into()
            }

            /// Says that the descriptor is not ready after all, as a call on it has just shown.
            ///
            /// Without such a call a waiting task might never be woken: there is no new event for
            /// what is there already.
            pub fn clear_ready(&mut self) {
                self.fd.io.clear_would_block(self.ready, self.interest);
            }

            /// As [`clear_ready`](Self::clear_ready), for the directions of `ready` alone, of those that
            /// the guard was waited for with.
            pub fn clear_ready_matching(&mut self, ready: Ready) {
                let directions = [
                    (ready.is_readable(), Interest::READABLE),
                    (ready.is_writable(), Interest::WRITABLE),
                ];
                for (matches, interest) in directions {
                    if matches && self.interest.add(interest) == self.interest {
                        self.fd.io.clear_would_block(self.ready, interest);
                    }
                }
            }

            /// Does nothing: the readiness stays. It says so to the reader of the code.
            pub fn retain_ready(&mut self) {}

            /// Runs an operation, and clears the readiness if it says
            /// [`WouldBlock`](io::ErrorKind::WouldBlock), which it must do only if a call on this
            /// descriptor did.
            ///
            /// # Errors
            ///
            /// [`TryIoError`] if the operation would have blocked: wait again. What else it returns is
            /// inside the `Ok`.
            pub fn try_io<R>(
                &mut self,
                op: impl FnOnce($argument) -> io::Result<R>,
            ) -> Result<io::Result<R>, TryIoError> {
                let result = op(self.fd);
                match result {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.clear_ready();
                        Err(TryIoError(()))
                    }
                    result => Ok(result),
                }
            }
        }

        impl<T: AsFd + fmt::Debug> fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($guard))
                    .field("fd", &self.fd)
                    .field("ready", &self.ready())
                    .finish()
            }
        }
    };
}

guard!(AsyncFdReadyGuard, &'a AsyncFd<T>, &'a AsyncFd<T>);
guard!(AsyncFdReadyMutGuard, &'a mut AsyncFd<T>, &mut AsyncFd<T>);

impl<'a, T: AsFd> AsyncFdReadyGuard<'a, T> {
    /// The descriptor.
    pub fn get_ref(&self) -> &'a AsyncFd<T> {
        self.fd
    }

    /// The owner of the descriptor.
    pub fn get_inner(&self) -> &'a T {
        self.fd.get_ref()
    }
}

impl<T: AsFd> AsyncFdReadyMutGuard<'_, T> {
    /// The descriptor.
    pub fn get_ref(&self) -> &AsyncFd<T> {
        self.fd
    }

    /// The descriptor.
    pub fn get_mut(&mut self) -> &mut AsyncFd<T> {
        self.fd
    }

    /// The owner of the descriptor.
    pub fn get_inner(&self) -> &T {
        self.fd.get_ref()
    }

    /// The owner of the descriptor.
    pub fn get_inner_mut(&mut self) -> &mut T {
        self.fd.get_mut()
    }
}

/// The operation of a guard's [`try_io`](AsyncFdReadyGuard::try_io) would have blocked.
#[derive(Debug)]
pub struct TryIoError(());

impl fmt::Display for TryIoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operation would have blocked")
    }
}

impl Error for TryIoError {}

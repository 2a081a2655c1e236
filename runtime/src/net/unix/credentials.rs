//! Who is at the other end.

use std::io;
use std::os::fd::AsFd;

/// The process at the other end of a Unix socket, as it was when the connection was made: see
/// [`UnixStream::peer_cred`](super::UnixStream::peer_cred).
///
/// # Examples
///
/// ```
/// use rt::net::UnixStream;
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let (near, _far) = UnixStream::pair()?;
/// let this_process = i32::try_from(std::process::id()).ok();
/// assert_eq!(near.peer_cred()?.pid(), this_process);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UCred {
    pid: Option<libc::pid_t>,
    uid: libc::uid_t,
    gid: libc::gid_t,
}

impl UCred {
    pub(super) fn of_peer(socket: &impl AsFd) -> io::Result<UCred> {
        let (pid, uid, gid) = rt_reactor::socket::peer_credentials(socket.as_fd())?;
        Ok(UCred {
            pid: (pid != 0).then_some(pid),
            uid,
            gid,
        })
    }

    /// Its user.
    pub fn uid(&self) -> libc::uid_t {
        self.uid
    }

    /// Its group.
    pub fn gid(&self) -> libc::gid_t {
        self.gid
    }

    /// Its process, unless that is in no namespace that this process can see.
    pub fn pid(&self) -> Option<libc::pid_t> {
        self.pid
    }
}

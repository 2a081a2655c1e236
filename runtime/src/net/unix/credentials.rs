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
    pid: Option<i32>,
    uid: u32,
    gid: u32,
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
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Its group.
    pub fn gid(&self) -> u32 {
        self.gid
    }

    /// Its process, unless that is in no namespace that this process can see.
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }
}

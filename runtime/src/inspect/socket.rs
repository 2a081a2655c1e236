//! The listening socket, and its name in the file system.
//!
//! A name outlives a process that was killed, so one that is taken is asked whether anybody listens. Between the question and
//! taking the name nobody else may do the same: who opens one has a lock on the folder meanwhile.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{self, Path, PathBuf};

use socket2::{Domain, SockAddr, SockRef, Socket, Type};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;

#[derive(Debug)]
pub(super) struct Listening {
    listener: UnixListener,
    /// Absolute: the process may go elsewhere.
    path: PathBuf,
    /// Device and number of what was made there.
    made: (u64, u64),
}

impl Listening {
    pub(super) fn open(path: &Path) -> io::Result<Listening> {
        let open = || {
            let bytes = path.as_os_str().as_bytes();
            if bytes.is_empty() || bytes.contains(&0) {
                return Err(error(
                    io::ErrorKind::InvalidInput,
                    "not the name of a socket",
                ));
            }
            let absolute = path::absolute(path)?;
            // Where the folder cannot be locked, two that begin at the same moment may both think that
            // a dead socket is theirs to replace.
            let folder = absolute.parent().and_then(|folder| File::open(folder).ok());
            let _locked = folder.as_ref().map(File::lock);
            let listener = match listen(path) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    remove_dead(path)?;
                    listen(path)?
                }
                listener => listener?,
            };
            Ok(Listening {
                listener,
                made: identity(&absolute)?,
                path: absolute,
            })
        };
        open().map_err(|error| {
            let message = format!("`inspect` at {}: {error}", path.display());
            io::Error::new(error.kind(), message)
        })
    }

    pub(super) fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().map(|(stream, _)| stream)
    }

    /// Gives the name back, and ends an `accept` that waits, and all later ones.
    pub(super) fn close(&self) {
        // Somebody may have put another socket in its place.
        if identity(&self.path).is_ok_and(|there| there == self.made) {
            // If it cannot be removed, it is found dead by who wants it next.
            let _left_behind = fs::remove_file(&self.path);
        }
        // It fails only for a socket that is not one.
        let _ended = SockRef::from(&self.listener).shutdown(std::net::Shutdown::Both);
    }
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // Before it has a name: the file gets this mode from its first moment on.
    let file = File::from(OwnedFd::from(socket));
    file.set_permissions(Permissions::from_mode(0o600))?;
    let socket = Socket::from(OwnedFd::from(file));
    socket.bind(&SockAddr::unix(path)?)?;
    if let Err(error) = socket.listen(BACKLOG) {
        let _made_just_now = fs::remove_file(path);
        return Err(error);
    }
    Ok(OwnedFd::from(socket).into())
}

/// Removes what a process that has died has left.
fn remove_dead(path: &Path) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        there => there?,
    };
    if !there.file_type().is_socket() {
        return Err(error(
            io::ErrorKind::AlreadyExists,
            "what is there is not a socket",
        ));
    }
    let probe = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // One that lives and does not accept is no reason to wait.
    probe.set_nonblocking(true)?;
    match probe.connect(&SockAddr::unix(path)?) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        _ => Err(error(
            io::ErrorKind::AddrInUse,
            "another runtime or process listens there",
        )),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let there = fs::symlink_metadata(path)?;
    Ok((there.dev(), there.ino()))
}

fn error(kind: io::ErrorKind, message: &str) -> io::Error {
    io::Error::new(kind, message)
}

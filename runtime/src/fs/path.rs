//! What is done to a path, without a file that stays open.

use std::ffi::CString;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::engine::{self, blocking};
use super::file::File;
use crate::sys::file::{NAME_ONLY, NAME_ONLY_OF_LINK, Room};
use crate::sys::uring::Open;

/// How much is read of a file that does not tell its length before more memory is asked for.
const FIRST_PIECE: usize = 4096;

macro_rules! on_a_blocking_thread {
    ($($(#[doc = $doc:literal])+
       $name:ident($($path:ident),+ $(; $argument:ident: $type:ty)?) -> $output:ty = $std:path;
    )*) => {$(
        $(#[doc = $doc])+
        ///
        /// # Panics
        ///
        /// Outside a runtime.
        ///
        /// # Cancel safety
        ///
        /// A call that has begun goes on if the future is dropped; one that has not never does.
        pub async fn $name($($path: impl AsRef<Path>,)+ $($argument: $type)?) -> io::Result<$output> {
            $(let $path = $path.as_ref().to_owned();)+
            blocking(move || $std($($path,)+ $($argument)?)).await
        }
    )*};
}

on_a_blocking_thread! {
    /// The absolute path, without symbolic links and dots.
    ///
    /// # Errors
    ///
    /// Those of `realpath`; all of the path must be there.
    canonicalize(path) -> PathBuf = fs::canonicalize;

    /// Copies a file's content and permissions, and tells the number of bytes.
    ///
    /// # Errors
    ///
    /// Those of opening, reading and writing. The target may be there in part then.
    copy(from, to) -> u64 = fs::copy;

    /// Makes a folder.
    ///
    /// # Errors
    ///
    /// Those of `mkdir`: if it is there already, or the folder above is not.
    create_dir(path) -> () = fs::create_dir;

    /// Makes a folder, and those above it that are not there.
    ///
    /// # Errors
    ///
    /// Those of `mkdir`. That it is there already is none.
    create_dir_all(path) -> () = fs::create_dir_all;

    /// Gives a file a second name.
    ///
    /// # Errors
    ///
    /// Those of `link`.
    hard_link(original, link) -> () = fs::hard_link;

    /// What a symbolic link points to.
    ///
    /// # Errors
    ///
    /// Those of `readlink`.
    read_link(path) -> PathBuf = fs::read_link;

    /// Removes an empty folder.
    ///
    /// # Errors
    ///
    /// Those of `rmdir`.
    remove_dir(path) -> () = fs::remove_dir;

    /// Removes a folder with all that is in it. Symbolic links are removed, not followed.
    ///
    /// # Errors
    ///
    /// Those of `unlink` and `rmdir`. Some of it may be gone then.
    remove_dir_all(path) -> () = fs::remove_dir_all;

    /// Removes a file's name, and the file with its last name.
    ///
    /// # Errors
    ///
    /// Those of `unlink`.
    remove_file(path) -> () = fs::remove_file;

    /// Gives a file another name, in place of what had it.
    ///
    /// # Errors
    ///
    /// Those of `rename`, among them that the two names are on different file systems.
    rename(from, to) -> () = fs::rename;

    /// Changes a file's permissions.
    ///
    /// # Errors
    ///
    /// Those of `chmod`.
    set_permissions(path; permissions: Permissions) -> () = fs::set_permissions;

    /// Makes a symbolic link that points to `original`.
    ///
    /// # Errors
    ///
    /// Those of `symlink`.
    symlink(original, link) -> () = unix::fs::symlink;
}

/// Whether there is something at a path. A symbolic link that points to nothing is nothing.
///
/// # Errors
///
/// If that cannot be found out, for example because a folder may not be searched.
///
/// # Panics
///
/// Outside a runtime.
pub async fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    match metadata(path).await {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// What the file system knows of a file, through symbolic links.
///
/// # Errors
///
/// Those of `stat`.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// assert!(rt::fs::metadata("/proc").await?.is_dir());
/// # Ok(())
/// # }
/// ```
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    look_at(path.as_ref(), NAME_ONLY, fs::metadata).await
}

/// What the file system knows of a file, or of a symbolic link itself.
///
/// # Errors
///
/// Those of `lstat`.
///
/// # Panics
///
/// Outside a runtime.
pub async fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    look_at(path.as_ref(), NAME_ONLY_OF_LINK, fs::symlink_metadata).await
}

async fn look_at(
    path: &Path,
    flags: i32,
    std: fn(PathBuf) -> io::Result<Metadata>,
) -> io::Result<Metadata> {
    // The kernel finds the file by `io_uring`. What it knows of a file that it has found is in memory.
    if let Ok(name) = CString::new(path.as_os_str().as_bytes()) {
        let request = Open {
            path: name,
            flags,
            mode: 0,
        };
        match engine::open(request).await {
            Some(Ok(file)) => return file.metadata(),
            Some(Err(error)) if is_about_descriptors(&error) => {}
            Some(Err(error)) => return Err(error),
            None => {}
        }
    }
    let path = path.to_owned();
    blocking(move || std(path)).await
}

/// Errors of `open` that `stat` does not have.
fn is_about_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Reads a whole file.
///
/// # Errors
///
/// Those of `open` and `read`; [`OutOfMemory`](io::ErrorKind::OutOfMemory) if it does not fit.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Dropping the future loses what was read, and nothing else.
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let file = File::open(path).await?;
    let mut bytes = Vec::new();
    // A byte more than there should be, so that the end is found without growing.
    let length = file.length_hint().map_or(FIRST_PIECE, |length| length + 1);
    bytes.try_reserve_exact(length)?;
    loop {
        let mut room = Room::behind(bytes);
        let result = file.fill(&mut room, None).await;
        let is_full = room.is_full();
        bytes = room.into_inner();
        result?;
        if !is_full {
            return Ok(bytes);
        }
        bytes.try_reserve(1)?;
    }
}

/// Reads a whole file as text.
///
/// # Errors
///
/// Those of [`read`]; [`InvalidData`](io::ErrorKind::InvalidData) if it is not UTF-8.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Dropping the future loses what was read, and nothing else.
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let bytes = read(path).await?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Writes a whole file: it is made if it is not there, and emptied if it is.
///
/// # Errors
///
/// Those of `open` and `write`. The file may be there in part then.
///
/// # Panics
///
/// Outside a runtime.
///
/// # Cancel safety
///
/// Not cancel safe: if the future is dropped, the file may be there in part.
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = File::create(path).await?;
    file.write_all(contents.as_ref()).await?;
    file.flush().await
}

//! Folders: making them, and reading what is in them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, FileType, Metadata};
use std::future::poll_fn;
use std::io;
use std::os::unix::fs::{DirBuilderExt, DirEntryExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::engine::{Blocking, blocking};

/// Entries that are read in one go.
const BATCH: usize = 64;

/// Begins to read a folder.
///
/// # Errors
///
/// Those of `opendir`.
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
/// let mut entries = rt::fs::read_dir("/proc/self/fd").await?;
/// while let Some(entry) = entries.next_entry().await? {
///     println!("{}", entry.file_name().display());
/// }
/// # Ok(())
/// # }
/// ```
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref().to_owned();
    let batch = blocking(move || Ok(Batch::read(fs::read_dir(path)?))).await?;
    Ok(ReadDir {
        state: State::Here(batch),
    })
}

/// What is in a folder, in no particular order. Made by [`read_dir`].
#[derive(Debug)]
pub struct ReadDir {
    state: State,
}

#[derive(Debug)]
enum State {
    Here(Batch),
    Reading(Blocking<Batch>),
}

struct Batch {
    entries: VecDeque<io::Result<fs::DirEntry>>,
    /// `None` after the last entry.
    rest: Option<fs::ReadDir>,
}

impl Batch {
    fn read(mut rest: fs::ReadDir) -> Batch {
        let mut entries = VecDeque::with_capacity(BATCH);
        entries.extend(rest.by_ref().take(BATCH));
        let is_whole = entries.len() < BATCH;
        Batch {
            entries,
            rest: (!is_whole).then_some(rest),
        }
    }
}

impl ReadDir {
    /// The next entry; `None` after the last.
    ///
    /// # Errors
    ///
    /// Those of `readdir`. The next call goes on behind it.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no entry is lost.
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        poll_fn(|cx| self.poll_next_entry(cx)).await
    }

    /// As [`next_entry`](ReadDir::next_entry), for a hand-written future.
    ///
    /// # Errors
    ///
    /// Those of `readdir`.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    pub fn poll_next_entry(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<DirEntry>>> {
        loop {
            match &mut self.state {
                State::Here(batch) => {
                    if let Some(entry) = batch.entries.pop_front() {
                        return Poll::Ready(entry.map(|std| Some(DirEntry::new(std))));
                    }
                    let Some(rest) = batch.rest.take() else {
                        return Poll::Ready(Ok(None));
                    };
                    self.state = State::Reading(blocking(move || Ok(Batch::read(rest))));
                }
                State::Reading(job) => match ready!(Pin::new(job).poll(cx)) {
                    Ok(batch) => self.state = State::Here(batch),
                    Err(error) => {
                        // The job was never run: there is no more to come.
                        let (entries, rest) = (VecDeque::new(), None);
                        self.state = State::Here(Batch { entries, rest });
                        return Poll::Ready(Err(error));
                    }
                },
            }
        }
    }
}

/// An entry of a folder.
pub struct DirEntry {
    std: Arc<fs::DirEntry>,
}

impl DirEntry {
    fn new(std: fs::DirEntry) -> DirEntry {
        DirEntry { std: Arc::new(std) }
    }

    /// The path: that of the folder, as it was given, and the name.
    pub fn path(&self) -> PathBuf {
        self.std.path()
    }

    /// The name alone.
    pub fn file_name(&self) -> OsString {
        self.std.file_name()
    }

    /// The inode's number.
    pub fn ino(&self) -> u64 {
        self.std.ino()
    }

    /// What the file system knows of it; of a symbolic link itself, not of what it points to.
    ///
    /// # Errors
    ///
    /// Those of `fstatat`.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let std = Arc::clone(&self.std);
        blocking(move || std.metadata()).await
    }

    /// Whether it is a file, a folder, a symbolic link or something else.
    ///
    /// # Errors
    ///
    /// Those of `fstatat`, on file systems whose folders do not tell.
    pub async fn file_type(&self) -> io::Result<FileType> {
        let std = Arc::clone(&self.std);
        blocking(move || std.file_type()).await
    }
}

/// Settings to make folders with.
///
/// # Examples
///
/// ```
/// use rt::fs::DirBuilder;
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("rt-folder-{}", std::process::id()));
/// DirBuilder::new().recursive(true).mode(0o700).create(path.join("a/b")).await?;
/// # rt::fs::remove_dir_all(&path).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct DirBuilder {
    recursive: bool,
    mode: Option<u32>,
}

impl DirBuilder {
    /// Makes one folder, with the usual permissions.
    #[expect(clippy::new_without_default, reason = "as in `std`")]
    pub fn new() -> DirBuilder {
        DirBuilder {
            recursive: false,
            mode: None,
        }
    }

    /// Whether the folders above are made as well; then it is no error that the folder is there.
    pub fn recursive(&mut self, recursive: bool) -> &mut Self {
        self.recursive = recursive;
        self
    }

    /// The permissions, before the process's umask. Default: `0o777`.
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.mode = Some(mode);
        self
    }

    /// Makes the folder.
    ///
    /// # Errors
    ///
    /// Those of `mkdir`.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    pub async fn create(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref().to_owned();
        let mut builder = fs::DirBuilder::new();
        builder.recursive(self.recursive);
        if let Some(mode) = self.mode {
            builder.mode(mode);
        }
        blocking(move || builder.create(path)).await
    }
}

impl fmt::Debug for DirEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.std.fmt(f)
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("entries", &self.entries.len())
            .field("is_last", &self.rest.is_none())
            .finish()
    }
}

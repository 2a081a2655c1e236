//! An open file.

use std::fmt;
use std::fs::{File as StdFile, Metadata, Permissions};
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::cursor::Cursor;
use super::engine::{self, Shared, blocking};
use super::open_options::OpenOptions;

mod positional;
mod stream;

/// The largest piece that a stream keeps in memory, unless it is told otherwise.
const MAX_BUF_SIZE: usize = 2 << 20;

/// An open file.
///
/// It reads and writes at its position, as a stream: by its own methods, which need no trait, and by the
/// traits of `tokio::io` (feature `tokio-io`) and `futures_io` (feature `futures-io`). One task at a time
/// can do that. [`read_at`](File::read_at) and [`write_at`](File::write_at) name a position of
/// their own, and any number of them may be under way.
///
/// # When an error of a write is told
///
/// A write that cannot be done at once is taken over: its bytes are copied, and it counts as done. If it
/// then fails, perhaps because the disk is full, the next `write`, `flush`, `sync_all` or `sync_data`
/// says so, once. So call [`flush`](File::flush) before dropping the file: a drop waits for nothing, and
/// has nobody to tell. [`write_at`](File::write_at) tells its errors itself.
///
/// What has been flushed is in the kernel, not yet on the disk: for that there is
/// [`sync_all`](File::sync_all), and it is there that some file systems first notice a full disk.
///
/// # Examples
///
/// ```
/// use rt::fs::File;
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("rt-file-{}", std::process::id()));
/// let mut file = File::create(&path).await?;
/// file.write_all(b"hello").await?;
/// file.sync_all().await?;
///
/// let mut file = File::open(&path).await?;
/// let mut greeting = [0; 5];
/// file.read_exact(&mut greeting).await?;
/// assert_eq!(&greeting, b"hello");
/// # rt::fs::remove_file(&path).await?;
/// # Ok(())
/// # }
/// ```
pub struct File {
    shared: Shared,
    /// Locked without waiting: methods that may meet take it for one poll.
    cursor: Mutex<Cursor>,
    max_buf_size: usize,
}

/// Opening, and what concerns a file as a whole.
impl File {
    /// Opens a file for reading.
    ///
    /// # Errors
    ///
    /// Those of `open`.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<File> {
        OpenOptions::new().read(true).open(path).await
    }

    /// Opens a file for writing: it is made if it is not there, and emptied if it is.
    ///
    /// # Errors
    ///
    /// Those of `open`.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    pub async fn create(path: impl AsRef<Path>) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        options.open(path).await
    }

    /// Makes a file, for reading and writing.
    ///
    /// # Errors
    ///
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if it is there; else those of `open`.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    pub async fn create_new(path: impl AsRef<Path>) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        options.open(path).await
    }

    /// Settings to open a file with.
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Takes over an open file of the standard library.
    ///
    /// # Examples
    ///
    /// ```
    /// let file = rt::fs::File::from_std(std::fs::File::open("/proc/self/comm")?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn from_std(file: StdFile) -> File {
        File {
            shared: Shared::new(file),
            cursor: Mutex::default(),
            max_buf_size: MAX_BUF_SIZE,
        }
    }

    /// Waits for what is under way, and gives back a file of the standard library.
    ///
    /// If calls that were given up still use the file, it is another descriptor of it.
    ///
    /// # Panics
    ///
    /// If the process has no descriptor left for that case.
    pub async fn into_std(self) -> StdFile {
        poll_fn(|cx| self.cursor.lock().poll_flush(cx)).await.ok();
        let file = self.shared.file;
        Arc::try_unwrap(file).unwrap_or_else(|file| {
            file.try_clone()
                .expect("a descriptor for a file that is still in use")
        })
    }

    /// Gives back a file of the standard library at once, if nothing is under way.
    ///
    /// # Errors
    ///
    /// This file, if something is.
    pub fn try_into_std(self) -> Result<StdFile, File> {
        let File {
            shared,
            cursor,
            max_buf_size,
        } = self;
        if !cursor.lock().is_idle() {
            return Err(File {
                shared,
                cursor,
                max_buf_size,
            });
        }
        shared.try_into_file().map_err(|shared| File {
            shared,
            cursor,
            max_buf_size,
        })
    }

    /// Waits for what is under way, then for the disk to have all of the file and its metadata.
    ///
    /// # Errors
    ///
    /// That of an earlier write, if it has not been told; else those of `fsync`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing is lost but the knowledge.
    pub async fn sync_all(&self) -> io::Result<()> {
        self.flush_shared().await?;
        engine::sync(&self.shared.file, false).await
    }

    /// As [`sync_all`](File::sync_all), without metadata that is not needed to read the data.
    ///
    /// # Errors
    ///
    /// That of an earlier write, if it has not been told; else those of `fdatasync`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing is lost but the knowledge.
    pub async fn sync_data(&self) -> io::Result<()> {
        self.flush_shared().await?;
        engine::sync(&self.shared.file, true).await
    }

    /// Cuts the file off, or extends it with zeros, to this length. The position stays.
    ///
    /// # Errors
    ///
    /// That of an earlier write, if it has not been told; else those of `ftruncate`.
    pub async fn set_len(&self, size: u64) -> io::Result<()> {
        self.flush_shared().await?;
        self.cursor.lock().step_back(&self.shared)?;
        self.blocking(move |file| file.set_len(size)).await
    }

    /// What the file system knows of the file.
    ///
    /// # Errors
    ///
    /// Those of `fstat`.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        self.blocking(StdFile::metadata).await
    }

    /// Changes the permissions.
    ///
    /// # Errors
    ///
    /// Those of `fchmod`.
    pub async fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.blocking(move |file| file.set_permissions(permissions))
            .await
    }

    /// Another descriptor of the same open file, with the same position.
    ///
    /// # Errors
    ///
    /// That of an earlier write, if it has not been told; or if the process has no descriptor left.
    pub async fn try_clone(&self) -> io::Result<File> {
        self.flush_shared().await?;
        let file = self.shared.file.try_clone()?;
        Ok(File {
            max_buf_size: self.max_buf_size,
            ..File::from_std(file)
        })
    }

    /// Sets the largest piece that the stream keeps in memory. Default: 2 MiB.
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[track_caller]
    pub fn set_max_buf_size(&mut self, max_buf_size: usize) {
        assert!(max_buf_size > 0, "a file's buffer has room for a byte");
        self.max_buf_size = max_buf_size;
    }

    /// The largest piece that the stream keeps in memory.
    pub fn max_buf_size(&self) -> usize {
        self.max_buf_size
    }

    async fn flush_shared(&self) -> io::Result<()> {
        poll_fn(|cx| self.cursor.lock().poll_flush(cx)).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce(&StdFile) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let file = Arc::clone(&self.shared.file);
        blocking(move || job(&file)).await
    }
}

impl From<StdFile> for File {
    fn from(file: StdFile) -> File {
        File::from_std(file)
    }
}

impl From<OwnedFd> for File {
    fn from(fd: OwnedFd) -> File {
        File::from_std(fd.into())
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.file.as_fd()
    }
}

impl AsRawFd for File {
    fn as_raw_fd(&self) -> RawFd {
        self.shared.file.as_raw_fd()
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.file.fmt(f)
    }
}

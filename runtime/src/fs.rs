//! Files and folders.
//!
//! Names and signatures are those of `tokio::fs`. A file never tells that it is ready, as a socket does,
//! so each call on one goes the first of three ways that fits:
//!
//! 1. **At once.** What the page cache holds is read in the task itself (`preadv2` with `RWF_NOWAIT`), as
//!    a socket's first try is; writes too, where the file system can do that.
//! 2. **By the kernel.** Where it has `io_uring`, it reads, writes, opens and syncs by itself, thousands of
//!    calls at a time on no thread of this process.
//! 3. **On a blocking thread**, as all else that concerns files.
//!
//! [`Builder::file_io`](crate::runtime::Builder::file_io) restricts that choice.
//!
//! [`File`] has a position, and reads and writes there as a stream does. For many reads at a time on one
//! file there are [`read_at`](File::read_at) and [`write_at`](File::write_at), whose buffers are
//! given away for the time of the call.
//!
//! # Examples
//!
//! ```
//! # #[rt::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let path = std::env::temp_dir().join(format!("rt-fs-{}", std::process::id()));
//! rt::fs::write(&path, "hello").await?;
//! assert_eq!(rt::fs::read_to_string(&path).await?, "hello");
//! rt::fs::remove_file(&path).await?;
//! # Ok(())
//! # }
//! ```

pub use self::directory::{DirBuilder, DirEntry, ReadDir, read_dir};
pub use self::file::File;
pub use self::open_options::OpenOptions;
pub use self::path::{
    canonicalize, copy, create_dir, create_dir_all, hard_link, metadata, read, read_link,
    read_to_string, remove_dir, remove_dir_all, remove_file, rename, set_permissions, symlink,
    symlink_metadata, try_exists, write,
};

pub(crate) use self::engine::Files;

mod cursor;
mod directory;
pub(crate) mod engine;
mod file;
#[cfg(feature = "futures-io")]
mod futures_io;
mod open_options;
mod path;
#[cfg(feature = "tokio-io")]
mod tokio_io;

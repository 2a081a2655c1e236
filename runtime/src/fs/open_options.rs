//! How a file is opened.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::engine::{self, blocking};
use super::file::File;
use crate::sys::file::Mode;
use crate::sys::uring::Open;

/// Settings to open a file with; as [`std::fs::OpenOptions`].
///
/// # Examples
///
/// ```
/// use rt::fs::OpenOptions;
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("rt-options-{}", std::process::id()));
/// let mut log = OpenOptions::new().append(true).create(true).open(&path).await?;
/// log.write_all(b"one more line\n").await?;
/// log.flush().await?;
/// # rt::fs::remove_file(&path).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    std: fs::OpenOptions,
    /// The same for `io_uring`; `None` if they came from `std`, which does not tell.
    flags: Option<Flags>,
}

#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are the settings, one each"
)]
struct Flags {
    read: bool,
    write: bool,
    append: bool,
    truncate: bool,
    create: bool,
    create_new: bool,
    custom: i32,
    mode: Mode,
}

macro_rules! setters {
    ($($(#[doc = $doc:literal])+ $name:ident;)*) => {$(
        $(#[doc = $doc])+
        pub fn $name(&mut self, $name: bool) -> &mut OpenOptions {
            self.std.$name($name);
            if let Some(flags) = &mut self.flags {
                flags.$name = $name;
            }
            self
        }
    )*};
}

impl OpenOptions {
    /// Nothing is set: a file can be opened once at least one of `read`, `write` and `append` is.
    #[expect(
        clippy::new_without_default,
        reason = "as in `std`: nothing is no use by default"
    )]
    pub fn new() -> OpenOptions {
        OpenOptions {
            std: fs::OpenOptions::new(),
            flags: Some(Flags {
                read: false,
                write: false,
                append: false,
                truncate: false,
                create: false,
                create_new: false,
                custom: 0,
                mode: 0o666,
            }),
        }
    }

    setters! {
        /// To read from it.
        read;
        /// To write to it.
        write;
        /// To write to its end, wherever the position is.
        append;
        /// To empty it first; it must be writable.
        truncate;
        /// To make it if it is not there; it must be writable.
        create;
        /// To make it, and fail if it is there already; it must be writable.
        create_new;
    }

    /// The permissions of a file that is made, before the process's umask. Default: `0o666`.
    pub fn mode(&mut self, mode: u32) -> &mut OpenOptions {
        self.std.mode(mode);
        if let Some(flags) = &mut self.flags {
            flags.mode = mode;
        }
        self
    }

    /// Further flags of `open`, such as `O_DIRECT` or `O_NOFOLLOW`.
    pub fn custom_flags(&mut self, custom: i32) -> &mut OpenOptions {
        self.std.custom_flags(custom);
        if let Some(flags) = &mut self.flags {
            flags.custom = custom;
        }
        self
    }

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the settings contradict each other, or the path
    /// has a NUL byte; else those of `open`.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// A file that is opened after the future is dropped is closed again. It may have been made or
    /// emptied.
    pub async fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = path.as_ref();
        if let Some(request) = self.request(path)
            && let Some(result) = engine::open(request).await
        {
            return result.map(File::from_std);
        }
        let (options, path) = (self.std.clone(), path.to_owned());
        blocking(move || options.open(path))
            .await
            .map(File::from_std)
    }

    /// These settings for `io_uring`, unless they are wrong, which `std` explains.
    fn request(&self, path: &Path) -> Option<Open> {
        let flags = self.flags.as_ref()?;
        Some(Open {
            path: CString::new(path.as_os_str().as_bytes()).ok()?,
            flags: flags.access()? | flags.creation()? | flags.custom() | libc::O_CLOEXEC,
            mode: flags.mode,
        })
    }
}

impl Flags {
    fn access(&self) -> Option<i32> {
        match (self.read, self.write, self.append) {
            (true, false, false) => Some(libc::O_RDONLY),
            (false, true, false) => Some(libc::O_WRONLY),
            (true, true, false) => Some(libc::O_RDWR),
            (false, _, true) => Some(libc::O_WRONLY | libc::O_APPEND),
            (true, _, true) => Some(libc::O_RDWR | libc::O_APPEND),
            (false, false, false) => None,
        }
    }

    fn creation(&self) -> Option<i32> {
        let writes = self.write || self.append;
        let makes = self.truncate || self.create || self.create_new;
        let empties_what_it_appends_to = self.append && self.truncate && !self.create_new;
        if makes && !writes || empties_what_it_appends_to {
            return None;
        }
        if self.create_new {
            return Some(libc::O_CREAT | libc::O_EXCL);
        }
        let create = if self.create { libc::O_CREAT } else { 0 };
        let truncate = if self.truncate { libc::O_TRUNC } else { 0 };
        Some(create | truncate)
    }

    fn custom(&self) -> i32 {
        self.custom & !libc::O_ACCMODE
    }
}

impl From<fs::OpenOptions> for OpenOptions {
    /// Files are then opened on a blocking thread, since `std` does not tell what is set.
    fn from(std: fs::OpenOptions) -> OpenOptions {
        OpenOptions { std, flags: None }
    }
}

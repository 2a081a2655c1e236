//! What these tests share: runtimes that go each way, and folders of their own.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rt::Runtime;
use rt::runtime::FileIo;
use rt_tests::{FLAVOURS, Flavour, Watchdog};

pub(crate) const WAYS: [FileIo; 4] = [
    FileIo::Auto,
    FileIo::NoUring,
    FileIo::Uring,
    FileIo::Blocking,
];

/// A runtime that goes one way, if the kernel lets it.
pub(crate) fn build(flavour: Flavour, way: FileIo) -> Option<Runtime> {
    match flavour.builder().file_io(way).build() {
        Ok(runtime) => Some(runtime),
        Err(error) if way == FileIo::Uring => {
            println!("skipped: no io_uring here: {error}");
            None
        }
        Err(error) => panic!("{way:?}: {error}"),
    }
}

/// Runs a test on each flavour, each way, with a folder of its own.
pub(crate) fn each_way(test: impl AsyncFn(&Path) + Copy) {
    for flavour in FLAVOURS {
        for way in WAYS {
            let _watchdog = Watchdog::new();
            let folder = Folder::new();
            if let Some(runtime) = build(flavour, way) {
                runtime.block_on(test(&folder.0));
                runtime.shutdown_timeout(Duration::MAX);
            }
        }
    }
}

/// A folder that is removed with all that is in it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        let path = env::temp_dir().join(format!("rt-tests-fs-{}-{number}", process::id()));
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Whatever is left by a failed test is of no interest.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Bytes that tell where they stand.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len)
        .map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8)
        .collect()
}

pub(crate) fn fifo(path: &Path) {
    let status = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(status.success());
}

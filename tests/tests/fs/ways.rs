//! The ways that a call may go, each forced.

use std::process::Command;
use std::task::Poll;
use std::time::Duration;

use rt::fs;
use rt::fs::File;
use rt::io::AsyncReadExt;
use rt::runtime::FileIo;
use rt::time::timeout;
use rt_tests::{Flavour, Watchdog, poll_once};

use super::support::{Folder, WAYS, build, pattern};

#[test]
fn cached_bytes_are_read_at_once() {
    let folder = Folder::new();
    let kind = Command::new("stat")
        .args(["-f", "-c", "%T"])
        .arg(&folder.0)
        .output();
    let kind = String::from_utf8(kind.unwrap().stdout).unwrap();
    if !["ext2/ext3", "xfs", "btrfs"].contains(&kind.trim()) {
        println!("skipped: unknown whether {kind} reads at once");
        return;
    }
    let path = folder.0.join("cached");
    std::fs::write(&path, pattern(1 << 20)).unwrap();
    for way in [FileIo::Auto, FileIo::NoUring] {
        let runtime = build(Flavour::Workers(2), way).unwrap();
        let mut file = File::from_std(std::fs::File::open(&path).unwrap());
        runtime.block_on(async {
            for place in (0..1 << 20).step_by(4096) {
                let mut read = Box::pin(file.read_at(vec![0; 4096], place));
                let Poll::Ready((read, _)) = poll_once(&mut read).await else {
                    panic!("the page cache has it");
                };
                assert_eq!(read.unwrap(), 4096);
                // A fresh budget, which is small.
                rt::yield_now().await;
            }
            let mut all = Vec::new();
            assert!(
                poll_once(&mut Box::pin(file.read_to_end(&mut all)))
                    .await
                    .is_ready()
            );
            assert!(all == pattern(1 << 20));
        });
        assert_eq!(runtime.metrics().blocking_threads, 0);
        assert_eq!(runtime.metrics().live_sources, 0);
    }
}

#[test]
fn the_ring_needs_no_thread() {
    let folder = Folder::new();
    let Some(runtime) = build(Flavour::Workers(2), FileIo::Uring) else {
        return;
    };
    runtime.block_on(async {
        let path = folder.0.join("ring");
        fs::write(&path, pattern(1 << 20)).await.unwrap();
        let mut file = File::open(&path).await.unwrap();
        file.read_exact(&mut vec![0; 1 << 20]).await.unwrap();
        file.read_at(vec![0; 4096], 4096).await.0.unwrap();
        file.sync_all().await.unwrap();
        assert_eq!(fs::metadata(&path).await.unwrap().len(), 1 << 20);
    });
    let metrics = runtime.metrics();
    assert_eq!(metrics.blocking_threads, 0);
    assert_eq!(metrics.live_sources, 0, "the ring itself is not counted");
}

#[test]
fn blocking_threads_do_it_where_they_are_told_to() {
    let folder = Folder::new();
    let path = folder.0.join("blocking");
    std::fs::write(&path, pattern(4096)).unwrap();
    let runtime = build(Flavour::Workers(2), FileIo::Blocking).unwrap();
    runtime.block_on(async {
        let file = File::from_std(std::fs::File::open(&path).unwrap());
        assert_eq!(rt::Handle::current().metrics().blocking_threads, 0);
        let (read, buf) = file.read_at(vec![0; 4096], 0).await;
        assert_eq!(read.unwrap(), 4096);
        assert!(buf == pattern(4096));
        assert!(rt::Handle::current().metrics().blocking_threads > 0);
    });
}

/// Time that stands still does not run past what the kernel is doing.
#[test]
fn paused_time_waits_for_files() {
    for way in WAYS {
        let folder = Folder::new();
        let path = folder.0.join("paused");
        let _watchdog = Watchdog::new();
        let builder = Flavour::CurrentThread.builder().start_paused(true);
        let Ok(runtime) = builder.file_io(way).build() else {
            continue;
        };
        runtime.block_on(async {
            for round in 0..50 {
                let bytes = pattern(10_000 + round);
                let millisecond = Duration::from_millis(1);
                let write = timeout(millisecond, fs::write(&path, &bytes));
                write.await.unwrap().unwrap();
                let read = timeout(millisecond, fs::read(&path));
                assert!(read.await.unwrap().unwrap() == bytes);
            }
        });
    }
}

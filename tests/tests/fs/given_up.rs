//! Calls that are given up, and runtimes that end: nothing is lost, nothing is left behind.

use std::future::{pending, poll_fn};
use std::io::SeekFrom;
use std::pin::Pin;
use std::time::Duration;

use rt::fs;
use rt::fs::{File, OpenOptions};
use rt::io::AsyncSeekExt;
use rt::runtime::FileIo;
use rt_tests::{Flavour, Watchdog, alone, fds, poll_once, until, until_yielding};

use super::support::{Folder, WAYS, build, each_way, fifo, pattern};

/// A read that waits is given up; what comes then is the next read's, byte for byte.
#[test]
fn a_read_that_is_given_up_loses_nothing() {
    each_way(async |folder| {
        let path = folder.join("fifo");
        fifo(&path);
        // Opened for both, it is open at once.
        let mut both = OpenOptions::new();
        both.read(true).write(true);
        let mut reader = both.open(&path).await.unwrap();
        let mut writer = both.open(&path).await.unwrap();
        for round in 0..20_u8 {
            let mut buf = [0; 16];
            assert!(
                poll_once(&mut Box::pin(reader.read(&mut buf)))
                    .await
                    .is_pending()
            );
            writer.write_all(&[round; 10]).await.unwrap();
            writer.flush().await.unwrap();
            // In pieces that are smaller than what was asked for then.
            let mut pieces = [0; 10];
            reader.read_exact(&mut pieces[..3]).await.unwrap();
            reader.read_exact(&mut pieces[3..]).await.unwrap();
            assert_eq!(pieces, [round; 10]);
        }
    });
}

/// What a read for nobody has brought is still to be read when somebody seeks or writes.
#[test]
fn the_position_is_where_the_bytes_were_given_out() {
    for way in [FileIo::Uring, FileIo::Blocking] {
        let folder = Folder::new();
        let Some(runtime) = build(Flavour::Workers(2), way) else {
            continue;
        };
        runtime.block_on(async {
            let path = folder.0.join("position");
            fs::write(&path, pattern(100)).await.unwrap();
            let mut options = OpenOptions::new();
            let mut file = options.read(true).write(true).open(&path).await.unwrap();
            let give_up = async |file: &mut File| {
                let mut buf = [0; 50];
                let mut read = Box::pin(file.read(&mut buf));
                // It may be done at once, too.
                poll_once(&mut read).await.is_ready()
            };
            let read = give_up(&mut file).await;
            let start = if read { 50 } else { 0 };
            assert_eq!(file.seek(SeekFrom::Current(10)).await.unwrap(), start + 10);
            file.rewind().await.unwrap();
            let read = give_up(&mut file).await;
            let start = if read { 50 } else { 0 };
            file.write_all(b"here").await.unwrap();
            file.flush().await.unwrap();
            assert_eq!(&fs::read(&path).await.unwrap()[start..start + 4], b"here");
        });
    }
}

/// Calls that are given up at once, thousands of them: no descriptor and no thread is left, and the
/// memory that the kernel may still write to is not reused too early (a sanitizer would see it).
#[test]
fn calls_that_are_given_up_leave_nothing_behind() {
    alone(|| {
        for way in WAYS {
            let folder = Folder::new();
            let path = folder.0.join("given-up");
            std::fs::write(&path, pattern(1 << 20)).unwrap();
            let Some(runtime) = build(Flavour::Workers(2), way) else {
                continue;
            };
            runtime.block_on(async {
                let file = File::open(&path).await.unwrap();
                let before = fds();
                for round in 0..500_u64 {
                    drop(poll_once(&mut Box::pin(File::open(&path))).await);
                    drop(poll_once(&mut Box::pin(fs::metadata(&path))).await);
                    let read = file.read_at(vec![0; 100_000], round * 1000);
                    drop(poll_once(&mut Box::pin(read)).await);
                    if round % 50 == 0 {
                        drop(poll_once(&mut Box::pin(file.sync_data())).await);
                    }
                }
                until_yielding(|| fds() == before).await;
                let (read, buf) = file.read_at(vec![0; 1 << 20], 0).await;
                assert_eq!(read.unwrap(), 1 << 20);
                assert!(buf == pattern(1 << 20));
            });
        }
    });
}

/// A write counts from the moment when it was taken over, although its file is dropped.
#[test]
fn a_write_that_was_taken_over_is_written() {
    each_way(async |folder| {
        let path = folder.join("taken-over");
        let mut file = File::create(&path).await.unwrap();
        let bytes = pattern(100_000);
        let written = file.write(&bytes).await.unwrap();
        assert!(written > 0);
        drop(file);
        until_yielding(|| std::fs::read(&path).unwrap().len() == written).await;
        assert!(std::fs::read(&path).unwrap() == bytes[..written]);
    });
}

/// The fifo never has anything. The ring can give such a read up; a blocking thread cannot, and is left.
#[test]
fn the_end_of_a_runtime_waits_for_no_read() {
    for way in [FileIo::Auto, FileIo::Uring] {
        let folder = Folder::new();
        let path = folder.0.join("silent");
        fifo(&path);
        let Some(runtime) = build(Flavour::Workers(2), way) else {
            continue;
        };
        let handle = runtime.handle().clone();
        let mut options = std::fs::OpenOptions::new();
        let silent = options.read(true).write(true).open(&path).unwrap();
        let _watchdog = Watchdog::new();
        let (tell, told) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut file = File::from_std(silent);
            let mut buf = [0; 8];
            let mut read = Box::pin(file.read(&mut buf));
            handle.block_on(poll_fn(move |cx| {
                let poll = Pin::new(&mut read).as_mut().poll(cx);
                let _ = tell.send(());
                poll
            }))
        });
        told.recv().unwrap();
        drop(runtime.spawn(async move {
            let mut file = File::open(path).await.unwrap();
            let _ = file.read(&mut [0; 8]).await;
            pending::<()>().await;
        }));
        if way == FileIo::Uring {
            runtime.shutdown_timeout(Duration::MAX);
            reader.join().unwrap().unwrap_err();
        } else {
            runtime.shutdown_background();
        }
    }
}

/// After the end there is an error, or what the page cache has, and the buffer comes back.
#[test]
fn files_outlive_their_runtime() {
    for way in WAYS {
        let folder = Folder::new();
        let path = folder.0.join("outlives");
        std::fs::write(&path, pattern(100)).unwrap();
        let Some(runtime) = build(Flavour::Workers(2), way) else {
            continue;
        };
        let handle = runtime.handle().clone();
        let file = runtime.block_on(File::open(&path)).unwrap();
        drop(runtime);
        let (read, buf) = handle.block_on(file.read_at(vec![7; 100], 0));
        match read {
            Ok(read) => assert_eq!((read, buf), (100, pattern(100))),
            Err(_) => assert_eq!(buf, [7; 100]),
        }
        let (_, buf) = handle.block_on(file.write_at(String::from("kept"), 0));
        assert_eq!(buf, "kept");
    }
}

/// What is made with the runtime's first file call goes with the runtime.
#[test]
fn runtimes_that_use_files_leave_no_descriptor() {
    alone(|| {
        let before = fds();
        for _ in 0..30 {
            for way in WAYS {
                if let Some(runtime) = build(Flavour::Workers(2), way) {
                    runtime.block_on(fs::metadata("/proc")).unwrap();
                }
            }
        }
        until(|| fds() == before);
    });
}

//! Files: the same outcome whichever way a call goes, and nothing lost by giving up.
//!
//! Tests that force `io_uring` say `skipped` where the kernel refuses it.

use std::collections::BTreeSet;
use std::env;
use std::fs::Permissions;
use std::future::{pending, poll_fn};
use std::io::{self, ErrorKind, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{self, Command};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;

use rt::Runtime;
use rt::fs::{self, DirBuilder, File, OpenOptions};
use rt::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use rt::runtime::FileIo;
use rt::time::timeout;
use rt_tests::{FLAVOURS, Flavour, Watchdog, alone, fds, poll_once, until, until_yielding};

const WAYS: [FileIo; 4] = [
    FileIo::Auto,
    FileIo::NoUring,
    FileIo::Uring,
    FileIo::Blocking,
];

/// A runtime that goes one way, if the kernel lets it.
fn build(flavour: Flavour, way: FileIo) -> Option<Runtime> {
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
fn each_way(test: impl AsyncFn(&Path) + Copy) {
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
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
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
fn pattern(len: usize) -> Vec<u8> {
    (0..len)
        .map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8)
        .collect()
}

fn fifo(path: &Path) {
    let status = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(status.success());
}

#[test]
fn whole_files_come_back_as_they_were_written() {
    each_way(async |folder| {
        for len in [0, 1, 4095, 4096, 4097, 300_000, 3 << 20] {
            let path = folder.join(len.to_string());
            fs::write(&path, pattern(len)).await.unwrap();
            assert_eq!(fs::read(&path).await.unwrap(), pattern(len));
            assert_eq!(fs::metadata(&path).await.unwrap().len(), len as u64);
        }
        let path = folder.join("text");
        fs::write(&path, "Grüße").await.unwrap();
        assert_eq!(fs::read_to_string(&path).await.unwrap(), "Grüße");
        fs::write(&path, [0xff]).await.unwrap();
        let error = fs::read_to_string(&path).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        // A file that does not tell its length.
        let status = fs::read_to_string("/proc/self/status").await.unwrap();
        assert!(status.starts_with("Name:") && status.ends_with('\n'));
    });
}

#[test]
fn a_file_is_a_stream_with_a_position() {
    each_way(async |folder| {
        let path = folder.join("stream");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        let mut file = options.open(&path).await.unwrap();
        file.write_all(b"hello, world").await.unwrap();
        assert_eq!(file.seek(SeekFrom::Start(7)).await.unwrap(), 7);
        let mut word = [0; 5];
        file.read_exact(&mut word).await.unwrap();
        assert_eq!(&word, b"world");
        assert_eq!(file.read(&mut word).await.unwrap(), 0);
        assert_eq!(file.seek(SeekFrom::Current(-5)).await.unwrap(), 7);
        file.write_all(b"there").await.unwrap();
        assert_eq!(file.seek(SeekFrom::End(-12)).await.unwrap(), 0);
        file.seek(SeekFrom::Current(-1)).await.unwrap_err();
        let mut all = String::new();
        file.read_to_string(&mut all).await.unwrap();
        assert_eq!(all, "hello, there");
        assert_eq!(file.stream_position().await.unwrap(), 12);

        // A clone shares the position; a length of its own does not move it.
        let mut clone = file.try_clone().await.unwrap();
        file.rewind().await.unwrap();
        clone.read_exact(&mut word).await.unwrap();
        assert_eq!(&word, b"hello");
        file.set_len(6).await.unwrap();
        assert_eq!(file.read(&mut word).await.unwrap(), 1);
        file.sync_data().await.unwrap();
        file.sync_all().await.unwrap();

        let mut end = OpenOptions::new().append(true).open(&path).await.unwrap();
        end.write_all(b" again").await.unwrap();
        end.shutdown().await.unwrap();
        assert_eq!(fs::read(&path).await.unwrap(), b"hello, again");
        let std = end.into_std().await;
        assert_eq!(std.metadata().unwrap().len(), 12);
    });
}

#[test]
fn streams_go_through_the_traits_in_pieces() {
    each_way(async |folder| {
        let (from, to) = (folder.join("from"), folder.join("to"));
        let bytes = pattern(5 << 20);
        fs::write(&from, &bytes).await.unwrap();
        let mut reader = File::open(&from).await.unwrap();
        let mut writer = File::create(&to).await.unwrap();
        // So small that a piece is split.
        writer.set_max_buf_size(10_000);
        reader.set_max_buf_size(10_000);
        let copied = rt::io::copy(&mut reader, &mut writer).await.unwrap();
        writer.flush().await.unwrap();
        assert_eq!(copied, 5 << 20);
        assert!(fs::read(&to).await.unwrap() == bytes);
    });
}

/// As a column store is read: many places of one file, by many tasks, in any order.
#[test]
fn thousands_of_reads_and_writes_of_one_file_are_under_way() {
    const PIECE: usize = 500;
    const PIECES: usize = 3000;
    each_way(async |folder| {
        let path = folder.join("pieces");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        let file = Arc::new(options.open(&path).await.unwrap());
        let bytes = Arc::new(pattern(PIECE * PIECES));
        let writes: Vec<_> = (0..PIECES)
            .map(|piece| {
                let (file, bytes) = (Arc::clone(&file), Arc::clone(&bytes));
                rt::spawn(async move {
                    let from = piece * PIECE;
                    let piece = bytes[from..from + PIECE].to_vec();
                    file.write_all_at(piece, from as u64).await.0
                })
            })
            .collect();
        for write in writes {
            write.await.unwrap().unwrap();
        }
        let reads: Vec<_> = (0..PIECES)
            .map(|piece| {
                let file = Arc::clone(&file);
                rt::spawn(async move {
                    let (read, buf) = file.read_at(vec![0; PIECE], (piece * PIECE) as u64).await;
                    assert_eq!(read.unwrap(), PIECE);
                    buf
                })
            })
            .collect();
        for (piece, read) in reads.into_iter().enumerate() {
            assert!(read.await.unwrap() == bytes[piece * PIECE..][..PIECE]);
        }
    });
}

#[test]
fn positional_reads_end_where_the_file_ends() {
    each_way(async |folder| {
        let path = folder.join("end");
        let mut file = File::create_new(&path).await.unwrap();
        file.write_all(b"0123456789").await.unwrap();
        file.flush().await.unwrap();
        let (read, buf) = file.read_at(vec![7; 8], 6).await;
        assert_eq!((read.unwrap(), &buf[..]), (4, &b"6789\x07\x07\x07\x07"[..]));
        let (read, buf) = file.read_at(Vec::with_capacity(8), 6).await;
        assert_eq!((read.unwrap(), &buf[..]), (4, &b"6789"[..]));
        let (read, _) = file.read_at(vec![0; 8], 100).await;
        assert_eq!(read.unwrap(), 0);
        let (read, buf) = file.read_at(Vec::new(), 0).await;
        assert_eq!((read.unwrap(), buf.len()), (0, 0));
        let (read, _) = file.read_exact_at(vec![0; 10], 0).await;
        read.unwrap();
        let (read, buf) = file.read_exact_at(vec![0; 11], 0).await;
        assert_eq!(read.unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(buf.len(), 11);
        // The stream's position is where it was.
        assert_eq!(file.stream_position().await.unwrap(), 10);
        // Places that no file has.
        for place in [u64::MAX, 1 << 63] {
            let (read, buf) = file.read_at(vec![0; 1], place).await;
            assert_eq!(read.unwrap_err().kind(), ErrorKind::InvalidInput);
            assert_eq!(buf.len(), 1);
            let (written, _) = file.write_at("!", place).await;
            assert_eq!(written.unwrap_err().kind(), ErrorKind::InvalidInput);
        }
        let (written, _) = file.write_at("", 0).await;
        assert_eq!(written.unwrap(), 0);
    });
}

#[test]
fn errors_name_what_is_wrong() {
    each_way(async |folder| {
        let nothing = folder.join("nothing");
        let kind = |result: io::Result<File>| result.unwrap_err().kind();
        assert_eq!(kind(File::open(&nothing).await), ErrorKind::NotFound);
        assert_eq!(kind(File::open("a\0b").await), ErrorKind::InvalidInput);
        assert_eq!(
            kind(OpenOptions::new().open(folder).await),
            ErrorKind::InvalidInput
        );
        let mut no_write = OpenOptions::new();
        no_write.read(true).truncate(true);
        assert_eq!(kind(no_write.open(&nothing).await), ErrorKind::InvalidInput);
        assert_eq!(kind(File::create(folder).await), ErrorKind::IsADirectory);
        fs::write(&nothing, "something").await.unwrap();
        assert_eq!(
            kind(File::create_new(&nothing).await),
            ErrorKind::AlreadyExists
        );

        let mut write_only = File::create(&nothing).await.unwrap();
        let error = write_only.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(9), "EBADF");
        let (read, buf) = write_only.read_at(vec![0; 8], 0).await;
        assert!(read.is_err() && buf.len() == 8);
        assert_eq!(
            fs::read(folder).await.unwrap_err().kind(),
            ErrorKind::IsADirectory
        );
        let gone = fs::metadata(folder.join("gone")).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound);
        assert!(!fs::try_exists(folder.join("gone")).await.unwrap());
        assert!(fs::try_exists(folder).await.unwrap());
        let not_a_folder = fs::try_exists(nothing.join("below")).await.unwrap_err();
        assert_eq!(not_a_folder.kind(), ErrorKind::NotADirectory);
    });
}

/// `/dev/full` is a disk that is full. Whether the write or the flush says so is open, but one does,
/// and does so once.
#[test]
fn a_full_disk_is_told_by_the_write_or_the_flush() {
    each_way(async |_| {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).open("/dev/full").await.unwrap();
        let told = match file.write_all(b"does not fit").await {
            Ok(()) => file.flush().await,
            error => error,
        };
        assert_eq!(told.unwrap_err().kind(), ErrorKind::StorageFull);
        file.flush().await.unwrap();

        // Left to the next write, or to a sync.
        if file.write(b"again").await.is_ok() {
            let next = file.write(b"and again").await;
            assert_eq!(next.unwrap_err().kind(), ErrorKind::StorageFull);
        }
        if file.write(b"at last").await.is_ok() {
            let sync = file.sync_all().await;
            assert_eq!(sync.unwrap_err().kind(), ErrorKind::StorageFull);
        }
        let (written, buf) = file.write_at("does not fit", 0).await;
        assert_eq!(written.unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(buf, "does not fit");
        let failed = fs::write("/dev/full", "does not fit").await;
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::StorageFull);
    });
}

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

#[test]
fn folders_are_made_read_and_removed() {
    each_way(async |folder| {
        let root = folder.join("root");
        fs::create_dir(&root).await.unwrap();
        let again = fs::create_dir(&root).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::AlreadyExists);
        fs::create_dir_all(root.join("a/b/c")).await.unwrap();
        let mut builder = DirBuilder::new();
        builder
            .mode(0o700)
            .create(root.join("private"))
            .await
            .unwrap();
        let mode = fs::metadata(root.join("private"))
            .await
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
        builder
            .recursive(true)
            .create(root.join("private"))
            .await
            .unwrap();

        let mut names = BTreeSet::new();
        for number in 0..200 {
            let name = format!("file-{number}");
            fs::write(root.join(&name), "").await.unwrap();
            names.insert(name);
        }
        let mut entries = fs::read_dir(&root).await.unwrap();
        let mut folders = 0;
        while let Some(entry) = entries.next_entry().await.unwrap() {
            assert_eq!(entry.path(), root.join(entry.file_name()));
            assert!(entry.ino() > 0);
            let kind = entry.file_type().await.unwrap();
            assert_eq!(entry.metadata().await.unwrap().is_dir(), kind.is_dir());
            if kind.is_dir() {
                folders += 1;
            } else {
                assert!(names.remove(&entry.file_name().into_string().unwrap()));
            }
        }
        assert!(entries.next_entry().await.unwrap().is_none());
        assert_eq!((names.len(), folders), (0, 2));
        let full = fs::remove_dir(&root).await.unwrap_err();
        assert_eq!(full.kind(), ErrorKind::DirectoryNotEmpty);
        fs::remove_dir(root.join("private")).await.unwrap();
        fs::remove_dir_all(&root).await.unwrap();
        assert_eq!(
            fs::read_dir(&root).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
    });
}

#[test]
fn names_are_given_changed_and_followed() {
    each_way(async |folder| {
        let (one, two, link) = (folder.join("one"), folder.join("two"), folder.join("link"));
        fs::write(&one, "content").await.unwrap();
        fs::hard_link(&one, &two).await.unwrap();
        fs::symlink(&one, &link).await.unwrap();
        assert_eq!(fs::read_link(&link).await.unwrap(), one);
        assert!(fs::symlink_metadata(&link).await.unwrap().is_symlink());
        assert!(fs::metadata(&link).await.unwrap().is_file());
        let real = folder.canonicalize().unwrap();
        assert_eq!(fs::canonicalize(&link).await.unwrap(), real.join("one"));
        fs::rename(&one, folder.join("three")).await.unwrap();
        assert!(!fs::try_exists(&link).await.unwrap());
        assert_eq!(fs::copy(&two, &one).await.unwrap(), 7);
        assert_eq!(fs::read(&link).await.unwrap(), b"content");
        fs::set_permissions(&one, Permissions::from_mode(0o640))
            .await
            .unwrap();
        let file = File::open(&one).await.unwrap();
        assert_eq!(
            file.metadata().await.unwrap().permissions().mode() & 0o777,
            0o640
        );
        file.set_permissions(Permissions::from_mode(0o600))
            .await
            .unwrap();
        assert_eq!(
            fs::metadata(&one).await.unwrap().permissions().mode() & 0o777,
            0o600
        );
        fs::remove_file(&one).await.unwrap();
        assert_eq!(
            fs::remove_file(&one).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
    });
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

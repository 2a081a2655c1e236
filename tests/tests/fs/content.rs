//! What is in files, and what is told when that cannot be read or written.

use std::io;
use std::io::{ErrorKind, SeekFrom};
use std::sync::Arc;

use rt::fs;
use rt::fs::{File, OpenOptions};
use rt::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use super::support::{each_way, pattern};

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

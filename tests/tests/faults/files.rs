//! Disks that are full, or broken.

use std::env;
use std::io::{ErrorKind, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use rt::fs::{self, File};
use rt::runtime::FileIo;
use rt::{Runtime, task::JoinSet};
use rt_tests::{FLAVOURS, alone_after};

const WAYS: [FileIo; 4] = [
    FileIo::Auto,
    FileIo::NoUring,
    FileIo::Uring,
    FileIo::Blocking,
];

/// What has room on the disk, and what has not.
const SMALL: usize = 16 * 1024;
const LARGE: usize = 1024 * 1024;

/// On each flavour, each way that the kernel allows.
fn each_way(test: impl Fn(&Runtime)) {
    for flavour in FLAVOURS {
        for way in WAYS {
            match flavour.builder().file_io(way).build() {
                Ok(runtime) => test(&runtime),
                Err(error) if way == FileIo::Uring => println!("skipped: no io_uring: {error}"),
                Err(error) => panic!("{way:?}: {error}"),
            }
        }
    }
}

#[test]
fn a_device_that_is_always_full_says_so() {
    if !Path::new("/dev/full").exists() {
        return println!("skipped: no /dev/full here");
    }
    each_way(|runtime| {
        runtime.block_on(async {
            let mut file = File::options().write(true).open("/dev/full").await.unwrap();
            let written = async {
                file.write_all(&vec![1; SMALL]).await?;
                file.flush().await
            };
            let error = written.await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
            let (result, bytes) = file.write_at(vec![2; SMALL], 0).await;
            assert_eq!(result.unwrap_err().kind(), ErrorKind::StorageFull);
            assert_eq!(bytes, [2; SMALL], "the buffer comes back");
        });
    });
}

/// A disk of 64 KiB, in a mount namespace of the test's own.
#[test]
fn a_disk_that_is_full_loses_nothing_that_was_written() {
    let disk = env::temp_dir().join("rt-faults-disk");
    std::fs::create_dir_all(&disk).unwrap();
    let mount = format!("mount -t tmpfs -o size=64k rt-faults '{}'", disk.display());
    let probe = Command::new("unshare")
        .args(["-m", "sh", "-c", &mount])
        .output();
    if !probe.as_ref().is_ok_and(|probe| probe.status.success()) {
        return println!("skipped: no disk can be mounted here: {probe:?}");
    }
    let shell = format!(
        "exec unshare -m sh -c '{}' \"$0\" \"$@\"; false",
        inside(&mount)
    );
    alone_after(&shell, || each_way(|runtime| runtime.block_on(fill(&disk))));
}

/// What the shell in the namespace does, inside single quotes.
fn inside(mount: &str) -> String {
    let script = format!("{mount} && exec \"$0\" \"$@\"");
    script.replace('\'', r"'\''")
}

async fn fill(disk: &Path) {
    let large = disk.join("large");
    let mut file = File::create(&large).await.unwrap();
    let written = async {
        file.write_all(&vec![1; LARGE]).await?;
        file.flush().await
    };
    let error = written.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    drop(file);
    let kept = fs::read(&large).await.unwrap();
    assert!(kept.len() < LARGE && kept.iter().all(|byte| *byte == 1));
    fs::remove_file(&large).await.unwrap();

    // There is room for some of these.
    let mut writers = JoinSet::new();
    for number in 0..10_u8 {
        let path = disk.join(number.to_string());
        writers.spawn(async move {
            let written = fs::write(&path, vec![number; SMALL]).await;
            (number, path, written)
        });
    }
    let mut whole = 0;
    while let Some(ended) = writers.join_next().await {
        let (number, path, written) = ended.unwrap();
        match written {
            Ok(()) => {
                whole += 1;
                assert_eq!(fs::read(&path).await.unwrap(), [number; SMALL]);
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}"),
        }
        // Whoever comes after this one has its room.
        if path.exists() {
            fs::remove_file(&path).await.unwrap();
        }
    }
    assert!(whole > 0, "there was room for one at least");
}

/// A disk that gives the first bytes it is asked for, and no others.
struct Broken {
    backing: PathBuf,
    device: Option<String>,
}

impl Broken {
    /// `Err`: why there is none.
    fn new() -> Result<Broken, String> {
        let backing = env::temp_dir().join(format!("rt-faults-broken-{}", process::id()));
        std::fs::write(&backing, [vec![1; SMALL], vec![2; LARGE]].concat()).unwrap();
        let mut broken = Broken {
            backing,
            device: None,
        };
        let device = said_by(
            Command::new("losetup")
                .args(["--find", "--show"])
                .arg(&broken.backing),
        )?;
        broken.device = Some(device.clone());
        // Read ahead, the error would come before the bytes in front of it.
        said_by(Command::new("blockdev").args(["--setra", "0", &device]))?;
        // What lies behind this is gone, and the device does not know it.
        let backing = std::fs::File::options().write(true).open(&broken.backing);
        backing.unwrap().set_len(SMALL as u64).unwrap();
        Ok(broken)
    }

    fn device(&self) -> &str {
        self.device.as_deref().expect("it was made")
    }
}

/// What a program writes, or how it fails.
fn said_by(program: &mut Command) -> Result<String, String> {
    match program.output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        failed => Err(format!("{program:?}: {failed:?}")),
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        if let Some(device) = &self.device {
            let _released = said_by(Command::new("losetup").args(["-d", device]));
        }
        let _removed = std::fs::remove_file(&self.backing);
    }
}

/// A read that gets some bytes and then finds the disk broken tells these once, and then the error.
#[test]
fn a_disk_that_breaks_off_is_an_error_and_nothing_is_read_twice() {
    let broken = match Broken::new() {
        Ok(broken) => broken,
        Err(why) => return println!("skipped: no disk can be made here: {why}"),
    };
    each_way(|runtime| {
        runtime.block_on(async {
            let mut file = File::open(broken.device()).await.unwrap();
            let mut all = Vec::new();
            let mut piece = vec![0; 4 * SMALL];
            let error = loop {
                match file.read(&mut piece).await {
                    Ok(read) => all.extend_from_slice(&piece[..read]),
                    Err(error) => break error,
                }
                assert!(all.len() <= SMALL, "{} bytes of {SMALL}", all.len());
            };
            assert_eq!(error.raw_os_error(), Some(libc::EIO), "{error}");
            assert_eq!(all, [1; SMALL]);
            let position = file.seek(SeekFrom::Current(0)).await.unwrap();
            assert_eq!(position, SMALL as u64);

            let error = fs::read(broken.device()).await.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EIO), "{error}");
            let mut file = File::open(broken.device()).await.unwrap();
            let (result, bytes) = file.read_at(vec![0; 4 * SMALL], 0).await;
            assert_eq!((result.unwrap(), &bytes[..SMALL]), (SMALL, &[1; SMALL][..]));
            assert_eq!(file.seek(SeekFrom::Current(0)).await.unwrap(), 0);
        });
    });
}

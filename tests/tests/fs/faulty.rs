//! Files beside a waker that panics.

use std::future::Future;
use std::io::Write;
use std::task::{Context, Poll};

use rt::fs::File;
use rt::runtime::FileIo;
use rt_tests::{FLAVOURS, Fault, FaultyWaker, Watchdog, until_yielding};

use super::support::{Folder, build, fifo};

/// What one waker does is its owner's affair: all who come after it are still told.
#[test]
fn a_waker_that_panics_keeps_nobody_elses_file_waiting() {
    for flavour in FLAVOURS {
        for way in [FileIo::Uring, FileIo::Blocking] {
            let _watchdog = Watchdog::new();
            let folder = Folder::new();
            let Some(runtime) = build(flavour, way) else {
                continue;
            };
            let files = ["first", "second"].map(|name| {
                let path = folder.0.join(name);
                fifo(&path);
                let mut options = std::fs::OpenOptions::new();
                options.read(true).write(true).open(path).unwrap()
            });
            let mut ends = files.each_ref().map(|file| file.try_clone().unwrap());
            let [first, second] = files.map(File::from_std);
            runtime.block_on(async {
                let waker = FaultyWaker::new(Fault::Wake);
                let mut file = first;
                let mut buf = [0; 1];
                let mut faulty = Box::pin(file.read(&mut buf));
                let faulty_waker = waker.waker();
                let poll = faulty
                    .as_mut()
                    .poll(&mut Context::from_waker(&faulty_waker));
                assert!(matches!(poll, Poll::Pending));
                waker.arm(true);
                ends[0].write_all(&[1]).unwrap();
                until_yielding(|| waker.panics() == 1).await;
                waker.arm(false);
                let reader = rt::spawn(async move {
                    let mut second = second;
                    let mut buf = [0; 1];
                    second.read(&mut buf).await.unwrap();
                    buf
                });
                for _ in 0..10 {
                    rt::yield_now().await;
                }
                ends[1].write_all(&[2]).unwrap();
                assert_eq!(reader.await.unwrap(), [2]);
            });
        }
    }
}

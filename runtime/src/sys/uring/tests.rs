//! Unit tests of the ring: kernels that refuse it, and more operations than it takes at a time.

use std::fs::File;
use std::future::poll_fn;
use std::io::{PipeReader, PipeWriter, Write as _, pipe};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use super::*;
use crate::Runtime;
use crate::runtime::FileIo;
use crate::sys::file::Room;

/// Makes a system call fail with EPERM for this thread and those that it starts, as sandboxes do.
fn forbid(call: libc::c_long) {
    fn step(code: u32, k: u32, no: u8) -> libc::sock_filter {
        let code = code as u16;
        libc::sock_filter {
            code,
            jt: 0,
            jf: no,
            k,
        }
    }
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            call.cast_unsigned() as u32,
            1,
        ),
        step(libc::BPF_RET | libc::BPF_K, refuse, 0),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the first call takes no pointer; the second's program is whole, and copied by the kernel.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(
            libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program),
            0
        );
    }
}

fn on_a_thread_of_its_own(test: impl FnOnce() + Send + 'static) {
    thread::spawn(test).join().unwrap();
}

fn runtime(way: FileIo) -> Runtime {
    let builder = Runtime::builder().current_thread().file_io(way);
    builder.build().unwrap()
}

/// A runtime whose ring is made; `None` where the kernel refuses it.
fn with_ring() -> Option<(Runtime, Arc<Ring>)> {
    let runtime = runtime(FileIo::Auto);
    match Ring::new(&runtime.handle().inner.reactor) {
        Ok(ring) => Some((runtime, ring)),
        Err(error) => {
            println!("skipped: no io_uring here: {error}");
            None
        }
    }
}

fn read(from: &Arc<File>) -> Read {
    Read {
        file: Arc::clone(from),
        room: Room::new(Vec::with_capacity(8)),
        at: None,
    }
}

fn pipe_of_files() -> (Arc<File>, PipeWriter) {
    let (reader, writer): (PipeReader, PipeWriter) = pipe().unwrap();
    (Arc::new(File::from(OwnedFd::from(reader))), writer)
}

async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx))).await
}

#[test]
fn where_the_kernel_refuses_rings_blocking_threads_stand_in() {
    on_a_thread_of_its_own(|| {
        forbid(libc::SYS_io_uring_setup);
        let refused = Runtime::builder().file_io(FileIo::Uring).build();
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        let runtime = runtime(FileIo::Auto);
        runtime.block_on(async {
            assert!(crate::fs::metadata("/proc").await.unwrap().is_dir());
        });
        assert!(runtime.metrics().blocking_threads > 0);
    });
}

#[test]
fn where_the_kernel_takes_no_more_blocking_threads_stand_in() {
    on_a_thread_of_its_own(|| {
        let Some((_, _)) = with_ring() else { return };
        let runtime = runtime(FileIo::Uring);
        runtime.block_on(async {
            crate::fs::metadata("/proc").await.unwrap();
            assert_eq!(runtime.metrics().blocking_threads, 0);
            forbid(libc::SYS_io_uring_enter);
            for _ in 0..3 {
                assert!(crate::fs::metadata("/proc").await.unwrap().is_dir());
            }
        });
        assert!(runtime.metrics().blocking_threads > 0);
    });
}

#[test]
fn more_operations_than_the_ring_takes_wait_for_their_turn() {
    const LIMIT: u32 = 8;
    let Some((runtime, _)) = with_ring() else {
        return;
    };
    let ring = Ring::with_limit(&runtime.handle().inner.reactor, LIMIT).unwrap();
    let (reader, mut writer) = pipe_of_files();
    runtime.block_on(async {
        let mut reads: Vec<_> = (0..LIMIT + 100)
            .map(|_| ring.start(read(&reader)).unwrap())
            .collect();
        {
            let state = ring.state.lock();
            assert_eq!(state.in_flight, LIMIT);
            assert_eq!(state.backlog.len(), 100);
        }
        // One that has not begun is given up, and one that has.
        drop(reads.pop());
        drop(reads.remove(0));
        // The rest get a piece each, whoever is first.
        for _ in 0..reads.len() {
            writer.write_all(b"eight!!!").unwrap();
        }
        for read in reads {
            let (read, room) = read.await;
            assert_eq!(
                (read.unwrap(), &room.into_inner()[..]),
                (8, &b"eight!!!"[..])
            );
        }
        while ring.state.lock().in_flight > 0 {
            crate::yield_now().await;
        }
    });
    let state = ring.state.lock();
    assert!(state.slots.iter().all(|slot| matches!(slot, Slot::Free)));
    assert_eq!(state.free.len(), state.slots.len());
}

#[test]
fn the_end_of_a_ring_ends_its_operations() {
    let Some((runtime, ring)) = with_ring() else {
        return;
    };
    let (reader, writer) = pipe_of_files();
    runtime.block_on(async {
        let mut awaited = ring.start(read(&reader)).unwrap();
        assert!(poll_once(&mut awaited).await.is_pending());
        let abandoned = ring.start(read(&reader)).unwrap();
        drop(abandoned);
        ring.close();
        let (read_result, room) = awaited.await;
        assert!(read_result.unwrap_err().to_string().contains("shut down"));
        assert_eq!(room.into_inner().len(), 0);
        assert!(ring.start(read(&reader)).is_err());
    });
    drop(ring);
    // The ring has let go of the file.
    assert_eq!(Arc::strong_count(&reader), 1);
    drop(writer);
}

/// Bytes that are written when nobody waits any more, not even for the ring.
#[test]
fn an_abandoned_write_is_written() {
    let Some((runtime, ring)) = with_ring() else {
        return;
    };
    let (reader, writer) = pipe_of_files();
    let write = Write {
        file: Arc::new(File::from(OwnedFd::from(writer))),
        buf: "written",
        from: 0,
        at: None,
    };
    drop(ring.start(write).unwrap());
    drop((ring, runtime));
    let mut room = Room::new(Vec::with_capacity(100));
    assert_eq!(room.fill(&reader, 100, None).unwrap(), 7);
    assert_eq!(room.into_inner(), b"written");
}

#[test]
fn a_wait_for_the_kernel_has_a_limit() {
    let Some((_runtime, ring)) = with_ring() else {
        return;
    };
    let started = Instant::now();
    ring.state.lock().wait(Duration::from_millis(5));
    assert!(started.elapsed() >= Duration::from_millis(5));
}

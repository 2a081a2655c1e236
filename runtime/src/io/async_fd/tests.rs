//! Descriptors of other people's making.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::task::{Context, Waker};

use super::{AsyncFd, AsyncFdReadyGuard};
use crate::context;
use crate::io::{Interest, Ready};

fn pair() -> (AsyncFd<UnixStream>, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    (AsyncFd::new(near).unwrap(), far)
}

fn read(guard: &mut AsyncFdReadyGuard<'_, UnixStream>) -> Option<io::Result<usize>> {
    guard.try_io(|fd| fd.get_ref().read(&mut [0; 8])).ok()
}

#[test]
fn it_may_go_anywhere() {
    fn check<T: Send + Sync + Unpin + 'static>() {}
    check::<AsyncFd<UnixStream>>();
    check::<AsyncFd<Arc<File>>>();
}

#[rt_macros::test(crate = "crate")]
async fn a_guard_clears_what_an_operation_disproves() {
    let (near, mut far) = pair();
    far.write_all(b"1").unwrap();
    let mut guard = near.readable().await.unwrap();
    assert!(guard.ready().is_readable());
    guard.retain_ready();
    assert_eq!(read(&mut guard).unwrap().unwrap(), 1);
    assert!(read(&mut guard).is_none(), "it would block");
    let mut cx = Context::from_waker(Waker::noop());
    assert!(near.poll_read_ready(&mut cx).is_pending());

    far.write_all(b"2").unwrap();
    let mut guard = near.readable().await.unwrap();
    guard.clear_ready_matching(Ready::WRITABLE);
    assert_eq!(read(&mut guard).unwrap().unwrap(), 1);
    guard.clear_ready();
    assert!(near.poll_read_ready(&mut cx).is_pending());
    drop(near.writable().await.unwrap());
}

#[rt_macros::test(crate = "crate")]
async fn any_number_of_tasks_wait_in_both_directions() {
    let (near, mut far) = pair();
    let near = Arc::new(near);
    let waiting: Vec<_> = (0..10)
        .map(|at| {
            let near = Arc::clone(&near);
            crate::spawn(async move {
                let interest = [Interest::READABLE, Interest::WRITABLE][at % 2];
                near.ready(interest).await.unwrap().ready()
            })
        })
        .collect();
    far.write_all(b"hello").unwrap();
    for task in waiting {
        assert!(!task.await.unwrap().is_empty());
    }
}

#[rt_macros::test(crate = "crate")]
async fn operations_are_repeated_until_they_do_something() {
    let (mut near, mut far) = pair();
    let reading = crate::spawn(async move {
        let read = |mut near: &UnixStream| near.read(&mut [0; 3]);
        let first = near.async_io(Interest::READABLE, read).await.unwrap();
        let read = |near: &mut UnixStream| near.read(&mut [0; 5]);
        let second = near.async_io_mut(Interest::READABLE, read).await.unwrap();
        (first, second, near)
    });
    crate::yield_now().await;
    far.write_all(b"one").unwrap();
    crate::yield_now().await;
    far.write_all(b"three").unwrap();
    let (first, second, mut near) = reading.await.unwrap();
    assert_eq!((first, second), (3, 5));
    let nothing = near.try_io_mut(Interest::READABLE, |near| near.read(&mut [0; 8]));
    assert_eq!(nothing.unwrap_err().kind(), ErrorKind::WouldBlock);
    let mut guard = near.writable_mut().await.unwrap();
    assert!(guard.get_inner_mut().take_error().unwrap().is_none());
    let (guarded, _) = (guard.get_mut().as_raw_fd(), guard.get_ref());
    assert_eq!(guarded, near.into_inner().as_raw_fd());
}

#[rt_macros::test(crate = "crate")]
async fn a_direction_that_was_not_asked_for_is_an_error() {
    let (near, _far) = UnixStream::pair().unwrap();
    let near = AsyncFd::with_interest(near, Interest::WRITABLE).unwrap();
    near.writable().await.unwrap().retain_ready();
    let error = near.readable().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let error = near.try_io(Interest::READABLE, |_| Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// Refused, dropped or given back: nothing stays registered, and the descriptor is its owner's.
#[rt_macros::test(crate = "crate")]
async fn what_is_refused_comes_back_and_leaves_nothing() {
    let reactor = context::reactor();
    let before = reactor.live_sources();
    let file = Arc::new(File::open("/proc/self/exe").unwrap());
    let error = AsyncFd::new(Arc::clone(&file)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let (back, error) = AsyncFd::try_new(Arc::clone(&file))
        .unwrap_err()
        .into_parts();
    assert!(Arc::ptr_eq(&back, &file) && error.kind() == ErrorKind::Unsupported);
    drop(back);
    assert_eq!(Arc::strong_count(&file), 1);

    let (near, _far) = UnixStream::pair().unwrap();
    let first = AsyncFd::new(&near).unwrap();
    let twice = AsyncFd::new(near.as_fd()).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::AlreadyExists);
    assert_eq!(reactor.live_sources(), before + 1);
    drop(first);
    let borrowed: AsyncFd<BorrowedFd<'_>> = AsyncFd::new(near.as_fd()).unwrap();
    borrowed.into_inner();
    drop(AsyncFd::new(near.as_fd()).unwrap());
    assert_eq!(reactor.live_sources(), before);
}

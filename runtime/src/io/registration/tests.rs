//! The loop over a real socket pair, with operations that count how often they are called.

use std::cell::Cell;
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, Wake, Waker};

use rt_reactor::{Direction, Interest};

use super::Registration;
use crate::context;

/// A registered end and a plain one, which does not block either.
fn pair() -> (Registration<UnixStream>, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    far.set_nonblocking(true).unwrap();
    (Registration::new(near).unwrap(), far)
}

#[derive(Default)]
struct CountingWaker(AtomicUsize);

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Polls once, with a waker that does nothing.
fn poll_once<R>(poll: impl FnOnce(&mut Context<'_>) -> Poll<R>) -> Poll<R> {
    poll(&mut Context::from_waker(Waker::noop()))
}

#[rt_macros::test(crate = "crate")]
async fn a_new_registration_is_tried_before_any_event() {
    let (near, mut far) = pair();
    far.write_all(b"hello").unwrap();
    let mut buf = [0; 5];
    let read =
        poll_once(|cx| near.poll_transfer(cx, Direction::Read, 5, |mut near| near.read(&mut buf)));
    assert!(matches!(read, Poll::Ready(Ok(5))));
}

#[rt_macros::test(crate = "crate")]
async fn a_short_transfer_is_not_tried_again_before_an_event() {
    let (near, mut far) = pair();
    let calls = Cell::new(0);
    let mut buf = [0; 64];
    let mut read = |cx: &mut Context<'_>| {
        near.poll_transfer(cx, Direction::Read, 64, |mut near| {
            calls.set(calls.get() + 1);
            near.read(&mut buf)
        })
    };
    far.write_all(b"hello").unwrap();
    assert_eq!(poll_fn(&mut read).await.unwrap(), 5);
    let so_far = calls.get();
    // The first event tells of the room to write and of those bytes, of which nothing is left.
    near.ready(Interest::WRITABLE).await.unwrap();
    assert!(poll_once(&mut read).is_pending());
    assert!(calls.get() <= so_far + 1, "one call for that event");
    let so_far = calls.get();
    for _ in 0..10 {
        assert!(poll_once(&mut read).is_pending());
    }
    assert_eq!(calls.get(), so_far);

    far.write_all(b"world!").unwrap();
    assert_eq!(poll_fn(&mut read).await.unwrap(), 6);
}

#[rt_macros::test(crate = "crate")]
async fn an_end_behind_a_short_transfer_is_seen() {
    let (near, mut far) = pair();
    far.write_all(b"bye").unwrap();
    drop(far);
    let mut buf = [0; 64];
    for expected in [3, 0, 0] {
        let read = near.transfer(Direction::Read, 64, |mut near| near.read(&mut buf));
        assert_eq!(read.await.unwrap(), expected);
    }
}

#[rt_macros::test(crate = "crate")]
async fn an_error_that_is_not_would_block_keeps_the_readiness() {
    let (near, _far) = pair();
    near.ready(Interest::WRITABLE).await.unwrap();
    for _ in 0..3 {
        let failed = poll_once(|cx| {
            near.poll_io(cx, Direction::Write, |_| {
                Err::<(), _>(io::Error::from_raw_os_error(libc::EMFILE))
            })
        });
        let Poll::Ready(Err(error)) = failed else {
            panic!("the error is not told");
        };
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE), "untouched");
    }
}

#[rt_macros::test(crate = "crate")]
async fn an_interrupted_call_is_made_again() {
    let (near, _far) = pair();
    let calls = Cell::new(0);
    let done = near.io(Direction::Write, |_| {
        calls.set(calls.get() + 1);
        match calls.get() {
            1 | 2 => Err(io::ErrorKind::Interrupted.into()),
            _ => Ok(()),
        }
    });
    done.await.unwrap();
    assert_eq!(calls.get(), 3);
}

#[rt_macros::test(crate = "crate")]
async fn a_try_never_waits_and_clears_what_it_found_wrong() {
    let (near, _far) = pair();
    near.ready(Interest::WRITABLE).await.unwrap();
    let calls = Cell::new(0);
    let try_it = || {
        near.try_io(Interest::WRITABLE, || {
            calls.set(calls.get() + 1);
            Err::<(), _>(io::ErrorKind::WouldBlock.into())
        })
    };
    for _ in 0..3 {
        assert_eq!(try_it().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
    assert_eq!(calls.get(), 1);
}

#[rt_macros::test(crate = "crate")]
async fn any_number_of_tasks_may_wait() {
    let (near, mut far) = pair();
    let near = Arc::new(near);
    let mut waiters: Vec<_> = (0..5)
        .map(|_| {
            let near = Arc::clone(&near);
            Box::pin(async move { near.ready(Interest::READABLE).await.map(drop) })
        })
        .collect();
    let wakers: Vec<Arc<CountingWaker>> = waiters.iter().map(|_| Arc::default()).collect();
    for (waiter, waker) in waiters.iter_mut().zip(&wakers) {
        let waker = Waker::from(Arc::clone(waker));
        let mut cx = Context::from_waker(&waker);
        assert!(waiter.as_mut().poll(&mut cx).is_pending());
    }
    // One that goes away takes nothing from the others.
    drop(waiters.remove(2));
    far.write_all(b"x").unwrap();
    for waiter in waiters {
        waiter.await.unwrap();
    }
    assert_eq!(wakers[2].0.load(SeqCst), 0);
}

#[rt_macros::test(crate = "crate")]
async fn dropping_it_leaves_the_reactor() {
    let reactor = context::reactor();
    let before = reactor.live_sources();
    let (near, _far) = pair();
    assert_eq!(reactor.live_sources(), before + 1);
    drop(near);
    assert_eq!(reactor.live_sources(), before);
}

#[rt_macros::test(crate = "crate")]
async fn taken_out_it_can_be_registered_again() {
    let (near, mut far) = pair();
    let near = Registration::new(near.into_inner().unwrap()).unwrap();
    let near = Registration::new(near.into_inner_always()).unwrap();
    far.write_all(b"x").unwrap();
    near.ready(Interest::READABLE).await.unwrap();
}

#[rt_macros::test(crate = "crate")]
async fn a_shut_down_reactor_ends_the_wait() {
    let (near, _far) = pair();
    let mut wait = pin!(near.io(Direction::Read, |mut near| near.read(&mut [0])));
    let reactor = rt_reactor::Reactor::new(1).unwrap();
    let orphan = Registration::with_reactor(UnixStream::pair().unwrap().0, &reactor).unwrap();
    let mut orphaned = pin!(orphan.ready(Interest::READABLE));
    assert!(poll_once(|cx| orphaned.as_mut().poll(cx)).is_pending());
    reactor.shutdown();
    assert!(orphaned.await.is_err());
    assert!(
        poll_once(|cx| wait.as_mut().poll(cx)).is_pending(),
        "of another reactor"
    );
}

#[test]
fn outside_a_runtime_it_fails_or_panics() {
    let (near, far) = UnixStream::pair().unwrap();
    assert!(Registration::try_new(near).is_err());
    let panic = std::panic::catch_unwind(|| Registration::new(far)).unwrap_err();
    let message = panic.downcast_ref::<String>().map_or_else(
        || panic.downcast_ref::<&str>().copied().unwrap_or_default(),
        String::as_str,
    );
    assert!(
        message.contains("no `rt` runtime in this thread"),
        "{message}"
    );
}

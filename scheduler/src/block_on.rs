//! Running one future on a plain thread, which sleeps between its polls.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::AcqRel, Ordering::Acquire};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::record::{self, Kind};
use crate::{context, coop};

/// Wakes a thread. The flag keeps a wake that comes while the thread polls.
struct ThreadWaker {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // ORDERING: AcqRel: the poll that consumes the flag sees what the waker wrote.
        if !self.woken.swap(true, AcqRel) {
            self.thread.unpark();
        }
    }
}

thread_local! {
    /// One waker a thread, kept between calls.
    static WAKER: RefCell<Option<Arc<ThreadWaker>>> = const { RefCell::new(None) };
}

/// Runs `future` on this thread until it ends.
///
/// # Panics
///
/// If this thread already runs futures: a task, or another `block_on`. Blocking there would keep
/// other tasks waiting, among them perhaps the one that is waited for.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let _entered = enter_or_panic();
    // The cached waker is taken out, so that a nested call after a panic finds none to share.
    let cached = WAKER
        .try_with(|waker| waker.borrow_mut().take())
        .ok()
        .flatten();
    let waker = cached.unwrap_or_else(|| {
        Arc::new(ThreadWaker {
            thread: thread::current(),
            woken: AtomicBool::new(false),
        })
    });
    let output = drive(pin!(future), &waker);
    // A thread that is ending has no place to keep it, and needs none.
    let _ = WAKER.try_with(|cache| *cache.borrow_mut() = Some(waker));
    output
}

/// Marks the thread as running futures.
#[track_caller]
pub(crate) fn enter_or_panic() -> context::Entered {
    let Some(entered) = context::enter() else {
        panic!(
            "`block_on` was called on a thread that is already running futures of a runtime; \
             use `.await` there, or move the blocking call to `rt::spawn_blocking`"
        );
    };
    entered
}

fn drive<F: Future>(mut future: std::pin::Pin<&mut F>, waker: &Arc<ThreadWaker>) -> F::Output {
    let std_waker = Waker::from(Arc::clone(waker));
    let mut cx = Context::from_waker(&std_waker);
    loop {
        waker.woken.swap(false, AcqRel);
        let slice = record::slice(Kind::BlockOn);
        if let Poll::Ready(output) = coop::with_budget(|| future.as_mut().poll(&mut cx)) {
            return output;
        }
        drop(slice);
        while !waker.woken.load(Acquire) {
            thread::park();
        }
    }
}

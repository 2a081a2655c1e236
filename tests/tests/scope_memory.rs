//! What scopes allocate, and that they give it back: counted, in a process of its own.

#![expect(unsafe_code, reason = "an allocator that counts is one by hand")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicIsize, AtomicUsize};

use rt_tests::{Flavour, everywhere, until_yielding, with};
use tokio::sync::oneshot;

/// The system's allocator, with a count of calls and of bytes in use.
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static IN_USE: AtomicIsize = AtomicIsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, SeqCst);
        IN_USE.fetch_add(layout.size().cast_signed(), SeqCst);
        // SAFETY: by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size().cast_signed(), SeqCst);
        // SAFETY: by the caller.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// What other threads of the runtime may have allocated meanwhile, and what it keeps for the next
/// tasks.
const SLACK: isize = 256 << 10;

#[test]
fn a_scope_without_children_makes_two_allocations_at_most() {
    rt_tests::alone(|| {
        with(Flavour::CurrentThread, |rt| {
            rt.block_on(async {
                // At the top, and inside another one.
                for inside in [false, true] {
                    let count = || async {
                        let before = CALLS.load(SeqCst);
                        rt::scope(|_| async {}).await;
                        CALLS.load(SeqCst) - before
                    };
                    let calls = if inside {
                        rt::scope(|_| async { count().await }).await
                    } else {
                        count().await
                    };
                    assert!(calls <= 2, "{calls} allocations, inside another: {inside}");
                }
            });
        });
    });
}

/// Ten thousand children at once.
async fn crowd(s: &rt::Scope) {
    let before = IN_USE.load(SeqCst);
    let (end, ended) = tokio::sync::watch::channel(());
    for _ in 0..10_000 {
        let mut ended = ended.clone();
        s.spawn(async move { ended.changed().await });
    }
    drop(ended);
    until_yielding(|| end.receiver_count() == 10_000).await;
    assert!(IN_USE.load(SeqCst) - before > 10_000 * 64);
    drop(end);
    until_yielding(|| s.child_count() == 0).await;
}

/// What a crowd may leave: a worker's queue that was as long as the crowd and is emptied by others keeps its
/// 256 KiB until that worker next takes something from it, and whoever runs keeps as much for its next tasks.
const KEPT: isize = 3 << 20;

#[test]
fn children_that_have_ended_leave_no_memory() {
    rt_tests::alone(|| {
        everywhere(|rt| {
            rt.block_on(rt.spawn(rt::scope(|s| async move {
                // The first round leaves the queues of the workers as long as they need to be.
                crowd(&s).await;
                let before = IN_USE.load(SeqCst);
                // At 64 bytes each these would be twice what may be kept.
                for _ in 0..100_000 {
                    s.spawn(async {}).await.unwrap();
                }
                crowd(&s).await;
                // The last one may still be on its way out of its worker.
                until_yielding(|| IN_USE.load(SeqCst) - before < KEPT).await;
            })))
            .unwrap();
        });
    });
}

#[test]
fn scopes_and_tokens_that_are_gone_leave_no_memory() {
    rt_tests::alone(|| {
        with(Flavour::CurrentThread, |rt| {
            rt.block_on(rt::scope(|s| async move {
                let before = IN_USE.load(SeqCst);
                for _ in 0..10_000 {
                    rt::scope(|_| async {}).await;
                    let token = s.token().child_token();
                    drop(token.cancelled());
                    let (begin, begun) = oneshot::channel();
                    let abandoned = rt::spawn(rt::scope(|s| async move {
                        s.spawn(std::future::pending::<()>());
                        begin.send(()).unwrap();
                        std::future::pending::<()>().await;
                    }));
                    begun.await.unwrap();
                    abandoned.abort();
                    abandoned.await.unwrap_err();
                }
                let kept = IN_USE.load(SeqCst) - before;
                assert!(kept < SLACK, "{kept} bytes are kept");
            }));
        });
    });
}

//! Cancellation tokens.

use std::future::pending;
use std::sync::atomic::Ordering::SeqCst;
use std::task::Context;
use std::time::Duration;

use rt::CancelToken;
use rt_tests::{counting_waker, everywhere, until_yielding};

#[test]
fn a_token_is_cancelled_for_good_and_for_all_clones() {
    let token = CancelToken::default();
    let clone = token.clone();
    assert!(!token.is_cancelled());
    clone.cancel();
    clone.cancel();
    assert!(token.is_cancelled() && clone.is_cancelled());
    assert!(token.child_token().is_cancelled(), "made afterwards");
}

#[test]
fn children_are_cancelled_with_their_parents_and_not_the_other_way_round() {
    let root = CancelToken::new();
    let child = root.child_token();
    let sibling = root.child_token();
    let grandchild = child.child_token();
    child.cancel();
    assert!(grandchild.is_cancelled());
    assert!(!root.is_cancelled() && !sibling.is_cancelled());
    root.cancel();
    assert!(sibling.is_cancelled());
}

#[test]
fn a_token_in_between_may_be_dropped() {
    let root = CancelToken::new();
    let grandchild = root.child_token().child_token();
    root.cancel();
    assert!(grandchild.is_cancelled());
}

#[test]
fn all_who_wait_are_woken_and_those_who_left_are_not() {
    let token = CancelToken::new();
    let (waker, wakes) = counting_waker();
    let mut cx = Context::from_waker(&waker);
    let mut waiting: Vec<_> = (0..10).map(|_| Box::pin(token.cancelled())).collect();
    for cancelled in &mut waiting {
        assert!(cancelled.as_mut().poll(&mut cx).is_pending());
        assert!(cancelled.as_mut().poll(&mut cx).is_pending());
    }
    waiting.truncate(4);
    token.cancel();
    assert_eq!(wakes.load(SeqCst), 4);
    for cancelled in &mut waiting {
        assert!(cancelled.as_mut().poll(&mut cx).is_ready());
    }
    drop(waiting);
    drop(waker);
    assert_eq!(std::sync::Arc::strong_count(&wakes), 1, "no waker is kept");
}

#[test]
fn a_drop_guard_cancels_unless_it_is_disarmed() {
    let token = CancelToken::new();
    let same = token.clone().drop_guard().disarm();
    assert!(!same.is_cancelled());
    drop(token.clone().drop_guard());
    assert!(same.is_cancelled());
}

#[test]
fn a_scopes_token_is_the_scope() {
    everywhere(|rt| {
        rt.block_on(rt::scope(|s| async move {
            let token = s.token();
            let below = token.child_token();
            below.cancel();
            assert!(!s.is_cancelled());
            let child = s.spawn(pending::<()>());
            let told = token.child_token();
            let outside = rt::spawn(async move { told.cancelled().await });
            token.cancel();
            assert!(s.is_cancelled());
            assert!(child.await.unwrap_err().is_cancelled());
            outside.await.unwrap();
        }));
    });
}

#[test]
fn a_graceful_cancel_is_seen_by_tokens() {
    everywhere(|rt| {
        rt.block_on(rt::scope(|s| async move {
            let token = s.token();
            let worker = s.spawn(async move {
                token.cancelled().await;
                6
            });
            s.cancel_graceful(Duration::MAX);
            assert_eq!(worker.await.unwrap(), 6);
        }));
    });
}

#[test]
fn a_hundred_thousand_tokens_deep_and_wide() {
    let root = CancelToken::new();
    let mut deepest = root.clone();
    for _ in 0..100_000 {
        deepest = deepest.child_token();
    }
    let wide: Vec<_> = (0..100_000).map(|_| root.child_token()).collect();
    root.cancel();
    assert!(deepest.is_cancelled());
    assert!(wide.iter().all(CancelToken::is_cancelled));
    drop(root);
    drop(wide);
    drop(deepest);
}

#[test]
fn a_token_wakes_across_threads() {
    everywhere(|rt| {
        let token = CancelToken::new();
        let waiters: Vec<_> = (0..50)
            .map(|_| {
                let token = token.child_token();
                rt.spawn(async move { token.cancelled().await })
            })
            .collect();
        rt.block_on(async {
            until_yielding(|| true).await;
            std::thread::spawn(move || token.cancel()).join().unwrap();
            for waiter in waiters {
                waiter.await.unwrap();
            }
        });
    });
}

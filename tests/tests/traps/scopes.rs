//! Scopes that wait for ever, are used again, or let their tasks outlive what they use.

use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::time::Duration;

use rt_tests::{Census, everywhere};
use tokio::sync::{Mutex, oneshot};

/// A lock is given to a future that its holder does not poll any more. The scope's children wait for
/// the lock; nobody would ever free it. The scope's deadline ends them: they are tasks of their own.
#[test]
fn a_lock_that_a_dormant_future_has_been_given_does_not_hold_a_scope_for_ever() {
    everywhere(|rt| {
        rt.block_on(async {
            let lock = Arc::new(Mutex::new(()));
            let held = lock.clone().lock_owned().await;
            let mut dormant = Box::pin(lock.clone().lock_owned());
            poll_fn(|cx| {
                assert!(dormant.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            drop(held);
            let ended = rt::scope(|s| async move {
                s.deadline(rt::time::Instant::now() + Duration::from_millis(5));
                s.spawn(async move { drop(lock.lock().await) }).await
            });
            assert!(ended.await.unwrap_err().is_deadline());
            drop(dormant);
        });
    });
}

/// A scope's future that is polled no more, though its holder goes on, keeps nothing from the children:
/// they are polled by the runtime, and the deadline does not need the holder.
#[test]
fn children_of_a_scope_that_nobody_polls_go_on_and_meet_its_deadline() {
    everywhere(|rt| {
        let (tell, told) = oneshot::channel();
        rt.block_on(async move {
            let mut scope = Box::pin(rt::scope(|s| async move {
                let stopped = s.token().child_token();
                s.deadline(rt::time::Instant::now() + Duration::from_millis(5));
                s.spawn(pending::<()>());
                tell.send(stopped).unwrap();
                pending::<()>().await;
            }));
            poll_fn(|cx| {
                assert!(scope.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            told.await.unwrap().cancelled().await;
            drop(scope);
        });
    });
}

/// A child that takes its cancellation for an ordinary end, and goes on in a destructor or a spawn,
/// does not bring the scope back to life.
#[test]
fn cancellation_is_a_state_that_no_child_can_swallow() {
    everywhere(|rt| {
        let census = Census::new();
        let counted = census.clone();
        rt.block_on(rt::scope(|s| async move {
            let again = s.clone();
            let one = counted.one();
            let stubborn = s.spawn(async move {
                again.cancel();
                let refused = again.spawn(async move { drop(one) });
                assert!(refused.await.unwrap_err().is_cancelled());
                rt::yield_now().await;
                unreachable!("it was aborted at its next suspension point");
            });
            assert!(stubborn.await.unwrap_err().is_cancelled());
            assert!(s.is_cancelled());
        }));
        assert_eq!(census.alive(), 0);
    });
}

/// A child that was queued but never polled can be cancelled, and a scope in it is never opened.
#[test]
fn a_child_that_never_ran_is_dropped_with_its_scope() {
    everywhere(|rt| {
        let census = Census::new();
        let counted = census.clone();
        rt.block_on(rt.spawn(async move {
            let mut scope = Box::pin(rt::scope(|s| async move {
                for _ in 0..100 {
                    let one = counted.one();
                    s.spawn(rt::scope(|_| async move {
                        let _one = one;
                        pending::<()>().await;
                    }));
                }
                pending::<()>().await;
            }));
            poll_fn(|cx| Poll::Ready(scope.as_mut().poll(cx).is_pending())).await;
        }))
        .unwrap();
        assert_eq!((census.made(), census.alive()), (100, 0));
    });
}

/// A scope's future that is leaked leaks what it has, no more: children own what they use, so nothing is
/// unsound, and they end with the runtime.
#[test]
fn a_leaked_scope_leaves_its_children_what_they_use() {
    everywhere(|rt| {
        let (send, sent) = mpsc::channel();
        rt.block_on(async move {
            let words = [String::from("owned")];
            let mut scope: Pin<Box<_>> = Box::pin(rt::scope(|s| async move {
                s.spawn(async move {
                    rt::yield_now().await;
                    send.send(words[0].clone()).unwrap();
                });
                pending::<()>().await;
            }));
            poll_fn(|cx| Poll::Ready(scope.as_mut().poll(cx).is_pending())).await;
            std::mem::forget(scope);
            rt::spawn_blocking(move || assert_eq!(sent.recv().unwrap(), "owned"))
                .await
                .unwrap();
        });
    });
}

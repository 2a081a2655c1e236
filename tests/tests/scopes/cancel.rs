//! Cancellation: its reach, its phases, and deadlines.

use std::future::pending;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rt::Dispatcher;
use rt::time::Instant;
use rt_tests::{Census, GOES_ON, everywhere, until_yielding};
use tokio::sync::oneshot;

#[test]
fn cancel_aborts_the_children_and_the_closure_goes_on() {
    everywhere(|rt| {
        let value = rt.block_on(rt::scope(|s| async move {
            assert!(!s.is_cancelled());
            let io = s.spawn(pending::<()>());
            let cpu = s.spawn_on(Dispatcher::Cpu, pending::<()>());
            s.cancel();
            s.cancel();
            assert!(s.is_cancelled() && rt::is_cancelled());
            s.cancelled().await;
            for child in [io, cpu] {
                let error = child.await.unwrap_err();
                assert!(error.is_cancelled() && !error.is_deadline());
            }
            8
        }));
        assert_eq!(value, 8);
    });
}

#[test]
fn cancel_reaches_scopes_inside_children_before_those_are_dropped() {
    everywhere(|rt| {
        let census = Census::new();
        let counted = census.clone();
        rt.block_on(rt::scope(|s| async move {
            let (begin, begun) = oneshot::channel();
            let (go, wait) = mpsc::channel::<()>();
            let one = counted.one();
            s.spawn(async move {
                rt::scope(|inner| async move {
                    let grandchild = inner.spawn(async move {
                        let _one = one;
                        pending::<()>().await;
                    });
                    // In a poll that lasts: the grandchild ends all the same.
                    let told = inner.spawn_blocking(move || {
                        begin.send(()).unwrap();
                        wait.recv().unwrap();
                        rt::is_cancelled()
                    });
                    assert!(told.await.unwrap());
                    drop(grandchild);
                })
                .await;
            });
            begun.await.unwrap();
            s.cancel();
            until_yielding(|| counted.alive() == 0).await;
            go.send(()).unwrap();
        }));
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn a_graceful_cancel_lets_children_finish() {
    everywhere(|rt| {
        let finished = rt.block_on(rt::scope(|s| async move {
            let worker = s.spawn(async {
                rt::cancelled().await;
                assert!(rt::is_cancelled());
                // The scopes of a child that finishes may still spawn.
                let last = rt::scope(|s| async move { s.spawn(async { 3 }).await.unwrap() });
                last.await
            });
            s.cancel_graceful(Duration::MAX);
            assert!(s.is_cancelled());
            assert!(s.spawn(async {}).await.unwrap_err().is_cancelled());
            worker.await.unwrap()
        }));
        assert_eq!(finished, 3);
    });
}

#[test]
fn a_graceful_cancel_aborts_after_its_time() {
    everywhere(|rt| {
        rt.block_on(rt::scope(|s| async move {
            let start = Instant::now();
            let (tell, told) = oneshot::channel();
            let deaf = s.spawn(async {
                rt::cancelled().await;
                tell.send(()).unwrap();
                pending::<()>().await;
            });
            s.cancel_graceful(Duration::from_millis(20));
            told.await.unwrap();
            assert!(deaf.await.unwrap_err().is_cancelled());
            assert!(start.elapsed() >= Duration::from_millis(20));
            let at_once = rt::scope(|s| async move {
                let child = s.spawn(pending::<()>());
                s.cancel_graceful(Duration::ZERO);
                child.await.unwrap_err().is_cancelled()
            });
            assert!(at_once.await);
        }));
    });
}

#[test]
fn outside_of_scopes_nobody_is_cancelled() {
    everywhere(|rt| {
        let ask = || async {
            assert!(!rt::is_cancelled());
            let waited = rt::time::timeout(Duration::from_millis(2), rt::cancelled()).await;
            assert!(waited.is_err());
        };
        assert!(!rt::is_cancelled());
        rt.block_on(ask());
        rt.block_on(rt.spawn(ask())).unwrap();
        // A plain task that a child spawns is in no scope.
        rt.block_on(rt::scope(|s| async move {
            s.cancel_graceful(GOES_ON);
            assert!(rt::is_cancelled());
            rt::spawn(async { assert!(!rt::is_cancelled()) })
                .await
                .unwrap();
        }));
    });
}

#[test]
fn a_deadline_cancels_and_says_so() {
    everywhere(|rt| {
        rt.block_on(rt::scope(|s| async move {
            let at = Instant::now() + Duration::from_millis(10);
            s.deadline(at);
            assert_eq!(s.effective_deadline(), Some(at));
            let child = s.spawn(pending::<()>());
            let nested = s.spawn(rt::scope(move |inner| async move {
                assert_eq!(inner.effective_deadline(), Some(at), "inherited");
                inner.deadline(at + GOES_ON);
                assert_eq!(inner.effective_deadline(), Some(at), "the earliest");
                inner.spawn(pending::<()>()).await.unwrap_err();
                pending::<()>().await;
            }));
            for child in [child, nested] {
                let error = child.await.unwrap_err();
                assert!(error.is_cancelled() && error.is_deadline(), "{error}");
            }
            assert!(Instant::now() >= at);
            let late = s.spawn(async {}).await.unwrap_err();
            assert!(late.is_deadline(), "{late}");
        }));
    });
}

#[test]
fn a_childs_own_scope_may_end_earlier() {
    everywhere(|rt| {
        rt.block_on(rt::scope(|s| async move {
            s.deadline(Instant::now() + GOES_ON);
            let child = s.spawn(rt::scope(|inner| async move {
                inner.deadline(Instant::now());
                let refused = inner.spawn(pending::<()>()).await.unwrap_err();
                assert!(refused.is_deadline());
                1
            }));
            assert_eq!(child.await.unwrap(), 1);
            assert!(!s.is_cancelled());
        }));
    });
}

#[test]
fn a_deadline_comes_while_the_holder_is_stuck_in_a_poll() {
    everywhere(|rt| {
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        rt.block_on(rt::scope(|s| async move {
            struct Told(Arc<AtomicBool>);
            impl Drop for Told {
                fn drop(&mut self) {
                    self.0.store(true, SeqCst);
                }
            }
            let told = Told(flag);
            s.spawn_on(Dispatcher::Cpu, async move {
                let _told = told;
                pending::<()>().await;
            });
            s.deadline(Instant::now() + Duration::from_millis(5));
            s.cancelled().await;
        }));
        assert!(ended.load(SeqCst));
    });
}

#[test]
fn an_abandoned_scope_tells_its_children() {
    everywhere(|rt| {
        let (begin, begun) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let task = rt.spawn(rt::scope(|s| async move {
            s.spawn_blocking(move || {
                begin.send(()).unwrap();
                rt_tests::until(rt::is_cancelled);
                tell.send(()).unwrap();
            });
            pending::<()>().await;
        }));
        rt.block_on(rt.spawn_blocking(move || begun.recv().unwrap()))
            .unwrap();
        task.abort();
        rt.block_on(task).unwrap_err();
        told.try_recv().unwrap();
    });
}

#[test]
fn a_scope_that_opens_inside_a_cancelled_one_refuses() {
    everywhere(|rt| {
        rt.block_on(rt::scope(|s| async move {
            s.cancel();
            rt::scope(|inner| async move {
                assert!(inner.is_cancelled());
                let refused = inner.spawn(pending::<()>()).await.unwrap_err();
                assert!(refused.is_cancelled());
            })
            .await;
        }));
    });
}

#[test]
fn a_graceful_cancel_of_a_try_scope_takes_values_and_errors_and_cuts_the_rest() {
    everywhere(|rt| {
        let census = Census::new();
        let one = census.one();
        let ended = rt.block_on(rt::try_scope(|s| async move {
            let stubborn = s.spawn(async move {
                let _one = one;
                pending::<Result<(), u8>>().await
            });
            let worker = s.spawn(async {
                rt::cancelled().await;
                Ok(3)
            });
            s.cancel_graceful(Duration::MAX);
            assert!(s.spawn(async { Ok(4) }).await.unwrap_err().is_cancelled());
            let value = worker.await.unwrap();
            s.cancel_graceful(Duration::from_millis(20));
            assert!(stubborn.await.unwrap_err().is_cancelled());
            Ok(value)
        }));
        assert_eq!((ended, census.alive()), (Ok(3), 0));
        // A worker that fails in its grace ends the others' grace.
        let one = census.one();
        let ended = rt.block_on(rt::try_scope(|s| async move {
            s.spawn(async move {
                let _one = one;
                pending::<Result<(), u8>>().await
            });
            s.spawn(async {
                rt::cancelled().await;
                Err::<(), _>(5)
            });
            s.cancel_graceful(Duration::MAX);
            pending::<()>().await;
            Ok(())
        }));
        assert_eq!((ended, census.alive()), (Err(5), 0));
    });
}

/// Whether they run, wait in line, or have not been polled.
#[test]
fn children_on_a_limited_dispatcher_are_cancelled_and_waited_for() {
    everywhere(|rt| {
        for base in [Dispatcher::Io, Dispatcher::Cpu] {
            let one_at_a_time = base.limited(1);
            let census = Census::new();
            let counted = census.clone();
            let sum = rt.block_on(rt::scope(|s| async move {
                let counts = (1..=9).map(|n| s.spawn_on(one_at_a_time.clone(), async move { n }));
                let counts: Vec<_> = counts.collect();
                let mut sum = 0;
                for child in counts {
                    sum += child.await.unwrap();
                }
                let waiting: Vec<_> = (0..5)
                    .map(|_| {
                        let one = counted.one();
                        s.spawn_on(one_at_a_time.clone(), async move {
                            let _one = one;
                            rt::yield_now().await;
                            pending::<()>().await;
                        })
                    })
                    .collect();
                s.cancel();
                for child in waiting {
                    assert!(child.await.unwrap_err().is_cancelled());
                }
                sum
            }));
            assert_eq!((sum, census.made(), census.alive()), (45, 5, 0));
        }
        let failed = rt.block_on(rt::try_scope(|s| async move {
            let two = Dispatcher::Cpu.limited(2);
            s.spawn_on(two.clone(), pending::<Result<(), u8>>());
            s.spawn_on(two, async { Err::<(), _>(6) });
            s.cancelled().await;
            Ok(())
        }));
        assert_eq!(failed, Err(6));
    });
}

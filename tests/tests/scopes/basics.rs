//! Spawning in a scope, and its end.

use std::future::pending;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rt::Dispatcher;
use rt_tests::{Census, everywhere, until_yielding};
use tokio::sync::oneshot;

fn thread_name() -> String {
    thread::current().name().unwrap_or("").to_owned()
}

#[test]
fn a_scope_gives_the_value_of_its_closure_and_its_handles_give_theirs() {
    everywhere(|rt| {
        let sum = rt.block_on(async {
            rt::scope(|s| async move {
                let a = s.spawn(async { 1 });
                let b = s.spawn_on(Dispatcher::Cpu, async { 2 });
                let c = s.spawn_blocking(|| 4);
                a.await.unwrap() + b.await.unwrap() + c.await.unwrap()
            })
            .await
        });
        assert_eq!(sum, 7);
    });
}

#[test]
fn async_closures_and_borrowed_locals_work_in_block_on_and_in_tasks() {
    everywhere(|rt| {
        let body = || async {
            let words = [String::from("a"), String::from("bc")];
            let mut total = 0;
            rt::scope(async |s| {
                for word in &words {
                    let length = word.len();
                    total += s.spawn(async move { length }).await.unwrap();
                }
            })
            .await;
            let nested = rt::scope(|outer| async move {
                let inner = outer.spawn(async {
                    let local = 5;
                    rt::scope(async |s| s.spawn(async { 1 }).await.unwrap() + local).await
                });
                inner.await.unwrap()
            });
            total + nested.await
        };
        assert_eq!(rt.block_on(body()), 9);
        assert_eq!(rt.block_on(rt.spawn(body())).unwrap(), 9);
    });
}

#[test]
fn children_run_where_they_were_spawned() {
    everywhere(|rt| {
        rt.block_on(rt::scope(|s| async move {
            let cpu = s.spawn_on(Dispatcher::Cpu, async { thread_name() });
            let blocking = s.spawn_blocking(thread_name);
            assert!(cpu.await.unwrap().starts_with("rt-cpu-"));
            assert!(blocking.await.unwrap().starts_with("rt-blk-"));
        }));
    });
}

#[test]
fn it_returns_when_all_children_and_grandchildren_have_ended_and_are_dropped() {
    everywhere(|rt| {
        let census = Census::new();
        let held = census.clone();
        let handles = rt.block_on(rt.spawn(async move {
            rt::scope(|s| async move {
                let mut handles = Vec::new();
                for depth in 0..3 {
                    let (one, census, spawner) = (held.one(), held.clone(), s.clone());
                    handles.push(s.spawn(async move {
                        let _one = one;
                        rt::yield_now().await;
                        for _ in 0..depth {
                            let one = census.one();
                            spawner.spawn(async move {
                                let _one = one;
                                rt::delay(Duration::from_millis(2)).await;
                            });
                        }
                        rt::scope(|s| async move {
                            let one = census.one();
                            s.spawn(async move {
                                let _one = one;
                                rt::delay(Duration::from_millis(1)).await;
                            });
                        })
                        .await;
                    }));
                }
                handles
            })
            .await
        }));
        assert_eq!((census.made(), census.alive()), (9, 0));
        for handle in handles.unwrap() {
            assert!(handle.is_finished());
            rt.block_on(handle).unwrap();
        }
    });
}

#[test]
fn a_scope_waits_for_children_whose_handles_are_dropped() {
    everywhere(|rt| {
        let done = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&done);
        rt.block_on(rt::scope(|s| async move {
            drop(s.spawn(async move {
                rt::delay(Duration::from_millis(5)).await;
                flag.store(true, SeqCst);
            }));
        }));
        assert!(done.load(SeqCst));
    });
}

#[test]
fn a_finished_or_cancelled_scope_refuses_and_drops_the_future() {
    everywhere(|rt| {
        let census = Census::new();
        let refused = |s: &rt::Scope| {
            let (a, b, c) = (census.one(), census.one(), census.one());
            let handles = [
                s.spawn(async move { drop(a) }),
                s.spawn_on(Dispatcher::Cpu, async move { drop(b) }),
                s.spawn_blocking(move || drop(c)),
            ];
            assert_eq!(census.alive(), 0, "the future is dropped at once");
            for handle in handles {
                assert!(handle.is_finished());
                let error = rt.handle().block_on(handle).unwrap_err();
                assert!(error.is_cancelled() && !error.is_deadline());
            }
            assert_eq!(s.child_count(), 0);
        };
        let over = rt.block_on(rt::scope(|s| async move { s }));
        refused(&over);
        let cancelled = rt.block_on(rt::scope(|s| async move {
            s.cancel();
            s.spawn(pending::<()>()).await.unwrap_err();
            s
        }));
        assert!(cancelled.is_cancelled());
        refused(&cancelled);
    });
}

#[test]
fn a_scope_counts_its_children() {
    everywhere(|rt| {
        rt.block_on(rt::scope(|s| async move {
            assert_eq!(s.child_count(), 0);
            let (end, ended) = oneshot::channel::<()>();
            let first = s.spawn(async { ended.await.unwrap() });
            let second = s.spawn(pending::<()>());
            assert_eq!(s.child_count(), 2);
            end.send(()).unwrap();
            first.await.unwrap();
            until_yielding(|| s.child_count() == 1).await;
            second.abort();
            assert!(second.await.unwrap_err().is_cancelled());
            until_yielding(|| s.child_count() == 0).await;
            assert!(!s.is_cancelled(), "an aborted child is no failure");
        }));
    });
}

#[test]
fn a_scope_may_be_used_from_a_plain_thread() {
    everywhere(|rt| {
        let value = rt.block_on(rt::scope(|s| async move {
            let (send, sent) = oneshot::channel();
            thread::spawn(move || drop(send.send(s.spawn(async { 3 }))));
            sent.await.unwrap().await.unwrap()
        }));
        assert_eq!(value, 3);
    });
}

#[test]
fn ten_thousand_children_end_in_one_scope() {
    everywhere(|rt| {
        let census = Census::new();
        let counted = census.clone();
        rt.block_on(rt.spawn(rt::scope(|s| async move {
            for _ in 0..10_000 {
                let one = counted.one();
                drop(s.spawn(async move { drop(one) }));
            }
        })))
        .unwrap();
        assert_eq!((census.made(), census.alive()), (10_000, 0));
    });
}

#[test]
fn a_blocking_child_is_waited_for() {
    everywhere(|rt| {
        let (go, wait) = mpsc::channel::<()>();
        let done = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&done);
        rt.block_on(rt::scope(|s| async move {
            s.spawn_blocking(move || {
                wait.recv().unwrap();
                flag.store(true, SeqCst);
            });
            s.cancel_graceful(Duration::from_mins(1));
            go.send(()).unwrap();
        }));
        assert!(done.load(SeqCst));
    });
}

#[test]
fn names_and_debug_output() {
    everywhere(|rt| {
        rt.block_on(rt::scope(|s| async move {
            s.name("requests");
            let shown = format!("{s:?} {:?} {:?}", s.token(), s.cancelled());
            assert!(shown.contains("requests"), "{shown}");
        }));
    });
}

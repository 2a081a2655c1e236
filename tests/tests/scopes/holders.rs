//! A scope's future that is dropped half-way: its children are cancelled, wherever they are, and
//! whatever it was dropped in ends only after them.

use std::future::pending;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rt::task::JoinHandle;
use rt::time::timeout;
use rt::{Dispatcher, Scope};
use rt_tests::{Census, Counted, Flavour, everywhere, poll_once, until, with};
use tokio::sync::oneshot;

/// How long a child keeps its thread, while its holder is aborted.
const LONG_POLL: Duration = Duration::from_millis(50);

/// A poll that takes its time, in which the task cannot be dropped.
fn poll_long(_: &Counted) {
    let until = std::time::Instant::now() + LONG_POLL;
    while let Some(left) = until.checked_duration_since(std::time::Instant::now()) {
        thread::park_timeout(left);
    }
}

/// Children in every place where a child can be.
fn spread(s: &Scope, census: &Census, begun: &mpsc::Sender<()>) {
    let one = census.one();
    s.spawn(async move {
        let _one = one;
        pending::<()>().await;
    });
    for dispatcher in [Dispatcher::Io, Dispatcher::Cpu] {
        let (one, begun) = (census.one(), begun.clone());
        s.spawn_on(dispatcher, async move {
            begun.send(()).unwrap();
            poll_long(&one);
            pending::<()>().await;
        });
    }
    let (one, begun) = (census.one(), begun.clone());
    s.spawn_blocking(move || {
        begun.send(()).unwrap();
        poll_long(&one);
    });
    // Queued behind the others, and never polled on a runtime with few threads.
    for _ in 0..20 {
        let one = census.one();
        s.spawn(async move {
            let _one = one;
            pending::<()>().await;
        });
    }
}

/// A task that holds a scope, whose children hold scopes.
fn holder(rt: &rt::Runtime, census: &Census, begun: mpsc::Sender<()>) -> JoinHandle<()> {
    let census = census.clone();
    rt.spawn(async move {
        rt::scope(|s| async move {
            spread(&s, &census, &begun);
            s.spawn(async move {
                rt::scope(|s| async move {
                    spread(&s, &census, &begun);
                    pending::<()>().await;
                })
                .await;
            });
            pending::<()>().await;
        })
        .await;
    })
}

/// Receives what children send while the runtime runs.
fn wait_for(rt: &rt::Runtime, begun: mpsc::Receiver<()>, times: usize) {
    rt.block_on(rt.spawn_blocking(move || {
        for _ in 0..times {
            begun.recv().unwrap();
        }
    }))
    .unwrap();
}

#[test]
fn an_aborted_holder_resolves_after_the_last_descendant_is_dropped() {
    everywhere(|rt| {
        let census = Census::new();
        let (begin, begun) = mpsc::channel();
        let task = holder(rt, &census, begin);
        wait_for(rt, begun, 6);
        assert!(census.alive() > 0);
        task.abort();
        let error = rt.block_on(task).unwrap_err();
        assert!(error.is_cancelled());
        assert_eq!(census.alive(), 0, "of {}", census.made());
    });
}

#[test]
fn an_aborted_holder_is_not_finished_while_a_child_runs() {
    everywhere(|rt| {
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&over);
        let task = rt.spawn(rt::scope(|s| async move {
            s.spawn_blocking(move || {
                begin.send(()).unwrap();
                ended.recv().unwrap();
                flag.store(true, SeqCst);
            });
            pending::<()>().await;
        }));
        wait_for(rt, begun, 1);
        task.abort();
        // The body is dropped when a task that comes later has run.
        for _ in 0..3 {
            rt.block_on(rt.spawn(rt::yield_now())).unwrap();
        }
        assert!(!task.is_finished());
        end.send(()).unwrap();
        assert!(rt.block_on(task).unwrap_err().is_cancelled());
        assert!(over.load(SeqCst));
    });
}

#[test]
fn the_end_of_the_runtime_reaches_all_descendants() {
    for flavour in rt_tests::FLAVOURS {
        let _watchdog = rt_tests::Watchdog::new();
        let runtime = flavour.build();
        let census = Census::new();
        let (begin, begun) = mpsc::channel();
        let task = holder(&runtime, &census, begin);
        wait_for(&runtime, begun, 6);
        runtime.shutdown_timeout(Duration::MAX);
        assert_eq!(census.alive(), 0, "of {}, on {flavour:?}", census.made());
        assert!(task.is_finished());
    }
}

#[test]
fn the_loser_of_a_select_holds_its_task() {
    everywhere(|rt| {
        let census = Census::new();
        let counted = census.clone();
        let (begin, begun) = oneshot::channel();
        let task = rt.spawn(async move {
            let one = counted.one();
            let scope = Box::pin(rt::scope(|s| async move {
                s.spawn_blocking(move || {
                    begin.send(()).unwrap();
                    poll_long(&one);
                });
                pending::<()>().await;
            }));
            let mut scope = Some(scope);
            let mut begun = begun;
            let done = std::future::poll_fn(|cx| {
                let _ = scope.as_mut().unwrap().as_mut().poll(cx);
                Pin::new(&mut begun).poll(cx)
            });
            done.await.unwrap();
            drop(scope.take());
            // It goes on at once: only its completion waits.
            assert_eq!(counted.alive(), 1);
            "went on"
        });
        assert_eq!(rt.block_on(task).unwrap(), "went on");
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn a_timeout_cancels_the_children_and_the_task_waits_for_them() {
    everywhere(|rt| {
        let census = Census::new();
        let counted = census.clone();
        let task = rt.spawn(async move {
            let scope = rt::scope(|s| async move {
                let (begin, _begun) = mpsc::channel();
                spread(&s, &counted, &begin);
                pending::<()>().await;
            });
            timeout(Duration::from_millis(5), scope).await.unwrap_err();
        });
        rt.block_on(task).unwrap();
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn block_on_waits_for_what_was_left_behind_in_it() {
    everywhere(|rt| {
        let census = Census::new();
        let counted = census.clone();
        rt.block_on(async move {
            let (begin, begun) = mpsc::channel();
            let mut scope = Box::pin(rt::scope(|s| async move {
                spread(&s, &counted, &begin);
                pending::<()>().await;
            }));
            assert!(poll_once(&mut scope).await.is_pending());
            rt::spawn_blocking(move || (0..3).for_each(|_| begun.recv().unwrap()))
                .await
                .unwrap();
            drop(scope);
        });
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn block_on_waits_also_when_its_future_panics() {
    everywhere(|rt| {
        let census = Census::new();
        let counted = census.clone();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            rt.block_on(async move {
                let (begin, begun) = mpsc::channel();
                let mut scope = Box::pin(rt::scope(|s| async move {
                    spread(&s, &counted, &begin);
                    pending::<()>().await;
                }));
                assert!(poll_once(&mut scope).await.is_pending());
                rt::spawn_blocking(move || (0..3).for_each(|_| begun.recv().unwrap()))
                    .await
                    .unwrap();
                panic!("in the holder");
            });
        }));
        let payload = panicked.unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"in the holder"));
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn a_scope_dropped_on_a_plain_thread_still_cancels_its_children() {
    everywhere(|rt| {
        let census = Census::new();
        let counted = census.clone();
        let mut scope = Box::pin(rt::scope(|s| async move {
            let one = counted.one();
            s.spawn(async move {
                let _one = one;
                pending::<()>().await;
            });
            pending::<()>().await;
        }));
        assert!(rt.block_on(poll_once(&mut scope)).is_pending());
        thread::spawn(move || drop(scope)).join().unwrap();
        rt.block_on(rt_tests::until_yielding(|| census.alive() == 0));
    });
}

#[test]
fn a_tree_a_hundred_thousand_deep_ends_without_recursion() {
    const DEPTH: usize = 100_000;

    /// A task that holds a scope with one child, and so on.
    fn descend(
        depth: usize,
        census: Census,
        deepest: oneshot::Sender<()>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let one = census.one();
        Box::pin(async move {
            let _one = one;
            rt::scope(|s| async move {
                if depth == 0 {
                    deepest.send(()).unwrap();
                } else {
                    drop(s.spawn(descend(depth - 1, census, deepest)));
                }
                pending::<()>().await;
            })
            .await;
        })
    }

    for flavour in [Flavour::CurrentThread, Flavour::Workers(2)] {
        with(flavour, |rt| {
            let census = Census::new();
            let (reach, reached) = oneshot::channel();
            let task = rt.spawn(descend(DEPTH, census.clone(), reach));
            rt.block_on(reached).unwrap();
            assert_eq!(census.alive(), DEPTH + 1);
            task.abort();
            assert!(rt.block_on(task).unwrap_err().is_cancelled());
            assert_eq!(census.alive(), 0);
        });
    }
}

#[test]
fn a_holder_that_is_left_behind_twice_waits_for_both() {
    everywhere(|rt| {
        let census = Census::new();
        let counted = census.clone();
        let task = rt.spawn(async move {
            for _ in 0..2 {
                let (begin, begun) = oneshot::channel();
                let one = counted.one();
                let mut scope = Box::pin(rt::scope(|s| async move {
                    s.spawn_blocking(move || {
                        begin.send(()).unwrap();
                        poll_long(&one);
                    });
                    pending::<()>().await;
                }));
                assert!(poll_once(&mut scope).await.is_pending());
                begun.await.unwrap();
            }
        });
        rt.block_on(task).unwrap();
        assert_eq!((census.made(), census.alive()), (2, 0));
    });
}

#[test]
fn a_detached_holder_counts_as_live_until_its_children_are_gone() {
    with(Flavour::Workers(2), |rt| {
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let task = rt.spawn(rt::scope(|s| async move {
            s.spawn_blocking(move || {
                begin.send(()).unwrap();
                ended.recv().unwrap();
            });
            pending::<()>().await;
        }));
        begun.recv().unwrap();
        task.abort();
        drop(task);
        rt.block_on(rt.spawn(async {})).unwrap();
        assert!(rt.metrics().live_tasks >= 1);
        end.send(()).unwrap();
        until(|| rt.metrics().live_tasks == 0);
    });
}

/// What is kept of a scope is harmless, also when its runtime is gone.
#[test]
fn a_scope_that_outlives_its_runtime_refuses_and_does_nothing() {
    for flavour in rt_tests::FLAVOURS {
        let _watchdog = rt_tests::Watchdog::new();
        let runtime = flavour.build();
        // One that is over, and one whose end nobody has seen.
        let over = runtime.block_on(rt::scope(|s| async move { s }));
        let (give, given) = std::sync::mpsc::channel();
        let cut = runtime.spawn(rt::scope(|s| async move {
            give.send(s.clone()).unwrap();
            pending::<()>().await;
        }));
        let given = rt::Handle::block_on(runtime.handle(), async {
            rt::spawn_blocking(move || given.recv().unwrap()).await
        });
        let scopes = [over, given.unwrap()];
        runtime.shutdown_timeout(std::time::Duration::MAX);
        assert!(cut.is_finished());
        for scope in scopes {
            let soon = std::time::Duration::from_millis(1);
            scope.deadline(rt::time::Instant::now() + soon);
            scope.cancel_graceful(soon);
            assert!(scope.is_cancelled());
            scope.cancel();
            assert_eq!(scope.child_count(), 0);
        }
    }
}

//! Work that cancellation does not cut.

use std::future::pending;
use std::sync::mpsc;
use std::time::Duration;

use rt::Runtime;
use rt::time::{Instant, timeout};
use rt_tests::{Census, Counted, everywhere, until_yielding};

/// Shielded work that begins, waits for its sign, and leaves a mark.
async fn careful(begin: mpsc::Sender<()>, go: tokio::sync::oneshot::Receiver<()>, one: Counted) {
    begin.send(()).unwrap();
    go.await.unwrap();
    assert!(!rt::is_cancelled());
    // The children of its own scopes are shielded with it.
    let inner = rt::scope(|s| async move { s.spawn(async { rt::is_cancelled() }).await });
    assert!(!inner.await.unwrap());
    drop(one);
}

fn wait_for(rt: &Runtime, begun: mpsc::Receiver<()>) {
    rt.block_on(rt.spawn_blocking(move || begun.recv().unwrap()))
        .unwrap();
}

#[test]
fn a_shield_gives_the_value_and_the_panic() {
    everywhere(|rt| {
        assert_eq!(rt.block_on(rt::shield(async { 3 })), 3);
        let task = rt.spawn(rt::shield(async { panic!("inside") }));
        let error = rt.block_on(task).map(|(): ()| ()).unwrap_err();
        assert_eq!(error.into_panic().downcast_ref(), Some(&"inside"));
    });
}

#[test]
fn an_aborted_caller_completes_after_what_it_shields() {
    everywhere(|rt| {
        let census = Census::new();
        let (begin, begun) = mpsc::channel();
        let (go, wait) = tokio::sync::oneshot::channel();
        let task = rt.spawn(rt::shield(careful(begin, wait, census.one())));
        wait_for(rt, begun);
        task.abort();
        for _ in 0..3 {
            rt.block_on(rt.spawn(rt::yield_now())).unwrap();
        }
        assert!(!task.is_finished());
        assert_eq!(census.alive(), 1);
        go.send(()).unwrap();
        assert!(rt.block_on(task).unwrap_err().is_cancelled());
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn the_enclosing_scope_waits_whatever_cancels_it() {
    everywhere(|rt| {
        for by in 0..4 {
            let census = Census::new();
            let one = census.one();
            let scope = rt::scope(move |s| async move {
                let (begin, begun) = mpsc::channel();
                let (go, wait) = tokio::sync::oneshot::channel();
                let child = s.spawn(rt::shield(careful(begin, wait, one)));
                rt::spawn_blocking(move || begun.recv().unwrap())
                    .await
                    .unwrap();
                match by {
                    0 => s.cancel(),
                    1 => s.deadline(Instant::now()),
                    2 => child.abort(),
                    _ => drop(s.spawn(async { panic!("a sibling") })),
                }
                rt::spawn(async move {
                    rt::delay(Duration::from_millis(2)).await;
                    go.send(()).unwrap();
                });
                child.await.unwrap_err();
            });
            let ended = rt.block_on(rt.spawn(scope));
            assert_eq!(ended.is_err(), by == 3);
            assert_eq!(census.alive(), 0);
        }
    });
}

#[test]
fn a_shield_in_a_timeout_or_block_on_is_waited_for() {
    everywhere(|rt| {
        let census = Census::new();
        let one = census.one();
        rt.block_on(async move {
            let (go, wait) = tokio::sync::oneshot::channel();
            let work = rt::shield(async move {
                let _one = one;
                wait.await.unwrap();
                rt::delay(Duration::from_millis(1)).await;
            });
            timeout(Duration::from_millis(1), work).await.unwrap_err();
            go.send(()).unwrap();
        });
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn a_cancelled_child_may_still_shield_its_cleaning_up() {
    everywhere(|rt| {
        let census = Census::new();
        let counted = census.clone();
        rt.block_on(rt::scope(|s| async move {
            let worker = s.spawn(async move {
                rt::cancelled().await;
                let one = counted.one();
                rt::shield(async move {
                    rt::yield_now().await;
                    drop(one);
                    5
                })
                .await
            });
            s.cancel_graceful(Duration::MAX);
            assert_eq!(worker.await.unwrap(), 5);
        }));
        assert_eq!((census.made(), census.alive()), (1, 0));
    });
}

#[test]
fn a_shield_that_was_never_polled_does_nothing() {
    everywhere(|rt| {
        let census = Census::new();
        let one = census.one();
        rt.block_on(async move {
            drop(rt::shield(async move {
                let _one = one;
                pending::<()>().await;
            }));
        });
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn the_end_of_the_runtime_cuts_a_shield() {
    for flavour in rt_tests::FLAVOURS {
        let _watchdog = rt_tests::Watchdog::new();
        let runtime = flavour.build();
        let census = Census::new();
        let (begin, begun) = mpsc::channel();
        let (_never, wait) = tokio::sync::oneshot::channel();
        let task = runtime.spawn(rt::shield(careful(begin, wait, census.one())));
        wait_for(&runtime, begun);
        runtime.shutdown_timeout(Duration::MAX);
        assert_eq!(census.alive(), 0);
        assert!(task.is_finished());
    }
}

/// A plain thread does not end with the runtime: it is told.
#[test]
fn a_shield_in_a_block_on_of_another_thread_tells_of_the_end_of_the_runtime() {
    for flavour in rt_tests::FLAVOURS {
        let _watchdog = rt_tests::Watchdog::new();
        let runtime = flavour.build();
        let census = Census::new();
        let (begin, begun) = mpsc::channel();
        let (_never, wait) = tokio::sync::oneshot::channel();
        let work = rt::shield(careful(begin, wait, census.one()));
        let handle = runtime.handle().clone();
        let plain = std::thread::spawn(move || handle.block_on(work));
        wait_for(&runtime, begun);
        runtime.shutdown_timeout(Duration::MAX);
        let panic = plain.join().unwrap_err();
        let message = panic.downcast_ref::<&str>().unwrap();
        assert!(message.contains("shut down"), "{message}");
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn a_shield_on_the_cpu_pool_stays_there() {
    everywhere(|rt| {
        let name = rt.block_on(rt.spawn_on(rt::Dispatcher::Cpu, async {
            rt::shield(async { std::thread::current().name().unwrap().to_owned() }).await
        }));
        assert!(name.unwrap().starts_with("rt-cpu-"));
        rt.block_on(until_yielding(|| true));
    });
}

//! `UnhandledPanic`: what a panic does that no handle tells of.

use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::thread;

use rt::Runtime;
use rt::runtime::UnhandledPanic;
use rt_tests::{Census, FLAVOURS, Flavour, Watchdog, everywhere, until, until_yielding};
use tokio::sync::oneshot;

/// Panics when it is dropped.
struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

fn strict(flavour: Flavour) -> Runtime {
    let builder = flavour.builder();
    let builder = builder.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    builder.build().unwrap()
}

/// Runs each test on a runtime of its own.
fn everywhere_strict(test: impl Fn(Runtime)) {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        test(strict(flavour));
    }
}

/// Blocks until the runtime ends, which must tell why.
fn assert_ends(runtime: &Runtime, cause: impl FnOnce()) {
    let ended = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            cause();
            pending::<()>().await;
        });
    }));
    let text = ended.unwrap_err();
    let text = text.downcast_ref::<&str>().unwrap();
    assert!(text.contains("ShutdownRuntime"), "{text}");
}

/// It stays as it is: no task runs any more.
fn assert_over(runtime: &Runtime) {
    let census = Census::new();
    let one = census.one();
    let late = runtime.spawn(async move { drop(one) });
    assert!(late.is_finished());
    assert_eq!(census.alive(), 0);
    let again = catch_unwind(AssertUnwindSafe(|| runtime.block_on(async {})));
    assert!(again.is_err());
}

#[test]
fn by_default_nothing_ends() {
    everywhere(|runtime| {
        for _ in 0..10 {
            drop(runtime.spawn(async { panic!("on purpose") }));
            drop(runtime.spawn_blocking(|| panic!("on purpose")));
            drop(runtime.spawn(async { PanicsInDrop }));
        }
        runtime.block_on(until_yielding(|| runtime.metrics().live_tasks == 0));
        assert_eq!(runtime.block_on(runtime.spawn(async { 1 })).unwrap(), 1);
    });
}

#[test]
fn a_detached_task_that_panics_ends_the_runtime() {
    everywhere_strict(|runtime| {
        let census = Census::new();
        let one = census.one();
        let other = runtime.spawn(async move {
            let _one = one;
            pending::<()>().await;
        });
        assert_ends(&runtime, || {
            drop(rt::spawn(async {
                rt::yield_now().await;
                panic!("on purpose");
            }));
        });
        until(|| census.alive() == 0);
        until(|| other.is_finished());
        assert_over(&runtime);
    });
}

/// Whether the handle goes before the panic or after it.
#[test]
fn a_panic_whose_handle_is_dropped_unread_ends_the_runtime() {
    everywhere_strict(|runtime| {
        let task = runtime.spawn(async { panic!("on purpose") });
        runtime.block_on(until_yielding(|| task.is_finished()));
        assert_eq!(runtime.block_on(runtime.spawn(async { 1 })).unwrap(), 1);
        drop(task);
        assert_over(&runtime);
    });
}

#[test]
fn a_panic_that_a_handle_tells_of_ends_nothing() {
    everywhere_strict(|runtime| {
        let task = runtime.spawn(async { panic!("on purpose") });
        assert!(runtime.block_on(task).unwrap_err().is_panic());
        let job = runtime.spawn_blocking(|| panic!("on purpose"));
        assert!(runtime.block_on(job).unwrap_err().is_panic());
        let aborted = PanicsInDrop;
        let aborted = runtime.spawn(async move {
            let _aborted = aborted;
            pending::<()>().await;
        });
        aborted.abort();
        assert!(runtime.block_on(aborted).unwrap_err().is_panic());
        // No panic at all: given up, and cancelled.
        drop(runtime.spawn(async {}));
        let cancelled = runtime.spawn(pending::<()>());
        cancelled.abort();
        drop(cancelled);
        assert_eq!(runtime.block_on(runtime.spawn(async { 1 })).unwrap(), 1);
    });
}

#[test]
fn jobs_and_destructors_end_the_runtime_too() {
    everywhere_strict(|runtime| {
        assert_ends(&runtime, || {
            drop(rt::spawn_blocking(|| panic!("on purpose")));
        });
        assert_over(&runtime);
    });
    everywhere_strict(|runtime| {
        assert_ends(&runtime, || drop(rt::spawn(async { PanicsInDrop })));
        assert_over(&runtime);
    });
    everywhere_strict(|runtime| {
        // The value is delivered, and the panic is nobody's.
        let late = PanicsInDrop;
        let task = runtime.spawn(poll_fn(move |_| {
            let _late = &late;
            Poll::Ready(())
        }));
        let joined = catch_unwind(AssertUnwindSafe(|| runtime.block_on(task)));
        drop(joined);
        until(|| catch_unwind(AssertUnwindSafe(|| runtime.block_on(async {}))).is_err());
        assert_over(&runtime);
    });
}

#[test]
fn local_tasks_follow_the_policy_of_the_runtime_that_polls_them() {
    everywhere_strict(|runtime| {
        assert_ends(&runtime, || {
            drop(rt::task::spawn_local(async { panic!("on purpose") }));
        });
        assert_over(&runtime);
    });
}

/// Every thread that blocks on it is told, and a runtime beside it goes on.
#[test]
fn all_who_block_are_told_and_others_are_not() {
    everywhere_strict(|runtime| {
        let other = strict(Flavour::Workers(1));
        thread::scope(|scope| {
            let (began, begin): (Vec<_>, Vec<_>) = (0..4).map(|_| oneshot::channel::<()>()).unzip();
            for began in began {
                let runtime = &runtime;
                scope.spawn(move || {
                    assert_ends(runtime, || began.send(()).unwrap());
                });
            }
            for begin in begin {
                other.block_on(begin).unwrap();
            }
            drop(runtime.spawn(async { panic!("on purpose") }));
        });
        assert_over(&runtime);
        assert_eq!(other.block_on(other.spawn(async { 1 })).unwrap(), 1);
    });
}

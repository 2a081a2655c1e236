//! Children that fail, closures that fail, and several at a time.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::{Arc, Mutex};

use rt::task::{JoinError, JoinHandle};
use rt::{Dispatcher, Runtime};
use rt_tests::{Census, Counted, everywhere, until};
use tokio::sync::{Barrier, oneshot};

/// A payload that can be told from others.
#[derive(Debug, PartialEq, Eq)]
struct Payload(u32);

/// Runs a future to its panic.
fn panic_of(rt: &Runtime, future: impl Future) -> Box<dyn std::any::Any + Send> {
    catch_unwind(AssertUnwindSafe(|| rt.block_on(future)))
        .err()
        .expect("a panic")
}

async fn keep(one: Counted) {
    let _one = one;
    pending::<()>().await;
}

#[test]
fn a_childs_panic_cancels_the_siblings_and_the_closure_and_resumes_in_the_caller() {
    everywhere(|rt| {
        let census = Census::new();
        let scope = rt::scope(|s| {
            let (mine, a, b, c) = (census.one(), census.one(), census.one(), census.one());
            async move {
                let _mine = mine;
                s.spawn(keep(a));
                s.spawn_on(Dispatcher::Cpu, keep(b));
                s.spawn(async move { rt::scope(|s| async move { s.spawn(keep(c)).await }).await });
                s.spawn(async { panic_any(Payload(7)) });
                pending::<()>().await;
            }
        });
        let payload = panic_of(rt, scope);
        assert_eq!(payload.downcast_ref(), Some(&Payload(7)));
        assert_eq!((census.made(), census.alive()), (4, 0));
    });
}

#[test]
fn a_panic_on_the_cpu_pool_or_in_a_blocking_job_is_one_too() {
    everywhere(|rt| {
        let cpu = rt::scope(|s| async move {
            s.spawn_on(Dispatcher::Cpu, async { panic_any(Payload(1)) });
            pending::<()>().await;
        });
        assert_eq!(panic_of(rt, cpu).downcast_ref(), Some(&Payload(1)));
        let blocking = rt::scope(|s| async move {
            s.spawn_blocking(|| panic_any(Payload(2)));
            pending::<()>().await;
        });
        assert_eq!(panic_of(rt, blocking).downcast_ref(), Some(&Payload(2)));
    });
}

#[test]
fn a_panic_travels_up_through_nested_scopes_and_tasks() {
    everywhere(|rt| {
        let census = Census::new();
        let one = census.one();
        let task = rt.spawn(rt::scope(|s| async move {
            s.spawn(keep(one));
            s.spawn(rt::scope(|s| async move {
                s.spawn(rt::scope(|s| async move {
                    s.spawn(async { panic!("deep down") });
                }));
            }));
            pending::<()>().await;
        }));
        let error = rt.block_on(task).unwrap_err();
        assert_eq!(error.into_panic().downcast_ref(), Some(&"deep down"));
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn the_handle_of_the_child_tells_of_the_panic_too() {
    everywhere(|rt| {
        let kept: Arc<Mutex<Option<JoinHandle<()>>>> = Arc::default();
        let keep = Arc::clone(&kept);
        let scope = rt::scope(|s| async move {
            *keep.lock().unwrap() = Some(s.spawn(async { panic!("so much for that") }));
            pending::<()>().await;
        });
        panic_of(rt, scope);
        let handle = kept.lock().unwrap().take().unwrap();
        let error = rt.block_on(handle).unwrap_err();
        assert!(error.is_panic() && !error.is_cancelled());
        assert!(error.to_string().contains("so much for that"), "{error}");
    });
}

#[test]
fn the_closures_panic_ends_the_children_before_it_travels() {
    everywhere(|rt| {
        for supervised in [false, true] {
            let census = Census::new();
            let one = census.one();
            let body = move |s: rt::Scope| async move {
                s.spawn(keep(one));
                panic_any(Payload(3));
            };
            let payload = if supervised {
                panic_of(rt, rt::supervisor(body))
            } else {
                panic_of(rt, rt::scope(body))
            };
            assert_eq!(payload.downcast_ref(), Some(&Payload(3)));
            assert_eq!(census.alive(), 0);
        }
    });
}

#[test]
fn a_supervisor_leaves_failures_in_their_handles() {
    everywhere(|rt| {
        let value = rt.block_on(rt::supervisor(|s| async move {
            let bad = s.spawn(async { panic_any(Payload(4)) });
            let error: JoinError = bad.await.map(|(): ()| ()).unwrap_err();
            assert_eq!(error.into_panic().downcast_ref(), Some(&Payload(4)));
            assert!(!s.is_cancelled());
            s.spawn(async { 5 }).await.unwrap()
        }));
        assert_eq!(value, 5);
    });
}

#[test]
fn the_first_error_cancels_the_rest_and_is_returned() {
    everywhere(|rt| {
        let census = Census::new();
        let (a, b) = (census.one(), census.one());
        let result = rt.block_on(rt::try_scope(|s| async move {
            let _b = b;
            s.spawn(async move {
                keep(a).await;
                Ok(())
            });
            s.spawn_on(Dispatcher::Cpu, async { Err::<(), _>("no luck") });
            pending::<()>().await;
            Ok(())
        }));
        assert_eq!(result, Err("no luck"));
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn try_scope_gives_values_and_takes_the_closures_error() {
    everywhere(|rt| {
        let sum = rt.block_on(rt::try_scope(async |s| {
            let a = s.spawn(async { Ok::<_, String>(1) });
            let b = s.spawn_blocking(|| Ok(2));
            Ok(a.await.unwrap() + b.await.unwrap())
        }));
        assert_eq!(sum, Ok(3));
        let census = Census::new();
        let one = census.one();
        let failed: Result<(), _> = rt.block_on(rt::try_scope(|s| async move {
            s.spawn(async move {
                keep(one).await;
                Ok(())
            });
            Err(String::from("mine"))
        }));
        assert_eq!(failed, Err(String::from("mine")));
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn a_panic_in_try_scope_resumes() {
    everywhere(|rt| {
        let scope = rt::try_scope(|s| async move {
            s.spawn(async { panic_any(Payload(6)) as Result<(), String> });
            pending::<()>().await;
            Ok(())
        });
        assert_eq!(panic_of(rt, scope).downcast_ref(), Some(&Payload(6)));
    });
}

#[test]
fn of_several_errors_the_first_is_returned_and_the_others_are_in_their_handles() {
    everywhere(|rt| {
        let handles: Arc<Mutex<Vec<JoinHandle<()>>>> = Arc::default();
        let kept = Arc::clone(&handles);
        let result = rt.block_on(rt::try_scope(|s| async move {
            let second = s.clone();
            let keep = Arc::clone(&kept);
            let first = s.spawn(async move {
                let (begin, begun) = oneshot::channel();
                let job = second.spawn_blocking(move || {
                    begin.send(()).unwrap();
                    // Nothing is given up until the first error has cancelled this one.
                    until(rt::is_cancelled);
                    Err("second")
                });
                keep.lock().unwrap().push(job);
                begun.await.unwrap();
                Err("first")
            });
            kept.lock().unwrap().push(first);
            pending::<()>().await;
            Ok(())
        }));
        assert_eq!(result, Err("first"));
        let mut told = Vec::new();
        for handle in handles.lock().unwrap().drain(..) {
            let error = rt.handle().block_on(handle).unwrap_err();
            assert!(error.is_error(), "{error}");
            told.push(error.try_into_error::<&str>().ok());
        }
        told.sort_unstable();
        assert_eq!(told, [None, Some("second")]);
    });
}

#[test]
fn of_several_panics_each_reaches_somebody() {
    everywhere(|rt| {
        const CHILDREN: u32 = 8;
        let handles: Arc<Mutex<Vec<JoinHandle<()>>>> = Arc::default();
        let kept = Arc::clone(&handles);
        let scope = rt::scope(|s| async move {
            let together = Arc::new(Barrier::new(CHILDREN as usize));
            for n in 0..CHILDREN {
                let together = Arc::clone(&together);
                let child = s.spawn_on(Dispatcher::Cpu, async move {
                    together.wait().await;
                    panic_any(Payload(n));
                });
                kept.lock().unwrap().push(child);
            }
            pending::<()>().await;
        });
        let first = panic_of(rt, scope).downcast::<Payload>().unwrap().0;
        for (n, handle) in (0..).zip(handles.lock().unwrap().drain(..)) {
            let error = rt.handle().block_on(handle).unwrap_err();
            if error.is_cancelled() {
                assert_ne!(n, first);
                continue;
            }
            match error.into_panic().downcast::<Payload>() {
                Ok(payload) => assert_eq!(*payload, Payload(n)),
                Err(_) => assert_eq!(n, first, "only the first payload has gone to the scope"),
            }
        }
    });
}

#[test]
fn a_child_that_panics_when_it_is_cancelled_is_a_failure() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any(Payload(9));
        }
    }
    everywhere(|rt| {
        let scope = rt::scope(|s| async move {
            let (begin, begun) = oneshot::channel();
            let child = s.spawn(async move {
                let _bomb = Bomb;
                begin.send(()).unwrap();
                pending::<()>().await;
            });
            begun.await.unwrap();
            child.abort();
            pending::<()>().await;
        });
        assert_eq!(panic_of(rt, scope).downcast_ref(), Some(&Payload(9)));
    });
}

/// The panic is handled: it travels to whoever runs the scope, though no handle tells of it.
#[test]
fn a_panic_that_travels_is_not_unhandled() {
    let _watchdog = rt_tests::Watchdog::new();
    for workers in [1, 2, 8] {
        let builder = rt_tests::Flavour::Workers(workers).builder();
        let builder = builder.unhandled_panic(rt::runtime::UnhandledPanic::ShutdownRuntime);
        let runtime = builder.build().unwrap();
        let scope = rt::scope(|s| async move {
            drop(s.spawn(async { panic_any(Payload(1)) }));
            pending::<()>().await;
        });
        assert_eq!(panic_of(&runtime, scope).downcast_ref(), Some(&Payload(1)));
        assert_eq!(runtime.block_on(runtime.spawn(async { 2 })).unwrap(), 2);
    }
}

/// What is asked for as the wrong type stays where it is, for who knows the right one.
#[test]
fn an_error_of_another_type_is_given_back() {
    everywhere(|rt| {
        let second: Arc<Mutex<Option<JoinHandle<()>>>> = Arc::default();
        let keep = Arc::clone(&second);
        let first = rt.block_on(rt::try_scope(|s| async move {
            let (begin, begun) = oneshot::channel();
            *keep.lock().unwrap() = Some(s.spawn_blocking(move || {
                begin.send(()).unwrap();
                until(rt::is_cancelled);
                Err(Payload(2))
            }));
            begun.await.unwrap();
            Err::<(), _>(Payload(1))
        }));
        assert_eq!(first, Err(Payload(1)));
        let handle = second.lock().unwrap().take().unwrap();
        let id = handle.id();
        let error = rt.handle().block_on(handle).unwrap_err();
        let error = error.try_into_error::<String>().unwrap_err();
        assert!(error.is_error() && !error.is_panic() && error.id() == id);
        let error = error.try_into_panic().unwrap_err();
        assert_eq!(error.try_into_error::<Payload>().unwrap(), Payload(2));
        // And of what is no error of a child.
        let task = rt.spawn(async { panic_any(Payload(3)) });
        let error = rt.block_on(task).map(|(): ()| ()).unwrap_err();
        let error = error.try_into_error::<Payload>().unwrap_err();
        assert_eq!(error.into_panic().downcast_ref(), Some(&Payload(3)));
    });
}

//! Failures that neither the scope's caller nor a handle tells of.

use std::future::pending;
use std::panic::panic_any;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, mpsc};

use rt::runtime::UnhandledPanic;
use rt::task::{JoinError, JoinHandle};
use rt_tests::{Census, FLAVOURS, Watchdog, everywhere, poll_once, until, until_yielding};

/// What a hook was told.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<JoinError>>>);

impl Told {
    fn hook(&self) -> impl Fn(JoinError) + Send + Sync + 'static {
        let told = self.clone();
        move |failure| told.0.lock().unwrap().push(failure)
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn errors(&self) -> Vec<u32> {
        let told = self.0.lock().unwrap().drain(..).collect::<Vec<_>>();
        told.into_iter().map(number).collect()
    }
}

/// The number in an error or a panic.
fn number(failure: JoinError) -> u32 {
    let panic = match failure.try_into_error() {
        Ok(number) => return number,
        Err(failure) => failure.into_panic(),
    };
    *panic.downcast().expect("a number")
}

/// Of as many children that fail together, a third of the handles each is kept, is dropped at once, or
/// is dropped with the closure.
#[test]
fn each_of_many_failures_reaches_exactly_one_of_caller_handle_and_hook() {
    const CHILDREN: u32 = 12;
    everywhere(|rt| {
        let told = Told::default();
        let kept: Arc<Mutex<Vec<JoinHandle<()>>>> = Arc::default();
        let (hook, keep) = (told.hook(), Arc::clone(&kept));
        let first = rt.block_on(rt::try_scope(|s| async move {
            s.on_lost_failure(hook);
            let together = Arc::new(Barrier::new(CHILDREN as usize));
            let mut mine = Vec::new();
            for n in 0..CHILDREN {
                let together = Arc::clone(&together);
                let child = s.spawn_blocking(move || {
                    together.wait();
                    Err::<(), u32>(n)
                });
                match n % 3 {
                    0 => keep.lock().unwrap().push(child),
                    1 => drop(child),
                    _ => mine.push(child),
                }
            }
            pending::<()>().await;
            Ok(())
        }));
        let mut all = vec![first.unwrap_err()];
        all.extend(told.errors());
        for handle in kept.lock().unwrap().drain(..) {
            let error = rt.handle().block_on(handle).unwrap_err();
            assert!(error.is_error());
            all.extend(error.try_into_error::<u32>().ok());
        }
        all.sort_unstable();
        assert_eq!(all, (0..CHILDREN).collect::<Vec<_>>());
    });
}

/// And since it is told, the panic is not an unhandled one.
#[test]
fn a_hook_hears_of_scopes_inside_and_of_supervisors() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let builder = flavour.builder();
        let builder = builder.unhandled_panic(UnhandledPanic::ShutdownRuntime);
        let runtime = builder.build().unwrap();
        let (outer, inner) = (Told::default(), Told::default());
        let (outer_hook, inner_hook) = (outer.hook(), inner.hook());
        runtime.block_on(rt::supervisor(|s| async move {
            s.on_lost_failure(|_| panic!("this one is replaced"));
            s.on_lost_failure(outer_hook);
            drop(s.spawn(async { panic_any(1_u32) }));
            rt::supervisor(|s| async move {
                drop(s.spawn_on(rt::Dispatcher::Cpu, async { panic_any(2_u32) }));
            })
            .await;
            let child = s.spawn(rt::supervisor(|s| async move {
                s.on_lost_failure(inner_hook);
                drop(s.spawn_blocking(|| panic_any(3_u32)));
                drop(s.spawn(async { panic_any(4_u32) }));
            }));
            child.await.unwrap();
        }));
        let mut told = [outer.errors(), inner.errors()];
        for told in &mut told {
            told.sort_unstable();
        }
        assert_eq!(told, [[1, 2], [3, 4]]);
        assert_eq!(runtime.block_on(runtime.spawn(async { 5 })).unwrap(), 5);
    }
}

#[test]
fn the_failure_of_a_scope_that_is_dropped_before_it_could_tell_is_not_lost() {
    everywhere(|rt| {
        let told = Told::default();
        let (hook, seen) = (told.hook(), told.clone());
        rt.block_on(rt.spawn(async move {
            let late = Arc::new(AtomicBool::new(false));
            let go = Arc::clone(&late);
            {
                let scope = rt::try_scope(|s| async move {
                    s.on_lost_failure(hook);
                    let (begin, begun) = mpsc::channel();
                    s.spawn_blocking(move || {
                        begin.send(()).unwrap();
                        until(|| go.load(SeqCst));
                        Err::<(), u32>(2)
                    });
                    begun.recv().unwrap();
                    // The first one is not polled any more, but it fails the scope.
                    let early = s.spawn_blocking(|| Err::<(), u32>(1));
                    until(|| early.is_finished());
                    pending::<()>().await;
                    Ok(())
                });
                let mut scope = pin!(scope);
                assert!(poll_once(&mut scope).await.is_pending());
                assert_eq!(seen.len(), 0);
            }
            until_yielding(|| seen.len() == 1).await;
            late.store(true, SeqCst);
            // This task does not complete before the other one has failed, too.
        }))
        .unwrap();
        assert_eq!(told.errors(), [1, 2]);
    });
}

#[test]
fn the_closures_error_is_not_lost_when_a_child_was_first() {
    everywhere(|rt| {
        let told = Told::default();
        let hook = told.hook();
        let ended: Result<(), u32> = rt.block_on(rt::try_scope(|s| async move {
            s.on_lost_failure(hook);
            drop(s.spawn_blocking(|| Err::<(), u32>(1)));
            until(rt::is_cancelled);
            Err(2)
        }));
        assert_eq!(ended, Err(1));
        assert_eq!(told.errors(), [2]);
    });
}

#[test]
fn a_hook_that_keeps_the_scope_is_gone_with_it() {
    everywhere(|rt| {
        let census = Census::new();
        for abandoned in [false, true] {
            let one = census.one();
            let scope = rt::scope(move |s| async move {
                let scope = s.clone();
                s.on_lost_failure(move |_| unreachable!("{one:?} {scope:?}"));
                s.spawn(pending::<()>());
                if abandoned {
                    pending::<()>().await;
                }
                s.cancel();
            });
            rt.block_on(rt.spawn(async move {
                let mut scope = pin!(scope);
                if abandoned {
                    assert!(poll_once(&mut scope).await.is_pending());
                } else {
                    scope.await;
                }
            }))
            .unwrap();
            assert_eq!(census.alive(), 0);
        }
    });
}

#[test]
fn a_hook_that_panics_ends_nothing_and_one_that_comes_too_late_is_dropped() {
    everywhere(|rt| {
        let census = Census::new();
        let one = census.one();
        let scope = rt.block_on(rt::supervisor(|s| async move {
            s.on_lost_failure(|failure| panic!("{failure}"));
            drop(s.spawn(async { panic!("lost") }));
            s
        }));
        scope.on_lost_failure(move |_| unreachable!("{one:?}"));
        assert_eq!(census.alive(), 0);
        assert_eq!(rt.block_on(rt.spawn(async { 5 })).unwrap(), 5);
    });
}

/// Neither the scope's caller nor the worker that ends the last child has anything to do with it.
#[test]
fn a_hook_that_panics_as_it_is_dropped_ends_nothing() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a hook's end");
        }
    }
    everywhere(|rt| {
        let value = rt.block_on(rt::scope(|s| async move {
            let bomb = Bomb;
            s.on_lost_failure(move |_| unreachable!("{}", size_of_val(&bomb)));
            s.spawn(async { 6 }).await.unwrap()
        }));
        assert_eq!(value, 6);
        let task = rt.spawn(async move {
            let mut scope = pin!(rt::scope(|s| async move {
                let bomb = Bomb;
                s.on_lost_failure(move |_| unreachable!("{}", size_of_val(&bomb)));
                s.spawn(pending::<()>());
                pending::<()>().await;
            }));
            assert!(poll_once(&mut scope).await.is_pending());
        });
        rt.block_on(task).unwrap();
        assert_eq!(rt.block_on(rt.spawn(async { 5 })).unwrap(), 5);
    });
}

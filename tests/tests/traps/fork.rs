//! A child process that goes on with the runtime of its parent: threads do not survive a fork.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{self, Command};
use std::time::Duration;

use rt::net::{TcpListener, TcpStream};
use rt::{Dispatcher, Runtime};
use rt_tests::{FLAVOURS, Flavour, alone, in_child, lives_on_as_child};

/// The call must say what is wrong, at once.
#[track_caller]
fn refused<T>(call: impl FnOnce() -> T) {
    let Err(panic) = catch_unwind(AssertUnwindSafe(call)) else {
        panic!("it works in a forked child");
    };
    let text = panic.downcast_ref::<String>().expect("a message");
    assert!(text.contains("forked"), "{text}");
}

/// Waits until a runtime has its threads, and one that blocks.
fn warm(runtime: &Runtime) {
    runtime.block_on(async {
        rt::spawn_on(Dispatcher::Cpu, async {}).await.unwrap();
        rt::spawn_blocking(|| ()).await.unwrap();
        rt::spawn(rt::delay(Duration::from_millis(1)))
            .await
            .unwrap();
    });
}

#[test]
fn a_forked_child_is_told_that_the_runtime_is_not_its_own() {
    alone(|| {
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            warm(&runtime);
            let handle = runtime.handle().clone();
            in_child(|| {
                refused(|| runtime.spawn(async {}));
                refused(|| runtime.spawn_on(Dispatcher::Cpu, async {}));
                refused(|| runtime.spawn_blocking(|| ()));
                refused(|| runtime.block_on(async {}));
                refused(|| runtime.metrics());
                refused(|| handle.block_on(async {}));
                let _current = handle.enter();
                refused(|| rt::spawn(async {}));
                refused(|| rt::task::Builder::new().name("child").spawn(async {}));
                refused(|| rt::task::JoinSet::new().spawn(async {}));
                refused(|| {
                    let mut sleep = Box::pin(rt::delay(Duration::from_millis(1)));
                    let waker = std::task::Waker::noop();
                    let _ = sleep
                        .as_mut()
                        .poll(&mut std::task::Context::from_waker(waker));
                });
                drop(runtime);
            });
            // The parent's was not touched.
            let runtime = flavour.build();
            warm(&runtime);
        }
    });
}

#[test]
fn a_forked_child_may_drop_the_runtime_and_make_its_own() {
    alone(|| {
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            warm(&runtime);
            in_child(|| {
                let own = flavour.build();
                warm(&own);
                runtime.shutdown_timeout(Duration::MAX);
                warm(&own);
                // And so may its children.
                in_child(|| {
                    refused(|| own.spawn(async {}));
                    warm(&flavour.build());
                });
                drop(own);
            });
        }
    });
}

/// The epoll set and the timerfd are shared with the child: what that does must not reach them.
#[test]
fn what_a_forked_child_drops_stays_registered_for_its_parent() {
    alone(|| {
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                let client = TcpStream::connect(address).await.unwrap();
                let (server, _) = listener.accept().await.unwrap();
                let sleep = rt::spawn(rt::delay(Duration::from_millis(200)));
                let reader = rt::spawn(async move {
                    let mut byte = [0];
                    server.read_exact(&mut byte).await.map(|_| byte[0])
                });
                rt::yield_now().await;
                let Some(ended) = lives_on_as_child() else {
                    let register = || {
                        let stream = std::net::TcpStream::connect(address).unwrap();
                        stream.set_nonblocking(true).unwrap();
                        TcpStream::from_std(stream).is_err()
                    };
                    let told = catch_unwind(AssertUnwindSafe(register)).unwrap_or(true);
                    drop(client);
                    drop(listener);
                    drop(sleep);
                    drop(reader);
                    process::exit(i32::from(!told));
                };
                assert_eq!(ended(), Ok(0));
                client.write_all(&[7]).await.unwrap();
                assert_eq!(reader.await.unwrap().unwrap(), 7);
                sleep.await.unwrap();
            });
        }
    });
}

/// A task that forks: the child's copy of the worker says so and ends, when it has nothing to run.
#[test]
fn a_child_that_comes_back_to_the_runtime_ends_and_says_why() {
    alone(|| {
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            let task = runtime.spawn(async {
                let child = lives_on_as_child();
                if child.is_none() {
                    std::future::pending::<()>().await;
                }
                child.map(|ended| ended())
            });
            let ended = catch_unwind(AssertUnwindSafe(|| runtime.block_on(task)));
            match ended {
                // Aborted where no caller is left to be told.
                Ok(ended) => {
                    let ended = ended.unwrap().unwrap();
                    let abort = 6;
                    assert!(
                        ended == Err(abort) || flavour == Flavour::CurrentThread && ended == Ok(0),
                        "{ended:?}"
                    );
                }
                // The child of a current-thread runtime: its `block_on` was told.
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().unwrap();
                    assert!(text.contains("forked"), "{text}");
                    process::exit(0);
                }
            }
        }
    });
}

/// A child that is made inside `block_on` and waits there for what only the parent would do.
#[test]
fn a_child_that_blocks_on_the_runtime_of_its_parent_is_told() {
    alone(|| {
        let runtime = Flavour::Workers(2).build();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                match lives_on_as_child() {
                    Some(ended) => assert_eq!(ended(), Ok(0)),
                    None => std::future::pending().await,
                }
            });
        }));
        if let Err(panic) = ended {
            let told = panic.downcast_ref::<String>();
            process::exit(i32::from(!told.is_some_and(|told| told.contains("forked"))));
        }
    });
}

/// What the descriptors of this process are, by the names that the kernel gives them.
fn links() -> BTreeSet<String> {
    let folder = fs::read_dir("/proc/self/fd").unwrap();
    let links = folder.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    links
        .map(|link| link.to_string_lossy().into_owned())
        .collect()
}

/// A program that is started by the process inherits none of the runtime's descriptors.
#[test]
fn started_programs_inherit_no_descriptor() {
    alone(|| {
        let before = links();
        let runtime = Flavour::Workers(2).build();
        warm(&runtime);
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let _client = runtime.block_on(TcpStream::connect(address)).unwrap();
        let _server = runtime.block_on(listener.accept()).unwrap();
        let ours: Vec<_> = links().difference(&before).cloned().collect();
        assert!(ours.len() >= 3, "{ours:?}");
        let listing = Command::new("ls").args(["-l", "/proc/self/fd"]).output();
        let listing = String::from_utf8(listing.unwrap().stdout).unwrap();
        for link in ours {
            assert!(!listing.contains(&link), "{link} in {listing}");
        }
    });
}

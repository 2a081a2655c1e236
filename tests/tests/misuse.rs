//! Mistakes: what is told, how, and that nothing breaks.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rt::net::{TcpListener, TcpStream};
use rt::time::{Instant, sleep, timeout};
use rt::{Dispatcher, Handle, Runtime};
use rt_tests::{FLAVOURS, Flavour, Watchdog, alone, everywhere};

/// What a call panics with.
fn panic_of<T>(call: impl FnOnce() -> T) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(call)) else {
        panic!("it does not panic");
    };
    let text = payload.downcast_ref::<String>().cloned();
    text.unwrap_or_else(|| (*payload.downcast_ref::<&str>().expect("a text")).to_owned())
}

#[test]
fn settings_that_cannot_work_are_refused_by_name() {
    let _watchdog = Watchdog::new();
    let builders = [
        ("io_threads", Runtime::builder().io_threads(0)),
        ("cpu_threads", Runtime::builder().cpu_threads(0)),
        (
            "max_blocking_threads",
            Runtime::builder().max_blocking_threads(0),
        ),
        ("event_interval", Runtime::builder().event_interval(0)),
        (
            "global_queue_interval",
            Runtime::builder().global_queue_interval(0),
        ),
        ("thread_name", Runtime::builder().thread_name("a\0b")),
    ];
    for (setting, builder) in builders {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(setting), "{error}");
    }
}

#[test]
fn a_stack_that_no_thread_can_have_is_an_error() {
    let _watchdog = Watchdog::new();
    let huge = Runtime::builder()
        .thread_stack_size(usize::MAX / 2)
        .thread_name("huge");
    assert!(huge.build().is_err());
    rt_tests::until(|| rt_tests::threads_named("huge") == 0);
}

/// Every call that needs a runtime says so, and names the caller's place.
#[test]
fn without_a_runtime_every_call_says_so_at_the_callers_place() {
    alone(|| {
        let places = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&places);
        panic::set_hook(Box::new(move |info| {
            eprintln!("{info}");
            let place = info.location().expect("a place");
            seen.lock()
                .unwrap()
                .push((place.file().to_owned(), place.line()));
        }));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // The line of the call, and the call.
        macro_rules! call {
            ($call:expr) => {
                (line!(), Box::new(|| drop($call)) as Box<dyn FnOnce()>)
            };
        }
        let calls = [
            call!(rt::spawn(async {})),
            call!(rt::spawn_on(Dispatcher::Cpu, async {})),
            call!(rt::spawn_blocking(|| ())),
            call!(Handle::current()),
            call!(TcpListener::from_std(listener)),
            call!(TcpStream::from_std(stream)),
        ];
        for (line, call) in calls {
            let message = panic_of(call);
            assert!(
                message.starts_with("no `rt` runtime in this thread"),
                "{message}"
            );
            assert!(
                message.contains("block_on") && message.contains("enter"),
                "{message}"
            );
            let place = places.lock().unwrap().pop().unwrap();
            assert_eq!(place, (file!().to_owned(), line));
        }
        assert!(places.lock().unwrap().is_empty());
        let error = Handle::try_current().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("no `rt` runtime in this thread")
        );
    });
}

#[test]
fn futures_polled_outside_a_runtime_say_so() {
    let _watchdog = Watchdog::new();
    // They may be made anywhere; waiting needs the runtime.
    let message = panic_of(|| poll_elsewhere(sleep(Duration::from_secs(1))));
    assert!(
        message.starts_with("no `rt` runtime in this thread"),
        "{message}"
    );
    let message = panic_of(|| {
        poll_elsewhere(timeout(
            Duration::from_secs(1),
            std::future::pending::<()>(),
        ))
    });
    assert!(
        message.starts_with("no `rt` runtime in this thread"),
        "{message}"
    );
    let message = panic_of(|| poll_elsewhere(TcpListener::bind("127.0.0.1:0")).map(|_| ()));
    assert!(
        message.starts_with("no `rt` runtime in this thread"),
        "{message}"
    );
    let message = panic_of(|| poll_elsewhere(TcpStream::connect("127.0.0.1:1")).map(|_| ()));
    assert!(
        message.starts_with("no `rt` runtime in this thread"),
        "{message}"
    );
    // What needs no waiting needs no runtime.
    poll_elsewhere(sleep(Duration::ZERO));
    assert_eq!(
        poll_elsewhere(timeout(Duration::from_secs(1), async { 1 })),
        Ok(1)
    );
}

/// Polls a future once, as another executor would.
fn poll_elsewhere<F: Future>(future: F) -> F::Output {
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut cx) {
        std::task::Poll::Ready(output) => output,
        std::task::Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn blocking_on_the_runtime_inside_a_task_is_refused() {
    everywhere(|runtime| {
        let handle = runtime.handle().clone();
        let io = runtime.spawn({
            let handle = handle.clone();
            async move {
                // A refusal must not make the next call look allowed.
                panic_of(|| handle.block_on(async {}));
                panic_of(|| handle.block_on(async {}))
            }
        });
        let message = runtime.block_on(io).unwrap();
        assert!(message.contains("already running futures"), "{message}");
        let cpu = runtime.spawn_on(Dispatcher::Cpu, {
            let handle = handle.clone();
            async move { panic_of(|| handle.block_on(async {})) }
        });
        let message = runtime.block_on(cpu).unwrap();
        assert!(message.contains("already running futures"), "{message}");
        let message = runtime.block_on(async { panic_of(|| handle.block_on(async {})) });
        assert!(message.contains("already running futures"), "{message}");
        // Another runtime's threads are as easily blocked.
        let other = Flavour::CurrentThread.build();
        let message = runtime.block_on(async { panic_of(|| other.block_on(async {})) });
        assert!(message.contains("already running futures"), "{message}");
        // Nothing is left behind.
        assert_eq!(runtime.block_on(async { 1 }), 1);
        assert_eq!(other.block_on(async { 2 }), 2);
    });
}

#[test]
fn the_place_of_a_refused_block_on_is_the_callers() {
    alone(|| {
        let place = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&place);
        panic::set_hook(Box::new(move |info| {
            eprintln!("{info}");
            let place = info.location().expect("a place");
            *seen.lock().unwrap() = Some((place.file().to_owned(), place.line()));
        }));
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            let handle = runtime.handle().clone();
            runtime.block_on(async {
                let line = line!() + 1;
                panic_of(|| handle.block_on(async {}));
                let place = place.lock().unwrap().take().unwrap();
                assert_eq!(place, (file!().to_owned(), line));
            });
        }
    });
}

#[test]
fn an_address_in_use_is_an_error() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let error = TcpListener::bind(taken.local_addr().unwrap())
                .await
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AddrInUse);
        });
    });
}

#[test]
fn a_refused_connection_is_an_error() {
    everywhere(|runtime| {
        runtime.block_on(async {
            // Bound and closed again, so that nobody listens there.
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            drop(listener);
            let error = TcpStream::connect(address).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        });
        assert_eq!(runtime.metrics().live_sources, 0);
    });
}

#[test]
fn addresses_that_mean_nothing_are_errors() {
    everywhere(|runtime| {
        runtime.block_on(async {
            for address in [
                "",
                "127.0.0.1",
                "127.0.0.1:",
                "127.0.0.1:66000",
                "[::1:80",
                "\0:80",
            ] {
                assert!(TcpStream::connect(address).await.is_err(), "{address:?}");
                assert!(TcpListener::bind(address).await.is_err(), "{address:?}");
            }
            let none: &[std::net::SocketAddr] = &[];
            let error = TcpStream::connect(none).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
        });
        assert_eq!(runtime.metrics().live_sources, 0);
    });
}

/// A descriptor whose every use fails with `EBADF`, as a closed one's, except that it may be
/// closed: opened as a path only.
fn as_good_as_closed() -> OwnedFd {
    const O_PATH: i32 = 0o10_000_000;
    OpenOptions::new()
        .read(true)
        .custom_flags(O_PATH)
        .open("/")
        .unwrap()
        .into()
}

#[test]
fn descriptors_that_are_no_sockets_are_errors_and_are_closed() {
    everywhere(|runtime| {
        let _current = runtime.enter();
        for make in [
            || OwnedFd::from(File::open("/proc/self/exe").unwrap()),
            as_good_as_closed,
        ] {
            assert!(TcpStream::from_std(make().into()).is_err());
            assert!(TcpListener::from_std(make().into()).is_err());
            assert!(TcpStream::try_from(make()).is_err());
            assert!(TcpListener::try_from(make()).is_err());
        }
        let file = OwnedFd::from(File::open("/proc/self/exe").unwrap());
        let error = TcpStream::try_from(file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert_eq!(runtime.metrics().live_sources, 0);
    });
}

#[test]
fn descriptors_that_are_refused_do_not_leak() {
    alone(|| {
        let runtime = Flavour::Workers(1).build();
        let _current = runtime.enter();
        let before = rt_tests::fds();
        for _ in 0..100 {
            assert!(TcpStream::try_from(as_good_as_closed()).is_err());
            let file = OwnedFd::from(File::open("/proc/self/exe").unwrap());
            assert!(TcpStream::try_from(file).is_err());
            assert!(runtime.block_on(TcpStream::connect("127.0.0.1:1")).is_err());
        }
        assert_eq!(rt_tests::fds(), before);
    });
}

#[test]
fn handles_of_a_runtime_that_is_gone_give_cancelled_tasks() {
    let _watchdog = Watchdog::new();
    for flavour in FLAVOURS {
        let runtime = flavour.build();
        let handle = runtime.handle().clone();
        drop(runtime);
        let other = Flavour::CurrentThread.build();
        let census = rt_tests::Census::new();
        let (a, b, c) = (census.one(), census.one(), census.one());
        let tasks = [
            handle.spawn(async move { drop(a) }),
            handle.spawn_on(Dispatcher::Cpu, async move { drop(b) }),
            handle.spawn_blocking(move || drop(c)),
        ];
        assert_eq!(census.alive(), 0, "refused, so dropped at once");
        for task in tasks {
            assert!(task.is_finished());
            assert!(other.block_on(task).unwrap_err().is_cancelled());
        }
        // A future that needs nothing of it still runs; one that needs it is told.
        assert_eq!(handle.block_on(async { 5 }), 5);
        let error = handle
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .unwrap_err();
        assert!(error.to_string().contains("shutting down"), "{error}");
    }
}

#[test]
fn instants_at_the_ends_of_time_do_not_panic() {
    let now = Instant::now();
    let far = now + Duration::MAX;
    let long_ago = now - Duration::MAX;
    assert!(far > now && now > long_ago);
    assert_eq!(now - far, Duration::ZERO);
    assert_eq!(far.elapsed(), Duration::ZERO);
    assert!(long_ago.elapsed() > Duration::from_secs(1));
    assert_eq!(now.checked_duration_since(far), None);
    assert_eq!(far + Duration::MAX, far);
    let _ = (far.into_std(), long_ago.into_std());
}

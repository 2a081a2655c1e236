//! Processes that get no more descriptors, no more memory, or another time.

use std::fs::File;
use std::io::ErrorKind;
use std::process::Command;
use std::time::Duration;

use rt::net::{TcpListener, TcpStream, UdpSocket, UnixStream};
use rt::time::{Instant, sleep, timeout};
use rt::{Dispatcher, Runtime};
use rt_tests::{FLAVOURS, Flavour, alone, alone_after, fds, threads, until};

#[test]
fn everything_that_needs_a_descriptor_says_that_there_is_none_and_works_again() {
    alone_after("ulimit -n 64", || {
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                // Whatever is made at first use is there.
                drop(rt::fs::read("/proc/self/stat").await.unwrap());
                let before = fds();
                let mut hoard = Vec::new();
                while let Ok(file) = File::open("/dev/null") {
                    hoard.push(file);
                }
                let errors = [
                    TcpListener::bind("127.0.0.1:0").await.err(),
                    TcpStream::connect(address).await.err(),
                    UdpSocket::bind("127.0.0.1:0").await.err(),
                    UnixStream::pair().err(),
                    rt::fs::read("/proc/self/stat").await.err(),
                    rt::process::Command::new("true").spawn().err(),
                    Runtime::new().err(),
                ];
                for (number, error) in errors.into_iter().enumerate() {
                    let error = error.unwrap_or_else(|| panic!("number {number} worked"));
                    assert!(
                        error.to_string().contains("open files"),
                        "{number}: {error}"
                    );
                }
                // What needs none goes on.
                sleep(Duration::from_millis(1)).await;
                rt::spawn_on(Dispatcher::Cpu, async {}).await.unwrap();
                rt::spawn_blocking(|| ()).await.unwrap();
                drop(hoard);
                assert_eq!(fds(), before, "failures leave nothing open");
                let (near, far) = rt::join!(TcpStream::connect(address), listener.accept());
                drop((near.unwrap(), far.unwrap()));
            });
        }
    });
}

#[test]
fn a_runtime_whose_threads_get_no_memory_is_an_error_and_leaves_nothing() {
    alone(|| {
        let (descriptors, before) = (fds(), threads());
        // More address space than there is.
        let built = Runtime::builder().thread_stack_size(1 << 50).build();
        let error = built.unwrap_err();
        let kinds = [ErrorKind::WouldBlock, ErrorKind::OutOfMemory];
        assert!(kinds.contains(&error.kind()), "{error}");
        until(|| threads() == before);
        assert_eq!(fds(), descriptors);
    });
}

/// Nobody may set the clocks of the machine for a test. In a time namespace they differ from it by
/// decades, and timers and timerfds must mean the same clock.
#[test]
fn timers_are_right_where_the_clocks_are_decades_ahead() {
    const AHEAD: &str = "unshare --time --fork --monotonic 2000000000 --boottime 2000000000";
    let probe = Command::new("sh")
        .args(["-c", &format!("{AHEAD} true")])
        .output();
    if !probe.as_ref().is_ok_and(|probe| probe.status.success()) {
        return println!("skipped: no time namespace can be made here: {probe:?}");
    }
    alone_after(&format!("exec {AHEAD} \"$0\" \"$@\"; false"), || {
        for flavour in [Flavour::CurrentThread, Flavour::Workers(2)] {
            flavour.build().block_on(async {
                let (start, real) = (Instant::now(), std::time::Instant::now());
                sleep(Duration::from_millis(20)).await;
                assert!(start.elapsed() >= Duration::from_millis(20));
                assert!(real.elapsed() >= Duration::from_millis(20));
                let never = timeout(Duration::from_millis(1), std::future::pending::<()>());
                never.await.unwrap_err();
            });
        }
    });
}

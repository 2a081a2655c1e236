//! Edge cases of sockets, signals and descriptors.

use std::net::Shutdown;
use std::process::{self, Command};
use std::thread;
use std::time::{Duration, Instant};

use rt::net::{TcpListener, TcpStream};
use rt::time::sleep;
use rt_tests::{FLAVOURS, Flavour, alone, cpu_time, poll_once, until};

/// The two ends of a connection.
async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    (near, listener.accept().await.unwrap().0)
}

/// A peer that has ended its side is an event once, and no reason to run.
#[test]
fn a_half_closed_peer_costs_no_cpu() {
    alone(|| {
        let runtime = Flavour::Workers(2).build();
        let (near, _far) = runtime.block_on(async {
            let (near, far) = pair().await;
            far.shutdown(Shutdown::Write).unwrap();
            assert_eq!(near.read(&mut [0; 8]).await.unwrap(), 0);
            (near, far)
        });
        // A task waits for the next connection meanwhile, so that the reactor has a reason to poll.
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        drop(runtime.spawn(async move { listener.accept().await.map(|_| near) }));
        let mut polls = runtime.metrics().reactor_polls;
        until(|| {
            pause(Duration::from_millis(100));
            let now = runtime.metrics().reactor_polls;
            std::mem::replace(&mut polls, now) == now
        });
        let before = cpu_time();
        pause(Duration::from_millis(300));
        assert_eq!(runtime.metrics().reactor_polls, polls);
        let used = cpu_time().saturating_sub(before);
        assert!(used < Duration::from_millis(10), "{used:?}");
    });
}

/// Time passes: here it is the point.
fn pause(duration: Duration) {
    let end = Instant::now() + duration;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        thread::park_timeout(left);
    }
}

/// Stopping and continuing a process makes its blocked system calls return early.
#[test]
fn interrupted_system_calls_are_repeated() {
    alone(|| {
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            let this = process::id();
            let script = format!(
                "n=0; while [ $n -lt 100 ]; do kill -STOP {this}; kill -CONT {this}; n=$((n+1)); done"
            );
            let mut nuisance = Command::new("sh").arg("-c").arg(script).spawn().unwrap();
            runtime.block_on(async {
                let (near, far) = pair().await;
                let echo = rt::spawn(async move {
                    let mut buf = [0; 8];
                    while far.read(&mut buf).await.unwrap() > 0 {
                        far.write_all(&buf).await.unwrap();
                    }
                });
                let mut rounds = 0_u64;
                while nuisance.try_wait().unwrap().is_none() || rounds < 10 {
                    rounds += 1;
                    near.write_all(&rounds.to_ne_bytes()).await.unwrap();
                    let mut answer = [0; 8];
                    near.read_exact(&mut answer).await.unwrap();
                    assert_eq!(u64::from_ne_bytes(answer), rounds);
                    let start = Instant::now();
                    sleep(Duration::from_micros(500)).await;
                    assert!(start.elapsed() >= Duration::from_micros(500));
                    rt::spawn_blocking(|| ()).await.unwrap();
                }
                drop(near);
                echo.await.unwrap();
            });
        }
    });
}

/// An error of the socket wakes those who wait to read as well as those who wait to write.
#[test]
fn an_error_wakes_readers_and_writers() {
    for flavour in FLAVOURS {
        let runtime = flavour.build();
        runtime.block_on(async {
            let (near, far) = pair().await;
            let mut readable = Box::pin(near.readable());
            assert!(poll_once(&mut readable).await.is_pending());
            far.set_linger(Some(Duration::ZERO)).unwrap();
            drop(far);
            readable.await.unwrap();
            near.writable().await.unwrap();
            assert!(near.try_read(&mut [0; 8]).is_err());
        });
    }
}

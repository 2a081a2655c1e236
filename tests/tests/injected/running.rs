//! Calls that are refused to a runtime that runs: the caller is told, nothing is left behind, and the next call
//! works.

use std::fs;
use std::io;
use std::pin::Pin;
use std::process::id;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use rt::io::AsyncFd;
use rt::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixStream};
use rt::process::Command;
use rt::runtime::FileIo;
use rt::signal::unix::{SignalKind, signal};
use rt::time::sleep;
use rt_tests::{FLAVOURS, Flavour, alone, fds, until_yielding};

use super::kernel::{
    ACCEPT, Call, EPOLL_CTL, OPEN, PIDFD_OPEN, PIPE, SOCKET, SOCKETPAIR, THREAD, URING_ENTER,
    URING_SETUP,
};

/// What a shortage can be called.
const SHORTAGES: [i32; 4] = [libc::ENOMEM, libc::EMFILE, libc::ENFILE, libc::ENOBUFS];

type Step = Pin<Box<dyn Future<Output = io::Result<()>>>>;

/// Each of these makes something new, with `call`, and drops it.
fn steps_with(call: &'static Call) -> Vec<Step> {
    fn step<T>(made: impl Future<Output = io::Result<T>> + 'static) -> Step {
        Box::pin(async { made.await.map(drop) })
    }
    let mut steps = Vec::new();
    if [&raw const EPOLL_CTL, &raw const SOCKET].contains(&&raw const *call) {
        steps.push(step(TcpListener::bind("127.0.0.1:0")));
        steps.push(step(async {
            let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
            TcpStream::connect(listener.local_addr()?).await
        }));
        steps.push(step(UdpSocket::bind("127.0.0.1:0")));
        steps.push(step(async { UnixDatagram::unbound() }));
    }
    if [&raw const EPOLL_CTL, &raw const SOCKETPAIR].contains(&&raw const *call) {
        steps.push(step(async { UnixStream::pair() }));
        steps.push(step(async { UnixDatagram::pair() }));
    }
    if [&raw const EPOLL_CTL, &raw const PIPE].contains(&&raw const *call) {
        steps.push(step(async { rt::net::unix::pipe::pipe() }));
    }
    if [&raw const EPOLL_CTL, &raw const PIDFD_OPEN].contains(&&raw const *call) {
        steps.push(step(async { Command::new("true").spawn() }));
        steps.push(step(Command::new("true").status()));
    }
    if [&raw const EPOLL_CTL].contains(&&raw const *call) {
        steps.push(step(async { signal(SignalKind::user_defined1()) }));
        steps.push(step(async {
            let (near, _far) = std::os::unix::net::UnixStream::pair()?;
            near.set_nonblocking(true)?;
            AsyncFd::new(near)
        }));
    }
    steps
}

/// The processes that this one has started and not waited for.
fn children() -> String {
    let tasks = fs::read_dir("/proc/self/task").expect("/proc/self/task");
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).ok();
    tasks.filter_map(|task| of(task.ok()?)).collect()
}

#[test]
fn whatever_cannot_be_registered_or_made_is_an_error_and_leaves_nothing() {
    alone(|| {
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            for call in [&EPOLL_CTL, &SOCKET, &SOCKETPAIR, &PIPE, &PIDFD_OPEN] {
                // Once for what stays: the descriptor of a signal.
                runtime.block_on(async {
                    for made in steps_with(call) {
                        made.await.unwrap();
                    }
                });
                runtime.block_on(until_yielding(|| children().is_empty()));
                // Of those that worked one may still be on its way out: then there are fewer later.
                let before = fds();
                for error in SHORTAGES {
                    let refusal = call.refuse(error);
                    runtime.block_on(async {
                        for (number, made) in steps_with(call).into_iter().enumerate() {
                            let Err(told) = made.await else {
                                panic!("{} {number} worked", call.name);
                            };
                            let expected = io::Error::from_raw_os_error(error).kind();
                            assert_eq!(told.kind(), expected, "{} {number}: {told}", call.name);
                        }
                    });
                    assert!(refusal.count() > 0, "{} is used", call.name);
                    drop(refusal);
                    assert_eq!(children(), "", "no process is left, of {}", id());
                    assert!(fds() <= before, "no descriptor is left");
                    runtime.block_on(async {
                        for made in steps_with(call) {
                            made.await.unwrap();
                        }
                    });
                    runtime.block_on(until_yielding(|| children().is_empty() && fds() <= before));
                }
            }
        }
    });
}

#[test]
fn a_listener_whose_accept_is_refused_says_so_and_has_the_connection_afterwards() {
    alone(|| {
        for flavour in FLAVOURS {
            flavour.build().block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                for error in SHORTAGES {
                    let refusal = ACCEPT.refuse(error);
                    let client = rt::spawn(async move {
                        let stream = TcpStream::connect(address).await.unwrap();
                        let mut answer = [0; 4];
                        stream.read_exact(&mut answer).await.unwrap();
                        answer
                    });
                    for _ in 0..3 {
                        let told = listener.accept().await.unwrap_err();
                        assert_eq!(told.raw_os_error(), Some(error));
                    }
                    drop(refusal);
                    let (stream, _) = listener.accept().await.unwrap();
                    stream.write_all(b"here").await.unwrap();
                    assert_eq!(&client.await.unwrap(), b"here");
                }
            });
        }
    });
}

/// The connection is off the queue by then. Its peer sees its end, and does not wait for ever.
#[test]
fn a_connection_that_cannot_be_registered_is_closed_and_the_listener_goes_on() {
    alone(|| {
        for flavour in FLAVOURS {
            flavour.build().block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                let mut client = std::net::TcpStream::connect(address).unwrap();
                let refusal = EPOLL_CTL.refuse(libc::ENOMEM);
                let told = listener.accept().await.unwrap_err();
                assert_eq!(told.kind(), io::ErrorKind::OutOfMemory);
                drop(refusal);
                assert_eq!(io::Read::read(&mut client, &mut [0]).unwrap(), 0);
                let client = std::net::TcpStream::connect(address).unwrap();
                let (stream, from) = listener.accept().await.unwrap();
                assert_eq!(from, client.local_addr().unwrap());
                drop(stream);
            });
        }
    });
}

/// Files go the other ways when the kernel has no ring for them, or takes no more.
#[test]
fn files_are_read_whatever_becomes_of_the_ring() {
    alone(|| {
        let path = std::env::temp_dir().join(format!("rt-injected-{}", id()));
        let content: Vec<u8> = (0..200_000_u32).map(|number| number as u8).collect();
        fs::write(&path, &content).unwrap();
        let rounds = async || {
            for round in 0..3_u8 {
                assert_eq!(rt::fs::read(&path).await.unwrap(), content);
                let mut file = rt::fs::File::create(path.with_extension("copy"))
                    .await
                    .unwrap();
                file.write_all(&vec![round; 100_000]).await.unwrap();
                file.sync_all().await.unwrap();
                let copy = rt::fs::read(path.with_extension("copy")).await.unwrap();
                assert_eq!(copy, vec![round; 100_000]);
            }
        };
        for flavour in FLAVOURS {
            for error in [libc::ENOMEM, libc::EMFILE, libc::EPERM] {
                let refusal = URING_SETUP.refuse(error);
                flavour.build().block_on(rounds());
                assert!(refusal.count() <= 1, "it is asked for once");
            }
            if flavour.builder().file_io(FileIo::Uring).build().is_err() {
                println!("skipped: no io_uring here");
                continue;
            }
            for error in [libc::ENOMEM, libc::EAGAIN, libc::EBUSY] {
                // One that passes, and a ring that takes no more.
                let runtime = flavour.builder().file_io(FileIo::Uring).build().unwrap();
                for number in 0..5 {
                    let refusal = URING_ENTER.refuse_one(error, number);
                    runtime.block_on(rounds());
                    assert_eq!(refusal.count(), 1);
                }
                let refusal = URING_ENTER.refuse(error);
                runtime.block_on(rounds());
                assert!(refusal.count() > 0);
            }
        }
        fs::remove_file(&path).unwrap();
        fs::remove_file(path.with_extension("copy")).unwrap();
    });
}

#[test]
fn a_file_that_cannot_be_opened_is_an_error() {
    alone(|| {
        for flavour in FLAVOURS {
            let builder = flavour.builder().file_io(FileIo::Blocking);
            builder.build().unwrap().block_on(async {
                rt::fs::read("/proc/self/stat").await.unwrap();
                for error in SHORTAGES {
                    let refusal = OPEN.refuse(error);
                    let told = rt::fs::read("/proc/self/stat").await.unwrap_err();
                    assert_eq!(told.raw_os_error(), Some(error));
                    drop(refusal);
                    rt::fs::read("/proc/self/stat").await.unwrap();
                }
            });
        }
    });
}

/// One exchange with the server, from the connection on.
async fn ask(address: std::net::SocketAddr, number: u64) -> io::Result<()> {
    let stream = TcpStream::connect(address).await?;
    let word = number.to_le_bytes();
    stream.write_all(&word).await?;
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).await?;
    assert_eq!(answer, word);
    Ok(())
}

async fn answer(stream: TcpStream) -> io::Result<()> {
    let mut word = [0; 8];
    stream.read_exact(&mut word).await?;
    sleep(Duration::from_micros(50)).await;
    stream.write_all(&word).await
}

/// Servers meet shortages that come and go. Every client tries until it has been served.
#[test]
fn a_server_that_is_short_of_everything_now_and_then_serves_everybody() {
    const CLIENTS: u64 = 200;
    alone(|| {
        for flavour in [
            Flavour::CurrentThread,
            Flavour::Workers(1),
            Flavour::Workers(2),
        ] {
            let runtime = flavour.build();
            let over = Arc::new(AtomicBool::new(false));
            let weather = {
                let over = Arc::clone(&over);
                std::thread::spawn(move || {
                    let calls = [&EPOLL_CTL, &SOCKET, &ACCEPT, &THREAD];
                    for number in 0.. {
                        let call = calls[number % calls.len()];
                        let refusal = call.refuse(SHORTAGES[number % SHORTAGES.len()]);
                        std::thread::park_timeout(Duration::from_micros(300));
                        drop(refusal);
                        std::thread::park_timeout(Duration::from_micros(300));
                        if over.load(SeqCst) {
                            return;
                        }
                    }
                })
            };
            runtime.block_on(async {
                let listener = loop {
                    if let Ok(listener) = TcpListener::bind("127.0.0.1:0").await {
                        break listener;
                    }
                };
                let address = listener.local_addr().unwrap();
                let server = rt::spawn(async move {
                    loop {
                        match listener.accept().await {
                            Ok((stream, _)) => drop(rt::spawn(answer(stream))),
                            Err(_) => rt::yield_now().await,
                        }
                    }
                });
                let clients: Vec<_> = (0..CLIENTS)
                    .map(|number| {
                        rt::spawn(async move {
                            while ask(address, number).await.is_err() {
                                rt::yield_now().await;
                            }
                        })
                    })
                    .collect();
                for client in clients {
                    client.await.unwrap();
                }
                server.abort();
            });
            over.store(true, SeqCst);
            weather.join().unwrap();
        }
    });
}

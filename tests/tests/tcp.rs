//! Connections over loopback, on every flavour.

use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSlice};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures_io::{AsyncRead as FuturesRead, AsyncWrite as FuturesWrite};
use rt::io::{AsyncReadExt, AsyncWriteExt, Interest};
use rt::net::{TcpListener, TcpStream};
use rt::time::{sleep, timeout};
use rt::{Dispatcher, Runtime};
use rt_tests::{FLAVOURS, Flavour, alone, alone_after, everywhere, fds, poll_once, until, with};
use tokio::sync::Barrier;

/// As many file descriptors as the process may have.
const ALL_DESCRIPTORS: &str = "ulimit -S -n $(ulimit -H -n)";

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// The two ends of a connection.
async fn pair() -> (TcpStream, TcpStream) {
    let (listener, address) = listen().await;
    let near = TcpStream::connect(address).await.unwrap();
    (near, listener.accept().await.unwrap().0)
}

/// Echoes what comes until the peer ends its side.
async fn echo(stream: TcpStream) -> io::Result<()> {
    let mut buf = [0; 1024];
    loop {
        match stream.read(&mut buf).await? {
            0 => return Ok(()),
            read => stream.write_all(&buf[..read]).await?,
        }
    }
}

async fn serve(listener: TcpListener) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        drop(rt::spawn(echo(stream)));
    }
}

/// Sends messages that only this client sends, and checks what comes back.
async fn ask(address: SocketAddr, client: usize, all_connected: &Barrier) {
    let stream = TcpStream::connect(address).await.unwrap();
    all_connected.wait().await;
    for round in 0..5 {
        let question = format!("client {client}, question {round}");
        stream.write_all(question.as_bytes()).await.unwrap();
        let mut answer = vec![0; question.len()];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, question.as_bytes());
    }
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
}

fn echo_many(runtime: &Runtime, clients: usize) {
    runtime.block_on(async {
        let (listener, address) = listen().await;
        let server = rt::spawn(serve(listener));
        let all_connected = Arc::new(Barrier::new(clients));
        let tasks: Vec<_> = (0..clients)
            .map(|client| {
                let all_connected = Arc::clone(&all_connected);
                rt::spawn(async move { ask(address, client, &all_connected).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        server.abort();
        assert!(server.await.unwrap_err().is_cancelled());
    });
    until(|| runtime.metrics().live_sources == 0 && runtime.metrics().live_tasks == 0);
}

#[test]
fn a_thousand_connections_at_once_echo() {
    alone_after(ALL_DESCRIPTORS, || {
        let before = fds();
        for flavour in [Flavour::Workers(2), Flavour::CurrentThread] {
            let runtime = flavour.build();
            echo_many(&runtime, 1000);
            drop(runtime);
            until(|| fds() == before);
        }
    });
}

#[test]
fn many_connections_echo_everywhere() {
    everywhere(|runtime| echo_many(runtime, 100));
}

#[test]
fn connections_come_and_go() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (listener, address) = listen().await;
            let server = rt::spawn(serve(listener));
            let clients: Vec<_> = (0..8)
                .map(|client: u8| {
                    rt::spawn(async move {
                        for _ in 0..100 {
                            let stream = TcpStream::connect(address).await.unwrap();
                            stream.write_all(&[client; 3]).await.unwrap();
                            let mut answer = [0; 3];
                            stream.read_exact(&mut answer).await.unwrap();
                            assert_eq!(answer, [client; 3]);
                            stream.shutdown(Shutdown::Write).unwrap();
                            assert_eq!(stream.read(&mut answer).await.unwrap(), 0);
                        }
                    })
                })
                .collect();
            for client in clients {
                client.await.unwrap();
            }
            server.abort();
            assert!(server.await.unwrap_err().is_cancelled());
        });
        until(|| runtime.metrics().live_sources == 0);
    });
}

#[test]
fn a_connection_may_be_used_from_both_pools_and_by_plain_threads() {
    everywhere(|runtime| {
        let (near, far) = runtime.block_on(pair());
        let (reader, writer) = near.into_split();
        let echo = runtime.spawn(echo(far));
        let reading = runtime.spawn_on(Dispatcher::Cpu, async move {
            let mut total = 0;
            let mut buf = [0; 100];
            loop {
                match reader.read(&mut buf).await.unwrap() {
                    0 => return total,
                    read => total += read,
                }
            }
        });
        let handle = runtime.handle().clone();
        let writing = thread::spawn(move || {
            handle.block_on(async move {
                for _ in 0..1000 {
                    writer.write_all(b"twelve bytes").await.unwrap();
                }
                // Dropping the writer ends its direction.
            });
        });
        assert_eq!(runtime.block_on(reading).unwrap(), 12_000);
        runtime.block_on(echo).unwrap().unwrap();
        writing.join().unwrap();
    });
}

#[test]
fn the_peers_end_is_read_and_the_other_direction_stays_open() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, far) = pair().await;
            // It comes while a task waits, and after the last bytes.
            let waiting = rt::spawn(async move {
                let mut all = Vec::new();
                let mut buf = [0; 3];
                loop {
                    match near.read(&mut buf).await.unwrap() {
                        0 => break,
                        read => all.extend_from_slice(&buf[..read]),
                    }
                }
                assert_eq!(near.read(&mut buf).await.unwrap(), 0);
                near.write_all(b"got it").await.unwrap();
                all
            });
            rt::yield_now().await;
            far.write_all(b"the last words").await.unwrap();
            far.shutdown(Shutdown::Write).unwrap();
            let mut answer = [0; 6];
            far.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"got it");
            assert_eq!(waiting.await.unwrap(), b"the last words");
            assert_eq!(far.read(&mut answer).await.unwrap(), 0);
        });
    });
}

/// Writes until the socket takes no more.
async fn fill(stream: &TcpStream) {
    let chunk = vec![0; 64 << 10];
    loop {
        let mut write = pin!(stream.write(&chunk));
        match poll_fn(|cx| Poll::Ready(write.as_mut().poll(cx))).await {
            Poll::Ready(written) => drop(written.unwrap()),
            Poll::Pending => return,
        }
    }
}

#[test]
fn a_reset_wakes_a_reader_and_a_writer() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, far) = pair().await;
            fill(&near).await;
            let near = Arc::new(near);
            let reader = Arc::clone(&near);
            let reading = rt::spawn(async move { reader.read(&mut [0; 8]).await });
            let writer = Arc::clone(&near);
            let writing = rt::spawn(async move { writer.write_all(&vec![0; 1 << 20]).await });
            rt::yield_now().await;
            far.set_linger(Some(Duration::ZERO)).unwrap();
            drop(far);
            // One of the two is told of the reset itself, the other that the connection is over.
            let read = reading.await.unwrap();
            let written = writing.await.unwrap();
            let kinds = [read.as_ref().err(), written.as_ref().err()]
                .map(|error| error.map(io::Error::kind));
            assert!(
                kinds.contains(&Some(ErrorKind::ConnectionReset)),
                "{read:?}, {written:?}"
            );
            assert!(written.is_err());
            assert!(read.is_err() || matches!(read, Ok(0)));
        });
    });
}

#[test]
fn a_write_that_waits_goes_on_when_the_peer_reads() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, far) = pair().await;
            let data: Vec<u8> = (0..8_000_000_u32)
                .map(|number| (number % 253) as u8)
                .collect();
            let expected = data.clone();
            let writing = rt::spawn(async move { near.write_all(&data).await });
            let mut received = vec![0; expected.len()];
            far.read_exact(&mut received).await.unwrap();
            writing.await.unwrap().unwrap();
            assert!(received == expected);
            assert_eq!(far.read(&mut [0; 8]).await.unwrap(), 0);
        });
    });
}

#[test]
fn reads_that_are_given_up_lose_nothing() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, far) = pair().await;
            let sending = rt::spawn(async move {
                for number in 0..50_u8 {
                    far.write_all(&[number; 4]).await.unwrap();
                    sleep(Duration::from_micros(u64::from(number) * 40)).await;
                }
            });
            let mut received = Vec::new();
            let mut buf = [0; 64];
            loop {
                match timeout(Duration::from_micros(300), near.read(&mut buf)).await {
                    Ok(Ok(0)) => break,
                    Ok(read) => received.extend_from_slice(&buf[..read.unwrap()]),
                    Err(_) => {}
                }
            }
            sending.await.unwrap();
            let expected: Vec<u8> = (0..50_u8).flat_map(|number| [number; 4]).collect();
            assert_eq!(received, expected);
        });
        until(|| runtime.metrics().live_timers == 0);
    });
}

#[test]
fn any_number_of_tasks_may_wait_on_one_socket() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, far) = pair().await;
            let near = Arc::new(near);
            let readers: Vec<_> = (0..50)
                .map(|_| {
                    let near = Arc::clone(&near);
                    rt::spawn(async move { near.read(&mut [0; 1]).await.unwrap() })
                })
                .collect();
            // Some leave; their place in the line is nobody's loss.
            for reader in readers.iter().step_by(3) {
                reader.abort();
            }
            far.write_all(&[1; 50]).await.unwrap();
            let mut bytes = 0;
            for reader in readers {
                bytes += reader.await.unwrap_or(0);
            }
            // Aborted before or after they had read.
            assert!(bytes >= 33, "{bytes}");
        });
    });
}

/// A task whose socket is always ready still lets others run.
#[test]
fn a_socket_that_is_always_ready_starves_nobody() {
    for flavour in FLAVOURS {
        with(flavour, |runtime| {
            runtime.block_on(async {
                let (near, far) = pair().await;
                far.write_all(b"x").await.unwrap();
                // `peek` takes nothing, so it is always ready.
                let busy = rt::spawn(async move {
                    loop {
                        near.peek(&mut [0; 1]).await.unwrap();
                    }
                });
                for _ in 0..20 {
                    rt::spawn(rt::yield_now()).await.unwrap();
                }
                sleep(Duration::from_millis(1)).await;
                busy.abort();
                assert!(busy.await.unwrap_err().is_cancelled());
            });
        });
    }
}

/// Out of descriptors, `accept` says so each time, and goes on as soon as there is one.
#[test]
fn a_listener_survives_a_lack_of_descriptors() {
    alone_after("ulimit -n 64", || {
        for flavour in [Flavour::Workers(2), Flavour::CurrentThread] {
            let runtime = flavour.build();
            runtime.block_on(async {
                let (listener, address) = listen().await;
                let clients: Vec<_> = (0..3)
                    .map(|_| std::net::TcpStream::connect(address).unwrap())
                    .collect();
                let mut hoard = Vec::new();
                while let Ok(file) = std::fs::File::open("/dev/null") {
                    hoard.push(file);
                }
                for _ in 0..5 {
                    let error = listener.accept().await.unwrap_err();
                    assert!(error.to_string().contains("open files"), "{error}");
                }
                for client in &clients {
                    hoard.pop();
                    let (stream, peer) = listener.accept().await.unwrap();
                    assert_eq!(peer, client.local_addr().unwrap());
                    // The stream is closed here, and what it used is hoarded again.
                    drop(stream);
                    hoard.push(std::fs::File::open("/dev/null").unwrap());
                }
                // It waits as it should, and is woken by the next one.
                drop(hoard);
                let mut accept = Box::pin(listener.accept());
                assert!(poll_once(&mut accept).await.is_pending());
                let late = std::net::TcpStream::connect(address).unwrap();
                assert_eq!(accept.await.unwrap().1, late.local_addr().unwrap());
            });
        }
    });
}

/// What happens to an old connection never reaches a new one that has got its descriptor.
#[test]
fn an_event_of_an_old_descriptor_does_not_reach_the_next_one_with_its_number() {
    // Alone, so that nobody else takes the number.
    alone(|| {
        everywhere(|runtime| {
            runtime.block_on(async {
                for _ in 0..20 {
                    let (old, old_peer) = pair().await;
                    let number = old.as_raw_fd();
                    // Kept open by a duplicate, so that closing the descriptor does not end it.
                    let duplicate = old.as_fd().try_clone_to_owned().unwrap();
                    drop(old);
                    let (listener, address) = listen().await;
                    let new = TcpStream::connect(address).await.unwrap();
                    let (new_peer, _) = listener.accept().await.unwrap();
                    let reused = [
                        &listener.as_raw_fd(),
                        &new.as_raw_fd(),
                        &new_peer.as_raw_fd(),
                    ];
                    assert!(reused.contains(&&number));
                    for stream in [&new, &new_peer] {
                        let mut readable = Box::pin(stream.readable());
                        assert!(poll_once(&mut readable).await.is_pending());
                        old_peer.write_all(b"for the old one").await.unwrap();
                        // A round trip elsewhere, so that the event would have come by now.
                        let (here, there) = pair().await;
                        here.write_all(b"x").await.unwrap();
                        there.read_exact(&mut [0; 1]).await.unwrap();
                        assert!(poll_once(&mut readable).await.is_pending());
                    }
                    drop(duplicate);
                }
            });
        });
    });
}

#[test]
fn the_traits_of_tokio_work_on_streams_and_halves() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, mut far) = pair().await;
            let echo = rt::spawn(async move {
                let (mut reader, mut writer) = far.split();
                let copied = rt::io::copy(&mut reader, &mut writer).await.unwrap();
                AsyncWriteExt::shutdown(&mut writer).await.unwrap();
                copied
            });
            let (mut reader, mut writer) = near.into_split();
            let slices = [IoSlice::new(b"hello, "), IoSlice::new(b"world")];
            assert_eq!(
                AsyncWriteExt::write_vectored(&mut writer, &slices)
                    .await
                    .unwrap(),
                12
            );
            AsyncWriteExt::flush(&mut writer).await.unwrap();
            AsyncWriteExt::shutdown(&mut writer).await.unwrap();
            let mut answer = String::new();
            reader.read_to_string(&mut answer).await.unwrap();
            assert_eq!(answer, "hello, world");
            assert_eq!(echo.await.unwrap(), 12);
        });
    });
}

#[test]
fn the_traits_of_futures_work_on_streams_and_on_references_to_them() {
    async fn read<R: FuturesRead + Unpin>(mut reader: R, buf: &mut [u8]) -> usize {
        poll_fn(|cx| Pin::new(&mut reader).poll_read(cx, buf))
            .await
            .unwrap()
    }
    async fn write<W: FuturesWrite + Unpin>(mut writer: W, buf: &[u8]) -> usize {
        let written = poll_fn(|cx| Pin::new(&mut writer).poll_write(cx, buf))
            .await
            .unwrap();
        poll_fn(|cx| Pin::new(&mut writer).poll_flush(cx))
            .await
            .unwrap();
        written
    }
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, far) = pair().await;
            assert_eq!(write(&near, b"question").await, 8);
            let mut buf = [0; 64];
            assert_eq!(read(&far, &mut buf).await, 8);
            assert_eq!(&buf[..8], b"question");
            let mut far = far;
            poll_fn(|cx| Pin::new(&mut far).poll_close(cx))
                .await
                .unwrap();
            assert_eq!(read(near, &mut buf).await, 0);
        });
    });
}

#[test]
fn readiness_is_told_and_cleared() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (near, far) = pair().await;
            near.writable().await.unwrap();
            let error = near.try_read(&mut [0; 8]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            far.write_all(b"four").await.unwrap();
            near.readable().await.unwrap();
            let ready = near.ready(Interest::READABLE).await.unwrap();
            assert!(ready.is_readable());
            assert_eq!(near.try_read(&mut [0; 3]).unwrap(), 3);
            assert_eq!(near.try_read(&mut [0; 3]).unwrap(), 1);
            let mut readable = Box::pin(near.readable());
            assert!(poll_once(&mut readable).await.is_pending());
            far.write_all(b"x").await.unwrap();
            readable.await.unwrap();
        });
    });
}

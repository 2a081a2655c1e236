//! Peers that are killed, and connections that are reset.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use rt::channel::{Sender, unbounded};
use rt::net::{TcpListener, TcpStream};
use rt_tests::everywhere;
use socket2::SockRef;

use super::program::Program;

/// Connections of one peer.
const COUNT: usize = 8;

/// Reads the half that comes, and waits for the other one.
async fn read_request(stream: Arc<TcpStream>, has_half: Sender<()>) -> io::Result<()> {
    let mut half = [0; 5];
    stream.read_exact(&mut half).await?;
    assert_eq!(&half, b"half ");
    has_half.send(()).await.unwrap();
    stream.read_exact(&mut half).await?;
    Ok(())
}

/// Sends until there is no room, and waits for more. The peer reads nothing.
async fn write_answer(stream: Arc<TcpStream>, is_full: Sender<()>) -> io::Result<()> {
    let answer = vec![0; 64 * 1024];
    loop {
        while stream.try_write(&answer).is_ok() {}
        is_full.try_send(()).ok();
        stream.write_all(&answer).await?;
    }
}

#[test]
fn the_end_of_a_peer_that_is_killed_is_told_to_all_who_wait_for_it() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut peer = Program::silent_client(listener.local_addr().unwrap(), COUNT);
            let (waits, waiting) = unbounded();
            let mut tasks = Vec::new();
            for number in 0..COUNT {
                let (stream, _) = listener.accept().await.unwrap();
                let stream = Arc::new(stream);
                let reader = rt::spawn(read_request(Arc::clone(&stream), waits.clone()));
                tasks.push((number, "reads", reader));
                if number % 2 == 0 {
                    let writer = rt::spawn(write_answer(stream, waits.clone()));
                    tasks.push((number, "writes", writer));
                }
            }
            for _ in 0..tasks.len() {
                waiting.recv().await.unwrap();
            }
            peer.kill();
            for (number, what, task) in tasks {
                let error = task.await.unwrap().unwrap_err();
                let expected = match (number % 2, what) {
                    // Nothing was on its way: the kernel ends the connection in order.
                    (1, _) => &[ErrorKind::UnexpectedEof][..],
                    // Bytes that the peer has not read make it a reset, which one of the two is told.
                    (_, "reads") => &[ErrorKind::ConnectionReset, ErrorKind::UnexpectedEof],
                    _ => &[ErrorKind::ConnectionReset, ErrorKind::BrokenPipe],
                };
                assert!(expected.contains(&error.kind()), "{number} {what}: {error}");
            }
        });
    });
}

#[test]
fn resets_of_some_connections_cost_the_others_nothing() {
    const ROUNDS: u64 = 50;
    everywhere(|runtime| {
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (ends, ended) = unbounded();
            rt::spawn(async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let ends = ends.clone();
                    rt::spawn(async move {
                        let mut word = [0; 8];
                        let error = loop {
                            let read = stream.read_exact(&mut word).await;
                            let written = match read {
                                Ok(_) => stream.write_all(&word).await,
                                Err(error) => break error,
                            };
                            if let Err(error) = written {
                                break error;
                            }
                        };
                        ends.send(error.kind()).await.unwrap();
                    });
                }
            });
            let clients: Vec<_> = (0..40_u64)
                .map(|number| {
                    rt::spawn(async move {
                        let stream = TcpStream::connect(address).await.unwrap();
                        let resets = number % 2 == 0;
                        for round in 0..ROUNDS {
                            let word = (number << 32 | round).to_le_bytes();
                            stream.write_all(&word).await.unwrap();
                            if resets && round == ROUNDS / 2 {
                                let socket = SockRef::from(&stream);
                                socket.set_linger(Some(Duration::ZERO)).unwrap();
                                return;
                            }
                            let mut answer = [0; 8];
                            stream.read_exact(&mut answer).await.unwrap();
                            assert_eq!(answer, word);
                        }
                    })
                })
                .collect();
            for client in clients {
                client.await.unwrap();
            }
            let mut resets = 0;
            for _ in 0..40 {
                match ended.recv().await.unwrap() {
                    ErrorKind::UnexpectedEof => {}
                    ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => resets += 1,
                    other => panic!("{other}"),
                }
            }
            assert_eq!(resets, 20);
        });
    });
}

//! Datagrams over loopback, on every flavour.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::io::{ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll};

use rt::io::{Interest, ReadBuf};
use rt::net::UdpSocket;
use rt_tests::{counting_waker, everywhere, poll_once};
use socket2::SockRef;

async fn bound() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// Two sockets that are connected to each other.
async fn connected() -> (UdpSocket, UdpSocket) {
    let ((near, near_address), (far, far_address)) = (bound().await, bound().await);
    near.connect(far_address).await.unwrap();
    far.connect(near_address).await.unwrap();
    (near, far)
}

/// Each client has one datagram under way, so that none is thrown away for want of room.
#[test]
fn many_clients_are_echoed_everywhere() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (server, address) = bound().await;
            let server = rt::spawn(async move {
                let mut buf = [0; 64];
                loop {
                    let (len, from) = server.recv_from(&mut buf).await.unwrap();
                    server.send_to(&buf[..len], from).await.unwrap();
                }
            });
            let clients: Vec<_> = (0..16_u32)
                .map(|client| {
                    rt::spawn(async move {
                        let (socket, _) = bound().await;
                        socket.connect(address).await.unwrap();
                        for round in 0..100_u32 {
                            let question = [client.to_ne_bytes(), round.to_ne_bytes()].concat();
                            assert_eq!(socket.send(&question).await.unwrap(), 8);
                            let mut answer = [0; 64];
                            let len = socket.recv(&mut answer).await.unwrap();
                            assert_eq!(answer[..len], question);
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
    });
}

#[rt::test]
async fn a_datagram_that_is_cut_says_so() {
    let ((near, source), (far, target)) = (bound().await, bound().await);
    for (sent, room) in [(8, 3), (8, 8), (8, 64), (0, 8), (8, 0)] {
        near.send_to(&[7; 64][..sent], target).await.unwrap();
        let mut buf = [0; 64];
        let message = far.recv_msg(&mut buf[..room]).await.unwrap();
        assert_eq!(message.truncated, sent > room);
        assert_eq!((message.len, message.full_len), (sent.min(room), sent));
        assert_eq!(message.source, source);
        assert_eq!(buf[..message.len], [7; 64][..message.len]);
    }
    // What was cut is gone: the next one is the next one.
    assert_eq!(
        far.try_recv_msg(&mut []).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
}

#[rt::test]
async fn an_address_of_ipv6_is_told_in_full() {
    let Ok(near) = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).await else {
        // Some machines have no IPv6.
        return;
    };
    let far = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).await.unwrap();
    near.send_to(b"hello", far.local_addr().unwrap())
        .await
        .unwrap();
    let message = far.recv_msg(&mut [0; 8]).await.unwrap();
    assert_eq!(message.source, near.local_addr().unwrap());
    let sent = near
        .send_batch(&[(b"hello", Some(far.local_addr().unwrap()))])
        .await;
    assert_eq!(sent.unwrap(), 1);
    assert_eq!(far.recv(&mut [0; 8]).await.unwrap(), 5);
}

#[rt::test]
async fn batches_arrive_whole_and_in_order() {
    const COUNT: usize = 100;
    let (near, far) = connected().await;
    let bytes: Vec<Vec<u8>> = (0..COUNT).map(|index| vec![index as u8; index]).collect();
    let datagrams: Vec<(&[u8], _)> = bytes.iter().map(|bytes| (&bytes[..], None)).collect();
    let mut left = &datagrams[..];
    while !left.is_empty() {
        left = &left[near.send_batch(left).await.unwrap()..];
    }
    let mut space = vec![[0; 50]; 40];
    let (mut received, mut count) = (Vec::new(), 0);
    while count < COUNT {
        let mut bufs: Vec<_> = space.iter_mut().map(|buf| IoSliceMut::new(buf)).collect();
        far.recv_batch(&mut bufs, &mut received).await.unwrap();
        for (message, buf) in received.iter().zip(&space) {
            assert_eq!(message.full_len, count);
            assert_eq!(message.truncated, count > 50);
            assert_eq!(message.source, near.local_addr().unwrap());
            assert!(buf[..message.len].iter().all(|byte| *byte == count as u8));
            count += 1;
        }
    }
    let mut bufs = [IoSliceMut::new(&mut space[0])];
    let nothing = far.try_recv_batch(&mut bufs, &mut received).unwrap_err();
    assert_eq!((nothing.kind(), received.len()), (ErrorKind::WouldBlock, 0));
    let error = far.recv_batch(&mut [], &mut received).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(near.try_send_batch(&[]).unwrap(), 0);
}

#[rt::test]
async fn a_peer_that_is_not_there_is_told_and_the_socket_goes_on() {
    let ((near, _), (far, target)) = (bound().await, bound().await);
    drop(far);
    near.connect(target).await.unwrap();
    near.send(b"hello?").await.unwrap();
    let error = near.recv(&mut [0; 8]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    let (far, target) = bound().await;
    near.connect(target).await.unwrap();
    near.send(b"hello").await.unwrap();
    assert_eq!(far.recv(&mut [0; 8]).await.unwrap(), 5);
}

#[rt::test]
async fn too_long_a_datagram_is_refused_whole() {
    let (near, far) = connected().await;
    let error = near.send(&vec![0; 1 << 20]).await.unwrap_err();
    assert_eq!(error.raw_os_error(), Some(90), "EMSGSIZE");
    near.send(b"short").await.unwrap();
    assert_eq!(far.recv(&mut [0; 8]).await.unwrap(), 5);
}

#[rt::test]
async fn a_receive_that_is_given_up_loses_nothing() {
    let (near, far) = connected().await;
    for round in 0..100_u8 {
        let mut buf = [0; 8];
        {
            let mut receiving = Box::pin(far.recv(&mut buf));
            assert!(poll_once(&mut receiving).await.is_pending());
            near.send(&[round]).await.unwrap();
        }
        assert_eq!(far.recv(&mut buf).await.unwrap(), 1);
        assert_eq!(buf[0], round);
    }
}

#[rt::test]
async fn peeking_leaves_the_datagram_there() {
    let ((near, source), (far, target)) = (bound().await, bound().await);
    near.send_to(b"hello", target).await.unwrap();
    let mut buf = [0; 8];
    assert_eq!(far.peek_sender().await.unwrap(), source);
    assert_eq!(far.try_peek_sender().unwrap(), source);
    assert_eq!(far.peek_from(&mut buf).await.unwrap(), (5, source));
    assert_eq!(far.try_peek(&mut buf[..2]).unwrap(), 2);
    let mut read = ReadBuf::new(&mut buf);
    let peeked = poll_fn(|cx| far.poll_peek_from(cx, &mut read)).await;
    assert_eq!((peeked.unwrap(), read.filled()), (source, &b"hello"[..]));
    let mut read = ReadBuf::new(&mut buf);
    let received = poll_fn(|cx| far.poll_recv_from(cx, &mut read)).await;
    assert_eq!((received.unwrap(), read.filled()), (source, &b"hello"[..]));
    let mut vec = Vec::with_capacity(64);
    assert_eq!(
        far.try_recv_buf_from(&mut vec).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
    near.send_to(b"again", target).await.unwrap();
    assert_eq!(far.recv_buf_from(&mut vec).await.unwrap(), (5, source));
    assert_eq!(vec, b"again");
}

#[rt::test]
async fn a_group_receives_what_is_sent_to_it() {
    let group = Ipv4Addr::new(239, 17, 17, 17);
    let listener = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    listener
        .join_multicast_v4(group, Ipv4Addr::LOCALHOST)
        .unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, source) = bound().await;
    sender.set_multicast_if_v4(&Ipv4Addr::LOCALHOST).unwrap();
    sender.set_multicast_loop_v4(true).unwrap();
    sender.send_to(b"all", (group, port)).await.unwrap();
    let (len, from) = listener.recv_from(&mut [0; 8]).await.unwrap();
    assert_eq!((len, from), (3, source));
    listener
        .leave_multicast_v4(group, Ipv4Addr::LOCALHOST)
        .unwrap();
    let again = listener.leave_multicast_v4(group, Ipv4Addr::LOCALHOST);
    assert_eq!(again.unwrap_err().kind(), ErrorKind::AddrNotAvailable);
}

/// What a QUIC library asks of a socket: system calls of its own, and several tasks that wait to
/// send, each with a future that it owns.
#[rt::test]
async fn a_library_brings_its_own_calls() {
    type Writable = Pin<Box<dyn Future<Output = std::io::Result<()>> + Send + Sync>>;
    let (near, far) = connected().await;
    let near = Arc::new(near);
    let mut waits: Vec<Writable> = (0..4)
        .map(|_| Box::pin(Arc::clone(&near).writable_owned()) as Writable)
        .collect();
    for wait in &mut waits {
        wait.await.unwrap();
    }
    let send = || SockRef::from(&*near).send(b"hi");
    let sent = near.try_io(Interest::WRITABLE, send);
    assert_eq!(sent.unwrap(), 2);
    poll_fn(|cx| far.poll_readable(cx)).await.unwrap();
    // An operation that finds nothing takes the readiness away.
    assert_eq!(far.try_recv(&mut [0; 8]).unwrap(), 2);
    let nothing = far.try_io(Interest::READABLE, || {
        Err::<(), _>(std::io::Error::from(ErrorKind::WouldBlock))
    });
    assert_eq!(nothing.unwrap_err().kind(), ErrorKind::WouldBlock);
    let (waker, woken) = counting_waker();
    let mut cx = Context::from_waker(&waker);
    assert!(matches!(far.poll_readable(&mut cx), Poll::Pending));
    near.send(b"more").await.unwrap();
    far.readable().await.unwrap();
    assert_eq!(woken.load(SeqCst), 1);
}

#[test]
fn sockets_go_to_std_and_back_and_may_go_anywhere() {
    fn check<T: Send + Sync + Unpin + std::fmt::Debug + 'static>(_: &T) {}
    everywhere(|runtime| {
        runtime.block_on(async {
            let (socket, address) = bound().await;
            check(&socket);
            let socket = UdpSocket::from_std(socket.into_std().unwrap()).unwrap();
            let socket = UdpSocket::try_from(std::os::fd::OwnedFd::from(socket)).unwrap();
            assert_eq!(socket.local_addr().unwrap(), address);
            let senders: BTreeSet<_> = [socket.local_addr().unwrap()].into();
            socket.send_to(b"self", address).await.unwrap();
            let (_, from) = socket.recv_from(&mut [0; 8]).await.unwrap();
            assert!(senders.contains(&from));
        });
    });
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    assert!(UdpSocket::try_from(socket).is_err(), "outside a runtime");
}

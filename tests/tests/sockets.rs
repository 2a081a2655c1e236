//! TCP sockets with options of one's own, and the ways to a peer.

use std::future::poll_fn;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rt::io::{AsyncReadExt, ReadBuf};
use rt::net::unix::pipe;
use rt::net::{TcpListener, TcpSocket, TcpStream, UnixStream, copy_zero};
use rt::time::timeout;
use rt_tests::everywhere;
use socket2::{Domain, Socket, Type};

const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// An address at which nobody listens.
fn refusing() -> SocketAddr {
    let listener = std::net::TcpListener::bind(ANY).unwrap();
    listener.local_addr().unwrap()
}

/// An address that says nothing: a listener whose queue is full, with what fills it.
async fn silent() -> (SocketAddr, impl Sized) {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.bind(&ANY.into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let mut filling = Vec::new();
    let connect = || timeout(Duration::from_millis(50), TcpStream::connect(address));
    while let Ok(stream) = connect().await {
        filling.push(stream.unwrap());
    }
    (address, (listener, filling))
}

#[test]
fn a_socket_becomes_a_listener_or_a_stream_with_its_options() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_reuseaddr(true).unwrap();
            socket.set_recv_buffer_size(1 << 16).unwrap();
            assert!(socket.recv_buffer_size().unwrap() >= 1 << 16);
            socket.bind(ANY).unwrap();
            let address = socket.local_addr().unwrap();
            let listener = socket.listen(u32::MAX).unwrap();

            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(ANY).unwrap();
            socket.set_linger(Some(Duration::ZERO)).unwrap();
            let own = socket.local_addr().unwrap();
            let near = socket.connect(address).await.unwrap();
            let (far, from) = listener.accept().await.unwrap();
            assert_eq!((from, near.linger().unwrap()), (own, Some(Duration::ZERO)));
            drop(near);
            let reset = far.read(&mut [0; 8]).await.unwrap_err();
            assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
        });
    });
}

#[rt::test]
async fn a_foreign_socket_is_made_non_blocking() {
    let listener = TcpListener::bind(ANY).await.unwrap();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let socket = TcpSocket::from_std_stream(socket.into());
    let near = socket
        .connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let nothing = near.try_read(&mut [0; 8]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let socket = TcpSocket::from(OwnedFd::from(socket));
    let refused = socket.connect(refusing()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[rt::test]
async fn two_listeners_share_a_port() {
    let listen = |address| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseport(true).unwrap();
        socket.bind(address).unwrap();
        socket.listen(16).unwrap()
    };
    let first = listen(ANY);
    let second = listen(first.local_addr().unwrap());
    for _ in 0..10 {
        let near = TcpStream::connect(first.local_addr().unwrap())
            .await
            .unwrap();
        let peer = poll_fn(|cx| {
            let accepted = first.poll_accept(cx);
            if accepted.is_ready() {
                return accepted;
            }
            second.poll_accept(cx)
        });
        assert_eq!(peer.await.unwrap().1, near.local_addr().unwrap());
    }
}

#[rt::test]
async fn a_time_limit_ends_an_attempt_and_closes_it() {
    let (silent, _filling) = silent().await;
    let limit = Duration::from_millis(50);
    let error = TcpStream::connect_timeout(silent, limit).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    let socket = TcpSocket::new_v4().unwrap();
    let error = socket.connect_timeout(silent, limit).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    let error = TcpStream::connect_timeout(refusing(), Duration::MAX).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

/// An address that says nothing does not keep the next one from being tried.
#[rt::test]
async fn the_first_address_that_answers_is_taken() {
    let (silent, _filling) = silent().await;
    let listener = TcpListener::bind(ANY).await.unwrap();
    let listening = listener.local_addr().unwrap();
    let addresses = [silent, refusing(), listening];
    let stream = TcpStream::connect(&addresses[..]).await.unwrap();
    assert_eq!(stream.peer_addr().unwrap(), listening);
    let error = TcpStream::connect(&[refusing(), refusing()][..]).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    let none = TcpStream::connect(&[][..]).await.unwrap_err();
    assert_eq!(none.kind(), ErrorKind::InvalidInput);
}

#[rt::test]
async fn peeking_takes_nothing_out() {
    let listener = TcpListener::bind(ANY).await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (far, _) = listener.accept().await.unwrap();
    near.write_all(b"hello").await.unwrap();
    let mut buf = [0; 8];
    for _ in 0..3 {
        let mut read = ReadBuf::new(&mut buf);
        let peeked = poll_fn(|cx| far.poll_peek(cx, &mut read)).await;
        assert_eq!((peeked.unwrap(), read.filled()), (5, &b"hello"[..]));
    }
    let mut vec = Vec::with_capacity(8);
    assert_eq!(far.try_read_buf(&mut vec).unwrap(), 5);
    assert_eq!(vec, b"hello");
    near.shutdown(std::net::Shutdown::Write).unwrap();
    let mut read = ReadBuf::new(&mut buf);
    let end = poll_fn(|cx| far.poll_peek(cx, &mut read)).await;
    assert_eq!((end.unwrap(), read.filled().len()), (0, 0));
}

/// The urgent byte overtakes the stream, and the bytes behind it are read all the same.
#[rt::test]
async fn urgent_data_is_taken_out_of_the_stream() {
    let listener = TcpListener::bind(ANY).await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (far, _) = listener.accept().await.unwrap();
    near.write_all(b"abc").await.unwrap();
    assert_eq!(near.try_send_urgent(b"!").unwrap(), 1);
    near.write_all(b"def").await.unwrap();
    let mut before = [0; 3];
    far.read_exact(&mut before).await.unwrap();
    assert_eq!(far.try_recv_urgent().unwrap(), b'!');
    let again = far.try_recv_urgent().unwrap_err();
    assert_eq!(again.kind(), ErrorKind::InvalidInput);
    let mut behind = [0; 3];
    far.read_exact(&mut behind).await.unwrap();
    assert_eq!((&before, &behind), (b"abc", b"def"));
}

/// From TCP through a Unix stream into a pipe, more than any of them holds, with a reader that comes
/// late.
#[test]
fn bytes_are_copied_inside_the_kernel() {
    const LEN: usize = 10 << 20;
    everywhere(|runtime| {
        runtime.block_on(async {
            let listener = TcpListener::bind(ANY).await.unwrap();
            let near = TcpStream::connect(listener.local_addr().unwrap())
                .await
                .unwrap();
            let (far, _) = listener.accept().await.unwrap();
            let (unix_in, unix_out) = UnixStream::pair().unwrap();
            let (sender, mut receiver) = pipe::pipe().unwrap();
            let data: Vec<u8> = (0..LEN).map(|index| (index % 251) as u8).collect();
            let expected = data.clone();
            let writing = rt::spawn(async move { near.into_split().1.write_all(&data).await });
            let first = rt::spawn(async move {
                let (reader, writer) = (far.into_split().0, unix_in.into_split().1);
                copy_zero(&reader, &writer).await
            });
            let second = rt::spawn(async move { copy_zero(&unix_out, &sender).await });
            rt::yield_now().await;
            let mut received = Vec::new();
            receiver.read_to_end(&mut received).await.unwrap();
            assert!(received == expected);
            writing.await.unwrap().unwrap();
            assert_eq!(first.await.unwrap().unwrap(), LEN as u64);
            assert_eq!(second.await.unwrap().unwrap(), LEN as u64);
        });
    });
}

#[rt::test]
async fn a_copy_ends_when_its_reader_goes() {
    let (near, from) = UnixStream::pair().unwrap();
    let (to, far) = UnixStream::pair().unwrap();
    near.write_all(b"hello").await.unwrap();
    let copying = rt::spawn(async move { copy_zero(&from, &to).await });
    far.read_exact(&mut [0; 5]).await.unwrap();
    drop(far);
    near.write_all(b"hello?").await.unwrap();
    let error = copying.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

//! Connections over loopback, and what the kernel says when they fail.

use std::env;
use std::fs;
use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, TcpListener, TcpStream, WriteHalf};
use crate::time::timeout;

/// The two ends of a connection.
async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    (near, listener.accept().await.unwrap().0)
}

/// An address at which nobody listens.
fn refusing() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

#[test]
fn the_types_may_go_anywhere() {
    fn check<T: Send + Sync + Unpin + std::fmt::Debug + 'static>() {}
    check::<TcpListener>();
    check::<TcpStream>();
    check::<OwnedReadHalf>();
    check::<OwnedWriteHalf>();
    check::<ReadHalf<'static>>();
    check::<WriteHalf<'static>>();
}

#[test]
fn the_futures_may_go_anywhere() {
    fn check<F: Future + Send>(_: F) {}
    check(TcpListener::bind("localhost:0"));
    check(TcpStream::connect(String::from("localhost:0")));
    check(async {
        let (near, _far) = pair().await;
        let mut buf = [0];
        near.read(&mut buf).await.unwrap();
        near.read_exact(&mut buf).await.unwrap();
        near.write_all(&buf).await.unwrap();
        near.readable().await.unwrap();
    });
}

#[rt_macros::test(crate = "crate")]
async fn a_refused_connection_tells_the_kernels_error() {
    let error = TcpStream::connect(refusing()).await.unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ECONNREFUSED));
}

#[rt_macros::test(crate = "crate")]
async fn every_address_is_tried() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addresses = [refusing(), listener.local_addr().unwrap()];
    let stream = TcpStream::connect(&addresses[..]).await.unwrap();
    assert_eq!(stream.peer_addr().unwrap(), addresses[1]);
}

#[rt_macros::test(crate = "crate")]
async fn an_address_in_use_is_an_error_until_it_is_free() {
    // Of this process alone, so that nobody else is given the port meanwhile.
    let [.., high, low] = std::process::id().to_be_bytes();
    let own = std::net::SocketAddr::from(([127, 64, high, low], 0));
    let listener = TcpListener::bind(own).await.unwrap();
    let address = listener.local_addr().unwrap();
    let error = TcpListener::bind(address).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    // A connection that this end closed first lingers; the address is taken again nonetheless.
    let far = TcpStream::connect(address).await.unwrap();
    drop(listener.accept().await.unwrap());
    drop((listener, far));
    TcpListener::bind(address).await.unwrap();
}

#[rt_macros::test(crate = "crate")]
async fn sockets_neither_block_nor_survive_exec() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (far, _) = listener.accept().await.unwrap();
    for fd in [listener.as_raw_fd(), near.as_raw_fd(), far.as_raw_fd()] {
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap();
        let flags = info
            .lines()
            .find_map(|line| line.strip_prefix("flags:"))
            .unwrap();
        let flags = i32::from_str_radix(flags.trim(), 8).unwrap();
        assert_ne!(flags & libc::O_NONBLOCK, 0);
        assert_ne!(flags & libc::O_CLOEXEC, 0);
    }
}

#[rt_macros::test(crate = "crate")]
async fn an_accept_that_is_dropped_loses_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..3 {
        let mut accept = pin!(listener.accept());
        assert!(accept.as_mut().poll(&mut cx).is_pending());
    }
    let near = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (_, peer) = listener.accept().await.unwrap();
    assert_eq!(peer, near.local_addr().unwrap());
}

#[rt_macros::test(crate = "crate")]
async fn many_tasks_may_accept_from_one_listener() {
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
    let address = listener.local_addr().unwrap();
    let accepting: Vec<_> = (0..4)
        .map(|_| {
            let listener = Arc::clone(&listener);
            crate::spawn(async move { listener.accept().await.unwrap().1 })
        })
        .collect();
    let mut streams = Vec::new();
    for _ in &accepting {
        streams.push(TcpStream::connect(address).await.unwrap());
    }
    for peer in accepting {
        let peer = peer.await.unwrap();
        let known = streams
            .iter()
            .any(|stream| stream.local_addr().unwrap() == peer);
        assert!(known);
    }
}

/// Out of descriptors, `accept` tells so, at once and each time; as soon as there is one, it goes
/// on, although no event comes in between.
#[rt_macros::test(crate = "crate")]
async fn accept_survives_running_out_of_descriptors() {
    const MARK: &str = "RT_TEST_FEW_DESCRIPTORS";
    if env::var_os(MARK).is_none() {
        // The limit is the whole process's, so it gets one of its own.
        let name = "net::tcp::tests::accept_survives_running_out_of_descriptors";
        let script = format!("ulimit -n 64 && exec \"$0\" --exact {name}");
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(script)
            .arg(env::current_exe().unwrap());
        let output = command.env(MARK, "1").output().unwrap();
        let passed = String::from_utf8_lossy(&output.stdout).contains("1 passed");
        assert!(output.status.success() && passed, "{output:?}");
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let mut hoard = Vec::new();
    while let Ok(file) = fs::File::open("/dev/null") {
        hoard.push(file);
    }
    for _ in 0..3 {
        let error = listener.accept().await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
    }
    hoard.pop();
    let (_, peer) = listener.accept().await.unwrap();
    assert_eq!(peer, near.local_addr().unwrap());
}

#[rt_macros::test(crate = "crate")]
async fn large_transfers_arrive_whole_in_both_directions() {
    const LEN: usize = 4 << 20;
    let (near, far) = pair().await;
    let echo = crate::spawn(async move {
        let (mut buf, mut total) = (vec![0; 64 << 10], 0);
        while total < LEN {
            let read = far.read(&mut buf).await.unwrap();
            far.write_all(&buf[..read]).await.unwrap();
            total += read;
        }
    });
    let data: Vec<u8> = (0..LEN).map(|index| (index % 251) as u8).collect();
    let expected = data.clone();
    let (reader, writer) = near.into_split();
    let writing = crate::spawn(async move { writer.write_all(&data).await.map(|()| writer) });
    let mut answer = vec![0; LEN];
    reader.read_exact(&mut answer).await.unwrap();
    assert!(answer == expected);
    echo.await.unwrap();
    writing.await.unwrap().unwrap();
}

/// More slices than one call takes: the rest, never offered, must not look like a full socket.
#[rt_macros::test(crate = "crate")]
async fn more_slices_than_the_kernel_takes_are_written_one_call_after_another() {
    let (near, far) = pair().await;
    let slices = vec![IoSlice::new(b"x"); 3000];
    let mut written = 0;
    while written < slices.len() {
        let rest = &slices[written..];
        written += poll_fn(|cx| near.poll_write_vectored(cx, rest))
            .await
            .unwrap();
    }
    let mut received = vec![0; 3000];
    far.read_exact(&mut received).await.unwrap();
    assert!(received.iter().all(|byte| *byte == b'x'));
}

#[rt_macros::test(crate = "crate")]
async fn empty_buffers_do_not_wait() {
    let (near, _far) = pair().await;
    assert_eq!(near.read(&mut []).await.unwrap(), 0);
    assert_eq!(near.read_exact(&mut []).await.unwrap(), 0);
    assert_eq!(near.write(&[]).await.unwrap(), 0);
    near.write_all(&[]).await.unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    let read = near.poll_read_uninit(&mut cx, &mut []);
    assert!(matches!(read, Poll::Ready(Ok(0))));
}

#[rt_macros::test(crate = "crate")]
async fn the_end_of_the_stream_is_read_again_and_again() {
    let (near, far) = pair().await;
    far.write_all(b"bye").await.unwrap();
    far.shutdown(Shutdown::Write).unwrap();
    let mut buf = [0; 64];
    assert_eq!(near.read(&mut buf).await.unwrap(), 3);
    for _ in 0..3 {
        assert_eq!(near.read(&mut buf).await.unwrap(), 0);
    }
    let error = near.read_exact(&mut buf).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    // The other direction is still open.
    near.write_all(b"thanks").await.unwrap();
    assert_eq!(far.read(&mut buf).await.unwrap(), 6);
}

#[rt_macros::test(crate = "crate")]
async fn a_reset_wakes_a_reader_with_the_kernels_error() {
    let (near, far) = pair().await;
    let reading = crate::spawn(async move { near.read(&mut [0; 8]).await.map(|_| near) });
    far.set_linger(Some(Duration::ZERO)).unwrap();
    drop(far);
    let error = reading.await.unwrap().unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ECONNRESET));
}

#[rt_macros::test(crate = "crate")]
async fn writing_to_a_peer_that_is_gone_is_an_error_and_no_signal() {
    let (near, far) = pair().await;
    drop(far);
    let error = loop {
        if let Err(error) = near.write(b"hello?").await {
            break error;
        }
    };
    assert!(matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    ));
}

#[rt_macros::test(crate = "crate")]
async fn bytes_behind_an_urgent_one_are_not_forgotten() {
    let (near, far) = pair().await;
    far.write_all(b"abc").await.unwrap();
    socket2::SockRef::from(&far).send_out_of_band(b"!").unwrap();
    far.write_all(b"def").await.unwrap();
    // After this event there is no other, and the first read stops where the urgent byte was.
    near.readable().await.unwrap();
    let mut received = [0; 64];
    let mut count = 0;
    while count < 6 {
        let reading = near.read(&mut received[count..]);
        count += timeout(Duration::from_secs(30), reading)
            .await
            .expect("the rest is forgotten")
            .unwrap();
    }
    assert_eq!(received[..count], *b"abcdef");
}

#[rt_macros::test(crate = "crate")]
async fn several_tasks_may_read_and_none_is_forgotten() {
    let (near, far) = pair().await;
    let near = Arc::new(near);
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let near = Arc::clone(&near);
            crate::spawn(async move { near.read(&mut [0; 1]).await.unwrap() })
        })
        .collect();
    far.write_all(b"1234").await.unwrap();
    for reader in readers {
        assert_eq!(reader.await.unwrap(), 1);
    }
}

#[rt_macros::test(crate = "crate")]
async fn dropping_the_write_half_ends_its_direction_only() {
    let (near, far) = pair().await;
    let (reader, writer) = near.into_split();
    drop(writer);
    assert_eq!(far.read(&mut [0; 8]).await.unwrap(), 0);
    far.write_all(b"still here").await.unwrap();
    assert_eq!(reader.read(&mut [0; 64]).await.unwrap(), 10);
}

#[rt_macros::test(crate = "crate")]
async fn halves_of_different_streams_do_not_reunite() {
    let (near, far) = pair().await;
    let (near_reader, near_writer) = near.into_split();
    let (far_reader, far_writer) = far.into_split();
    let error = near_reader.reunite(far_writer).unwrap_err();
    assert_eq!(error.to_string(), "the two halves are of different streams");
    let near = near_writer.reunite(error.0).unwrap();
    let far = far_reader.reunite(error.1).unwrap();
    near.write_all(b"whole").await.unwrap();
    assert_eq!(far.read(&mut [0; 8]).await.unwrap(), 5);
}

#[rt_macros::test(crate = "crate")]
async fn streams_go_to_std_and_back() {
    let (near, far) = pair().await;
    let mut near = near.into_std().unwrap();
    let nothing = near.read(&mut [0; 8]).unwrap_err();
    assert_eq!(
        nothing.kind(),
        ErrorKind::WouldBlock,
        "it is still non-blocking"
    );
    near.set_nonblocking(false).unwrap();
    near.write_all(b"hello").unwrap();
    let near = TcpStream::from_std(near).unwrap();
    let near = TcpStream::try_from(OwnedFd::from(near)).unwrap();
    let mut buf = [0; 5];
    far.read_exact(&mut buf).await.unwrap();
    far.write_all(&buf).await.unwrap();
    near.read_exact(&mut buf).await.unwrap();
    assert_eq!(&buf, b"hello");
}

#[test]
fn outside_a_runtime_conversions_fail() {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    assert!(TcpStream::try_from(stream).is_err());
    assert!(TcpListener::try_from(listener).is_err());
}

#[rt_macros::test(crate = "crate")]
async fn a_connect_that_is_given_up_leaves_nothing() {
    // A listener whose queue is full answers no one.
    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener
        .bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())
        .unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let reactor = crate::context::reactor();
    let before = reactor.live_sources();
    let mut taken = Vec::new();
    let connect = || timeout(Duration::from_millis(50), TcpStream::connect(address));
    while let Ok(stream) = connect().await {
        taken.push(stream.unwrap());
    }
    let left = reactor.live_sources() - before;
    assert_eq!(left, taken.len(), "nothing is left of the attempt");
}

#[cfg(feature = "tokio-io")]
mod tokio_traits {
    use super::*;
    use crate::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, copy};

    #[rt_macros::test(crate = "crate")]
    async fn the_extension_traits_work_on_streams_and_halves() {
        let (near, mut far) = pair().await;
        let (mut reader, mut writer) = near.into_split();
        AsyncWriteExt::write_all(&mut writer, b"ping")
            .await
            .unwrap();
        writer.shutdown().await.unwrap();
        let mut question = Vec::new();
        far.read_to_end(&mut question).await.unwrap();
        assert_eq!(question, b"ping");
        far.write_all_buf(&mut &b"pong"[..]).await.unwrap();
        AsyncWriteExt::shutdown(&mut far).await.unwrap();
        let mut answer = Vec::new();
        copy(&mut reader, &mut answer).await.unwrap();
        assert_eq!(answer, b"pong");
        assert!(far.is_write_vectored() && writer.is_write_vectored());
    }

    #[rt_macros::test(crate = "crate")]
    async fn reading_does_not_touch_the_rest_of_a_buffer() {
        let (mut near, far) = pair().await;
        far.write_all(b"abc").await.unwrap();
        let mut storage = *b"........";
        let mut buf = tokio::io::ReadBuf::new(&mut storage);
        buf.put_slice(b"<");
        poll_fn(|cx| tokio::io::AsyncRead::poll_read(std::pin::Pin::new(&mut near), cx, &mut buf))
            .await
            .unwrap();
        assert_eq!(buf.filled(), b"<abc");
        assert_eq!(&storage, b"<abc....");
    }
}

#[cfg(feature = "futures-io")]
mod futures_traits {
    use std::io::IoSliceMut;
    use std::pin::Pin;

    use ::futures_io::{AsyncRead, AsyncWrite};

    use super::*;

    #[rt_macros::test(crate = "crate")]
    async fn a_reference_reads_and_writes() {
        let (near, far) = pair().await;
        let (mut near, mut far) = (&near, &far);
        let bufs = [IoSlice::new(b"hel"), IoSlice::new(b"lo")];
        let write = poll_fn(|cx| Pin::new(&mut near).poll_write_vectored(cx, &bufs));
        assert_eq!(write.await.unwrap(), 5);
        poll_fn(|cx| Pin::new(&mut near).poll_flush(cx))
            .await
            .unwrap();
        poll_fn(|cx| Pin::new(&mut near).poll_close(cx))
            .await
            .unwrap();
        let (mut first, mut rest) = ([0; 1], [0; 64]);
        let mut bufs = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut rest)];
        let read = poll_fn(|cx| Pin::new(&mut far).poll_read_vectored(cx, &mut bufs));
        assert_eq!(read.await.unwrap(), 5);
        assert_eq!((&first, &rest[..4]), (b"h", &b"ello"[..]));
        let end = poll_fn(|cx| Pin::new(&mut far).poll_read(cx, &mut rest)).await;
        assert_eq!(end.unwrap(), 0);
    }
}

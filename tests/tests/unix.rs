//! Unix sockets and pipes, on every flavour.

use std::fs::File;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rt::io::{AsyncReadExt, AsyncWriteExt, Interest};
use rt::net::unix::{SocketAddr, pipe};
use rt::net::{UnixDatagram, UnixListener, UnixSeqPacket, UnixSeqPacketListener, UnixStream};
use rt_tests::{everywhere, poll_once, until_yielding};
use socket2::{MsgHdr, SockRef};

/// A name in the abstract namespace that nobody else has.
fn name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "\0rt-tests-{}-{}",
        process::id(),
        NEXT.fetch_add(1, Relaxed)
    )
}

/// A path that nobody else has; what is there is removed in the end.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        let name = name();
        Place(std::env::temp_dir().join(&name[1..]))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn connections_echo_everywhere() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let name = name();
            let listener = UnixListener::bind(&name).unwrap();
            let server = rt::spawn(async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    drop(rt::spawn(async move {
                        let (mut reader, mut writer) = stream.into_split();
                        rt::io::copy(&mut reader, &mut writer).await.unwrap();
                    }));
                }
            });
            let clients: Vec<_> = (0..20_u32)
                .map(|client| {
                    let name = name.clone();
                    rt::spawn(async move {
                        let stream = UnixStream::connect(&name).await.unwrap();
                        for round in 0..50_u32 {
                            let question = [client.to_ne_bytes(), round.to_ne_bytes()].concat();
                            stream.write_all(&question).await.unwrap();
                            let mut answer = [0; 8];
                            stream.read_exact(&mut answer).await.unwrap();
                            assert_eq!(answer[..], question);
                        }
                        stream.shutdown(Shutdown::Write).unwrap();
                        assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
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
async fn a_path_is_bound_once_and_names_both_ends() {
    let place = Place::new();
    let listener = UnixListener::bind(&place.0).unwrap();
    let again = UnixListener::bind(&place.0).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::AddrInUse);
    let near = UnixStream::connect(&place.0).await.unwrap();
    let (far, from) = listener.accept().await.unwrap();
    assert!(from.is_unnamed());
    assert_eq!(near.peer_addr().unwrap().as_pathname(), Some(&*place.0));
    assert_eq!(far.local_addr().unwrap().as_pathname(), Some(&*place.0));
    let cred = far.peer_cred().unwrap();
    assert_eq!(cred.pid(), Some(process::id().cast_signed()));
    assert_eq!(cred, near.peer_cred().unwrap());
    drop(listener);
    let refused = UnixStream::connect(&place.0).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

/// The kernel refuses a connection to a full queue and gives no event when there is room.
#[rt::test]
async fn connecting_to_a_full_queue_waits_for_room() {
    let name = name();
    let place = SocketAddr::from_abstract_name(&name[1..]).unwrap();
    let listener = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None);
    let listener = listener.unwrap();
    listener
        .bind(&socket2::SockAddr::unix(&name).unwrap())
        .unwrap();
    listener.listen(1).unwrap();
    let connects: Vec<_> = (0..10)
        .map(|_| {
            let place = place.clone();
            rt::spawn(async move { UnixStream::connect_addr(&place).await.map(drop) })
        })
        .collect();
    until_yielding(|| connects.iter().filter(|task| task.is_finished()).count() >= 2).await;
    let listener = UnixListener::try_from(OwnedFd::from(listener)).unwrap();
    for _ in 0..10 {
        listener.accept().await.unwrap();
    }
    for connect in connects {
        connect.await.unwrap().unwrap();
    }
}

/// A read stops where a descriptor came with the bytes, though there are more: a short read is not
/// the last one.
#[rt::test]
async fn bytes_behind_a_descriptor_are_not_forgotten() {
    let (near, far) = UnixStream::pair().unwrap();
    for _ in 0..100 {
        near.writable().await.unwrap();
        let sent = near.try_io(Interest::WRITABLE, || {
            let control = control_with_descriptor(near.as_raw_fd());
            let buf = [IoSlice::new(b"abc")];
            let message = MsgHdr::new().with_control(&control).with_buffers(&buf);
            SockRef::from(&near).sendmsg(&message, 0)
        });
        assert_eq!(sent.unwrap(), 3);
        near.write_all(b"def").await.unwrap();
        let mut buf = [0; 64];
        let mut count = 0;
        while count < 6 {
            count += far.read(&mut buf[count..]).await.unwrap();
        }
        assert_eq!(buf[..count], *b"abcdef");
    }
}

/// What `sendmsg` takes to pass a descriptor on: a `cmsghdr` with the descriptor behind it.
fn control_with_descriptor(fd: RawFd) -> Vec<u8> {
    const SOL_SOCKET: i32 = 1;
    const SCM_RIGHTS: i32 = 1;
    let mut control = (2 * size_of::<usize>() + size_of::<RawFd>())
        .to_ne_bytes()
        .to_vec();
    for field in [SOL_SOCKET, SCM_RIGHTS, fd] {
        control.extend(field.to_ne_bytes());
    }
    control.resize(3 * size_of::<usize>(), 0);
    control
}

#[rt::test]
async fn halves_end_their_direction_and_reunite() {
    let (near, mut far) = UnixStream::pair().unwrap();
    let (mut reader, mut writer) = near.into_split();
    AsyncWriteExt::write_all(&mut writer, b"ping")
        .await
        .unwrap();
    AsyncWriteExt::shutdown(&mut writer).await.unwrap();
    let mut question = Vec::new();
    far.read_to_end(&mut question).await.unwrap();
    assert_eq!(question, b"ping");
    let bufs = [IoSlice::new(b"po"), IoSlice::new(b"ng")];
    assert_eq!(far.write_vectored(&bufs).await.unwrap(), 4);
    let mut answer = [0; 4];
    assert_eq!(reader.peek(&mut answer).await.unwrap(), 4);
    AsyncReadExt::read_exact(&mut reader, &mut answer)
        .await
        .unwrap();
    assert_eq!(&answer, b"pong");
    let other = UnixStream::pair().unwrap().0.into_split();
    let error = reader.reunite(other.1).unwrap_err();
    let near = writer.reunite(error.0).unwrap();
    drop(near);
    assert_eq!(far.read(&mut [0; 8]).await.unwrap(), 0);
}

#[rt::test]
async fn datagrams_are_never_lost_and_a_full_queue_is_waited_for() {
    const COUNT: u32 = 1000;
    let name = name();
    let receiver = Arc::new(UnixDatagram::bind(&name).unwrap());
    let senders: Vec<_> = (0..4)
        .map(|sender| {
            let name = name.clone();
            rt::spawn(async move {
                let socket = UnixDatagram::unbound().unwrap();
                // Two are connected and learn of room by an event, two are not and look again.
                if sender % 2 == 0 {
                    socket.connect(&name).unwrap();
                }
                for round in 0..COUNT {
                    let message = round.to_ne_bytes();
                    let sent = match sender % 2 {
                        0 => socket.send(&message).await,
                        _ => socket.send_to(&message, &name).await,
                    };
                    assert_eq!(sent.unwrap(), 4);
                }
            })
        })
        .collect();
    let mut sum = 0;
    for _ in 0..4 * COUNT {
        let mut buf = [0; 4];
        let (len, from) = receiver.recv_from(&mut buf).await.unwrap();
        assert!(len == 4 && from.is_unnamed());
        sum += u64::from(u32::from_ne_bytes(buf));
    }
    assert_eq!(sum, u64::from(4 * (COUNT - 1) * COUNT / 2));
    for sender in senders {
        sender.await.unwrap();
    }
}

#[rt::test]
async fn a_datagram_that_is_cut_says_so_and_who_sent_it() {
    let (near_place, far_name) = (Place::new(), name());
    let near = UnixDatagram::bind(&near_place.0).unwrap();
    let far = UnixDatagram::bind(&far_name).unwrap();
    near.send_to(b"too long", &far_name).await.unwrap();
    let message = far.recv_msg(&mut [0; 3]).await.unwrap();
    assert!(message.truncated);
    assert_eq!((message.len, message.full_len), (3, 8));
    assert_eq!(message.source.as_pathname(), Some(&*near_place.0));
    far.send_to(b"back", &near_place.0).await.unwrap();
    let message = near.recv_msg(&mut [0; 8]).await.unwrap();
    let source = message.source.as_abstract_name();
    assert_eq!(source, Some(&far_name.as_bytes()[1..]));
    let mut vec = Vec::with_capacity(8);
    near.send_to(b"buf", &far_name).await.unwrap();
    assert_eq!(far.recv_buf_from(&mut vec).await.unwrap().0, 3);
}

#[rt::test]
async fn packets_keep_apart_and_end() {
    let name = name();
    let listener = UnixSeqPacketListener::bind(&name).unwrap();
    let near = UnixSeqPacket::connect(&name).await.unwrap();
    let (far, _) = listener.accept().await.unwrap();
    for len in [1, 100, 10_000] {
        near.send(&vec![7; len]).await.unwrap();
    }
    let mut buf = vec![0; 100];
    assert_eq!(far.recv(&mut buf).await.unwrap(), 1);
    assert_eq!(far.recv(&mut buf).await.unwrap(), 100);
    let message = far.recv_msg(&mut buf).await.unwrap();
    assert!(message.truncated && message.full_len == 10_000);
    drop(near);
    assert_eq!(far.recv(&mut buf).await.unwrap(), 0);
    let error = far.send(b"hello?").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

#[test]
fn pipes_carry_more_than_they_hold_everywhere() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (sender, mut receiver) = pipe::pipe().unwrap();
            let data: Vec<u8> = (0..1_000_000_u32).map(|byte| byte as u8).collect();
            let expected = data.clone();
            let sending = rt::spawn(async move { sender.write_all(&data).await });
            let mut received = Vec::new();
            receiver.read_to_end(&mut received).await.unwrap();
            assert!(received == expected);
            sending.await.unwrap().unwrap();
        });
    });
}

#[rt::test]
async fn a_pipe_tells_its_end_and_its_break() {
    let (sender, receiver) = pipe::pipe().unwrap();
    let mut reading = Box::pin(receiver.readable());
    assert!(poll_once(&mut reading).await.is_pending());
    drop(sender);
    reading.await.unwrap();
    assert_eq!(receiver.try_read(&mut [0; 8]).unwrap(), 0);

    let (sender, receiver) = pipe::pipe().unwrap();
    while sender.try_write(&[0; 4096]).is_ok() {}
    let mut writing = Box::pin(sender.write_all(b"more"));
    assert!(poll_once(&mut writing).await.is_pending());
    drop(receiver);
    assert_eq!(writing.await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert!(sender.ready(Interest::WRITABLE).await.unwrap().is_error());
}

#[rt::test]
async fn pipes_go_to_std_and_back() {
    let (reader, writer) = std::io::pipe().unwrap();
    let receiver = pipe::Receiver::from_owned_fd(reader.into()).unwrap();
    let refused = pipe::Receiver::from_owned_fd(OwnedFd::from(writer.try_clone().unwrap()));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput);
    let sender = pipe::Sender::from_file(File::from(OwnedFd::from(writer))).unwrap();
    sender.write_all(b"hello").await.unwrap();
    let mut sender = File::from(sender.into_blocking_fd().unwrap());
    sender.write_all(b" world").unwrap();
    drop(sender);
    let mut receiver = File::from(receiver.into_blocking_fd().unwrap());
    let mut all = String::new();
    receiver.read_to_string(&mut all).unwrap();
    assert_eq!(all, "hello world");
    let no_pipe = pipe::Sender::from_file(File::create("/dev/null").unwrap()).unwrap_err();
    assert_eq!(no_pipe.kind(), ErrorKind::InvalidInput);
}

#[rt::test]
async fn a_fifo_is_opened_without_waiting() {
    let place = Place::new();
    let made = process::Command::new("mkfifo")
        .arg(&place.0)
        .status()
        .unwrap();
    assert!(made.success());
    let nobody = pipe::OpenOptions::new().open_sender(&place.0).unwrap_err();
    assert_eq!(nobody.raw_os_error(), Some(6), "ENXIO: nobody reads");
    let receiver = pipe::OpenOptions::new().open_receiver(&place.0).unwrap();
    let sender = pipe::OpenOptions::new().open_sender(&place.0).unwrap();
    sender.write_all(b"one").await.unwrap();
    drop(sender);
    let mut buf = [0; 8];
    assert_eq!(receiver.read(&mut buf).await.unwrap(), 3);
    assert_eq!(receiver.read(&mut buf).await.unwrap(), 0);
    // The next writer is heard as well.
    let sender = pipe::OpenOptions::new().open_sender(&place.0).unwrap();
    sender.write_all(b"three").await.unwrap();
    assert_eq!(receiver.read(&mut buf).await.unwrap(), 5);
    let both = pipe::OpenOptions::new()
        .read_write(true)
        .open_receiver(&place.0)
        .unwrap();
    drop((sender, receiver));
    let mut reading = Box::pin(both.read(&mut buf));
    assert!(
        poll_once(&mut reading).await.is_pending(),
        "it is its own writer"
    );
}

//! Sources on real pipes and sockets: who is woken by what, and what stays known.

#![expect(unsafe_code, reason = "std cannot send urgent data")]

use std::fs::File;
use std::io::{self, Read, Write, pipe};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use super::{Readiness, Source};
use crate::drive::{Drive, poll_once};
use crate::interest::{Direction, Interest};
use crate::probe::Probe;

const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    near.set_nonblocking(true).unwrap();
    (near, far)
}

fn unix_pair() -> (UnixStream, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    (near, far)
}

/// Sends a byte as TCP's urgent data.
fn send_urgent(to: &TcpStream, byte: u8) {
    let start = (&raw const byte).cast();
    // SAFETY: `start` is valid for the one byte.
    let sent = unsafe { libc::send(to.as_raw_fd(), start, 1, libc::MSG_OOB) };
    assert_eq!(sent, 1);
}

/// Reads as a task would: waits, tries, clears.
fn read(drive: &mut Drive, source: &Source, mut from: impl Read, buffer: &mut [u8]) -> usize {
    drive.until(|cx| {
        loop {
            let Poll::Ready(ready) = source.poll_ready(cx, Direction::Read) else {
                return Poll::Pending;
            };
            let ready = ready.unwrap();
            match from.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    source.clear_would_block(ready, Direction::Read);
                }
                Ok(count) => {
                    if 0 < count && count < buffer.len() {
                        source.clear(ready, Direction::Read);
                    }
                    return Poll::Ready(count);
                }
                Err(error) => panic!("{error}"),
            }
        }
    })
}

/// Writes until the kernel takes no more.
fn fill(source: &Source, mut to: impl Write) {
    loop {
        let ready = source.now(Interest::WRITABLE);
        if let Err(error) = to.write(&[0; 8192]) {
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            source.clear_would_block(ready, Direction::Write);
            return;
        }
    }
}

#[test]
fn a_reader_is_woken_by_its_bytes() {
    let mut drive = Drive::new();
    let (near, mut far) = tcp_pair();
    let source = drive.reactor.register(near.as_fd()).unwrap();
    drive.turn();
    assert!(source.now(BOTH).is_writable());
    assert!(!source.now(BOTH).is_readable());

    let probe = Probe::new();
    let waker = probe.waker();
    let mut cx = Context::from_waker(&waker);
    assert!(source.poll_ready(&mut cx, Direction::Read).is_pending());
    far.write_all(b"ping").unwrap();
    while probe.wakes() == 0 {
        drive.turn();
    }
    assert!(source.poll_ready(&mut cx, Direction::Read).is_ready());
    let mut buffer = [0; 64];
    assert_eq!(read(&mut drive, &source, &near, &mut buffer), 4);
    assert!(
        !source.now(BOTH).is_readable(),
        "the short read has cleared it"
    );
    source.deregister(near.as_fd()).unwrap();
}

#[test]
fn bytes_and_the_end_in_one_edge_are_both_seen() {
    let mut drive = Drive::new();
    let (near, mut far) = tcp_pair();
    far.write_all(b"last").unwrap();
    far.shutdown(Shutdown::Write).unwrap();
    let source = drive.reactor.register(near.as_fd()).unwrap();
    let mut buffer = [0; 64];
    assert_eq!(read(&mut drive, &source, &near, &mut buffer), 4);
    assert_eq!(read(&mut drive, &source, &near, &mut buffer), 0);
}

#[test]
fn bytes_behind_an_urgent_one_are_not_forgotten() {
    let mut drive = Drive::new();
    let (near, mut far) = tcp_pair();
    let source = drive.reactor.register(near.as_fd()).unwrap();
    drive.turn();
    for _ in 0..2 {
        far.write_all(b"abc").unwrap();
        send_urgent(&far, b'!');
        far.write_all(b"def").unwrap();
        // All of it is one event. The first read stops where the urgent byte was.
        let mut buffer = [0; 64];
        assert_eq!(read(&mut drive, &source, &near, &mut buffer), 3);
        assert_eq!(read(&mut drive, &source, &near, &mut buffer), 3);
        assert_eq!(buffer[..3], *b"def");
    }
    // The mark does not keep the source ready for ever.
    drive.glance();
    let ready = source.now(Interest::READABLE);
    let error = (&near).read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    source.clear_would_block(ready, Direction::Read);
    assert!(!source.now(BOTH).is_readable());
}

#[test]
fn a_half_closed_peer_can_be_written_to_without_spinning() {
    let mut drive = Drive::new();
    let (near, mut far) = tcp_pair();
    let source = drive.reactor.register(near.as_fd()).unwrap();
    far.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read(&mut drive, &source, &near, &mut [0; 8]), 0);
    let ready = source.now(BOTH);
    assert!(ready.is_read_closed());
    assert!(!ready.is_write_closed() && !ready.is_error());

    fill(&source, &near);
    let probe = Probe::new();
    let mut writable = pin!(source.ready(Interest::WRITABLE));
    assert!(poll_once(writable.as_mut(), &probe).is_pending());
    let mut sink = vec![0; 1 << 20];
    while poll_once(writable.as_mut(), &probe).is_pending() {
        assert_ne!(far.read(&mut sink).unwrap(), 0);
        drive.glance();
    }
}

#[test]
fn a_reset_wakes_both_directions() {
    let mut drive = Drive::new();
    let (near, far) = tcp_pair();
    let source = drive.reactor.register(near.as_fd()).unwrap();
    drive.turn();
    fill(&source, &near);
    let (reader, writer) = (Probe::new(), Probe::new());
    let mut readable = pin!(source.ready(Interest::READABLE));
    let mut writable = pin!(source.ready(Interest::WRITABLE));
    assert!(poll_once(readable.as_mut(), &reader).is_pending());
    assert!(poll_once(writable.as_mut(), &writer).is_pending());
    // It has bytes that nobody has read, so closing it resets the connection.
    drop(far);
    while reader.wakes() == 0 || writer.wakes() == 0 {
        drive.turn();
    }
    let Poll::Ready(Ok(ready)) = poll_once(readable.as_mut(), &reader) else {
        panic!("the reset was not seen");
    };
    assert!(ready.is_error());
    let error = (&near).read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[test]
fn the_ends_of_a_pipe_learn_of_each_other() {
    let mut drive = Drive::new();
    let (reader, writer) = pipe().unwrap();
    let source = drive.reactor.register(reader.as_fd()).unwrap();
    drop(writer);
    let ready = drive.block_on(source.ready(Interest::READABLE)).unwrap();
    assert!(ready.is_read_closed());
    assert_eq!(read(&mut drive, &source, &reader, &mut [0; 8]), 0);

    let (reader, writer) = pipe().unwrap();
    let source = drive.reactor.register(writer.as_fd()).unwrap();
    drop(reader);
    while !source.now(BOTH).is_error() {
        drive.turn();
    }
    let error = (&writer).write(&[0]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn any_number_may_wait_and_all_are_woken_in_order() {
    let mut drive = Drive::new();
    let (near, mut far) = unix_pair();
    let source = drive.reactor.register(near.as_fd()).unwrap();
    drive.turn();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut waiting: Vec<_> = (0..100)
        .map(|number| {
            let order = Arc::clone(&order);
            let probe = Probe::with(move || order.lock().unwrap().push(number));
            (Box::pin(source.ready(Interest::READABLE)), probe)
        })
        .collect();
    for (future, probe) in &mut waiting {
        assert!(poll_once(future.as_mut(), probe).is_pending());
    }
    drop(waiting.remove(50));
    far.write_all(b"x").unwrap();
    assert_eq!(drive.turn(), 99);
    let expected: Vec<_> = (0..100).filter(|&number| number != 50).collect();
    assert_eq!(*order.lock().unwrap(), expected);

    // One of them takes the byte; the others wait again.
    let (first, probe) = &mut waiting[0];
    let Poll::Ready(Ok(ready)) = poll_once(first.as_mut(), probe) else {
        panic!("it was woken for nothing");
    };
    assert_eq!((&near).read(&mut [0; 8]).unwrap(), 1);
    source.clear(ready, Direction::Read);
    for (future, probe) in &mut waiting {
        assert!(poll_once(future.as_mut(), probe).is_pending());
        assert_eq!(probe.wakers(), 1);
    }
    let probes: Vec<_> = waiting.into_iter().map(|(_, probe)| probe).collect();
    assert!(probes.iter().all(|probe| probe.wakers() == 0));
}

#[test]
fn a_woken_future_that_is_dropped_owes_the_others_nothing() {
    let mut drive = Drive::new();
    let (near, mut far) = unix_pair();
    let source = drive.reactor.register(near.as_fd()).unwrap();
    drive.turn();
    let (first, second) = (Probe::new(), Probe::new());
    let mut gone = Box::pin(source.ready(Interest::READABLE));
    let mut stays = pin!(source.ready(Interest::READABLE));
    assert!(poll_once(gone.as_mut(), &first).is_pending());
    assert!(poll_once(stays.as_mut(), &second).is_pending());
    far.write_all(b"x").unwrap();
    assert_eq!(drive.turn(), 2);
    drop(gone);
    assert_eq!(second.wakes(), 1);
    assert!(poll_once(stays.as_mut(), &second).is_ready());
    // And one who comes only now need not wait either.
    assert!(poll_once(pin!(source.ready(BOTH)), &first).is_ready());
}

#[test]
fn a_future_that_was_leaked_hurts_nobody() {
    let mut drive = Drive::new();
    let (near, mut far) = unix_pair();
    let source = drive.reactor.register(near.as_fd()).unwrap();
    drive.turn();
    let probe = Probe::new();
    let mut leaked = Box::pin(source.ready(Interest::READABLE));
    assert!(poll_once(leaked.as_mut(), &probe).is_pending());
    std::mem::forget(leaked);
    source.deregister(near.as_fd()).unwrap();
    assert_eq!(probe.wakers(), 0);
    drive.glance();

    let source = drive.reactor.register(near.as_fd()).unwrap();
    far.write_all(b"x").unwrap();
    drive.block_on(source.ready(Interest::READABLE)).unwrap();
    assert_eq!(probe.wakes(), 0);
}

#[test]
fn an_event_in_a_batch_does_not_reach_the_next_file_of_the_same_number() {
    let drive = Drive::new();
    let (old, mut writer) = pipe().unwrap();
    let number = old.as_raw_fd();
    let source = drive.reactor.register(old.as_fd()).unwrap();
    writer.write_all(b"x").unwrap();
    let mut batch = crate::Events::with_capacity(8);
    let polled = drive.reactor.poll(&mut batch, crate::Wait::Forever);
    assert_eq!(polled.unwrap(), 1);
    source.deregister(old.as_fd()).unwrap();
    drop(old);

    // Another test may have taken the number meanwhile: then it is only another file.
    let (new, _writer) = pipe().unwrap();
    let source = drive.reactor.register(new.as_fd()).unwrap();
    let probe = Probe::new();
    let mut readable = pin!(source.ready(Interest::READABLE));
    assert!(poll_once(readable.as_mut(), &probe).is_pending());
    assert_eq!(drive.reactor.dispatch(&mut batch), 0);
    assert!(poll_once(readable.as_mut(), &probe).is_pending());
    assert!(number > 2 && !source.now(BOTH).is_readable());
}

#[test]
fn a_dropped_source_is_deaf_though_a_copy_of_its_file_is_open() {
    let mut drive = Drive::new();
    let (reader, mut writer) = pipe().unwrap();
    let copy = reader.try_clone().unwrap();
    drop(drive.reactor.register(reader.as_fd()).unwrap());
    drop(reader);
    assert_eq!(drive.reactor.live_sources(), 0);
    writer.write_all(b"x").unwrap();
    assert_eq!(drive.turn(), 0);
    drop(copy);
}

#[test]
fn a_regular_file_gives_a_typed_error_and_leaves_nothing() {
    let drive = Drive::new();
    let file = File::open("/proc/self/exe").unwrap();
    let error = drive.reactor.register(file.as_fd()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    assert!(error.to_string().contains("regular file"));
    assert_eq!(drive.reactor.live_sources(), 0);
}

#[test]
fn a_file_is_registered_once() {
    let drive = Drive::new();
    let (near, _far) = unix_pair();
    let source = drive.reactor.register(near.as_fd()).unwrap();
    let error = drive.reactor.register(near.as_fd()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(drive.reactor.live_sources(), 1);
    source.deregister(near.as_fd()).unwrap();
    drive.reactor.register(near.as_fd()).unwrap();
}

#[test]
fn deregistering_the_wrong_file_is_an_error_and_the_source_is_gone() {
    let drive = Drive::new();
    let (near, far) = unix_pair();
    let source = drive.reactor.register(near.as_fd()).unwrap();
    assert!(source.deregister(far.as_fd()).is_err());
    assert_eq!(drive.reactor.live_sources(), 0);
}

#[test]
fn a_socket_that_is_not_connected_does_not_spin() {
    let mut drive = Drive::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let source = drive.reactor.register(listener.as_fd()).unwrap();
    drive.glance();
    let probe = Probe::new();
    let mut readable = pin!(source.ready(Interest::READABLE));
    assert!(poll_once(readable.as_mut(), &probe).is_pending());
    let _near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    while probe.wakes() == 0 {
        drive.turn();
    }
    assert!(poll_once(readable.as_mut(), &probe).is_ready());
}

#[test]
fn sources_and_their_futures_go_to_any_thread() {
    fn check<T: Send + Sync + std::fmt::Debug>() {}
    check::<Source>();
    check::<Readiness<'static>>();
}

#[test]
fn what_is_shown_for_debugging_names_the_state() {
    let mut drive = Drive::new();
    let (near, _far) = unix_pair();
    let source = drive.reactor.register(near.as_fd()).unwrap();
    drive.turn();
    let shown = format!("{:?} {:?}", source, source.ready(BOTH));
    assert!(shown.contains("writable: true"));
    assert!(shown.contains("READABLE | WRITABLE"));
}

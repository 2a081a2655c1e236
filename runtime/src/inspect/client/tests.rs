//! Answers without an end: only a limit ends the writing of one.

use std::thread;

use super::*;

const LONG: Duration = Duration::from_secs(3600);

/// How the writing ends, to one who reads all there is, or nothing.
fn end_of_writing(limits: Limits, reads: bool) -> ErrorKind {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let reader = thread::spawn(move || {
        if reads {
            io::copy(&mut theirs, &mut io::sink()).unwrap();
        }
        theirs
    });
    let mut writer = limits.writer(&ours).unwrap();
    let error = io::copy(&mut io::repeat(b' '), &mut writer).unwrap_err();
    // Its buffer is full: it is dropped, not tried again.
    ours.set_write_timeout(Some(LONG)).unwrap();
    drop(writer);
    drop(ours);
    reader.join().unwrap();
    error.kind()
}

#[test]
fn who_does_not_read_is_left() {
    let limits = Limits {
        write: Duration::from_millis(1),
        answer: LONG,
    };
    assert_eq!(end_of_writing(limits, false), ErrorKind::WouldBlock);
}

#[test]
fn who_reads_for_too_long_is_left() {
    let limits = Limits {
        write: LONG,
        answer: Duration::from_millis(1),
    };
    assert_eq!(end_of_writing(limits, true), ErrorKind::TimedOut);
}

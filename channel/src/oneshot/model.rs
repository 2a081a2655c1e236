//! One value under loom.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, Wake, Waker};

use loom::sync::Notify;
use loom::thread;

use super::{Found, Receiver, channel};
use crate::primitive::check;

struct Alarm(Notify);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

fn until<R>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    let alarm = Arc::new(Alarm(Notify::new()));
    let waker = Waker::from(Arc::clone(&alarm));
    loop {
        if let Poll::Ready(result) = poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        alarm.0.wait();
    }
}

fn receive<T>(receiver: &mut Receiver<T>) -> Option<T> {
    until(|cx| match receiver.poll_look(cx) {
        Found::Value(value) => Poll::Ready(Some(value)),
        Found::Nothing => Poll::Ready(None),
        Found::NotYet => Poll::Pending,
    })
}

#[test]
fn the_value_reaches_who_waits_for_it() {
    check(3, || {
        let (sender, mut receiver) = channel();
        let sending = thread::spawn(move || sender.send(Box::new(7)).unwrap());
        assert_eq!(receive(&mut receiver), Some(Box::new(7)));
        drop(receiver);
        sending.join().unwrap();
    });
}

#[test]
fn who_waits_with_another_waker_each_time_gets_the_value() {
    check(3, || {
        let (sender, mut receiver) = channel();
        let sending = thread::spawn(move || sender.send(7).unwrap());
        let first = receiver.poll_look(&mut Context::from_waker(Waker::noop()));
        if first == Found::NotYet {
            assert_eq!(receive(&mut receiver), Some(7));
        }
        sending.join().unwrap();
    });
}

#[test]
fn a_sender_that_goes_tells_who_waits() {
    check(3, || {
        let (sender, mut receiver) = channel::<u32>();
        let going = thread::spawn(move || drop(sender));
        assert_eq!(receive(&mut receiver), None);
        going.join().unwrap();
    });
}

#[test]
fn a_receiver_that_goes_tells_a_sender_that_waits() {
    check(3, || {
        let (mut sender, receiver) = channel::<u32>();
        let going = thread::spawn(move || drop(receiver));
        until(|cx| sender.poll_closed(cx));
        assert_eq!(sender.send(7), Err(7));
        going.join().unwrap();
    });
}

/// Counts its ends.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_value_that_meets_the_receivers_end_is_dropped_once() {
    check(3, || {
        let drops = Arc::new(AtomicUsize::new(0));
        let value = Counted(Arc::clone(&drops));
        let (sender, mut receiver) = channel();
        let _ = receiver.poll_look(&mut Context::from_waker(Waker::noop()));
        let sending = thread::spawn(move || drop(sender.send(value)));
        drop(receiver);
        sending.join().unwrap();
        assert_eq!(drops.load(SeqCst), 1);
    });
}

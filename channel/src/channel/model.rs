//! Channels under loom: who waits is called, whatever else goes on.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use loom::sync::Notify;
use loom::thread;

use super::{Channel, Closed, UNBOUNDED};
use crate::primitive::check;
use crate::waiters::Waiting;

struct Alarm(Notify);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

/// Polls until it is ready, and sleeps between the polls until it is woken.
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

fn send(channel: &Channel<u32>, item: u32) -> Result<(), Option<u32>> {
    let (mut item, mut place) = (Some(item), Waiting::new());
    if channel.send_now(&mut item) {
        return Ok(());
    }
    until(|cx| channel.poll_send(cx, &mut item, &mut place)).map_err(|Closed| item)
}

fn receive(channel: &Channel<u32>) -> Option<u32> {
    if let Some(item) = channel.recv_now() {
        return Some(item);
    }
    let mut place = Waiting::new();
    until(|cx| channel.poll_recv(cx, &mut place))
}

/// One poll by somebody who does not care for being woken.
fn once<R>(poll: impl FnOnce(&mut Context<'_>) -> Poll<R>) -> Poll<R> {
    poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn who_waits_for_an_item_or_for_room_is_called() {
    check(3, || {
        let channel = Arc::new(Channel::new(1));
        let sender = Arc::clone(&channel);
        let sending = thread::spawn(move || {
            for item in 1..=2 {
                send(&sender, item).unwrap();
            }
            sender.drop_sender();
        });
        assert_eq!(receive(&channel), Some(1));
        assert_eq!(receive(&channel), Some(2));
        assert_eq!(receive(&channel), None);
        sending.join().unwrap();
    });
}

#[test]
fn who_waits_is_called_for_an_item_that_is_sent_at_once() {
    check(3, || {
        let channel = Arc::new(Channel::new(UNBOUNDED));
        // From now on there is memory for an item.
        channel.try_send(0).unwrap();
        assert_eq!(channel.try_recv(), Ok(Some(0)));
        let sender = Arc::clone(&channel);
        let sending = thread::spawn(move || send(&sender, 7).unwrap());
        assert_eq!(receive(&channel), Some(7));
        sending.join().unwrap();
    });
}

#[test]
fn a_rendezvous_is_over_when_the_item_was_received() {
    check(3, || {
        let channel = Arc::new(Channel::new(0));
        let sender = Arc::clone(&channel);
        let sending = thread::spawn(move || {
            send(&sender, 7).unwrap();
            assert_eq!(sender.len(), 0);
            sender.drop_sender();
        });
        assert_eq!(receive(&channel), Some(7));
        assert_eq!(receive(&channel), None);
        sending.join().unwrap();
    });
}

#[test]
fn an_offer_that_is_taken_back_was_not_received() {
    check(3, || {
        let channel = Arc::new(Channel::new(0));
        let sender = Arc::clone(&channel);
        let sending = thread::spawn(move || {
            let (mut item, mut place) = (Some(7), Waiting::new());
            let sent = once(|cx| sender.poll_send(cx, &mut item, &mut place));
            sender.cancel_send(&mut item, &mut place);
            sender.drop_sender();
            sent.is_ready() || item.is_none()
        });
        let received = receive(&channel).is_some();
        assert_eq!(sending.join().unwrap(), received);
    });
}

#[test]
fn a_receiver_that_gives_up_passes_its_call_on() {
    check(3, || {
        let channel = Arc::new(Channel::new(UNBOUNDED));
        let fickle = Arc::clone(&channel);
        let sender = Arc::clone(&channel);
        let giving_up = thread::spawn(move || {
            let mut place = Waiting::new();
            match once(|cx| fickle.poll_recv(cx, &mut place)) {
                // It has what the other waits for.
                Poll::Ready(item) => fickle.try_send(item.unwrap()).unwrap(),
                Poll::Pending => fickle.cancel_recv(&mut place),
            }
        });
        let sending = thread::spawn(move || sender.try_send(7).unwrap());
        assert_eq!(receive(&channel), Some(7));
        giving_up.join().unwrap();
        sending.join().unwrap();
    });
}

#[test]
fn a_sender_that_gives_up_passes_its_call_on() {
    check(3, || {
        let channel = Arc::new(Channel::new(1));
        channel.try_send(0).unwrap();
        let fickle = Arc::clone(&channel);
        let receiver = Arc::clone(&channel);
        let giving_up = thread::spawn(move || {
            let (mut item, mut place) = (Some(1), Waiting::new());
            match once(|cx| fickle.poll_send(cx, &mut item, &mut place)) {
                // It has the room that the other waits for.
                Poll::Ready(_) => drop(fickle.try_recv()),
                Poll::Pending => fickle.cancel_send(&mut item, &mut place),
            }
        });
        let receiving = thread::spawn(move || receiver.try_recv().unwrap());
        assert_eq!(send(&channel, 2), Ok(()));
        giving_up.join().unwrap();
        receiving.join().unwrap();
    });
}

#[test]
fn room_in_the_front_is_told_to_who_waits_for_it() {
    check(3, || {
        let channel = Arc::new(Channel::new(4));
        (0..4).for_each(|item| channel.try_send(item).unwrap());
        let sender = Arc::clone(&channel);
        let sending = thread::spawn(move || {
            send(&sender, 4).unwrap();
            send(&sender, 5).unwrap();
        });
        for item in 0..2 {
            assert_eq!(receive(&channel), Some(item));
        }
        // Nothing more is received: the room that there is must be enough.
        sending.join().unwrap();
        for item in 2..6 {
            assert_eq!(receive(&channel), Some(item));
        }
    });
}

#[test]
fn two_receivers_take_each_item_once() {
    check(3, || {
        let channel = Arc::new(Channel::new(4));
        (0..4).for_each(|item| channel.try_send(item).unwrap());
        let other = Arc::clone(&channel);
        let receiving = thread::spawn(move || [receive(&other), receive(&other)]);
        let mine = [receive(&channel), receive(&channel)];
        let theirs = receiving.join().unwrap();
        assert!(mine[0] < mine[1] && theirs[0] < theirs[1]);
        let mut all: Vec<_> = mine.into_iter().chain(theirs).flatten().collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3]);
    });
}

#[test]
fn the_last_receiver_tells_who_waits_to_send() {
    check(3, || {
        let channel = Arc::new(Channel::new(1));
        channel.try_send(0).unwrap();
        let sender = Arc::clone(&channel);
        let sending = thread::spawn(move || send(&sender, 1));
        channel.drop_receiver();
        assert_eq!(sending.join().unwrap(), Err(Some(1)));
    });
}

#[test]
fn a_permit_keeps_a_closed_channel_open_for_its_item() {
    check(3, || {
        let channel = Arc::new(Channel::new(1));
        channel.try_reserve().unwrap();
        let sender = Arc::clone(&channel);
        let sending = thread::spawn(move || sender.redeem(Some(7)));
        channel.close();
        assert_eq!(receive(&channel), Some(7));
        assert_eq!(receive(&channel), None);
        sending.join().unwrap();
    });
}

#[test]
fn a_permit_that_is_given_back_ends_a_closed_channel() {
    check(3, || {
        let channel = Arc::new(Channel::new(1));
        channel.try_reserve().unwrap();
        let sender = Arc::clone(&channel);
        let giving_back = thread::spawn(move || sender.redeem(None));
        channel.close();
        assert_eq!(receive(&channel), None);
        giving_back.join().unwrap();
    });
}

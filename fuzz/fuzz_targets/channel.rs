//! The channel beside a plain queue: the same items in the same order, and nobody sleeps beside what it waits for.
//!
//! The first byte is the capacity, each pair that follows a step and with whom.

#![no_main]

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Wake, Waker};

use libfuzzer_sys::fuzz_target;
use rt_channel::{Channel, Waiting};

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

/// Somebody who waits: to send what is in `item`, or to receive.
struct Party {
    item: Option<u32>,
    place: Waiting,
    woken: Arc<Flag>,
}

impl Party {
    fn new(item: Option<u32>) -> Party {
        Party {
            item,
            place: Waiting::new(),
            woken: Arc::default(),
        }
    }

    /// Its waker, with which it is polled anew.
    fn waker(&self) -> Waker {
        self.woken.0.store(false, Relaxed);
        Waker::from(Arc::clone(&self.woken))
    }
}

struct Twins {
    channel: Channel<u32>,
    queue: VecDeque<u32>,
    capacity: usize,
    closed: bool,
    senders: Vec<Party>,
    receivers: Vec<Party>,
    items: u32,
}

fuzz_target!(|input: &[u8]| {
    let Some((&capacity, steps)) = input.split_first() else {
        return;
    };
    let capacity = 1 + usize::from(capacity);
    let mut twins = Twins {
        channel: Channel::new(capacity),
        queue: VecDeque::new(),
        capacity,
        closed: false,
        senders: Vec::new(),
        receivers: Vec::new(),
        items: 0,
    };
    for step in steps.chunks_exact(2) {
        twins.step(step[0], usize::from(step[1]));
        twins.check();
    }
});

impl Twins {
    fn room(&self) -> usize {
        if self.closed {
            return 0;
        }
        self.capacity - self.queue.len()
    }

    fn item(&mut self) -> u32 {
        self.items += 1;
        self.items
    }

    fn step(&mut self, what: u8, who: usize) {
        match what % 11 {
            0 => {
                let item = self.item();
                let sent = self.channel.try_send(item).is_ok();
                assert_eq!(sent, self.room() > 0);
                if sent {
                    self.queue.push_back(item);
                }
            }
            1 => {
                let received = self.channel.try_recv();
                assert_eq!(received.is_err(), self.closed && self.queue.is_empty());
                assert_eq!(received.ok().flatten(), self.queue.pop_front());
            }
            2 => {
                let item = self.item();
                self.send(Party::new(Some(item)));
            }
            3 => self.receive(Party::new(None)),
            4 if !self.senders.is_empty() => {
                let party = self.senders.swap_remove(who % self.senders.len());
                self.send(party);
            }
            5 if !self.receivers.is_empty() => {
                let party = self.receivers.swap_remove(who % self.receivers.len());
                self.receive(party);
            }
            6 if !self.senders.is_empty() => {
                let mut party = self.senders.swap_remove(who % self.senders.len());
                self.channel.cancel_send(&mut party.item, &mut party.place);
                assert!(party.item.is_some(), "what was not sent comes back");
                assert_eq!(Arc::strong_count(&party.woken), 1);
            }
            7 if !self.receivers.is_empty() => {
                let mut party = self.receivers.swap_remove(who % self.receivers.len());
                self.channel.cancel_recv(&mut party.place);
                assert_eq!(Arc::strong_count(&party.woken), 1);
            }
            8 => self.receive_many(1 + who),
            9 => self.send_many(1 + who),
            // Seldom, or most inputs would end early.
            10 if who == 255 => {
                self.channel.close();
                self.closed = true;
            }
            _ => {}
        }
    }

    fn send(&mut self, mut party: Party) {
        let (item, waker) = (party.item, party.waker());
        let cx = &mut Context::from_waker(&waker);
        let sent = self
            .channel
            .poll_send(cx, &mut party.item, &mut party.place);
        drop(waker);
        assert_eq!(sent.is_ready(), self.closed || self.room() > 0);
        match sent {
            Poll::Ready(Ok(())) => self.queue.extend(item),
            Poll::Ready(Err(_)) => assert_eq!(party.item, item),
            Poll::Pending => self.senders.push(party),
        }
    }

    fn receive(&mut self, mut party: Party) {
        let waker = party.waker();
        let cx = &mut Context::from_waker(&waker);
        let received = self.channel.poll_recv(cx, &mut party.place);
        drop(waker);
        match received {
            Poll::Ready(item) => {
                assert_eq!(item, self.queue.pop_front());
                assert!(item.is_some() || self.closed);
            }
            Poll::Pending => {
                assert!(self.queue.is_empty() && !self.closed);
                self.receivers.push(party);
            }
        }
    }

    fn receive_many(&mut self, limit: usize) {
        let (mut buffer, mut place) = (Vec::new(), Waiting::new());
        let cx = &mut Context::from_waker(Waker::noop());
        let received = self
            .channel
            .poll_recv_many(cx, &mut buffer, limit, &mut place);
        let count = limit.min(self.queue.len());
        assert!(self.queue.drain(..count).eq(buffer.iter().copied()));
        assert_eq!(received.is_ready(), count > 0 || self.closed);
        self.channel.cancel_recv(&mut place);
    }

    fn send_many(&mut self, count: usize) {
        let mut items: VecDeque<_> = (0..count).map(|_| self.item()).collect();
        let (expected, room) = (items.clone(), count.min(self.room()));
        let mut place = Waiting::new();
        let cx = &mut Context::from_waker(Waker::noop());
        let sent = self.channel.poll_send_many(cx, &mut items, &mut place);
        assert_eq!(items.len(), count - room);
        assert_eq!(sent.is_ready(), self.closed || items.is_empty());
        self.channel.cancel_reserve(&mut place);
        self.queue.extend(expected.iter().take(room));
    }

    fn check(&self) {
        assert_eq!(self.channel.len(), self.queue.len());
        let woken = |parties: &[Party]| {
            let woken = parties.iter().filter(|party| party.woken.0.load(Relaxed));
            woken.count()
        };
        if self.closed {
            assert_eq!(woken(&self.senders), self.senders.len());
            assert_eq!(woken(&self.receivers), self.receivers.len());
            return;
        }
        let items = self.queue.len().min(self.receivers.len());
        assert!(
            woken(&self.receivers) >= items,
            "a receiver sleeps beside an item"
        );
        let room = self.room().min(self.senders.len());
        assert!(woken(&self.senders) >= room, "a sender sleeps beside room");
    }
}

//! Random operations against a naive twin, and what becomes of items, wakers and memory.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Wake, Waker};

use super::{Channel, Closed, Refused, UNBOUNDED};
use crate::waiters::Waiting;

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
    fn new(item: Option<u32>) -> Self {
        Party {
            item,
            place: Waiting::new(),
            woken: Arc::default(),
        }
    }

    /// Polls with its waker; what it was woken for is answered by that.
    fn poll<R>(&mut self, poll: impl FnOnce(&mut Context<'_>, &mut Self) -> R) -> R {
        self.woken.0.store(false, Relaxed);
        let waker = Waker::from(Arc::clone(&self.woken));
        poll(&mut Context::from_waker(&waker), self)
    }

    fn is_woken(&self) -> bool {
        self.woken.0.load(Relaxed)
    }
}

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }
}

/// A channel with capacity, its naive twin, and those who wait.
struct Twins {
    channel: Channel<u32>,
    queue: VecDeque<u32>,
    capacity: usize,
    reserved: usize,
    senders: Vec<Party>,
    receivers: Vec<Party>,
    next: u32,
}

impl Twins {
    fn new(capacity: usize) -> Self {
        Twins {
            channel: Channel::new(capacity),
            queue: VecDeque::new(),
            capacity,
            reserved: 0,
            senders: Vec::new(),
            receivers: Vec::new(),
            next: 0,
        }
    }

    fn room(&self) -> usize {
        self.capacity - self.queue.len() - self.reserved
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// One random step of both, which must agree.
    fn step(&mut self, random: &mut Random) {
        match random.below(14) {
            12 => {
                let (item, room) = (self.number(), self.room());
                let mut left = Some(item);
                if self.channel.send_now(&mut left) {
                    assert!(room > 0 && left.is_none());
                    self.queue.push_back(item);
                }
                assert!(self.queue.back() == Some(&item) || left == Some(item));
            }
            13 => {
                if let Some(item) = self.channel.recv_now() {
                    assert_eq!(Some(item), self.queue.pop_front());
                }
            }
            0 => {
                let item = self.number();
                let sent = self.channel.try_send(item);
                assert_eq!(sent.is_ok(), self.room() > 0);
                if sent.is_ok() {
                    self.queue.push_back(item);
                }
            }
            1 => assert_eq!(self.channel.try_recv(), Ok(self.queue.pop_front())),
            2 | 3 => {
                let item = self.number();
                self.poll_send(Party::new(Some(item)));
            }
            4 | 5 => self.poll_recv(Party::new(None)),
            6 if !self.senders.is_empty() => {
                let at = random.below(self.senders.len());
                let party = self.senders.swap_remove(at);
                self.poll_send(party);
            }
            7 if !self.receivers.is_empty() => {
                let at = random.below(self.receivers.len());
                let party = self.receivers.swap_remove(at);
                self.poll_recv(party);
            }
            8 if !self.senders.is_empty() => {
                let at = random.below(self.senders.len());
                let mut party = self.senders.swap_remove(at);
                self.channel.cancel_send(&mut party.item, &mut party.place);
                assert_eq!(Arc::strong_count(&party.woken), 1, "its waker went with it");
            }
            9 if !self.receivers.is_empty() => {
                let at = random.below(self.receivers.len());
                let mut party = self.receivers.swap_remove(at);
                self.channel.cancel_recv(&mut party.place);
                assert_eq!(Arc::strong_count(&party.woken), 1, "its waker went with it");
            }
            10 => self.reserve_or_redeem(random),
            _ => self.many(random),
        }
    }

    fn poll_send(&mut self, mut party: Party) {
        let item = party.item;
        let (channel, room) = (&self.channel, self.room());
        let sent = party.poll(|cx, party| channel.poll_send(cx, &mut party.item, &mut party.place));
        assert_eq!(sent.is_ready(), room > 0);
        match sent {
            Poll::Ready(sent) => {
                assert_eq!((sent, party.item), (Ok(()), None));
                self.queue.extend(item);
            }
            Poll::Pending => self.senders.push(party),
        }
    }

    fn poll_recv(&mut self, mut party: Party) {
        let channel = &self.channel;
        match party.poll(|cx, party| channel.poll_recv(cx, &mut party.place)) {
            Poll::Ready(item) => assert_eq!(item, self.queue.pop_front()),
            Poll::Pending => {
                assert!(self.queue.is_empty());
                self.receivers.push(party);
            }
        }
    }

    fn reserve_or_redeem(&mut self, random: &mut Random) {
        if self.reserved > 0 && random.below(2) == 0 {
            let item = (random.below(2) == 0).then(|| self.number());
            self.channel.redeem(item);
            self.reserved -= 1;
            self.queue.extend(item);
        } else {
            let reserved = self.channel.try_reserve();
            assert_eq!(reserved.is_ok(), self.room() > 0);
            self.reserved += usize::from(reserved.is_ok());
        }
    }

    fn many(&mut self, random: &mut Random) {
        let limit = 1 + random.below(6);
        let mut place = Waiting::new();
        if random.below(2) == 0 {
            let mut items: VecDeque<_> = (0..limit).map(|_| self.number()).collect();
            let expected = items.clone();
            let cx = &mut Context::from_waker(Waker::noop());
            let sent = self.channel.poll_send_many(cx, &mut items, &mut place);
            let count = limit.min(self.room());
            assert_eq!(items.len(), limit - count);
            assert_eq!(sent.is_ready(), items.is_empty());
            self.channel.cancel_reserve(&mut place);
            self.queue.extend(expected.iter().take(count));
        } else {
            let mut buffer = vec![0];
            let cx = &mut Context::from_waker(Waker::noop());
            let received = self
                .channel
                .poll_recv_many(cx, &mut buffer, limit, &mut place);
            let expected: Vec<_> = self.queue.drain(..limit.min(self.queue.len())).collect();
            assert_eq!(received.is_ready(), !expected.is_empty());
            assert_eq!(buffer[1..], expected);
            self.channel.cancel_recv(&mut place);
        }
    }

    /// What C1 and C2 promise: nobody sleeps while there is something for it.
    fn check(&self) {
        assert_eq!(self.channel.len(), self.queue.len());
        assert_eq!(self.channel.room(), self.room());
        let woken = |parties: &[Party]| parties.iter().filter(|party| party.is_woken()).count();
        let items = self.queue.len().min(self.receivers.len());
        assert!(
            woken(&self.receivers) >= items,
            "a receiver sleeps beside an item"
        );
        let room = self.room().min(self.senders.len());
        assert!(woken(&self.senders) >= room, "a sender sleeps beside room");
    }
}

#[test]
fn whatever_is_done_it_is_a_queue_and_nobody_sleeps_beside_what_it_waits_for() {
    for capacity in [1, 2, 3, 4, 7, 40] {
        for seed in 1..=40 {
            let mut random = Random::new(seed);
            let mut twins = Twins::new(capacity);
            for _ in 0..1_000 {
                twins.step(&mut random);
                twins.check();
            }
        }
    }
}

#[test]
fn whatever_is_done_a_rendezvous_takes_each_item_from_who_waits() {
    for seed in 1..=100 {
        let mut random = Random::new(seed);
        let channel = Channel::new(0);
        let mut offers: VecDeque<Party> = VecDeque::new();
        for number in 0..1_000 {
            match random.below(4) {
                0 | 1 => {
                    let mut party = Party::new(Some(number));
                    let offered = party
                        .poll(|cx, party| channel.poll_send(cx, &mut party.item, &mut party.place));
                    assert!(offered.is_pending());
                    offers.push_back(party);
                }
                2 => {
                    let received = channel.try_recv().unwrap();
                    assert_eq!(received.is_some(), !offers.is_empty());
                    if let Some(mut party) = offers.pop_front() {
                        assert!(received < Some(number) && party.is_woken());
                        let sent = party.poll(|cx, party| {
                            channel.poll_send(cx, &mut party.item, &mut party.place)
                        });
                        assert_eq!((sent, party.item), (Poll::Ready(Ok(())), None));
                    }
                }
                _ => {
                    if let Some(mut party) = offers.pop_back() {
                        channel.cancel_send(&mut party.item, &mut party.place);
                        assert!(party.item.is_some(), "it comes back");
                    }
                }
            }
            assert_eq!(channel.len(), 0);
        }
    }
}

#[test]
fn a_rendezvous_hands_over_at_once_to_who_waits() {
    let channel = Channel::new(0);
    assert_eq!(channel.try_send(1), Err(Refused::Full(1)));
    let mut receiver = Party::new(None);
    let poll = |cx: &mut Context<'_>, party: &mut Party| channel.poll_recv(cx, &mut party.place);
    assert!(receiver.poll(poll).is_pending());
    assert_eq!(channel.try_send(1), Ok(()));
    assert!(receiver.is_woken());
    assert_eq!(channel.try_send(2), Err(Refused::Full(2)));
    assert_eq!(receiver.poll(poll), Poll::Ready(Some(1)));
}

#[test]
fn the_close_wakes_all_and_leaves_what_was_sent() {
    let channel = Channel::new(1);
    channel.try_send(1).unwrap();
    let mut sender = Party::new(Some(2));
    let poll = |cx: &mut Context<'_>, party: &mut Party| {
        channel.poll_send(cx, &mut party.item, &mut party.place)
    };
    assert!(sender.poll(poll).is_pending());
    let mut watcher = Party::new(None);
    let watch = |cx: &mut Context<'_>, party: &mut Party| channel.poll_closed(cx, &mut party.place);
    assert!(watcher.poll(watch).is_pending());
    channel.close();
    assert!(sender.is_woken() && watcher.is_woken());
    assert_eq!(sender.poll(poll), Poll::Ready(Err(Closed)));
    assert_eq!(sender.item, Some(2));
    assert!(watcher.poll(watch).is_ready());
    assert_eq!(channel.try_send(3), Err(Refused::Closed(3)));
    assert_eq!(channel.try_recv(), Ok(Some(1)));
    assert_eq!(channel.try_recv(), Err(Closed));
}

#[test]
fn a_million_items_wait_and_go() {
    let channel = Channel::new(UNBOUNDED);
    for item in 0..1_000_000 {
        channel.try_send(item).unwrap();
    }
    let mut received = Vec::new();
    let mut place = Waiting::new();
    let cx = &mut Context::from_waker(Waker::noop());
    let all = channel.poll_recv_many(cx, &mut received, usize::MAX, &mut place);
    assert_eq!(all, Poll::Ready(1_000_000));
    assert!(received.into_iter().eq(0..1_000_000));
}

/// A waker that panics when it wakes.
struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("in a waker");
    }
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_being_woken() {
    let channel = Channel::<u32>::new(1);
    let faulty = Waker::from(Arc::new(Panics));
    let mut places = [const { Waiting::new() }; 2];
    for place in &mut places {
        let cx = &mut Context::from_waker(&faulty);
        assert!(channel.poll_recv(cx, place).is_pending());
    }
    let mut last = Party::new(None);
    assert!(
        last.poll(|cx, party| channel.poll_recv(cx, &mut party.place))
            .is_pending()
    );
    assert!(catch_unwind(AssertUnwindSafe(|| channel.try_send(1))).is_ok());
    channel.close();
    assert!(last.is_woken());
}

#[test]
fn items_of_an_abandoned_channel_are_dropped_without_a_lock() {
    /// Comes back for the channel's lock as it is dropped.
    struct Back(Arc<Channel<Back>>);
    impl Drop for Back {
        fn drop(&mut self) {
            self.0.is_closed();
        }
    }
    let channel = Arc::new(Channel::new(UNBOUNDED));
    for _ in 0..10 {
        channel.try_send(Back(Arc::clone(&channel))).ok().unwrap();
    }
    drop(channel.try_recv());
    channel.try_reserve().unwrap();
    channel.drop_receiver();
    channel.redeem(Some(Back(Arc::clone(&channel))));
    assert_eq!(Arc::strong_count(&channel), 1, "all were dropped");
}

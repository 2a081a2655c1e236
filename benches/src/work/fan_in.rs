//! What does a message cost when many tasks use one channel?
//!
//! Four producers send as fast as they can, to one consumer or to four. The sum is that of the messages,
//! so a lost or doubled one shows.

use std::time::Instant;

use super::Measured;
use crate::peers::{Channel, Exec, SharedChannel};

const PRODUCERS: u64 = 4;
const CONSUMERS: usize = 4;
const CAPACITY: usize = 1024;

/// `count` messages to one consumer.
pub fn one_consumer<E: Exec, C: Channel>(count: u64) -> Measured {
    let (sender, receiver) = C::open(CAPACITY);
    run::<E, C>(count, sender, vec![receiver])
}

/// `count` messages to four consumers.
pub fn four_consumers<E: Exec, C: SharedChannel>(count: u64) -> Measured {
    let (sender, receiver) = C::open(CAPACITY);
    run::<E, C>(count, sender, vec![receiver; CONSUMERS])
}

fn run<E: Exec, C: Channel>(
    count: u64,
    sender: C::Sender,
    receivers: Vec<C::Receiver>,
) -> Measured {
    let each = count / PRODUCERS;
    E::block_on(async move {
        let started = Instant::now();
        let consumers: Vec<_> = receivers
            .into_iter()
            .map(|receiver| E::spawn(consume::<C>(receiver)))
            .collect();
        for producer in 0..PRODUCERS {
            let sender = sender.clone();
            E::detach(produce::<C>(sender, producer * each, (producer + 1) * each));
        }
        drop(sender);
        let mut sum = 0;
        for consumer in consumers {
            sum += consumer.await;
        }
        Measured::each(each * PRODUCERS, started, sum)
    })
}

async fn produce<C: Channel>(mut sender: C::Sender, first: u64, end: u64) {
    for message in first..end {
        C::send(&mut sender, message).await;
    }
}

async fn consume<C: Channel>(mut receiver: C::Receiver) -> u64 {
    let mut sum = 0;
    while let Some(message) = C::receive(&mut receiver).await {
        sum += message;
    }
    sum
}

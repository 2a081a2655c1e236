//! What does a round trip between two tasks cost?
//!
//! Two channels with room for one message; the answer to each message is that message plus one. At any
//! moment one of the tasks has nothing to do.

use std::time::Instant;

use super::Measured;
use crate::peers::{Channel, Exec};

/// `count` round trips. The sum is that of the answers.
pub fn run<E: Exec, C: Channel>(count: u64) -> Measured {
    E::block_on(async move {
        let (mut questions, mut asked) = C::open(1);
        let (mut answers, mut answered) = C::open(1);
        let answer = E::spawn(async move {
            while let Some(message) = C::receive(&mut asked).await {
                C::send(&mut answers, message + 1).await;
            }
        });
        let ask = async move {
            let mut sum = 0;
            let started = Instant::now();
            for message in 0..count {
                C::send(&mut questions, message).await;
                sum += C::receive(&mut answered).await.unwrap_or(0);
            }
            Measured::each(count, started, sum)
        };
        let measured = E::spawn(ask).await;
        answer.await;
        measured
    })
}

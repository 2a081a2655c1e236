//! What does it cost to hand over to another task and back, with as little between as can be?
//!
//! For the micro-benchmarks: a fresh one-value channel for each question and answer, or two `Notify`s,
//! which carry nothing but the wake-up.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Notify;

use super::Measured;
use crate::peers::{Exec, Oneshot};

/// `count` tasks are started one after another; each answers through a one-value channel.
pub fn oneshot<E: Exec, O: Oneshot>(count: u64) -> Measured {
    let ask = async move {
        let mut sum = 0;
        let started = Instant::now();
        for question in 0..count {
            let (sender, receiver) = O::open();
            E::detach(async move { O::send(sender, question) });
            sum += receiver.await;
        }
        Measured::each(count, started, sum)
    };
    E::block_on(async move { E::spawn(ask).await })
}

/// `count` round trips between two tasks that wake each other.
pub fn notify<E: Exec>(count: u64) -> Measured {
    let question = Arc::new(Notify::new());
    let answer = Arc::new(Notify::new());
    let (asked, answered) = (Arc::clone(&question), Arc::clone(&answer));
    let ask = async move {
        E::detach(async move {
            for _ in 0..count {
                asked.notified().await;
                answer.notify_one();
            }
        });
        let started = Instant::now();
        for _ in 0..count {
            question.notify_one();
            answered.notified().await;
        }
        Measured::each(count, started, count)
    };
    E::block_on(async move { E::spawn(ask).await })
}

//! Three stages with bounded channels between them: the slowest sets the pace, and memory stays bounded.
//!
//! ```text
//! cargo run --release -p rt-examples --example pipeline [ITEMS]
//! ```
//!
//! `read` makes blocks of text, `count` counts their words on the CPU pool with two tasks, `sum` adds up. While they
//! run, a monitor prints the throughput and how many blocks wait between the stages: the queue in front of the
//! slowest one is full.

use std::collections::HashMap;
use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rt::Dispatcher;
use rt::channel::{Receiver, Sender, bounded, oneshot};
use rt::time::interval;

/// Blocks that may wait between two stages.
const ROOM: usize = 32;
const COUNTERS: usize = 2;
const WORDS: [&str; 6] = ["task", "waits", "for", "a", "channel", "and"];

type Counts = HashMap<String, usize>;

#[rt::main]
async fn main() -> ExitCode {
    let items = env::args().nth(1).map_or(Ok(2_000), |text| text.parse());
    let Ok(items) = items else {
        eprintln!("usage: pipeline [ITEMS]");
        return ExitCode::FAILURE;
    };
    let (blocks_in, blocks) = bounded(ROOM);
    let (counts_in, counts) = bounded(ROOM);
    let (finish, finished) = oneshot();
    let monitor = rt::spawn(watch(blocks.clone(), counts.clone(), finished));

    let started = Instant::now();
    rt::spawn(read(items, blocks_in));
    for _ in 0..COUNTERS {
        let count = count(blocks.clone(), counts_in.clone());
        rt::spawn_on(Dispatcher::Cpu, count);
    }
    drop((blocks, counts_in));
    let (total, words) = sum(counts).await;

    let elapsed = started.elapsed();
    // The monitor may have ended with the last block.
    let _ = finish.send(());
    let _ = monitor.await;
    let rate = total * 1_000_000 / elapsed.as_micros().max(1);
    println!("{total} blocks, {words} words, {rate} blocks/s");
    ExitCode::SUCCESS
}

/// The first stage, which is faster than the others.
async fn read(items: usize, blocks: Sender<String>) {
    for item in 0..items {
        let words = (0..500).map(|word| WORDS[(item + word) % WORDS.len()]);
        let block = words.collect::<Vec<_>>().join(" ");
        if blocks.send(block).await.is_err() {
            return;
        }
    }
}

/// The second stage, which computes.
async fn count(blocks: Receiver<String>, counts: Sender<Counts>) {
    while let Some(block) = blocks.recv().await {
        let mut words = Counts::new();
        for word in block.split(' ') {
            *words.entry(word.to_owned()).or_default() += 1;
        }
        if counts.send(words).await.is_err() {
            return;
        }
    }
}

/// The last stage: how many blocks, and how many words.
async fn sum(counts: Receiver<Counts>) -> (u128, usize) {
    let (mut total, mut words) = (0, 0);
    while let Some(block) = counts.recv().await {
        total += 1;
        words += block.values().sum::<usize>();
    }
    (total, words)
}

/// Looks at the queues until it is told that all is done. It only looks, so its receivers take nothing.
async fn watch(
    blocks: Receiver<String>,
    counts: Receiver<Counts>,
    mut finished: oneshot::Receiver<()>,
) {
    let mut ticks = interval(Duration::from_millis(100));
    loop {
        rt::select! {
            _ = &mut finished => return,
            _ = ticks.tick() => {
                println!("waiting: {:2} blocks of text, {:2} counts", blocks.len(), counts.len());
            }
        }
    }
}

//! Prime numbers by a chain of tasks, one for each prime found.
//!
//! ```text
//! cargo run --release -p rt-examples --example sieve [COUNT]
//! ```
//!
//! The first task sends all numbers from 2 on. Each prime gets a task of its own, which lets through what it does
//! not divide; the first number to come through the whole chain is the next prime. The channels are rendezvous: no number waits
//! in them, so every hand-over wakes a task. The chain ends when its last receiver is dropped.

use std::env;
use std::process::ExitCode;
use std::time::Instant;

use rt::channel::{Receiver, Sender, bounded};

#[rt::main]
async fn main() -> ExitCode {
    let count = env::args().nth(1).map_or(Ok(100), |text| text.parse());
    let Ok(count) = count else {
        eprintln!("usage: sieve [COUNT]");
        return ExitCode::FAILURE;
    };
    let started = Instant::now();
    for prime in primes(count).await {
        println!("{prime}");
    }
    eprintln!("{count} primes in {:?}", started.elapsed());
    ExitCode::SUCCESS
}

async fn primes(count: usize) -> Vec<u64> {
    let (numbers, mut chain) = bounded(0);
    rt::spawn(generate(numbers));
    let mut primes = Vec::new();
    while primes.len() < count
        && let Some(prime) = chain.recv().await
    {
        primes.push(prime);
        let (passed, next) = bounded(0);
        rt::spawn(filter(prime, chain, passed));
        chain = next;
    }
    primes
}

/// All numbers from 2 on, until nobody wants them.
async fn generate(numbers: Sender<u64>) {
    for number in 2.. {
        if numbers.send(number).await.is_err() {
            return;
        }
    }
}

/// What `prime` does not divide.
async fn filter(prime: u64, numbers: Receiver<u64>, passed: Sender<u64>) {
    while let Some(number) = numbers.recv().await {
        if !number.is_multiple_of(prime) && passed.send(number).await.is_err() {
            return;
        }
    }
}

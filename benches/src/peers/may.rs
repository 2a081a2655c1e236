//! may: stackful coroutines, so each workload is written out in its blocking style.
//!
//! Only the rows where it has something to show. Its workers are pinned to cores, which is its default,
//! and its only unbounded channel serves the ping-pong.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc as std_mpsc};
use std::thread;
use std::time::{Duration, Instant};

use may::coroutine::{self, JoinHandle};
use may::go;
use may::sync::mpsc;

use super::WORKERS;
use crate::control;
use crate::stats;
use crate::work::Measured;
use crate::work::echo::BUFFER;
use crate::work::mixed::{IN_FLIGHT, compute, piece_steps};
use crate::work::sleep::Overshoots;
use crate::work::yields::YIELDS;

const BATCH: u64 = 1000;
const TICK: Duration = Duration::from_millis(5);
const QUIET: Duration = Duration::from_millis(50);

/// Runs `work` in a coroutine, as all but one of the workloads want it.
fn inside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    configure();
    joined(go!(work))
}

fn configure() {
    may::config().set_workers(WORKERS);
}

fn joined<T>(handle: JoinHandle<T>) -> T {
    handle.join().expect("no coroutine of a workload panics")
}

pub(crate) fn spawn_join_external(count: u64) -> Measured {
    configure();
    batches(count)
}

pub(crate) fn spawn_join_internal(count: u64) -> Measured {
    inside(move || batches(count))
}

fn batches(count: u64) -> Measured {
    let mut handles = Vec::with_capacity(BATCH as usize);
    let mut sum = 0;
    let started = Instant::now();
    for first in (0..count).step_by(BATCH as usize) {
        handles.extend((first..count.min(first + BATCH)).map(|index| go!(move || index)));
        sum += handles.drain(..).map(joined).sum::<u64>();
    }
    Measured::each(count, started, sum)
}

pub(crate) fn yield_1k(count: u64) -> Measured {
    inside(move || yields(1000, YIELDS, count))
}

pub(crate) fn yield_1(count: u64) -> Measured {
    inside(move || yields(1, count, count))
}

fn yields(tasks: u64, most: u64, count: u64) -> Measured {
    let mut sum = 0;
    let started = Instant::now();
    while sum < count {
        let yields = most.min((count - sum).div_ceil(tasks));
        let handles: Vec<_> = (0..tasks)
            .map(|_| go!(move || (0..yields).for_each(|_| coroutine::yield_now())))
            .collect();
        handles.into_iter().for_each(joined);
        sum += yields * tasks;
    }
    Measured::each(sum, started, sum)
}

pub(crate) fn pingpong(count: u64) -> Measured {
    inside(move || {
        let (questions, asked) = mpsc::channel();
        let (answers, answered) = mpsc::channel();
        let answer = go!(move || {
            for message in asked {
                let _ = answers.send(message + 1);
            }
        });
        let ask = go!(move || {
            let mut sum = 0;
            let started = Instant::now();
            for message in 0..count {
                let _ = questions.send(message);
                sum += answered.recv().unwrap_or(0);
            }
            Measured::each(count, started, sum)
        });
        let measured = joined(ask);
        joined(answer);
        measured
    })
}

pub(crate) fn mpsc_unb(count: u64) -> Measured {
    const PRODUCERS: u64 = 4;
    inside(move || {
        let (sender, receiver) = mpsc::channel();
        let each = count / PRODUCERS;
        let started = Instant::now();
        for producer in 0..PRODUCERS {
            let sender = sender.clone();
            go!(move || {
                for message in producer * each..(producer + 1) * each {
                    let _ = sender.send(message);
                }
            });
        }
        drop(sender);
        let sum = receiver.into_iter().sum();
        Measured::each(count, started, sum)
    })
}

pub(crate) fn sleep_100us(count: u64) -> Measured {
    inside(move || {
        let started = Instant::now();
        let mut overshoots = Overshoots::default();
        for _ in 0..count {
            let before = Instant::now();
            coroutine::sleep(Duration::from_micros(100));
            overshoots.add(before);
        }
        overshoots.measured(started)
    })
}

pub(crate) fn wake_latency(count: u64) -> Measured {
    configure();
    let (bell, rung) = mpsc::channel::<Instant>();
    let (heard, next) = std_mpsc::channel();
    let ringer = thread::spawn(move || {
        for _ in 0..count {
            thread::sleep(Duration::from_millis(1));
            let _ = bell.send(Instant::now());
            let _ = next.recv();
        }
    });
    let measured = inside(move || {
        let started = Instant::now();
        let mut micros = Vec::new();
        for sent in rung {
            micros.push(sent.elapsed().as_secs_f64() * 1e6);
            let _ = heard.send(());
        }
        Measured::figures(vec![stats::median(&micros)], started, micros.len() as u64)
    });
    ringer.join().expect("the thread only rings");
    measured
}

pub(crate) fn blocked(millis: u64) -> Measured {
    inside(move || {
        let started = Instant::now();
        let stop = Arc::new(AtomicBool::new(false));
        let ticker = {
            let stop = Arc::clone(&stop);
            go!(move || ticks(&stop))
        };
        coroutine::sleep(QUIET);
        let blockers: Vec<_> = (0..WORKERS)
            .map(|_| go!(move || thread::sleep(Duration::from_millis(millis))))
            .collect();
        let ended = blockers.into_iter().map(joined).count() as u64;
        coroutine::sleep(QUIET);
        stop.store(true, Ordering::Relaxed);
        let gap = joined(ticker).as_secs_f64() * 1e3;
        Measured::figures(vec![gap], started, ended)
    })
}

fn ticks(stop: &AtomicBool) -> Duration {
    let mut longest = Duration::ZERO;
    let mut last = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        coroutine::sleep(TICK);
        let now = Instant::now();
        longest = longest.max(now - last);
        last = now;
    }
    longest
}

/// Serves echo. may binds its listeners itself, so the one given is let go.
pub(crate) fn echo(listener: TcpListener) -> io::Result<()> {
    drop(listener);
    inside(accept)
}

/// Serves echo while it computes.
pub(crate) fn mixed(listener: TcpListener) -> io::Result<()> {
    drop(listener);
    let steps = piece_steps();
    inside(move || {
        for _ in 0..IN_FLIGHT {
            go!(move || {
                loop {
                    joined(go!(move || compute(steps)));
                    control::count_one();
                }
            });
        }
        accept()
    })
}

fn accept() -> io::Result<()> {
    let listener = may::net::TcpListener::bind("127.0.0.1:0")?;
    control::ready(listener.local_addr()?.port());
    loop {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        go!(move || {
            let mut buffer = [0; BUFFER];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                if stream.write_all(&buffer[..count]).is_err() {
                    return;
                }
            }
        });
    }
}

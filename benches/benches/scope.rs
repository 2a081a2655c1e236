//! What does a scope add to a spawn, and what does one cost that nothing is spawned in?

use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use rt::Runtime;
use rt::task::JoinHandle;

/// Tasks that are spawned before the first of them is joined.
const BATCH: u64 = 1000;

/// Times `n` spawns and joins from inside a task, a batch at a time.
async fn timed(n: u64, spawn: impl Fn(u64) -> JoinHandle<u64>) -> Duration {
    let mut handles = Vec::with_capacity(BATCH as usize);
    let start = Instant::now();
    let mut left = n;
    while left > 0 {
        let batch = left.min(BATCH);
        handles.extend((0..batch).map(&spawn));
        for handle in handles.drain(..) {
            handle.await.expect("a task that returns");
        }
        left -= batch;
    }
    start.elapsed()
}

fn runtime() -> Runtime {
    let builder = Runtime::builder().io_threads(2);
    builder.build().expect("a runtime")
}

fn scopes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scoped_spawn");
    group.bench_function("plain", |b| {
        let rt = runtime();
        b.iter_custom(|n| {
            let task = rt.spawn(timed(n, |value| rt::spawn(async move { value })));
            rt.block_on(task).expect("the spawner")
        });
    });
    group.bench_function("scoped", |b| {
        let rt = runtime();
        b.iter_custom(|n| {
            let scope =
                rt::scope(
                    move |s| async move { timed(n, |value| s.spawn(async move { value })).await },
                );
            rt.block_on(rt.spawn(scope)).expect("the spawner")
        });
    });
    group.finish();

    criterion.bench_function("empty_scope", |b| {
        let rt = runtime();
        b.iter_custom(|n| {
            let task = rt.spawn(async move {
                let start = Instant::now();
                for _ in 0..n {
                    rt::scope(|_| async {}).await;
                }
                start.elapsed()
            });
            rt.block_on(task).expect("the spawner")
        });
    });
}

criterion_group!(benches, scopes);
criterion_main!(benches);

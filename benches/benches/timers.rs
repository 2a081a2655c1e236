//! Does a timer cost more the more of them wait?

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rt_benches::work::crowd::Crowd;

const PENDING: [u64; 3] = [1_000, 100_000, 1_000_000];

fn timers(criterion: &mut Criterion) {
    for pending in PENDING {
        let mut crowd = Crowd::new(pending);
        let mut group = criterion.benchmark_group("timers");
        group.bench_function(BenchmarkId::new("insert", pending), |b| {
            b.iter_custom(|n| crowd.insert(n));
        });
        group.bench_function(BenchmarkId::new("cancel", pending), |b| {
            b.iter_custom(|n| crowd.cancel(n));
        });
        group.bench_function(BenchmarkId::new("fire", pending), |b| {
            b.iter_custom(|n| crowd.fire(n));
        });
        group.finish();
    }
}

criterion_group!(benches, timers);
criterion_main!(benches);

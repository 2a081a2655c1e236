//! What does a yield cost a task that is alone, and one of a thousand?

use criterion::{Criterion, criterion_group, criterion_main};
use rt_benches::peers::rt::Rt;
use rt_benches::peers::smol::Smol;
use rt_benches::peers::tokio::Tokio;
use rt_benches::work::yields;

fn yield_now(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("yield_1");
    group.bench_function("rt", |b| b.iter_custom(|n| yields::one::<Rt>(n).elapsed));
    group.bench_function("tokio", |b| {
        b.iter_custom(|n| yields::one::<Tokio>(n).elapsed);
    });
    group.bench_function("smol", |b| {
        b.iter_custom(|n| yields::one::<Smol>(n).elapsed);
    });
    group.finish();

    // An iteration is a round of a thousand yields.
    let mut group = criterion.benchmark_group("yield_1k");
    group.bench_function("rt", |b| {
        b.iter_custom(|n| yields::thousand::<Rt>(n * 1000).elapsed);
    });
    group.bench_function("tokio", |b| {
        b.iter_custom(|n| yields::thousand::<Tokio>(n * 1000).elapsed);
    });
    group.finish();
}

criterion_group!(benches, yield_now);
criterion_main!(benches);

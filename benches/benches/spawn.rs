//! What does it cost to start a task and to wait for it, from inside and from outside, and in a chain?

use criterion::{Criterion, criterion_group, criterion_main};
use rt_benches::peers::channels::TokioOneshot;
use rt_benches::peers::rt::Rt;
use rt_benches::peers::smol::Smol;
use rt_benches::peers::tokio::Tokio;
use rt_benches::work::{chained_spawn, spawn_join};

fn spawn(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("spawn_join_external");
    group.bench_function("rt", |b| {
        b.iter_custom(|n| spawn_join::external::<Rt>(n).elapsed);
    });
    group.bench_function("tokio", |b| {
        b.iter_custom(|n| spawn_join::external::<Tokio>(n).elapsed);
    });
    group.bench_function("smol", |b| {
        b.iter_custom(|n| spawn_join::external::<Smol>(n).elapsed);
    });
    group.finish();

    let mut group = criterion.benchmark_group("spawn_join_internal");
    group.bench_function("rt", |b| {
        b.iter_custom(|n| spawn_join::internal::<Rt>(n).elapsed);
    });
    group.bench_function("tokio", |b| {
        b.iter_custom(|n| spawn_join::internal::<Tokio>(n).elapsed);
    });
    group.bench_function("smol", |b| {
        b.iter_custom(|n| spawn_join::internal::<Smol>(n).elapsed);
    });
    group.finish();

    let mut group = criterion.benchmark_group("chained_spawn");
    group.bench_function("rt", |b| {
        b.iter_custom(|n| chained_spawn::run::<Rt, TokioOneshot>(n).elapsed);
    });
    group.bench_function("tokio", |b| {
        b.iter_custom(|n| chained_spawn::run::<Tokio, TokioOneshot>(n).elapsed);
    });
    group.finish();
}

criterion_group!(benches, spawn);
criterion_main!(benches);

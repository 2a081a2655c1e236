//! What does it cost to hand over to another task and back, through one-value channels or `Notify`?

use criterion::{Criterion, criterion_group, criterion_main};
use rt_benches::peers::channels::TokioOneshot;
use rt_benches::peers::rt::Rt;
use rt_benches::peers::smol::Smol;
use rt_benches::peers::tokio::Tokio;
use rt_benches::work::handover;

fn pingpong(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("oneshot");
    group.bench_function("rt", |b| {
        b.iter_custom(|n| handover::oneshot::<Rt, TokioOneshot>(n).elapsed);
    });
    group.bench_function("tokio", |b| {
        b.iter_custom(|n| handover::oneshot::<Tokio, TokioOneshot>(n).elapsed);
    });
    group.bench_function("smol", |b| {
        b.iter_custom(|n| handover::oneshot::<Smol, TokioOneshot>(n).elapsed);
    });
    group.finish();

    let mut group = criterion.benchmark_group("notify");
    group.bench_function("rt", |b| {
        b.iter_custom(|n| handover::notify::<Rt>(n).elapsed);
    });
    group.bench_function("tokio", |b| {
        b.iter_custom(|n| handover::notify::<Tokio>(n).elapsed);
    });
    group.bench_function("smol", |b| {
        b.iter_custom(|n| handover::notify::<Smol>(n).elapsed);
    });
    group.finish();
}

criterion_group!(benches, pingpong);
criterion_main!(benches);

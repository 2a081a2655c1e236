//! What does a 64-byte round trip over loopback cost within one runtime?

use criterion::{Criterion, criterion_group, criterion_main};
use rt_benches::peers::rt::Rt;
use rt_benches::peers::smol::Smol;
use rt_benches::peers::tokio::{Tokio, TokioCurrent};
use rt_benches::work::echo;

fn round_trip(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("echo");
    group.bench_function("rt", |b| {
        b.iter_custom(|n| echo::round_trips::<Rt>(n).elapsed);
    });
    group.bench_function("tokio", |b| {
        b.iter_custom(|n| echo::round_trips::<Tokio>(n).elapsed);
    });
    group.bench_function("tokio_current", |b| {
        b.iter_custom(|n| echo::round_trips::<TokioCurrent>(n).elapsed);
    });
    group.bench_function("smol", |b| {
        b.iter_custom(|n| echo::round_trips::<Smol>(n).elapsed);
    });
    group.finish();
}

criterion_group!(benches, round_trip);
criterion_main!(benches);

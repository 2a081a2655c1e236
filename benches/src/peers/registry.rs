//! Who runs what: the workload of a bench for a peer, by name.
//!
//! `None` means that the peer cannot take part. For `rt` that is said as `todo`: the part of the runtime
//! that the row needs is not there yet.

use super::channels::{
    AsyncBounded, AsyncUnbounded, FlumeBounded, FlumeUnbounded, KanalBounded, KanalUnbounded,
    TokioBounded, TokioOneshot, TokioUnbounded,
};
use super::rt::Rt;
use super::smol::Smol;
use super::tokio::{Tokio, TokioCurrent};
use super::{
    Channel, Exec, Inline, Net, Oneshot, Serve, SharedChannel, Work, axum, files, hyper, may, raw,
    rt, smol, tokio,
};
use crate::work::{
    blocked, chained_spawn, echo, fan_in, idle, memory, mixed, pingpong, skynet, sleep, spawn_join,
    timer_cancel, timer_mass, wake, yields,
};

/// The workload of an in-process bench.
pub(crate) fn work(bench: &str, peer: &str) -> Option<Work> {
    match peer {
        "rt" => tasks::<Rt, rt::One>(bench)
            .or_else(|| many_ends::<Rt, rt::Bounded, rt::Unbounded>(bench))
            .or_else(|| rt_files(bench)),
        "tokio" => tasks::<Tokio, TokioOneshot>(bench)
            .or_else(|| two_ends::<Tokio, TokioBounded, TokioUnbounded>(bench))
            .or_else(|| tokio_files(bench)),
        "smol" => tasks::<Smol, TokioOneshot>(bench),
        "kanal" => many_ends::<Tokio, KanalBounded, KanalUnbounded>(bench),
        "flume" => many_ends::<Tokio, FlumeBounded, FlumeUnbounded>(bench),
        "async_channel" => many_ends::<Tokio, AsyncBounded, AsyncUnbounded>(bench),
        "may" => may_work(bench),
        "kernel" => (bench == "sleep_100us").then_some(sleep::kernel),
        "std" => std_files(bench),
        _ => None,
    }
}

/// The server of a bench whose load comes from another process.
pub(crate) fn server(bench: &str, peer: &str) -> Option<Serve> {
    let echo = bench.starts_with("echo_");
    Some(match (bench, peer) {
        (_, "rt") if echo => echo::serve::<Rt>,
        (_, "tokio") if echo => echo::serve::<Tokio>,
        (_, "tokio_current") if echo => echo::serve::<TokioCurrent>,
        (_, "smol") if echo => echo::serve::<Smol>,
        (_, "may") if echo => may::echo,
        (_, "raw_1") if echo => raw::serve_on_one,
        (_, "raw_2") if echo => raw::serve_on_two,
        ("http", "rt") => hyper::serve::<Rt>,
        ("http", "tokio") => hyper::serve::<Tokio>,
        ("axum", "rt") => axum::on_rt,
        ("axum", "tokio") => axum::on_tokio,
        ("mixed_inline", "rt") => inline::<Rt>(),
        ("mixed_inline", "tokio") => inline::<Tokio>(),
        ("mixed_inline", "smol") => inline::<Smol>(),
        ("mixed_inline", "may") => may::mixed,
        ("mixed_cpu", "rt") => mixed::serve::<Rt, rt::Cpu>,
        ("mixed_cpu", "tokio_rayon") => mixed::serve::<Tokio, tokio::Rayon>,
        ("mixed_cpu", "tokio_blocking") => mixed::serve::<Tokio, tokio::Blocking>,
        ("mixed_cpu", "tokio_in_place") => mixed::serve::<Tokio, tokio::InPlace>,
        ("mixed_cpu", "smol_blocking") => mixed::serve::<Smol, smol::Blocking>,
        ("idle", "rt") => idle::serve::<Rt>,
        ("idle", "tokio") => idle::serve::<Tokio>,
        ("idle", "smol") => idle::serve::<Smol>,
        _ => return None,
    })
}

fn inline<N: Net>() -> Serve {
    mixed::serve::<N, Inline<N>>
}

/// What any runtime for futures can run. `rt` has a one-value channel of its own; the others share
/// tokio's.
fn tasks<E: Exec, O: Oneshot>(bench: &str) -> Option<Work> {
    Some(match bench {
        "spawn_join_external" => spawn_join::external::<E>,
        "spawn_join_internal" => spawn_join::internal::<E>,
        "chained_spawn" => chained_spawn::run::<E, O>,
        "skynet" => skynet::run::<E, O>,
        "yield_1k" => yields::thousand::<E>,
        "yield_1" => yields::one::<E>,
        "timer_cancel" => timer_cancel::run::<E>,
        "timer_mass" => timer_mass::run::<E>,
        "sleep_100us" => sleep::run::<E>,
        "memory" => memory::run::<E>,
        "wake_latency" => wake::run::<E>,
        "blocked" => blocked::run::<E>,
        _ => return None,
    })
}

/// Channels for one consumer, bounded and unbounded. Those that belong to no runtime run on tokio's
/// workers.
fn two_ends<E: Exec, B: Channel, U: Channel>(bench: &str) -> Option<Work> {
    Some(match bench {
        "pingpong" => pingpong::run::<E, B>,
        "mpsc_b1024" => fan_in::one_consumer::<E, B>,
        "mpsc_unb" => fan_in::one_consumer::<E, U>,
        _ => return None,
    })
}

/// Channels for any number of consumers.
fn many_ends<E: Exec, B: SharedChannel, U: SharedChannel>(bench: &str) -> Option<Work> {
    match bench {
        "mpmc_b1024" => Some(fan_in::four_consumers::<E, B>),
        _ => two_ends::<E, B, U>(bench),
    }
}

fn may_work(bench: &str) -> Option<Work> {
    Some(match bench {
        "spawn_join_external" => may::spawn_join_external,
        "spawn_join_internal" => may::spawn_join_internal,
        "yield_1k" => may::yield_1k,
        "yield_1" => may::yield_1,
        "pingpong" => may::pingpong,
        "mpsc_unb" => may::mpsc_unb,
        "sleep_100us" => may::sleep_100us,
        "wake_latency" => may::wake_latency,
        "blocked" => may::blocked,
        _ => return None,
    })
}

fn std_files(bench: &str) -> Option<Work> {
    Some(match bench {
        "fs_cached_4k" => files::std_cached,
        "fs_seq" => files::std_sequential,
        "fs_rand" => files::std_random,
        _ => return None,
    })
}

fn rt_files(bench: &str) -> Option<Work> {
    Some(match bench {
        "fs_cached_4k" => files::rt_cached,
        "fs_seq" => files::rt_sequential,
        "fs_rand" => files::rt_random,
        _ => return None,
    })
}

fn tokio_files(bench: &str) -> Option<Work> {
    Some(match bench {
        "fs_cached_4k" => files::tokio_cached,
        "fs_seq" => files::tokio_sequential,
        "fs_rand" => files::tokio_random,
        _ => return None,
    })
}

//! How the kernel is told to weigh the pools' threads.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use rt::{Dispatcher, Runtime};
use rt_tests::{FLAVOURS, Watchdog, allowed_cpus, everywhere, sleeps, threads_named, until};

/// The nice value of the calling thread.
fn nice() -> i8 {
    let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
    // The name may hold anything, but ends at the last bracket; the state follows.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().nth(16).unwrap().parse().unwrap()
}

#[test]
fn the_pools_are_equals_unless_told_otherwise() {
    let own = nice();
    everywhere(|runtime| {
        let cpu = runtime.spawn_on(Dispatcher::Cpu, async { nice() });
        assert_eq!(runtime.block_on(cpu).unwrap(), own);
        let io = runtime.spawn(async { nice() });
        assert_eq!(runtime.block_on(io).unwrap(), own);
        assert_eq!(runtime.metrics().cpu_nice, Some(own));
    });
}

#[test]
fn the_cpu_pools_threads_can_be_told_to_give_way() {
    let own = nice();
    let lower = own.saturating_add(3).min(19);
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.builder().cpu_nice(lower).build().unwrap();
        let cpu = runtime.spawn_on(Dispatcher::Cpu, async {
            // A spare that is called in is one of them.
            rt::block_in_place(|| {});
            nice()
        });
        assert_eq!(runtime.block_on(cpu).unwrap(), lower);
        assert_eq!(runtime.metrics().cpu_nice, Some(lower));
        let io = runtime.spawn(async { nice() });
        assert_eq!(runtime.block_on(io).unwrap(), own);
        assert_eq!(runtime.block_on(runtime.spawn_blocking(nice)).unwrap(), own);
        assert_eq!(nice(), own);
    }
}

/// A low priority is a small share, not none: all IO workers are busy until a task of the CPU pool has run.
#[test]
fn a_pool_that_gives_way_still_goes_on() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.builder().cpu_nice(19).build().unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let busy: Vec<_> = (0..8)
            .map(|_| {
                let done = Arc::clone(&done);
                runtime.spawn(async move {
                    while !done.load(SeqCst) {
                        rt::yield_now().await;
                    }
                })
            })
            .collect();
        let low = runtime.spawn_on(Dispatcher::Cpu, async move { done.store(true, SeqCst) });
        runtime.block_on(async {
            low.await.unwrap();
            for task in busy {
                task.await.unwrap();
            }
        });
    }
}

#[test]
fn what_is_refused_is_done_without_and_told() {
    let _watchdog = Watchdog::new();
    let own = nice();
    // Granted to the privileged only; the runtime works for everybody.
    let runtime = Runtime::builder()
        .io_threads(1)
        .cpu_nice(-5)
        .build()
        .unwrap();
    let got = runtime.spawn_on(Dispatcher::Cpu, async { nice() });
    let got = runtime.block_on(got).unwrap();
    assert!(got == -5 || got == own, "{got}");
    assert_eq!(runtime.metrics().cpu_nice, Some(got));
}

#[test]
fn slices_are_told_if_there_are_any() {
    everywhere(|runtime| {
        let here = runtime.spawn_on(Dispatcher::Cpu, async {});
        runtime.block_on(here).unwrap();
        let metrics = runtime.metrics();
        for slice in [metrics.cpu_slice, metrics.io_slice].into_iter().flatten() {
            assert!(slice > Duration::ZERO);
        }
    });
}

#[test]
fn values_that_do_not_exist_are_refused() {
    for nice in [i8::MIN, -21, 20, i8::MAX] {
        let error = Runtime::builder().cpu_nice(nice).build().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}

/// Keeps a worker of each pool busy, and all of the CPU pool's, until told to stop.
fn keep_busy(runtime: &Runtime, stop: &Arc<AtomicBool>) {
    for _ in 0..runtime.metrics().cpu_threads {
        let stop = Arc::clone(stop);
        drop(runtime.spawn_on(Dispatcher::Cpu, async move {
            while !stop.load(SeqCst) {
                std::hint::spin_loop();
            }
        }));
    }
    let stop = Arc::clone(stop);
    drop(runtime.spawn(async move {
        while !stop.load(SeqCst) {
            rt::yield_now().await;
        }
    }));
}

/// A thread for each CPU wakes again and again while both pools are busy, sleeps when they are not, and goes with the runtime.
#[test]
fn the_kernel_is_made_to_look_while_there_are_more_workers_than_cpus() {
    let _watchdog = Watchdog::new();
    let builder = Runtime::builder()
        .thread_name("crowd")
        .cpu_threads(allowed_cpus());
    let runtime = builder.build().unwrap();
    let (name, stop) = ("crowd-tick-", Arc::new(AtomicBool::new(false)));
    assert_eq!(threads_named(name), 0);
    keep_busy(&runtime, &stop);
    until(|| threads_named(name) > 0);
    let before = sleeps(name);
    until(|| sleeps(name) > before + 200);
    stop.store(true, SeqCst);
    // All others sleep too, so that this is soon the only thread that runs.
    until(|| {
        let before = sleeps(name);
        runtime.block_on(rt::time::sleep(Duration::from_millis(50)));
        sleeps(name) == before
    });
    drop(runtime);
    until(|| threads_named(name) == 0);
}

#[test]
fn the_kernel_is_left_alone_where_the_builder_says_so() {
    let _watchdog = Watchdog::new();
    let builder = Runtime::builder()
        .thread_name("alone")
        .cpu_threads(allowed_cpus());
    let runtime = builder.preempt_interval(None).build().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    keep_busy(&runtime, &stop);
    // The reactor thread has looked again and again.
    until(|| sleeps("alone-reactor") > 20);
    stop.store(true, SeqCst);
    assert_eq!(threads_named("alone-tick-"), 0);
    let zero = Runtime::builder().preempt_interval(Some(Duration::ZERO));
    assert_eq!(
        zero.build().unwrap_err().kind(),
        io::ErrorKind::InvalidInput
    );
}

//! Which clock of the kernel a runtime's time follows.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rt::Runtime;
use rt::time::{Clock, Instant, sleep, timeout};
use rt_tests::{FLAVOURS, Watchdog, alone};

/// The numbers of the clocks behind the timerfds of this process, as the kernel lists them.
fn timer_clocks() -> Vec<u32> {
    let clock = |path: &Path| {
        let info = fs::read_to_string(path).ok()?;
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix("clockid:"))?;
        Some(line.trim().parse().expect("a number"))
    };
    let entries = fs::read_dir("/proc/self/fdinfo").expect("there is a /proc");
    let paths = entries.map(|entry| entry.expect("a descriptor").path());
    paths.filter_map(|path| clock(&path)).collect()
}

/// A machine cannot be suspended by a test, so this asks the kernel which clock it was told.
#[test]
fn each_runtime_has_its_timer_on_the_clock_that_was_asked_for() {
    const MONOTONIC: u32 = 1;
    const BOOTTIME: u32 = 7;
    alone(|| {
        for flavour in FLAVOURS {
            for (clock, number) in [(Clock::Monotonic, MONOTONIC), (Clock::Boottime, BOOTTIME)] {
                let runtime = flavour.builder().clock(clock).build().unwrap();
                assert_eq!(timer_clocks(), [number]);
                drop(runtime);
            }
            let runtime = flavour.build();
            assert_eq!(timer_clocks(), [MONOTONIC], "unless it was asked for");
            drop(runtime);
        }
    });
}

#[test]
fn time_goes_on_by_the_clock_that_counts_suspensions() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.builder().clock(Clock::Boottime).build().unwrap();
        runtime.block_on(async {
            for duration in [0, 1, 1_000, 100_000, 2_000_000].map(Duration::from_nanos) {
                let start = Instant::now();
                sleep(duration).await;
                assert!(start.elapsed() >= duration, "never early");
            }
            assert!(timeout(Duration::MAX, async { 1 }).await.is_ok());
            let late = timeout(Duration::from_millis(1), sleep(Duration::MAX)).await;
            assert!(late.is_err());
        });
    }
}

#[test]
fn an_instant_of_std_lies_as_far_ahead_by_either_clock() {
    for clock in [Clock::Monotonic, Clock::Boottime] {
        let runtime = Runtime::builder()
            .io_threads(1)
            .clock(clock)
            .build()
            .unwrap();
        runtime.block_on(async {
            let minute = Duration::from_mins(1);
            let before = Instant::now();
            let deadline = std::time::Instant::now() + minute;
            let ahead = Instant::from_std(deadline) - before;
            assert!(ahead >= minute, "never early");
            assert!(ahead < minute * 2);
            let there = Instant::from_std(deadline).into_std();
            assert!(there.max(deadline) - there.min(deadline) <= Duration::from_millis(1));
        });
    }
}

#[test]
fn a_paused_clock_may_be_of_either_kind() {
    for clock in [Clock::Monotonic, Clock::Boottime] {
        let builder = Runtime::builder().current_thread().clock(clock);
        let runtime = builder.start_paused(true).build().unwrap();
        let hour = Duration::from_hours(1);
        runtime.block_on(async {
            let start = Instant::now();
            sleep(hour).await;
            assert_eq!(start.elapsed(), hour);
        });
    }
}

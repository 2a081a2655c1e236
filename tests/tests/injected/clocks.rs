//! Clocks that jump: the wall clock, which nobody may notice, and the one that counts suspensions, which takes all
//! timers along.

use std::future::pending;
use std::time::Duration;

use rt::Runtime;
use rt::channel::{Receiver, unbounded};
use rt::time::{Clock, Instant, Interval, MissedTickBehavior, interval, sleep, timeout};
use rt_tests::{FLAVOURS, alone, poll_once};

use super::kernel::{step_wall_clock, suspend, wall_clock_reads};

const MINUTE: Duration = Duration::from_mins(1);
const YEAR: i64 = 365 * 24 * 60 * 60;

/// On each flavour, with timers that count suspensions.
fn everywhere_by_boottime(test: impl Fn(&Runtime)) {
    for flavour in FLAVOURS {
        let runtime = flavour.builder().clock(Clock::Boottime).build().unwrap();
        test(&runtime);
        runtime.shutdown_timeout(Duration::MAX);
    }
}

#[test]
fn steps_of_the_wall_clock_are_noticed_by_nobody() {
    alone(|| {
        for flavour in FLAVOURS {
            for clock in [Clock::Monotonic, Clock::Boottime] {
                let runtime = flavour.builder().clock(clock).build().unwrap();
                let reads = wall_clock_reads();
                runtime.block_on(async {
                    let mut ticks = interval(Duration::from_millis(2));
                    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
                    let start = ticks.tick().await;
                    for round in 1..=20 {
                        step_wall_clock(if round % 2 == 0 { 9 * YEAR } else { -10 * YEAR });
                        let before = Instant::now();
                        sleep(Duration::from_millis(1)).await;
                        assert!(before.elapsed() >= Duration::from_millis(1));
                        timeout(Duration::from_millis(1), pending::<()>())
                            .await
                            .unwrap_err();
                        assert_eq!(
                            timeout(MINUTE, rt::spawn(async { 1 }))
                                .await
                                .unwrap()
                                .unwrap(),
                            1
                        );
                        let due = ticks.tick().await;
                        assert_eq!(due, start + Duration::from_millis(2 * round));
                    }
                });
                drop(runtime);
                assert_eq!(wall_clock_reads(), reads, "nobody asks for it");
            }
        }
    });
}

/// What `count` sleepers tell who sleep for a minute, two minutes and so on.
fn sleepers(count: u32) -> Receiver<u32> {
    let (tell, told) = unbounded();
    for minutes in 1..=count {
        let tell = tell.clone();
        rt::spawn(async move {
            sleep(MINUTE * minutes).await;
            tell.send(minutes).await.unwrap();
        });
    }
    told
}

#[test]
fn each_timer_fires_once_when_the_machine_has_slept_past_it() {
    const COUNT: u32 = 1_000;
    alone(|| {
        everywhere_by_boottime(|runtime| {
            runtime.block_on(async {
                let told = rt::spawn(async { sleepers(COUNT) }).await.unwrap();
                // Those that begin before the machine sleeps, and are timed from then.
                let mut sleepless = Vec::new();
                for slept in [100, 1, 500, COUNT] {
                    // Whoever has not begun to sleep begins now.
                    while runtime.metrics().live_timers < COUNT as usize - sleepless.len() {
                        rt::yield_now().await;
                    }
                    suspend(MINUTE * slept);
                    let before = sleepless.len() as u32;
                    for _ in before..(before + slept).min(COUNT) {
                        sleepless.push(told.recv().await.unwrap());
                    }
                    let mut awake = sleepless[before as usize..].to_vec();
                    awake.sort_unstable();
                    let expected: Vec<_> = (before + 1..=(before + slept).min(COUNT)).collect();
                    assert_eq!(awake, expected, "no other, and none twice");
                }
                assert!(told.recv().await.is_none(), "each has told once");
            });
        });
    });
}

#[test]
fn timers_of_one_thread_fire_in_the_order_of_their_deadlines_after_a_suspension() {
    alone(|| {
        let builder = Runtime::builder().current_thread().clock(Clock::Boottime);
        builder.build().unwrap().block_on(async {
            let told = sleepers(300);
            while rt::Handle::current().metrics().live_timers < 300 {
                rt::yield_now().await;
            }
            suspend(MINUTE * 300);
            for minutes in 1..=300 {
                assert_eq!(told.recv().await.unwrap(), minutes);
            }
        });
    });
}

#[test]
fn no_timer_is_early_however_often_the_machine_sleeps() {
    const ROUNDS: u32 = 20;
    alone(|| {
        everywhere_by_boottime(|runtime| {
            runtime.block_on(async {
                let tasks: Vec<_> = (1..=50_u32)
                    .map(|number| {
                        rt::spawn(async move {
                            for _ in 0..ROUNDS {
                                let (length, start) = (MINUTE * number, Instant::now());
                                sleep(length).await;
                                assert!(start.elapsed() >= length);
                            }
                        })
                    })
                    .collect();
                for task in tasks {
                    while !task.is_finished() {
                        suspend(MINUTE * 7);
                        sleep(Duration::from_micros(100)).await;
                    }
                    task.await.unwrap();
                }
            });
        });
    });
}

/// How many ticks are due.
async fn due(ticks: &mut Interval) -> usize {
    let mut count = 0;
    while poll_once(&mut std::pin::pin!(ticks.tick()))
        .await
        .is_ready()
    {
        count += 1;
    }
    count
}

#[test]
fn ticks_that_the_machine_has_slept_through_are_treated_as_was_asked_for() {
    use MissedTickBehavior::{Burst, Delay, Skip};
    // After five and a half periods: the ticks at once, and how many seconds it is to the next one.
    let expected = [(Burst, 5, 30), (Skip, 1, 30), (Delay, 1, 60)];
    alone(|| {
        everywhere_by_boottime(|runtime| {
            runtime.block_on(async {
                for (behaviour, at_once, rest) in expected {
                    let mut ticks = interval(MINUTE);
                    ticks.set_missed_tick_behavior(behaviour);
                    ticks.tick().await;
                    assert_eq!(due(&mut ticks).await, 0);
                    suspend(MINUTE * 11 / 2);
                    assert_eq!(due(&mut ticks).await, at_once, "{behaviour:?}");
                    suspend(Duration::from_secs(rest - 10));
                    assert_eq!(due(&mut ticks).await, 0, "{behaviour:?}");
                    suspend(Duration::from_secs(10));
                    ticks.tick().await;
                    assert_eq!(due(&mut ticks).await, 0, "{behaviour:?}");
                }
            });
        });
    });
}

#[test]
fn time_limits_run_out_while_the_machine_sleeps() {
    alone(|| {
        everywhere_by_boottime(|runtime| {
            let task = runtime.spawn(async { timeout(MINUTE, pending::<()>()).await });
            runtime.block_on(async {
                while runtime.metrics().live_timers == 0 {
                    rt::yield_now().await;
                }
                suspend(MINUTE);
                task.await.unwrap().unwrap_err();
            });
        });
    });
}

/// Whoever makes a timer before `block_on` or `spawn` knows of no runtime, and so of no suspension.
#[test]
fn timers_that_are_made_outside_are_not_early_although_the_machine_has_slept() {
    alone(|| {
        suspend(MINUTE * 600);
        everywhere_by_boottime(|runtime| {
            let late = Duration::from_millis(2);
            let (made, slept) = (std::time::Instant::now(), sleep(late));
            runtime.block_on(slept);
            assert!(made.elapsed() >= late);
            let limit = timeout(MINUTE, async { rt::yield_now().await });
            runtime.block_on(limit).unwrap();
            let long = sleep(MINUTE);
            let task = runtime.spawn(timeout(late, pending::<()>()));
            assert!(runtime.block_on(task).unwrap().is_err());
            let mut ticks = interval(MINUTE);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            runtime.block_on(async {
                assert_eq!(due(&mut ticks).await, 1, "the first, at once");
                assert!(!long.is_elapsed());
                let mut long = std::pin::pin!(long);
                assert!(poll_once(&mut long).await.is_pending());
                suspend(MINUTE);
                long.await;
                ticks.tick().await;
            });
        });
    });
}

#[test]
fn timers_of_the_monotonic_clock_know_of_no_suspension() {
    alone(|| {
        for flavour in FLAVOURS {
            flavour.build().block_on(async {
                let mut long = std::pin::pin!(sleep(MINUTE * 60));
                assert!(poll_once(&mut long).await.is_pending());
                suspend(MINUTE * 600);
                sleep(Duration::from_millis(1)).await;
                assert!(poll_once(&mut long).await.is_pending());
            });
        }
    });
}

//! Timers: never early, never lost, and gone when nobody waits for them.

use std::fs;
use std::future::{pending, poll_fn};
use std::io;
use std::mem;
use std::pin::pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use rt::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use rt::{Dispatcher, Runtime};
use rt_tests::{
    Census, Flavour, GOES_ON, alone, counting_waker, everywhere, poll_once, until, until_yielding,
    with,
};
use tokio::sync::watch;

const HOUR: Duration = Duration::from_hours(1);

fn no_timer_is_left(runtime: &Runtime) {
    // A task is counted out just after it has told its handle.
    until(|| runtime.metrics().live_timers == 0);
}

/// Sleeps for `duration` and checks that it took that long.
async fn sleep_and_check(duration: Duration) {
    let start = std::time::Instant::now();
    sleep(duration).await;
    let took = start.elapsed();
    assert!(took >= duration, "{duration:?} took {took:?}");
}

#[test]
fn no_sleep_is_early() {
    let durations = [
        0, 1, 999, 1000, 1024, 50_000, 999_999, 1_000_000, 1_500_000, 10_000_001,
    ];
    let durations = durations.map(Duration::from_nanos);
    everywhere(|runtime| {
        let mut tasks = Vec::new();
        for dispatcher in [Dispatcher::Io, Dispatcher::Cpu] {
            for _ in 0..20 {
                tasks.push(runtime.spawn_on(dispatcher.clone(), async move {
                    for duration in durations {
                        sleep_and_check(duration).await;
                    }
                }));
            }
        }
        runtime.block_on(async {
            for duration in durations {
                sleep_and_check(duration).await;
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
        no_timer_is_left(runtime);
    });
}

#[test]
fn threads_outside_share_a_wheel_and_none_is_early_or_lost() {
    everywhere(|runtime| {
        thread::scope(|scope| {
            for number in 0..16 {
                scope.spawn(move || {
                    for step in 0..20 {
                        let duration = Duration::from_micros((number * 37 + step * 101) % 2500);
                        runtime.block_on(sleep_and_check(duration));
                    }
                });
            }
        });
        no_timer_is_left(runtime);
    });
}

#[test]
fn a_million_tasks_may_sleep_at_once_and_all_finish() {
    const TASKS: usize = 1_000_000;
    with(Flavour::Workers(2), |runtime| {
        let census = Census::new();
        let (wake_up, sleeping) = watch::channel(false);
        let early = Arc::new(AtomicUsize::new(0));
        for number in 0..TASKS {
            let (mut sleeping, early) = (sleeping.clone(), Arc::clone(&early));
            let one = census.one();
            drop(runtime.spawn(async move {
                let mut timer = pin!(sleep(HOUR));
                let mut wake_up = pin!(sleeping.wait_for(|wake_up| *wake_up));
                poll_fn(|cx| {
                    assert!(timer.as_mut().poll(cx).is_pending());
                    wake_up.as_mut().poll(cx).map(drop)
                })
                .await;
                // All sleep by now. From here on they wake up by time, a few of them each moment.
                let deadline = Instant::now() + Duration::from_nanos(number as u64 * 500);
                timer.as_mut().reset(deadline);
                timer.await;
                early.fetch_add(usize::from(Instant::now() < deadline), SeqCst);
                drop(one);
            }));
        }
        until(|| runtime.metrics().live_timers == TASKS);
        wake_up.send_replace(true);
        until(|| census.alive() == 0);
        assert_eq!(early.load(SeqCst), 0);
        no_timer_is_left(runtime);
        until(|| runtime.metrics().live_tasks == 0);
    });
}

#[test]
fn timers_end_in_the_order_of_their_deadlines() {
    /// Makes 101 timers, the first of which ends after `lead`, and returns the order in which they
    /// ended; `None` if the machine was too slow for all of them to be made in time.
    async fn order_of_ends(lead: Duration) -> Option<Vec<u32>> {
        let order = Arc::new(Mutex::new(Vec::new()));
        let all_waited = Arc::new(AtomicBool::new(true));
        let start = Instant::now() + lead;
        // 37 and 101 have no factor in common: every number comes once.
        let tasks: Vec<_> = (0..101)
            .map(|number| number * 37 % 101)
            .map(|number| {
                let (order, all_waited) = (Arc::clone(&order), Arc::clone(&all_waited));
                rt::spawn(async move {
                    let mut timer = Box::pin(sleep_until(start + number * STEP));
                    if poll_once(&mut timer).await.is_pending() {
                        timer.await;
                    } else {
                        all_waited.store(false, SeqCst);
                    }
                    order.lock().unwrap().push(number);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let order = mem::take(&mut *order.lock().unwrap());
        all_waited.load(SeqCst).then_some(order)
    }
    const STEP: Duration = Duration::from_micros(100);
    // With more threads than one, who runs first is not who was woken first.
    with(Flavour::CurrentThread, |runtime| {
        let mut lead = Duration::from_millis(5);
        let order = loop {
            match runtime.block_on(order_of_ends(lead)) {
                Some(order) => break order,
                None => lead *= 2,
            }
        };
        assert_eq!(order, (0..101).collect::<Vec<_>>());
    });
}

#[test]
fn no_time_at_all_is_ready_at_once_and_troubles_nobody() {
    everywhere(|runtime| {
        runtime.block_on(async {
            for timer in [sleep(Duration::ZERO), sleep_until(Instant::now())] {
                assert!(timer.is_elapsed());
                assert!(poll_once(&mut Box::pin(timer)).await.is_ready());
            }
            let long_ago = Instant::now() - HOUR;
            assert!(
                poll_once(&mut Box::pin(sleep_until(long_ago)))
                    .await
                    .is_ready()
            );
        });
        assert_eq!(runtime.metrics().timers_fired, 0);
    });
}

#[test]
fn the_longest_times_never_come_and_overflow_nothing() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let far = Instant::now() + Duration::MAX;
            let durations = [
                Duration::MAX,
                Duration::MAX.saturating_sub(Duration::from_nanos(1)),
                Duration::from_secs(u64::MAX),
                Duration::from_millis(u64::MAX),
                Duration::from_nanos(u64::MAX),
                Duration::from_secs(i64::MAX.unsigned_abs()),
                Duration::from_secs(u64::from(u32::MAX)),
            ];
            let mut timers: Vec<_> = durations
                .into_iter()
                .map(|time| Box::pin(sleep(time)))
                .collect();
            timers.push(Box::pin(sleep_until(far)));
            for timer in &mut timers {
                assert!(poll_once(timer).await.is_pending());
                assert!(!timer.is_elapsed());
            }
            assert!(timeout(Duration::MAX, async { 1 }).await.is_ok());
            // Time goes on meanwhile.
            sleep_and_check(Duration::from_millis(2)).await;
            for timer in &mut timers {
                assert!(poll_once(timer).await.is_pending());
                timer.as_mut().reset(far);
                assert!(poll_once(timer).await.is_pending());
            }
        });
        no_timer_is_left(runtime);
    });
}

#[test]
fn a_reset_timer_ends_at_its_new_deadline() {
    everywhere(|runtime| {
        runtime.block_on(async {
            // Earlier, while it waits for later.
            let mut timer = pin!(sleep(HOUR));
            assert!(
                poll_fn(|cx| Poll::Ready(timer.as_mut().poll(cx)))
                    .await
                    .is_pending()
            );
            let deadline = Instant::now() + Duration::from_millis(2);
            timer.as_mut().reset(deadline);
            assert_eq!(timer.deadline(), deadline);
            timer.as_mut().await;
            assert!(Instant::now() >= deadline);
            // Anew, after it has ended.
            let deadline = Instant::now() + Duration::from_millis(2);
            timer.as_mut().reset(deadline);
            assert!(!timer.is_elapsed());
            timer.as_mut().await;
            assert!(Instant::now() >= deadline);
            // Later, many times over, while it waits.
            let mut deadline = Instant::now();
            for _ in 0..1000 {
                deadline = Instant::now() + Duration::from_millis(3);
                timer.as_mut().reset(deadline);
                let polled = poll_fn(|cx| Poll::Ready(timer.as_mut().poll(cx))).await;
                assert!(polled.is_pending() || Instant::now() >= deadline);
            }
            timer.as_mut().await;
            assert!(Instant::now() >= deadline);
            // Before it was polled.
            let mut timer = pin!(sleep(HOUR));
            timer
                .as_mut()
                .reset(Instant::now() + Duration::from_millis(1));
            timer.await;
        });
        no_timer_is_left(runtime);
    });
}

#[test]
fn timers_that_are_dropped_leave_nothing_behind() {
    everywhere(|runtime| {
        let (waker, woken) = counting_waker();
        {
            let _current = runtime.enter();
            let mut cx = std::task::Context::from_waker(&waker);
            let mut timers: Vec<_> = (0..10_000)
                .map(|number| Box::pin(sleep(HOUR + Duration::from_millis(number))))
                .collect();
            for timer in &mut timers {
                assert!(timer.as_mut().poll(&mut cx).is_pending());
            }
            assert_eq!(runtime.metrics().live_timers, 10_000);
            // From the middle, from the front, and the rest from the back.
            drop(timers.drain(4000..6000));
            drop(timers.drain(..3000));
            while timers.pop().is_some() {}
        }
        assert_eq!(runtime.metrics().live_timers, 0);
        drop(waker);
        assert_eq!(Arc::strong_count(&woken), 1, "a waker is kept");
        assert_eq!(woken.load(SeqCst), 0);
    });
}

#[test]
fn timeouts_that_are_not_needed_leave_nothing_behind() {
    everywhere(|runtime| {
        runtime.block_on(async {
            for _ in 0..10_000 {
                timeout(HOUR, rt::yield_now()).await.unwrap();
            }
            let tasks: Vec<_> = (0..1000)
                .map(|_| rt::spawn(timeout(HOUR, pending::<()>())))
                .collect();
            until_yielding(|| rt::Handle::current().metrics().live_timers == 1000).await;
            for task in tasks {
                task.abort();
                assert!(task.await.unwrap_err().is_cancelled());
            }
        });
        no_timer_is_left(runtime);
    });
}

/// Bytes of memory that this process has in use.
fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").expect("there is a /proc");
    let pages = statm.split(' ').nth(1).expect("the second number");
    pages.parse::<usize>().expect("a number") * 4096
}

#[test]
fn a_million_timeouts_that_are_not_needed_leave_no_memory() {
    const TASKS: u64 = 4;
    alone(|| {
        for flavour in [Flavour::CurrentThread, Flavour::Workers(2)] {
            with(flavour, |runtime| {
                let cancel = |times| {
                    let tasks: Vec<_> = (0..TASKS)
                        .map(|task| {
                            runtime.spawn(async move {
                                for number in 0..times / TASKS {
                                    // Linked by the one poll, and dropped unfired.
                                    let limit = HOUR + Duration::from_micros(number * task);
                                    timeout(limit, rt::yield_now()).await.unwrap();
                                }
                            })
                        })
                        .collect();
                    for task in tasks {
                        runtime.block_on(task).unwrap();
                    }
                };
                cancel(10_000);
                let before = resident();
                cancel(1_000_000);
                let grown = resident().saturating_sub(before);
                assert!(grown < 4 << 20, "{grown} bytes more");
                assert_eq!(runtime.metrics().live_timers, 0);
            });
        }
    });
}

/// A pinned future may be leaked but not freed, so the wheel still reaches it.
#[test]
fn a_leaked_timer_hangs_nobody() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (waker, woken) = counting_waker();
            let mut timer = Box::pin(sleep(Duration::from_millis(1)));
            assert!(
                timer
                    .as_mut()
                    .poll(&mut std::task::Context::from_waker(&waker))
                    .is_pending()
            );
            mem::forget(timer);
            let mut never = Box::pin(sleep(HOUR));
            assert!(poll_once(&mut never).await.is_pending());
            mem::forget(never);
            until_yielding(|| woken.load(SeqCst) == 1).await;
            sleep_and_check(Duration::from_millis(1)).await;
        });
    });
}

#[test]
#[expect(
    clippy::async_yields_async,
    reason = "the timer is handed on, not awaited"
)]
fn a_timer_may_be_made_here_polled_there_and_dropped_elsewhere() {
    everywhere(|runtime| {
        let mut timer = Box::pin(sleep(Duration::from_millis(5)));
        for dispatcher in [Dispatcher::Cpu, Dispatcher::Io] {
            let task = runtime.spawn_on(dispatcher, async move {
                let _ = poll_once(&mut timer).await;
                timer
            });
            timer = runtime.block_on(task).unwrap();
        }
        thread::spawn(move || drop(timer)).join().unwrap();
        no_timer_is_left(runtime);
    });
}

#[test]
fn a_timeout_gives_the_value_or_says_that_the_time_is_over() {
    everywhere(|runtime| {
        runtime.block_on(async {
            assert_eq!(timeout(HOUR, async { 1 }).await, Ok(1));
            // What is ready is never too late.
            assert_eq!(timeout(Duration::ZERO, async { 2 }).await, Ok(2));
            assert_eq!(timeout_at(Instant::now() - HOUR, async { 3 }).await, Ok(3));
            let census = Census::new();
            let one = census.one();
            let start = std::time::Instant::now();
            let late = timeout(Duration::from_millis(5), async move {
                let _one = one;
                pending::<()>().await;
            });
            let error = late.await.unwrap_err();
            assert!(start.elapsed() >= Duration::from_millis(5));
            assert_eq!(census.alive(), 0, "the future goes with its timeout");
            assert_eq!(io::Error::from(error).kind(), io::ErrorKind::TimedOut);
        });
        no_timer_is_left(runtime);
    });
}

#[test]
fn a_timeout_ends_a_future_that_is_woken_again_and_again() {
    everywhere(|runtime| {
        for dispatcher in [Dispatcher::Io, Dispatcher::Cpu] {
            let busy = runtime.spawn_on(dispatcher, async {
                timeout(Duration::from_millis(5), async {
                    loop {
                        rt::task::consume_budget().await;
                    }
                })
                .await
            });
            runtime.block_on(busy).unwrap().unwrap_err();
        }
        let busy = timeout(Duration::from_millis(5), async {
            loop {
                rt::task::consume_budget().await;
            }
        });
        runtime.block_on(busy).unwrap_err();
    });
}

/// Whoever sleeps for less than the others is not held up by what they have asked for.
#[test]
fn an_earlier_deadline_from_anywhere_overtakes_one_that_is_waited_for() {
    everywhere(|runtime| {
        let start = std::time::Instant::now();
        let long: Vec<_> = (0..4).map(|_| runtime.spawn(sleep(HOUR))).collect();
        runtime.block_on(until_yielding(|| runtime.metrics().live_timers == 4));
        let nap = || sleep_and_check(Duration::from_millis(1));
        for _ in 0..10 {
            runtime.block_on(nap());
            runtime.block_on(runtime.spawn(nap())).unwrap();
            runtime
                .block_on(runtime.spawn_on(Dispatcher::Cpu, nap()))
                .unwrap();
            let handle = runtime.handle().clone();
            let job = runtime.spawn_blocking(move || handle.block_on(nap()));
            runtime.block_on(job).unwrap();
        }
        assert!(start.elapsed() < GOES_ON);
        drop(long);
    });
}

/// Timers end although every worker is held up in a task that blocks.
#[test]
fn timers_end_while_all_workers_are_busy() {
    for workers in [1, 2, 8] {
        with(Flavour::Workers(workers), |runtime| {
            let (release, hold) = mpsc::channel::<()>();
            let hold = Arc::new(Mutex::new(hold));
            let (busy, is_busy) = mpsc::channel();
            for _ in 0..workers {
                let (hold, busy) = (Arc::clone(&hold), busy.clone());
                drop(runtime.spawn(async move {
                    busy.send(()).unwrap();
                    let _ = hold.lock().unwrap().recv();
                }));
                is_busy.recv().unwrap();
            }
            for _ in 0..5 {
                runtime.block_on(sleep_and_check(Duration::from_millis(2)));
                let on_cpu =
                    runtime.spawn_on(Dispatcher::Cpu, sleep_and_check(Duration::from_millis(2)));
                runtime.block_on(on_cpu).unwrap();
            }
            drop(release);
        });
    }
}

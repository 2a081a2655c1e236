//! A clock that stands still, jumps when nothing can run, and is moved by hand.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rt::net::{TcpListener, TcpStream};
use rt::time::{self, Instant, advance, interval, sleep, sleep_until, timeout};
use rt::{Dispatcher, Handle, Runtime};
use rt_tests::{Watchdog, poll_once, until};
use tokio::sync::oneshot;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

fn paused() -> Runtime {
    let builder = Runtime::builder().current_thread().cpu_threads(2);
    builder.start_paused(true).build().expect("a runtime")
}

/// Runs a test on a paused runtime, and that with a limit on real time.
fn in_virtual_time(test: impl Future<Output = ()>) {
    let _watchdog = Watchdog::new();
    let runtime = paused();
    runtime.block_on(test);
    runtime.shutdown_timeout(Duration::MAX);
}

/// Returns when the thread that leads has looked again and again whether time may go on.
fn until_time_could_have_gone_on(handle: &Handle) {
    let before = handle.metrics().reactor_polls;
    until(|| handle.metrics().reactor_polls > before + 20);
}

#[test]
fn time_jumps_to_the_next_deadline_when_nothing_can_run() {
    in_virtual_time(async {
        let start = Instant::now();
        for duration in [1, 999, 1_000_000, 31_536_000_000_000_000].map(Duration::from_nanos) {
            let before = Instant::now();
            sleep(duration).await;
            assert_eq!(before.elapsed(), duration, "to the nanosecond");
        }
        let over = timeout(HOUR, sleep(2 * HOUR)).await;
        assert!(over.is_err());
        assert_eq!(
            start.elapsed(),
            HOUR + Duration::from_micros(31_536_000_001_001)
        );
    });
}

#[test]
fn timers_end_in_their_order_and_at_their_time() {
    in_virtual_time(async {
        let start = Instant::now();
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = (0..1009_u64)
            .map(|number| {
                // Every remainder comes once, from nanoseconds to years apart.
                let after = Duration::from_nanos((number * 37 % 1009).pow(5));
                let order = Arc::clone(&order);
                rt::spawn(async move {
                    sleep_until(start + after).await;
                    assert_eq!(start.elapsed(), after);
                    order.lock().unwrap().push(after);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert!(order.lock().unwrap().is_sorted());
    });
}

#[test]
fn time_stands_while_tasks_run() {
    in_virtual_time(async {
        let start = Instant::now();
        let sleeper = rt::spawn(sleep(Duration::from_nanos(1)));
        for _ in 0..1_000 {
            rt::yield_now().await;
        }
        assert_eq!(
            (start.elapsed(), sleeper.is_finished()),
            (Duration::ZERO, false)
        );
        sleeper.await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_nanos(1));
    });
}

#[test]
fn blocking_jobs_hold_time_back() {
    in_virtual_time(async {
        let (handle, start) = (Handle::current(), Instant::now());
        let sleeper = rt::spawn(sleep(Duration::from_nanos(1)));
        // Two, so that the end of one lets nothing go.
        let jobs = [(); 2].map(|()| {
            let handle = handle.clone();
            rt::spawn_blocking(move || {
                until_time_could_have_gone_on(&handle);
                Instant::now()
            })
        });
        for job in jobs {
            assert_eq!(job.await.unwrap(), start, "the clock of its runtime");
        }
        assert!(!sleeper.is_finished());
        // One that is not waited for does so too, and lets go when it ends.
        let handle = handle.clone();
        drop(rt::spawn_blocking(move || {
            until_time_could_have_gone_on(&handle);
        }));
        sleeper.await.unwrap();
        assert_eq!(Handle::current().metrics().idle_blocking_threads, 2);
    });
}

#[test]
fn jobs_that_wait_for_a_thread_hold_time_back() {
    let _watchdog = Watchdog::new();
    let builder = Runtime::builder().current_thread().max_blocking_threads(1);
    let runtime = builder.start_paused(true).build().unwrap();
    runtime.block_on(async {
        let start = Instant::now();
        let sleeper = rt::spawn(sleep(Duration::from_nanos(1)));
        for job in [(); 50].map(|()| rt::spawn_blocking(Instant::now)) {
            assert_eq!(job.await.unwrap(), start);
        }
        assert!(!sleeper.is_finished());
    });
}

#[test]
fn the_cpu_pool_holds_time_back() {
    in_virtual_time(async {
        let (handle, start) = (Handle::current(), Instant::now());
        let sleeper = rt::spawn(sleep(Duration::from_nanos(1)));
        let tasks = [(); 8].map(|()| {
            let handle = handle.clone();
            rt::spawn_on(Dispatcher::Cpu, async move {
                until_time_could_have_gone_on(&handle);
                rt::yield_now().await;
                Instant::now()
            })
        });
        for task in tasks {
            assert_eq!(task.await.unwrap(), start);
        }
        assert!(!sleeper.is_finished());
        // What it waits for may be time.
        let on_cpu = rt::spawn_on(Dispatcher::Cpu, async {
            sleep(HOUR).await;
            Instant::now()
        });
        assert_eq!(on_cpu.await.unwrap(), start + HOUR);
    });
}

#[test]
fn the_pools_and_the_jobs_hand_work_to_one_another_while_time_stands() {
    in_virtual_time(async {
        for _ in 0..100 {
            let start = Instant::now();
            let sleeper = rt::spawn(sleep(SECOND));
            let chain = rt::spawn_on(Dispatcher::Cpu, async {
                let job = rt::spawn_blocking(|| rt::spawn_on(Dispatcher::Cpu, async { 1 }));
                let task = job.await.unwrap();
                rt::spawn(async move { task.await.unwrap() }).await.unwrap()
            });
            assert_eq!(chain.await.unwrap(), 1);
            assert_eq!(start.elapsed(), Duration::ZERO);
            sleeper.await.unwrap();
            assert_eq!(start.elapsed(), SECOND);
        }
    });
}

#[test]
fn a_job_may_wait_for_virtual_time() {
    in_virtual_time(async {
        let (handle, start) = (Handle::current(), Instant::now());
        let jobs = [(); 3].map(|()| {
            let handle = handle.clone();
            rt::spawn_blocking(move || {
                for _ in 0..20 {
                    handle.block_on(sleep(HOUR));
                }
                start.elapsed()
            })
        });
        for job in jobs {
            assert_eq!(job.await.unwrap(), 20 * HOUR);
        }
        let on_cpu = rt::spawn_on(Dispatcher::Cpu, async move {
            rt::block_in_place(|| handle.block_on(sleep(HOUR)));
            start.elapsed()
        });
        assert_eq!(on_cpu.await.unwrap(), 21 * HOUR);
    });
}

#[test]
fn a_job_alone_may_drive_the_runtime_in_virtual_time() {
    let _watchdog = Watchdog::new();
    let runtime = paused();
    let handle = runtime.handle().clone();
    let (done, wait) = std::sync::mpsc::channel();
    drop(runtime.spawn_blocking(move || {
        let start = handle.block_on(async { Instant::now() });
        handle.block_on(rt::spawn(sleep(HOUR))).unwrap();
        done.send(start.elapsed()).unwrap();
    }));
    assert_eq!(wait.recv().unwrap(), HOUR);
}

#[test]
fn other_threads_that_block_see_every_moment_they_wait_for() {
    let _watchdog = Watchdog::new();
    let runtime = paused();
    let (done, wait) = oneshot::channel();
    runtime.block_on(async {
        let handle = Handle::current();
        let start = Instant::now();
        let other = thread::spawn(move || {
            handle.block_on(async {
                for step in 1..=100 {
                    sleep(SECOND).await;
                    assert_eq!(start.elapsed(), SECOND * step);
                }
            });
            done.send(()).unwrap();
        });
        // Until it is there, nobody waits for time.
        wait.await.unwrap();
        other.join().unwrap();
        assert_eq!(start.elapsed(), SECOND * 100);
    });
}

#[test]
fn timers_that_are_gone_and_timers_that_never_end_do_not_move_time() {
    in_virtual_time(async {
        let start = Instant::now();
        timeout(HOUR, rt::yield_now()).await.unwrap();
        for _ in 0..200 {
            drop(rt::spawn(sleep(Duration::MAX)));
        }
        // Nothing can run, and no deadline will come, until a thread from outside says so.
        let (handle, (wake, woken)) = (Handle::current(), oneshot::channel());
        let outside = thread::spawn(move || {
            until_time_could_have_gone_on(&handle);
            wake.send(()).unwrap();
        });
        woken.await.unwrap();
        assert_eq!(start.elapsed(), Duration::ZERO);
        outside.join().unwrap();
    });
}

#[test]
fn advance_moves_time_in_one_step_and_lets_what_is_due_run() {
    in_virtual_time(async {
        let start = Instant::now();
        let ended = Arc::new(Mutex::new(Vec::new()));
        for seconds in [3, 1, 2, 10] {
            let ended = Arc::clone(&ended);
            drop(rt::spawn(async move {
                sleep(SECOND * seconds).await;
                ended.lock().unwrap().push((seconds, start.elapsed()));
            }));
        }
        rt::yield_now().await;
        advance(SECOND / 2).await;
        assert_eq!(ended.lock().unwrap().len(), 0);
        advance(SECOND * 9 / 2).await;
        let all = SECOND * 5;
        assert_eq!(*ended.lock().unwrap(), [(1, all), (2, all), (3, all)]);
        assert_eq!(start.elapsed(), all);
        advance(Duration::ZERO).await;
        assert_eq!(start.elapsed(), all);
    });
}

#[test]
fn the_end_of_time_can_be_reached_and_breaks_nothing() {
    in_virtual_time(async {
        let start = Instant::now();
        let mut never = Box::pin(sleep(Duration::MAX));
        assert!(poll_once(&mut never).await.is_pending());
        for _ in 0..3 {
            advance(Duration::MAX).await;
        }
        assert!(start.elapsed() > HOUR * 24 * 365 * 400);
        assert!(poll_once(&mut never).await.is_pending(), "never is never");
        sleep(Duration::ZERO).await;
        sleep_until(start + HOUR).await;
        let mut ticks = interval(HOUR);
        ticks.tick().await;
        assert!(timeout(Duration::ZERO, ticks.tick()).await.is_err());
    });
}

#[test]
fn a_paused_clock_may_be_let_go_and_stopped_again() {
    let _watchdog = Watchdog::new();
    let runtime = Runtime::builder().current_thread().build().unwrap();
    let duration = Duration::from_millis(3);
    runtime.block_on(async {
        // A timer that the kernel was told of is ended by the paused clock.
        let mut long = pin!(sleep(HOUR));
        assert!(poll_once(&mut long).await.is_pending());
        time::pause();
        let start = Instant::now();
        long.as_mut().await;
        assert!(start.elapsed() <= HOUR && start.elapsed() > HOUR / 2);

        // One that the paused clock was to end is ended by the kernel.
        let (start, real) = (Instant::now(), std::time::Instant::now());
        let mut timer = pin!(sleep(duration));
        assert!(poll_once(&mut timer).await.is_pending());
        time::resume();
        timer.await;
        assert!(real.elapsed() >= duration && start.elapsed() >= duration);
        let start = std::time::Instant::now();
        sleep(duration).await;
        assert!(start.elapsed() >= duration, "never early");

        time::pause();
        let start = Instant::now();
        sleep(HOUR).await;
        assert_eq!(start.elapsed(), HOUR);
    });
}

#[test]
fn another_thread_may_stop_the_clock() {
    let _watchdog = Watchdog::new();
    let runtime = Runtime::builder().current_thread().build().unwrap();
    runtime.block_on(async {
        let handle = Handle::current();
        let sleeper = rt::spawn(sleep(HOUR));
        let other = thread::spawn(move || {
            until(|| handle.metrics().live_timers == 1);
            let _current = handle.enter();
            time::pause();
        });
        sleeper.await.unwrap();
        other.join().unwrap();
    });
}

#[test]
fn sockets_work_while_the_clock_is_paused() {
    async fn echo(listener: TcpListener) -> io::Result<()> {
        let (stream, _) = listener.accept().await?;
        let mut buffer = [0; 64];
        loop {
            match stream.read(&mut buffer).await? {
                0 => return Ok(()),
                length => stream.write_all(&buffer[..length]).await?,
            }
        }
    }
    in_virtual_time(async {
        let ticks = rt::spawn(async {
            let mut ticks = interval(SECOND);
            loop {
                ticks.tick().await;
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = rt::spawn(echo(listener));
        let stream = TcpStream::connect(address).await.unwrap();
        for round in 0..100 {
            stream.write_all(&[round; 5]).await.unwrap();
            let mut answer = [0; 5];
            stream.read_exact(&mut answer).await.unwrap();
            assert_eq!(answer, [round; 5]);
        }
        drop(stream);
        server.await.unwrap().unwrap();
        ticks.abort();
    });
}

#[test]
fn a_clock_is_paused_only_where_one_thread_runs_all_tasks() {
    let error = Runtime::builder().start_paused(true).build().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("`current_thread`"), "{error}");

    let runtime = Runtime::builder().io_threads(1).build().unwrap();
    let message = |f: fn()| {
        let _current = runtime.enter();
        let panic = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
        panic.downcast_ref::<String>().unwrap().clone()
    };
    assert!(message(time::pause).contains("`time::pause` needs a current-thread runtime"));
    assert!(message(time::resume).contains("`time::resume` needs a current-thread runtime"));
    let task = runtime.spawn(advance(SECOND));
    assert!(runtime.block_on(task).unwrap_err().is_panic());
}

#[test]
fn pausing_what_is_paused_is_a_mistake_and_changes_nothing() {
    let _watchdog = Watchdog::new();
    let runtime = Runtime::builder().current_thread().build().unwrap();
    let mistake = |f: fn()| {
        let panic = catch_unwind(f).unwrap_err();
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.unwrap_or_else(|| *panic.downcast::<String>().unwrap())
    };
    runtime.block_on(async {
        assert!(mistake(time::resume).contains("not paused"));
        let task = rt::spawn(advance(SECOND));
        assert!(task.await.unwrap_err().is_panic());
        time::pause();
        assert!(mistake(time::pause).contains("stands still already"));
        let start = Instant::now();
        sleep(HOUR).await;
        assert_eq!(start.elapsed(), HOUR);
    });
    assert!(mistake(time::pause).contains("no `rt` runtime"));
}

#[test]
fn a_paused_runtime_ends_with_its_timers() {
    let _watchdog = Watchdog::new();
    let runtime = paused();
    let tasks: Vec<_> = (0..100).map(|_| runtime.spawn(sleep(HOUR))).collect();
    runtime.block_on(rt::yield_now());
    runtime.shutdown_timeout(Duration::MAX);
    for task in tasks {
        let error = paused().block_on(task).unwrap_err();
        assert!(error.is_cancelled());
    }
}

#[rt::test(start_paused = true)]
async fn a_test_may_start_with_its_clock_paused() {
    let start = Instant::now();
    sleep(HOUR).await;
    assert_eq!(start.elapsed(), HOUR);
}

#[test]
fn a_main_may_start_with_its_clock_paused() {
    #[rt::main(flavor = "current_thread", start_paused = true)]
    async fn day() -> Duration {
        let start = Instant::now();
        sleep(24 * HOUR).await;
        start.elapsed()
    }
    assert_eq!(day(), 24 * HOUR);
}

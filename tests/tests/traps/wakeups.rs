//! Lost wake-ups, and work that stays where nobody looks.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use rt::time::{Instant, sleep};
use rt::{Dispatcher, Runtime};
use rt_tests::{FLAVOURS, Flavour, Watchdog, everywhere, until, until_yielding, with};
use tokio::sync::Notify;

/// Is woken, by another thread, in the middle of each of its polls.
struct WokenWhilePolled(u32);

impl Future for WokenWhilePolled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        let waker = cx.waker().clone();
        thread::spawn(move || waker.wake()).join().unwrap();
        Poll::Pending
    }
}

#[test]
fn a_wake_that_lands_during_the_poll_is_not_lost() {
    everywhere(|runtime| {
        runtime.block_on(WokenWhilePolled(50));
        runtime
            .block_on(runtime.spawn(WokenWhilePolled(50)))
            .unwrap();
        runtime
            .block_on(runtime.spawn_on(Dispatcher::Cpu, WokenWhilePolled(50)))
            .unwrap();
    });
}

/// The wake of a task that is woken already: the poll to come sees what was written before it.
#[test]
fn a_wake_that_is_one_too_many_still_carries_its_data() {
    everywhere(|runtime| {
        const ROUNDS: usize = 2000;
        let value = Arc::new(AtomicUsize::new(0));
        let (tell, told) = mpsc::channel();
        let seen = Arc::clone(&value);
        let task = runtime.spawn(poll_fn(move |cx| {
            let _ = tell.send(cx.waker().clone());
            if seen.load(Relaxed) == 2 * ROUNDS {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }));
        let wakers = thread::spawn(move || {
            let waker = told.recv().unwrap();
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        for _ in 0..ROUNDS {
                            // Relaxed: only the wake makes it seen.
                            value.fetch_add(1, Relaxed);
                            waker.wake_by_ref();
                        }
                    });
                }
            });
        });
        // It ends, although nobody wakes it after the last wake.
        runtime.block_on(task).unwrap();
        wakers.join().unwrap();
    });
}

/// Each time the pool has just fallen asleep, or is about to.
#[test]
fn work_that_comes_one_piece_at_a_time_always_starts() {
    let _watchdog = Watchdog::new();
    for flavour in FLAVOURS {
        let builder = flavour
            .builder()
            .thread_keep_alive(Duration::from_micros(10));
        let runtime = builder.build().unwrap();
        for _ in 0..3000 {
            runtime.block_on(runtime.spawn(async {})).unwrap();
            runtime
                .block_on(runtime.spawn_on(Dispatcher::Cpu, async {}))
                .unwrap();
        }
        // Blocking threads end all the time, just when the next job comes.
        for _ in 0..500 {
            runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
        }
    }
}

#[test]
fn blocking_jobs_from_many_threads_always_find_a_thread() {
    let _watchdog = Watchdog::new();
    let builder = Runtime::builder().io_threads(1).max_blocking_threads(3);
    let runtime = builder
        .thread_keep_alive(Duration::from_micros(50))
        .build()
        .unwrap();
    let done = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..500 {
                    let done = Arc::clone(&done);
                    let job = runtime.spawn_blocking(move || {
                        done.fetch_add(1, SeqCst);
                    });
                    if round % 5 == 0 {
                        runtime.block_on(job).unwrap();
                    }
                }
            });
        }
    });
    until(|| done.load(SeqCst) == 2000);
    until(|| runtime.metrics().blocking_threads == 0);
}

/// Many wake a thread that sleeps in `epoll_wait`, at the same moment and again and again.
#[test]
fn a_sleeping_reactor_hears_every_knock() {
    everywhere(|runtime| {
        let arrived = Arc::new(AtomicUsize::new(0));
        let all = Arc::new(Notify::new());
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let (arrived, all) = (Arc::clone(&arrived), Arc::clone(&all));
                        drop(runtime.spawn(async move {
                            if arrived.fetch_add(1, SeqCst) + 1 == 4000 {
                                all.notify_one();
                            }
                        }));
                        // Now and then it falls asleep in between.
                        thread::yield_now();
                    }
                });
            }
            runtime.block_on(all.notified());
        });
    });
}

/// Tasks of a current-thread runtime whose runner has left are run by whoever blocks next, or
/// blocks already.
#[test]
fn tasks_of_a_runner_that_left_are_taken_over() {
    let _watchdog = Watchdog::new();
    let runtime = Flavour::CurrentThread.build();
    let (waiting, is_waiting) = mpsc::channel();
    let turn = Arc::new(Notify::new());
    thread::scope(|scope| {
        // Both block; one of the two has the worker.
        for _ in 0..2 {
            let (turn, waiting, runtime) = (Arc::clone(&turn), waiting.clone(), &runtime);
            scope.spawn(move || {
                let notified = turn.notified();
                runtime.block_on(async {
                    waiting.send(()).unwrap();
                    notified.await;
                });
            });
        }
        for _ in 0..2 {
            is_waiting.recv().unwrap();
        }
        for _ in 0..2 {
            // One leaves, whichever it is; then the tasks are the other's, and at last ours.
            let task = runtime.spawn(rt::yield_now());
            until(|| task.is_finished());
            turn.notify_one();
        }
    });
    let task = runtime.spawn(rt::yield_now());
    runtime.block_on(task).unwrap();
}

/// What a stuck worker has in its queue is taken by the others.
#[test]
fn tasks_in_the_queue_of_a_stuck_worker_run_elsewhere() {
    for workers in [1, 2, 8] {
        with(Flavour::Workers(workers), |runtime| {
            let done = Arc::new(AtomicUsize::new(0));
            let (release, hold) = mpsc::channel::<()>();
            let counted = Arc::clone(&done);
            let stuck = runtime.spawn(async move {
                for _ in 0..200 {
                    let done = Arc::clone(&counted);
                    drop(rt::spawn(async move {
                        done.fetch_add(1, SeqCst);
                    }));
                }
                let _ = hold.recv();
            });
            // The last one too, which lies in the slot of the worker.
            until(|| done.load(SeqCst) == 200);
            drop(release);
            runtime.block_on(stuck).unwrap();
        });
    }
}

/// Timers that are dropped, reset and fire at the same moment, on several threads.
#[test]
fn timers_that_are_dropped_or_reset_as_they_fire_break_nothing() {
    everywhere(|runtime| {
        let tasks: Vec<_> = (0..200_u64)
            .map(|number| {
                let dispatcher = if number % 2 == 0 {
                    Dispatcher::Io
                } else {
                    Dispatcher::Cpu
                };
                runtime.spawn_on(dispatcher, async move {
                    for round in 0..20 {
                        let micros = (number * 7 + round * 13) % 150;
                        let mut timer = Box::pin(sleep(Duration::from_micros(micros)));
                        let other = sleep(Duration::from_micros(150 - micros));
                        let mut other = pin!(other);
                        // Whichever is first; the other is dropped, reset or awaited.
                        let first = poll_fn(|cx| match timer.as_mut().poll(cx) {
                            Poll::Ready(()) => Poll::Ready(true),
                            Poll::Pending => other.as_mut().poll(cx).map(|()| false),
                        });
                        let timer_was_first = first.await;
                        match (timer_was_first, round % 3) {
                            (false, 0) => timer.await,
                            (true, 0) => other.await,
                            (_, 1) => {
                                let deadline = Instant::now() + Duration::from_micros(micros);
                                timer.as_mut().reset(deadline);
                                timer.await;
                                assert!(Instant::now() >= deadline);
                            }
                            _ => {}
                        }
                    }
                })
            })
            .collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        until(|| runtime.metrics().live_timers == 0);
    });
}

/// Between the thread that wakes and the one that blocks, at every distance in time.
#[test]
fn a_blocked_thread_is_woken_by_a_plain_thread() {
    everywhere(|runtime| {
        let (ask, asked) = mpsc::channel::<(Arc<AtomicBool>, std::task::Waker)>();
        let other = thread::spawn(move || {
            let mut spins = 0;
            while let Ok((flag, waker)) = asked.recv() {
                for _ in 0..spins % 200 {
                    std::hint::spin_loop();
                }
                spins += 7;
                flag.store(true, Relaxed);
                waker.wake();
            }
        });
        for _ in 0..3000 {
            let flag = Arc::new(AtomicBool::new(false));
            let mut asked = false;
            runtime.block_on(poll_fn(|cx| {
                if flag.load(Relaxed) {
                    return Poll::Ready(());
                }
                if !asked {
                    asked = true;
                    ask.send((Arc::clone(&flag), cx.waker().clone())).unwrap();
                }
                Poll::Pending
            }));
        }
        drop(ask);
        other.join().unwrap();
        runtime.block_on(until_yielding(|| true));
    });
}

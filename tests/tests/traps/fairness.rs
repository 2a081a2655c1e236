//! Starvation: tasks that never let go, and what must go on beside them.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rt::net::{TcpListener, TcpStream};
use rt::task::{AbortHandle, consume_budget};
use rt::time::{Instant, sleep};
use rt::{Dispatcher, Runtime};
use rt_tests::{FLAVOURS, Flavour, Watchdog, everywhere, until, with};
use tokio::sync::{Notify, oneshot};

/// Ways to keep a worker's queue from ever being empty.
#[derive(Clone, Copy, Debug)]
enum Busy {
    /// Gives way, again and again.
    Yields,
    /// Wakes itself in each poll.
    WakesItself,
    /// Spawns its successor and ends.
    Respawns,
    /// Two tasks that wake one another.
    PingPong,
    /// Never waits, except when its budget is spent.
    SpendsItsBudget,
}

const WAYS: [Busy; 5] = [
    Busy::Yields,
    Busy::WakesItself,
    Busy::Respawns,
    Busy::PingPong,
    Busy::SpendsItsBudget,
];

/// Pends once, after waking itself.
async fn wake_itself() {
    let mut woken = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut woken, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn respawn(alive: Arc<()>) {
    // The end of the test lets go of the other one.
    if Arc::strong_count(&alive) > 1 {
        drop(rt::spawn(async move { respawn(alive) }));
    }
}

/// Keeps the runtime busy until it is dropped.
struct KeepBusy {
    tasks: Vec<AbortHandle>,
    _alive: Arc<()>,
}

impl KeepBusy {
    fn start(runtime: &Runtime, way: Busy) -> Self {
        let alive = Arc::new(());
        let mut tasks = Vec::new();
        // More of them than workers.
        for _ in 0..10 {
            match way {
                Busy::Yields => tasks.push(runtime.spawn(async {
                    loop {
                        rt::yield_now().await;
                    }
                })),
                Busy::WakesItself => tasks.push(runtime.spawn(async {
                    loop {
                        wake_itself().await;
                    }
                })),
                Busy::SpendsItsBudget => tasks.push(runtime.spawn(async {
                    loop {
                        consume_budget().await;
                    }
                })),
                Busy::Respawns => {
                    let alive = Arc::clone(&alive);
                    drop(runtime.spawn(async move { respawn(alive) }));
                }
                Busy::PingPong => {
                    let (one, other) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
                    one.notify_one();
                    for (mine, other) in [(one.clone(), other.clone()), (other, one)] {
                        tasks.push(runtime.spawn(async move {
                            loop {
                                mine.notified().await;
                                other.notify_one();
                            }
                        }));
                    }
                }
            }
        }
        let tasks = tasks
            .iter()
            .map(rt::task::JoinHandle::abort_handle)
            .collect();
        KeepBusy {
            tasks,
            _alive: alive,
        }
    }
}

impl Drop for KeepBusy {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// One of everything that must go on: from inside, from outside, by time and by socket.
async fn life() {
    rt::spawn(async { rt::spawn(async {}).await })
        .await
        .unwrap()
        .unwrap();
    sleep(Duration::from_micros(300)).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (far, _) = listener.accept().await.unwrap();
    let answer = rt::spawn(async move {
        far.read_exact(&mut [0; 4]).await.unwrap();
        far.write_all(b"pong").await.unwrap();
    });
    near.write_all(b"ping").await.unwrap();
    near.read_exact(&mut [0; 4]).await.unwrap();
    answer.await.unwrap();
    rt::yield_now().await;
    rt::spawn_on(Dispatcher::Cpu, sleep(Duration::from_micros(100)))
        .await
        .unwrap();
    rt::spawn_blocking(|| ()).await.unwrap();
}

#[test]
fn tasks_that_are_always_ready_keep_nothing_from_going_on() {
    for flavour in FLAVOURS {
        for way in WAYS {
            with(flavour, |runtime| {
                eprintln!("{way:?}");
                let _busy = KeepBusy::start(runtime, way);
                for _ in 0..3 {
                    // As a task, and on the thread that blocks.
                    runtime.block_on(runtime.spawn(life())).unwrap();
                    runtime.block_on(life());
                }
            });
        }
    }
}

/// The same on the thread that blocks: its own future is the one that never lets go.
#[test]
fn a_blocked_future_that_is_always_ready_keeps_nothing_from_going_on() {
    for flavour in FLAVOURS {
        with(flavour, |runtime| {
            let task = runtime.spawn(life());
            runtime.block_on(async {
                while !task.is_finished() {
                    rt::yield_now().await;
                }
            });
            let task = runtime.spawn(life());
            runtime.block_on(async {
                while !task.is_finished() {
                    wake_itself().await;
                }
            });
            let task = runtime.spawn(life());
            runtime.block_on(async {
                while !task.is_finished() {
                    consume_budget().await;
                }
            });
        });
    }
}

/// Two tasks with long polls that do nothing but yield come to run at the same time.
#[test]
fn tasks_with_long_polls_that_yield_are_shared_out() {
    for workers in [2, 8] {
        with(Flavour::Workers(workers), |runtime| {
            let inside = Arc::new(AtomicUsize::new(0));
            let met = Arc::new(AtomicBool::new(false));
            let task = || {
                let (inside, met) = (Arc::clone(&inside), Arc::clone(&met));
                async move {
                    while !met.load(SeqCst) {
                        inside.fetch_add(1, SeqCst);
                        let start = Instant::now();
                        while start.elapsed() < Duration::from_micros(100) {
                            if inside.load(SeqCst) == 2 {
                                met.store(true, SeqCst);
                            }
                        }
                        inside.fetch_sub(1, SeqCst);
                        rt::yield_now().await;
                    }
                }
            };
            let (first, second) = (task(), task());
            // From inside, so that both begin in the queue of one worker.
            let both = runtime.spawn(async move { [rt::spawn(first), rt::spawn(second)] });
            runtime.block_on(async {
                for task in both.await.unwrap() {
                    task.await.unwrap();
                }
            });
        });
    }
}

#[test]
fn a_task_that_yields_goes_behind_all_that_wait() {
    for flavour in [Flavour::CurrentThread, Flavour::Workers(1)] {
        let _watchdog = Watchdog::new();
        // On a busy machine the one worker may look stalled; it must stay the one worker.
        let runtime = flavour.builder().stall_threshold(None).build().unwrap();
        for _ in 0..20 {
            let order = Arc::new(Mutex::new(Vec::new()));
            let note = |name: &'static str| {
                let order = Arc::clone(&order);
                move || order.lock().unwrap().push(name)
            };
            let (first, again, local, injected) = (
                note("first"),
                note("again"),
                note("local"),
                note("injected"),
            );
            let handle = runtime.handle().clone();
            let task = runtime.spawn(async move {
                let local = rt::spawn(async move { local() });
                // From another thread, so it comes through the injector.
                let spawn = move || handle.spawn(async move { injected() });
                let injected = std::thread::spawn(spawn).join().unwrap();
                first();
                rt::yield_now().await;
                again();
                local.await.unwrap();
                injected.await.unwrap();
            });
            runtime.block_on(task).unwrap();
            let order = order.lock().unwrap();
            assert_eq!(order.len(), 4);
            assert_eq!((order[0], order[3]), ("first", "again"), "{order:?}");
        }
    }
}

/// IO and timers of the CPU pool and of blocked threads go on while all IO workers are stuck.
#[test]
fn stuck_workers_keep_no_socket_and_no_timer_of_others_waiting() {
    for workers in [1, 2, 8] {
        with(Flavour::Workers(workers), |runtime| {
            let (release, hold) = mpsc::channel::<()>();
            let hold = Arc::new(Mutex::new(hold));
            let (stuck, is_stuck) = mpsc::channel();
            for _ in 0..workers {
                let (hold, stuck) = (Arc::clone(&hold), stuck.clone());
                drop(runtime.spawn(async move {
                    stuck.send(()).unwrap();
                    let _ = hold.lock().unwrap().recv();
                }));
                is_stuck.recv().unwrap();
            }
            let elsewhere = async || {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let near = TcpStream::connect(listener.local_addr().unwrap())
                    .await
                    .unwrap();
                let (far, _) = listener.accept().await.unwrap();
                let answer = rt::spawn_on(Dispatcher::Cpu, async move {
                    sleep(Duration::from_millis(1)).await;
                    far.write_all(b"pong").await.unwrap();
                });
                near.read_exact(&mut [0; 4]).await.unwrap();
                answer.await.unwrap();
            };
            runtime.block_on(elsewhere());
            runtime
                .block_on(runtime.spawn_on(Dispatcher::Cpu, elsewhere()))
                .unwrap();
            drop(release);
        });
    }
}

/// How a task comes to lie behind a worker that blocks.
#[derive(Clone, Copy, Debug)]
enum Behind {
    /// It would run next.
    Slot,
    /// In the queue, behind others.
    Queue,
    /// It has run there, and gave way.
    Yielded,
    /// It waits on the CPU pool's side: its wake-up comes from there.
    Elsewhere,
}

/// A task waits for data that another one must send, which lies behind a worker that blocks until the
/// first one has read: in every arrangement the data comes.
#[test]
fn data_comes_although_its_sender_lies_behind_a_blocked_worker() {
    let ways = [
        Behind::Slot,
        Behind::Queue,
        Behind::Yielded,
        Behind::Elsewhere,
    ];
    for workers in [1, 2, 8] {
        for way in ways {
            with(Flavour::Workers(workers), |runtime| {
                eprintln!("{way:?}");
                let (near, far) = runtime.block_on(connection());
                let (tell, told) = mpsc::channel();
                let reader = runtime.spawn(async move {
                    near.read_exact(&mut [0; 4]).await.unwrap();
                    tell.send(()).unwrap();
                });
                let blocks = runtime.spawn(async move {
                    let send = async move {
                        match way {
                            Behind::Yielded => rt::yield_now().await,
                            Behind::Elsewhere => {
                                let wait = sleep(Duration::from_micros(100));
                                rt::spawn_on(Dispatcher::Cpu, wait).await.unwrap();
                            }
                            Behind::Slot | Behind::Queue => {}
                        }
                        far.write_all(b"data").await.unwrap();
                    };
                    drop(rt::spawn(send));
                    match way {
                        Behind::Slot => {}
                        Behind::Queue => (0..10).for_each(|_| drop(rt::spawn(async {}))),
                        Behind::Yielded | Behind::Elsewhere => rt::yield_now().await,
                    }
                    told.recv().unwrap();
                });
                runtime.block_on(async {
                    reader.await.unwrap();
                    blocks.await.unwrap();
                });
            });
        }
    }
}

async fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let near = TcpStream::connect(address).await.unwrap();
    (near, listener.accept().await.unwrap().0)
}

/// With a worker left, everything goes on, also what the stuck ones have just woken.
#[test]
fn one_free_worker_is_enough() {
    for workers in [2, 8] {
        with(Flavour::Workers(workers), |runtime| {
            let (release, hold) = mpsc::channel::<()>();
            let hold = Arc::new(Mutex::new(hold));
            let (stuck, is_stuck) = mpsc::channel();
            for _ in 1..workers {
                let (hold, stuck) = (Arc::clone(&hold), stuck.clone());
                drop(runtime.spawn(async move {
                    stuck.send(()).unwrap();
                    let _ = hold.lock().unwrap().recv();
                }));
                is_stuck.recv().unwrap();
            }
            for _ in 0..20 {
                runtime.block_on(runtime.spawn(life())).unwrap();
            }
            drop(release);
        });
    }
}

/// A spent budget does not hide that a timer has expired.
#[test]
fn an_expired_timer_is_ready_whatever_the_budget() {
    everywhere(|runtime| {
        let task = runtime.spawn(async {
            let mut waited = Box::pin(sleep(Duration::from_micros(100)));
            poll_fn(|cx| {
                assert!(waited.as_mut().poll(cx).is_pending() || waited.is_elapsed());
                Poll::Ready(())
            })
            .await;
            while Instant::now() < waited.deadline() {}
            let mut fresh = Box::pin(sleep(Duration::ZERO));
            poll_fn(|cx| {
                let mut spend = Box::pin(async {
                    loop {
                        consume_budget().await;
                    }
                });
                let polled: Poll<()> = spend.as_mut().poll(cx);
                assert!(polled.is_pending());
                assert!(fresh.as_mut().poll(cx).is_ready());
                Poll::Ready(())
            })
            .await;
            waited.await;
        });
        runtime.block_on(task).unwrap();
    });
}

/// Timers that are reset all the time hold up nobody else's.
#[test]
fn timers_that_are_reset_again_and_again_hold_up_no_other() {
    everywhere(|runtime| {
        let restless: Vec<_> = (0..4)
            .map(|_| {
                runtime.spawn(async {
                    let mut timers: Vec<_> = (0..100)
                        .map(|_| Box::pin(sleep(Duration::from_mins(1))))
                        .collect();
                    loop {
                        for timer in &mut timers {
                            let deadline = Instant::now() + Duration::from_mins(1);
                            timer.as_mut().reset(deadline);
                            let _ = timer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                        }
                        rt::yield_now().await;
                    }
                })
            })
            .collect();
        runtime.block_on(async {
            for _ in 0..20 {
                rt::spawn(sleep(Duration::from_micros(200))).await.unwrap();
            }
            for task in restless {
                task.abort();
                assert!(task.await.unwrap_err().is_cancelled());
            }
        });
        until(|| runtime.metrics().live_timers == 0);
    });
}

/// Whoever has waited longest is woken first.
#[test]
fn waiters_are_woken_in_the_order_in_which_they_came() {
    // With more threads than one, who runs first is not who was woken first.
    with(Flavour::CurrentThread, |runtime| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let task = runtime.spawn({
            let order = Arc::clone(&order);
            async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let near = TcpStream::connect(listener.local_addr().unwrap())
                    .await
                    .unwrap();
                let near = Arc::new(near);
                let (far, _) = listener.accept().await.unwrap();
                let mut tasks = Vec::new();
                for number in 0..20 {
                    let (near, order) = (Arc::clone(&near), Arc::clone(&order));
                    let (wait, waits) = oneshot::channel();
                    tasks.push(rt::spawn(async move {
                        let mut readable = Box::pin(near.readable());
                        let mut wait = Some(wait);
                        poll_fn(|cx| {
                            let polled = readable.as_mut().poll(cx);
                            if let Some(wait) = wait.take() {
                                assert!(polled.is_pending());
                                wait.send(()).unwrap();
                            }
                            polled
                        })
                        .await
                        .unwrap();
                        order.lock().unwrap().push(number);
                    }));
                    waits.await.unwrap();
                }
                far.write_all(b"x").await.unwrap();
                for task in tasks {
                    task.await.unwrap();
                }
            }
        });
        runtime.block_on(task).unwrap();
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
    });
}

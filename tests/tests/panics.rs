//! Panics of foreign code: in polls, destructors, wakers, hooks and jobs. Each is told where it
//! belongs, and the runtime goes on as if nothing had happened.

use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use rt::net::{TcpListener, TcpStream};
use rt::time::{Instant, sleep};
use rt::{Dispatcher, Runtime};
use rt_tests::{
    Census, FLAVOURS, Fault, FaultyWaker, Flavour, Watchdog, counting_waker, everywhere, until,
    until_yielding,
};
use tokio::sync::oneshot;

/// Panics when it is dropped.
struct PanicsInDrop(&'static str);

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic_any(self.0);
        }
    }
}

/// All kinds of work still get done.
fn assert_whole(runtime: &Runtime) {
    let workers = runtime.metrics().io_threads * 2;
    let tasks: Vec<_> = (0..workers)
        .map(|n| runtime.spawn(async move { n }))
        .collect();
    let on_cpu = runtime.spawn_on(Dispatcher::Cpu, async { 1 });
    let job = runtime.spawn_blocking(|| 2);
    runtime.block_on(async {
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), n);
        }
        assert_eq!(on_cpu.await.unwrap(), 1);
        assert_eq!(job.await.unwrap(), 2);
        sleep(Duration::from_millis(1)).await;
    });
}

#[test]
fn a_panic_in_a_poll_is_the_handles_error() {
    everywhere(|runtime| {
        for dispatcher in [Dispatcher::Io, Dispatcher::Cpu] {
            let census = Census::new();
            let one = census.one();
            let task = runtime.spawn_on(dispatcher, async move {
                let _one = one;
                rt::yield_now().await;
                panic!("in a poll");
            });
            let error = runtime.block_on(task).unwrap_err();
            assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "in a poll");
            assert_eq!(census.alive(), 0);
        }
        assert_whole(runtime);
    });
}

#[test]
fn a_panic_may_carry_anything() {
    everywhere(|runtime| {
        let task = runtime.spawn(async { panic_any(vec![1, 2, 3]) });
        let error = runtime.block_on(task).unwrap_err();
        assert_eq!(error.to_string(), format!("task {} panicked", error.id()));
        assert_eq!(
            *error.into_panic().downcast::<Vec<i32>>().unwrap(),
            [1, 2, 3]
        );
    });
}

#[test]
fn a_thousand_panics_cost_no_worker() {
    everywhere(|runtime| {
        let tasks: Vec<_> = (0..1000)
            .map(|n| runtime.spawn(async move { assert!(n % 2 != 0, "an even one") }))
            .collect();
        let mut panics = 0;
        runtime.block_on(async {
            for task in tasks {
                panics += usize::from(task.await.is_err());
            }
        });
        assert_eq!(panics, 500);
        assert_whole(runtime);
    });
}

#[test]
fn a_panic_in_the_drop_of_an_aborted_future_is_the_handles_error() {
    everywhere(|runtime| {
        let census = Census::new();
        let one = census.one();
        let task = runtime.spawn(async move {
            let _bomb = PanicsInDrop("dropped half-way");
            let _one = one;
            pending::<()>().await;
        });
        task.abort();
        let error = runtime.block_on(async {
            // Polled once or not, it is dropped.
            task.await.unwrap_err()
        });
        // Not polled yet, the bomb had not been made.
        assert!(error.is_panic() || error.is_cancelled());
        assert_eq!(census.alive(), 0);

        let bomb = PanicsInDrop("dropped half-way");
        let task = runtime.spawn(async move {
            let _bomb = bomb;
            pending::<()>().await;
        });
        task.abort();
        let error = runtime.block_on(task).unwrap_err();
        assert_eq!(
            *error.into_panic().downcast::<&str>().unwrap(),
            "dropped half-way"
        );
        assert_whole(runtime);
    });
}

#[test]
fn a_panic_in_the_drop_of_a_finished_future_keeps_its_value() {
    #[expect(dead_code, reason = "it is there to be dropped")]
    struct Ends(PanicsInDrop);
    impl Future for Ends {
        type Output = u8;
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u8> {
            Poll::Ready(5)
        }
    }
    everywhere(|runtime| {
        let task = runtime.spawn(Ends(PanicsInDrop("dropped at the end")));
        assert_eq!(runtime.block_on(task).unwrap(), 5);
        assert_whole(runtime);
    });
}

#[test]
fn a_panic_in_the_drop_of_an_output_stays_where_it_is() {
    everywhere(|runtime| {
        // Dropped by the task, since nobody wants it.
        let (go, wait) = oneshot::channel::<()>();
        let task = runtime.spawn(async move {
            wait.await.unwrap();
            PanicsInDrop("dropped by the task")
        });
        let end = task.abort_handle();
        drop(task);
        go.send(()).unwrap();
        runtime.block_on(until_yielding(|| end.is_finished()));
        // Dropped with the handle.
        let task = runtime.spawn(async { PanicsInDrop("dropped with the handle") });
        runtime.block_on(until_yielding(|| task.is_finished()));
        drop(task);
        assert_whole(runtime);
    });
}

/// Panics when it is dropped, with a panic that panics when it is dropped.
struct Worse;

impl Drop for Worse {
    fn drop(&mut self) {
        resume_unwind(Box::new(PanicsInDrop("the payload is dropped")));
    }
}

/// The worst that a task can leave behind: a panic that panics when it is dropped.
#[test]
fn a_panic_that_panics_when_it_is_dropped_stays_where_it_is() {
    everywhere(|runtime| {
        for keep in [true, false] {
            let (go, wait) = oneshot::channel::<()>();
            let task = runtime.spawn(async move {
                wait.await.unwrap();
                resume_unwind(Box::new(PanicsInDrop("the payload is dropped")))
            });
            let end = task.abort_handle();
            let task: Option<rt::task::JoinHandle<()>> = keep.then_some(task);
            go.send(()).unwrap();
            runtime.block_on(until_yielding(|| end.is_finished()));
            drop(task);
        }
        // In a destructor, whose panic nobody hears of.
        for keep in [true, false] {
            let (go, wait) = oneshot::channel::<()>();
            let task = runtime.spawn(async move {
                wait.await.unwrap();
                Worse
            });
            let end = task.abort_handle();
            let task = keep.then_some(task);
            go.send(()).unwrap();
            runtime.block_on(until_yielding(|| end.is_finished()));
            drop(task);
            assert_whole(runtime);
        }
    });
}

#[test]
fn a_panic_in_the_future_of_block_on_is_the_callers_and_the_runtime_stays() {
    everywhere(|runtime| {
        for _ in 0..3 {
            let panic = catch_unwind(AssertUnwindSafe(|| {
                runtime.block_on(async {
                    drop(rt::spawn(async {}));
                    rt::yield_now().await;
                    panic!("on the outside");
                })
            }));
            assert_eq!(
                *panic.unwrap_err().downcast::<&str>().unwrap(),
                "on the outside"
            );
            assert_whole(runtime);
        }
    });
}

#[test]
fn a_panic_in_a_blocking_job_is_the_handles_error_and_its_thread_stays() {
    let _watchdog = Watchdog::new();
    for flavour in FLAVOURS {
        let runtime = flavour.builder().max_blocking_threads(1).build().unwrap();
        for _ in 0..100 {
            let job = runtime.spawn_blocking(|| panic!("in a job"));
            let error = runtime.block_on(job).unwrap_err();
            assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "in a job");
        }
        assert_whole(&runtime);
        let name = runtime.spawn_blocking(|| thread::current().name().unwrap().to_owned());
        assert_eq!(runtime.block_on(name).unwrap(), "rt-blk-0");
    }
}

#[test]
fn hooks_that_panic_cost_no_thread() {
    let _watchdog = Watchdog::new();
    for flavour in FLAVOURS {
        let calls = Arc::new(AtomicUsize::new(0));
        let hook = || {
            let calls = Arc::clone(&calls);
            move || {
                calls.fetch_add(1, SeqCst);
                panic!("in a hook");
            }
        };
        let runtime = flavour
            .builder()
            .on_thread_start(hook())
            .on_thread_stop(hook())
            .on_thread_park(hook())
            .on_thread_unpark(hook())
            .build()
            .unwrap();
        assert_whole(&runtime);
        runtime.shutdown_timeout(Duration::MAX);
        assert!(calls.load(SeqCst) > 0);
    }
}

/// Polls `future` with `waker` and contains the panic that this may cause.
fn poll_with<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Option<Poll<F::Output>> {
    let mut cx = Context::from_waker(waker);
    catch_unwind(AssertUnwindSafe(|| Pin::new(future).poll(&mut cx))).ok()
}

/// Polls a future with a waker that panics, and then with one that counts, and says what to do so
/// that it ends. Whatever the first one does, the second is woken and the future is ready.
fn check_faulty_waker<F: Future + Unpin>(
    runtime: &Runtime,
    fault: Fault,
    mut future: F,
    end: impl FnOnce(),
) {
    let faulty = FaultyWaker::new(fault);
    let (good, woken) = counting_waker();
    {
        let _current = runtime.enter();
        let waker = faulty.waker();
        faulty.arm(fault == Fault::Clone);
        let first = poll_with(&mut future, &waker);
        assert_eq!(first.is_none(), fault == Fault::Clone);
        faulty.arm(false);
        drop(waker);
        // The first one is replaced, and so dropped.
        faulty.arm(fault == Fault::Drop);
        let _ = poll_with(&mut future, &good);
        faulty.arm(false);
        assert!(poll_with(&mut future, &good).unwrap().is_pending());
    }
    end();
    runtime.block_on(until_yielding(|| woken.load(SeqCst) > 0));
    assert!(poll_with(&mut future, &good).unwrap().is_ready());
    drop(future);
    assert_eq!(Arc::strong_count(&faulty), 1, "a copy of the waker is left");
}

#[test]
fn a_faulty_waker_does_not_break_a_handle() {
    everywhere(|runtime| {
        for fault in [Fault::Clone, Fault::Drop] {
            let (go, wait) = oneshot::channel::<()>();
            let task = runtime.spawn(wait);
            check_faulty_waker(runtime, fault, task, || go.send(()).unwrap());
        }
        assert_whole(runtime);
    });
}

#[test]
fn a_faulty_waker_does_not_break_a_timer() {
    everywhere(|runtime| {
        for fault in [Fault::Clone, Fault::Drop] {
            // It ends when the test says so, however slow the machine is.
            let timer = RefCell::new(Box::pin(sleep(Duration::from_hours(1))));
            let elapsed = poll_fn(|cx| timer.borrow_mut().as_mut().poll(cx));
            check_faulty_waker(runtime, fault, elapsed, || {
                let _current = runtime.enter();
                timer.borrow_mut().as_mut().reset(Instant::now());
            });
        }
        assert_eq!(runtime.metrics().live_timers, 0);
        assert_whole(runtime);
    });
}

/// The two ends of a connection.
async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    (near, listener.accept().await.unwrap().0)
}

#[test]
fn a_faulty_waker_does_not_break_a_socket() {
    everywhere(|runtime| {
        for fault in [Fault::Clone, Fault::Drop] {
            let (near, far) = runtime.block_on(pair());
            let read = poll_fn(|cx| near.poll_read_ready(cx));
            check_faulty_waker(runtime, fault, read, || {
                runtime.block_on(far.write_all(b"x")).unwrap();
            });
        }
        // The same for the waiters of the async methods. A panic leaves nothing of them to poll.
        let (near, far) = runtime.block_on(pair());
        for fault in [Fault::Clone, Fault::Drop] {
            let faulty = FaultyWaker::new(fault);
            let mut read = Box::pin(near.readable());
            faulty.arm(fault == Fault::Clone);
            let polled = poll_with(&mut read, &faulty.waker());
            assert_eq!(polled.is_none(), fault == Fault::Clone);
            faulty.arm(true);
            let _ = catch_unwind(AssertUnwindSafe(|| drop(read)));
            assert_eq!((faulty.panics(), Arc::strong_count(&faulty)), (1, 1));
        }
        let (good, woken) = counting_waker();
        let mut read = Box::pin(near.readable());
        assert!(poll_with(&mut read, &good).unwrap().is_pending());
        runtime.block_on(far.write_all(b"x")).unwrap();
        runtime.block_on(until_yielding(|| woken.load(SeqCst) > 0));
        assert!(poll_with(&mut read, &good).unwrap().is_ready());
        assert_whole(runtime);
    });
}

#[test]
fn a_waker_that_panics_in_wake_does_not_keep_others_from_being_woken() {
    everywhere(|runtime| {
        let faulty = FaultyWaker::new(Fault::Wake);
        faulty.arm(true);
        let waker = faulty.waker();
        let mut panics = 0;

        // A task's handle: the task ends, and so does the next one.
        let (go, wait) = oneshot::channel::<()>();
        let mut task = runtime.spawn(wait);
        assert!(poll_with(&mut task, &waker).unwrap().is_pending());
        go.send(()).unwrap();
        runtime.block_on(until_yielding(|| task.is_finished()));
        panics += 1;
        runtime.block_on(until_yielding(|| faulty.panics() == panics));

        // Timers: of three that fire together, the one in the middle panics.
        let (good, woken) = counting_waker();
        let mut timers: Vec<_> = (0..3)
            .map(|_| Box::pin(sleep(Duration::from_millis(20))))
            .collect();
        {
            let _current = runtime.enter();
            for (timer, waker) in timers.iter_mut().zip([&good, &waker, &good]) {
                assert!(poll_with(timer, waker).unwrap().is_pending());
            }
        }
        panics += 1;
        runtime.block_on(until_yielding(|| {
            woken.load(SeqCst) == 2 && faulty.panics() == panics
        }));

        // A socket: the one that panics is the first of three that wait for it.
        let (good, woken) = counting_waker();
        let (near, far) = runtime.block_on(pair());
        let mut reads: Vec<_> = (0..3).map(|_| Box::pin(near.readable())).collect();
        for (read, waker) in reads.iter_mut().zip([&waker, &good, &good]) {
            assert!(poll_with(read, waker).unwrap().is_pending());
        }
        runtime.block_on(far.write_all(b"x")).unwrap();
        panics += 1;
        runtime.block_on(until_yielding(|| {
            woken.load(SeqCst) == 2 && faulty.panics() == panics
        }));
        drop(reads);
        assert_whole(runtime);
    });
}

#[test]
fn tasks_whose_destructors_panic_do_not_stop_the_end_of_the_runtime() {
    let _watchdog = Watchdog::new();
    for flavour in FLAVOURS {
        let runtime = flavour.build();
        let census = Census::new();
        for _ in 0..100 {
            let (one, bomb) = (census.one(), PanicsInDrop("at the end"));
            drop(runtime.spawn(async move {
                let (_one, _bomb) = (one, bomb);
                pending::<()>().await;
            }));
        }
        runtime.shutdown_timeout(Duration::MAX);
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn a_timer_and_a_panic_in_one_task_leave_no_timer_behind() {
    let _watchdog = Watchdog::new();
    let runtime = Flavour::Workers(2).build();
    let task = runtime.spawn(async {
        let mut timer = pin!(sleep(Duration::from_hours(1)));
        assert!(
            poll_fn(|cx| Poll::Ready(timer.as_mut().poll(cx)))
                .await
                .is_pending()
        );
        panic!("with a timer under way");
    });
    assert!(runtime.block_on(task).unwrap_err().is_panic());
    until(|| runtime.metrics().live_timers == 0);
}

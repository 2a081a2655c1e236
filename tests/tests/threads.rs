//! The runtime's threads: how many, what they are called, when they end, and what they leave
//! behind.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

use rt::net::{TcpListener, TcpStream};
use rt::time::sleep;
use rt::{Dispatcher, Handle, Runtime};
use rt_tests::{
    Census, FLAVOURS, Flavour, Watchdog, alone, everywhere, fds, memory, thread_names, threads,
    threads_named, until,
};

fn thread_name() -> String {
    thread::current().name().unwrap_or("?").to_owned()
}

#[test]
fn threads_are_named_for_what_they_do() {
    alone(|| {
        let named = |name: &str| {
            let names = thread_names().into_iter();
            names
                .filter(|thread| thread.starts_with(name))
                .collect::<Vec<_>>()
        };
        let build = || {
            Runtime::builder()
                .io_threads(2)
                .cpu_threads(2)
                .stall_threshold(None)
                .thread_name("srv")
        };
        let runtime = build().build().unwrap();
        assert_eq!(
            runtime
                .block_on(runtime.spawn_blocking(thread_name))
                .unwrap(),
            "srv-blk-0"
        );
        let all = [
            "srv-blk-0",
            "srv-cpu-0",
            "srv-cpu-1",
            "srv-io-0",
            "srv-io-1",
            "srv-reactor",
        ];
        // A thread names itself as its first act.
        until(|| named("srv") == all);
        runtime.shutdown_timeout(Duration::MAX);
        until(|| named("srv").is_empty());

        // With one thread there is none but the caller's, until another pool is asked for.
        let runtime = build().current_thread().build().unwrap();
        let caller = thread::current().id();
        let here = runtime.spawn(async { thread::current().id() });
        assert_eq!(runtime.block_on(here).unwrap(), caller);
        assert_eq!(named("srv"), [""; 0]);
        let there = runtime.spawn_on(Dispatcher::Cpu, async { thread_name() });
        assert!(runtime.block_on(there).unwrap().starts_with("srv-cpu-"));
        until(|| named("srv") == ["srv-cpu-0", "srv-cpu-1"]);
    });
}

#[test]
fn there_are_as_many_workers_as_cpus_unless_told_otherwise() {
    let _watchdog = Watchdog::new();
    let cpus = thread::available_parallelism().unwrap().get();
    let metrics = Runtime::new().unwrap().metrics();
    assert_eq!((metrics.io_threads, metrics.cpu_threads), (cpus, cpus));
    let runtime = Runtime::builder()
        .io_threads(3)
        .cpu_threads(5)
        .build()
        .unwrap();
    let metrics = runtime.metrics();
    assert_eq!((metrics.io_threads, metrics.cpu_threads), (3, 5));
    assert_eq!(
        (metrics.io_workers.len(), metrics.cpu_workers.len()),
        (3, 5)
    );
}

#[test]
fn idle_blocking_threads_end_and_come_back_when_needed() {
    let _watchdog = Watchdog::new();
    for flavour in FLAVOURS {
        let builder = flavour
            .builder()
            .thread_keep_alive(Duration::from_millis(1));
        let runtime = builder.thread_name("brief").build().unwrap();
        for _ in 0..3 {
            // Eight at a time, each of which waits for the others.
            let together = Arc::new(std::sync::Barrier::new(8));
            let jobs: Vec<_> = (0..8)
                .map(|_| {
                    let together = Arc::clone(&together);
                    runtime.spawn_blocking(move || together.wait())
                })
                .collect();
            runtime.block_on(async {
                for job in jobs {
                    job.await.unwrap();
                }
            });
            until(|| runtime.metrics().blocking_threads == 0);
            until(|| threads_named("brief-blk") == 0);
        }
    }
}

/// What the hooks have counted, a thread.
#[derive(Default)]
struct Calls {
    threads: Mutex<BTreeMap<String, [usize; 4]>>,
    without_runtime: AtomicUsize,
}

impl Calls {
    fn hook(self: &Arc<Self>, which: usize) -> impl Fn() + Send + Sync + 'static {
        let calls = Arc::clone(self);
        move || {
            if Handle::try_current().is_err() {
                calls.without_runtime.fetch_add(1, SeqCst);
            }
            calls
                .threads
                .lock()
                .unwrap()
                .entry(thread_name())
                .or_default()[which] += 1;
        }
    }
}

#[test]
fn hooks_are_called_in_pairs_on_each_thread() {
    let _watchdog = Watchdog::new();
    for flavour in [Flavour::Workers(1), Flavour::Workers(4)] {
        let calls = Arc::new(Calls::default());
        let runtime = flavour
            .builder()
            .stall_threshold(None)
            .on_thread_start(calls.hook(0))
            .on_thread_stop(calls.hook(1))
            .on_thread_park(calls.hook(2))
            .on_thread_unpark(calls.hook(3))
            .build()
            .unwrap();
        runtime.block_on(async {
            rt::spawn(sleep(Duration::from_millis(1))).await.unwrap();
            rt::spawn_blocking(|| ()).await.unwrap();
        });
        // Every worker has slept at least once.
        until(|| {
            let metrics = runtime.metrics();
            let mut workers = metrics.io_workers.iter().chain(&metrics.cpu_workers);
            workers.all(|worker| worker.parks > 0)
        });
        let metrics = runtime.metrics();
        runtime.shutdown_timeout(Duration::MAX);
        let threads = calls.threads.lock().unwrap();
        // Two pools, the reactor, and a blocking thread.
        assert_eq!(
            threads.len(),
            metrics.io_threads + metrics.cpu_threads + 2,
            "{threads:?}"
        );
        for (name, [start, stop, park, unpark]) in &*threads {
            assert_eq!((*start, *stop), (1, 1), "{name}");
            assert_eq!(park, unpark, "{name}");
            assert_eq!(
                *park > 0,
                name.contains("-io-") || name.contains("-cpu-"),
                "{name}"
            );
        }
        assert_eq!(calls.without_runtime.load(SeqCst), 0);
    }
}

#[test]
fn hooks_may_use_the_runtime() {
    let _watchdog = Watchdog::new();
    let census = Census::new();
    let counted = census.clone();
    let runtime = Flavour::Workers(2)
        .builder()
        .on_thread_start(move || {
            let one = counted.one();
            drop(rt::spawn(async move { drop(one) }));
        })
        .build()
        .unwrap();
    // Two workers, two for the CPU, the reactor.
    until(|| census.dropped() == 5);
    runtime.shutdown_timeout(Duration::MAX);
}

/// A bit of everything.
fn use_it(runtime: &Runtime) {
    let on_cpu = runtime.spawn_on(Dispatcher::Cpu, async { 1 });
    drop(runtime.spawn(pending::<()>()));
    drop(runtime.spawn(sleep(Duration::from_hours(1))));
    runtime.block_on(async {
        on_cpu.await.unwrap();
        rt::spawn_blocking(|| ()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (far, _) = listener.accept().await.unwrap();
        drop(rt::spawn(async move {
            far.read(&mut [0; 8]).await.map(|_| far)
        }));
        drop(rt::spawn(
            async move { listener.accept().await.map(|_| near) },
        ));
        sleep(Duration::from_micros(100)).await;
    });
}

#[test]
fn five_hundred_runtimes_leave_nothing() {
    alone(|| {
        // The first one opens what the process keeps, if there is such a thing.
        let threads_before = threads();
        use_it(&Flavour::Workers(2).build());
        until(|| threads() == threads_before);
        let fds_before = fds();
        let mut memory_before = 0;
        for round in 0..500 {
            if round == 50 {
                until(|| threads() == threads_before);
                memory_before = memory();
            }
            let runtime = FLAVOURS[round % FLAVOURS.len()].build();
            use_it(&runtime);
            if round % 3 == 0 {
                runtime.shutdown_background();
            } else {
                drop(runtime);
            }
        }
        until(|| threads() == threads_before && fds() == fds_before);
        let grown = memory().saturating_sub(memory_before);
        assert!(grown < 8 << 20, "{grown} bytes more");
    });
}

#[test]
fn runtimes_that_live_at_the_same_time_do_not_meet() {
    let _watchdog = Watchdog::new();
    let runtimes: Vec<_> = (0..20)
        .map(|round| FLAVOURS[round % FLAVOURS.len()].build())
        .collect();
    for runtime in &runtimes {
        use_it(runtime);
    }
    for (round, runtime) in runtimes.into_iter().enumerate() {
        if round % 2 == 0 {
            drop(runtime);
        } else {
            runtime.shutdown_timeout(Duration::MAX);
        }
    }
}

thread_local! {
    /// What a thread keeps to its end.
    static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

fn keep(thing: impl Any) {
    KEPT.with_borrow_mut(|kept| kept.push(Box::new(thing)));
}

/// Acts when it is dropped.
struct AtTheEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for AtTheEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Puts all that a user may have of a runtime into the thread's keeping. Returns the id of the
/// thread.
fn keep_everything(handle: &Handle, census: &Census) -> ThreadId {
    // Handles, of tasks that have ended and of tasks that have not.
    keep(handle.spawn(async {}));
    keep(handle.spawn(pending::<()>()));
    keep(handle.spawn(pending::<()>()).abort_handle());
    keep(handle.clone());
    // A timer that waits, with a waker of some task.
    let current = handle.enter();
    let mut timer = Box::pin(sleep(Duration::from_hours(1)));
    assert!(
        Pin::new(&mut timer)
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    keep(timer);
    // A socket that is registered.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    keep(TcpListener::from_std(listener).unwrap());
    drop(current);
    // A waker, and calls into the runtime, at the very end.
    let wakers = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&wakers);
    drop(handle.spawn(poll_fn(move |cx| {
        shared.lock().unwrap().push(cx.waker().clone());
        Poll::<()>::Pending
    })));
    keep(wakers);
    let (handle, one, census) = (handle.clone(), census.one(), census.clone());
    keep(AtTheEnd(move || {
        let inside = census.one();
        let task = handle.spawn(async move { drop(inside) });
        task.abort();
        drop(handle.spawn_on(Dispatcher::Cpu, async {}));
        drop(handle.spawn_blocking(|| ()));
        let _ = Handle::try_current();
        let _current = handle.enter();
        drop(rt::spawn(async {}));
        // Counts this closure.
        let _ = &one;
    }));
    thread::current().id()
}

#[test]
fn a_plain_thread_may_keep_anything_to_its_end() {
    everywhere(|runtime| {
        let census = Census::new();
        let (handle, counted) = (runtime.handle().clone(), census.clone());
        thread::spawn(move || keep_everything(&handle, &counted))
            .join()
            .unwrap();
        // What the thread spawned at its end has ended, too.
        runtime.block_on(rt_tests::until_yielding(|| census.alive() == 0));
        assert_eq!(
            (
                runtime.metrics().live_timers,
                runtime.metrics().live_sources
            ),
            (0, 0)
        );
    });
}

#[test]
fn a_plain_thread_may_keep_a_runtime_to_its_end() {
    let _watchdog = Watchdog::new();
    for flavour in FLAVOURS {
        let census = Census::new();
        let counted = census.clone();
        thread::spawn(move || {
            let runtime = flavour.builder().thread_name("kept").build().unwrap();
            keep_everything(runtime.handle(), &counted);
            let one = counted.one();
            drop(runtime.spawn(async move {
                let _one = one;
                pending::<()>().await;
            }));
            keep(runtime);
        })
        .join()
        .unwrap();
        until(|| census.alive() == 0);
        until(|| threads_named("kept-") == 0);
    }
}

#[test]
fn the_runtimes_own_threads_may_keep_anything_to_their_end() {
    let _watchdog = Watchdog::new();
    for flavour in FLAVOURS {
        let runtime = flavour.builder().thread_name("own").build().unwrap();
        let census = Census::new();
        let (handle, io) = (runtime.handle().clone(), census.clone());
        let task = runtime.spawn(async move { keep_everything(&handle, &io) });
        runtime.block_on(task).unwrap();
        let (handle, cpu) = (runtime.handle().clone(), census.clone());
        let task = runtime.spawn_on(
            Dispatcher::Cpu,
            async move { keep_everything(&handle, &cpu) },
        );
        runtime.block_on(task).unwrap();
        let (handle, blocking) = (runtime.handle().clone(), census.clone());
        let job = runtime.spawn_blocking(move || keep_everything(&handle, &blocking));
        runtime.block_on(job).unwrap();
        // Another runtime, that ends with a worker of this one.
        let other = flavour.build();
        runtime
            .block_on(runtime.spawn_on(Dispatcher::Cpu, async move { keep(other) }))
            .unwrap();
        runtime.shutdown_timeout(Duration::MAX);
        // On the current thread this is the thread that keeps.
        KEPT.with_borrow_mut(Vec::clear);
        until(|| census.alive() == 0);
    }
}

#[test]
fn a_blocking_thread_may_keep_its_own_runtime_to_its_end() {
    let _watchdog = Watchdog::new();
    for flavour in FLAVOURS {
        let builder = flavour
            .builder()
            .thread_keep_alive(Duration::from_millis(1));
        let runtime = builder.thread_name("last").build().unwrap();
        let handle = runtime.handle().clone();
        let census = Census::new();
        let one = census.one();
        drop(runtime.spawn(async move {
            let _one = one;
            pending::<()>().await;
        }));
        let (kept, is_kept) = mpsc::channel();
        drop(handle.spawn_blocking(move || {
            keep(runtime);
            kept.send(()).unwrap();
        }));
        is_kept.recv().unwrap();
        drop(handle);
        // The thread is idle, ends, drops the runtime, and that ends all the others.
        until(|| census.alive() == 0);
        until(|| threads_named("last-") == 0);
    }
}

//! Rayon's iterators on the runtime's own pool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use rayon::prelude::*;
use rt::time::Instant;
use rt::{Handle, Runtime};
use rt_tests::{
    Census, FLAVOURS, Flavour, Watchdog, allowed_cpus, alone, everywhere, poll_once, threads,
    threads_named, until,
};

#[test]
fn iterators_run_on_the_runtimes_pool_and_give_their_value() {
    for threads in [1, 2, 8] {
        let _watchdog = Watchdog::new();
        let runtime = Runtime::builder()
            .io_threads(1)
            .cpu_threads(threads)
            .build()
            .unwrap();
        let name = || thread::current().name().unwrap().to_owned();
        let names = runtime.block_on(async move {
            assert_eq!(rt::rayon::pool().current_num_threads(), threads);
            rt::rayon::run(move || (0..100).into_par_iter().map(|_| name()).collect::<Vec<_>>())
                .await
        });
        assert_eq!(names.len(), 100);
        assert!(
            names.iter().all(|name| name.starts_with("rt-rayon-")),
            "{names:?}"
        );
    }
}

#[test]
fn many_jobs_from_many_tasks() {
    everywhere(|runtime| {
        let tasks: Vec<_> = (0..100_u64)
            .map(|task| {
                runtime.spawn(async move {
                    rt::rayon::run(move || (0..100).into_par_iter().map(|n| n * task).sum::<u64>())
                        .await
                })
            })
            .collect();
        for (task, sum) in tasks.into_iter().enumerate() {
            assert_eq!(runtime.block_on(sum).unwrap(), 4950 * task as u64);
        }
    });
}

#[test]
fn a_job_is_inside_the_runtime() {
    everywhere(|runtime| {
        let task = runtime.block_on(rt::rayon::run(|| rt::spawn(async { 3 })));
        assert_eq!(runtime.block_on(task).unwrap(), 3);
        let inside = runtime.block_on(rt::rayon::run(|| Handle::current().block_on(async { 4 })));
        assert_eq!(inside, 4);
    });
}

#[test]
fn a_panic_resumes_at_the_caller_and_the_pool_goes_on() {
    everywhere(|runtime| {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(rt::rayon::run(|| {
                (0..10)
                    .into_par_iter()
                    .for_each(|_| std::panic::resume_unwind(Box::new(5_u8)));
            }));
        }));
        assert_eq!(*panicked.unwrap_err().downcast::<u8>().unwrap(), 5);
        assert_eq!(runtime.block_on(rt::rayon::run(|| 6)), 6);
    });
}

/// A runtime whose only rayon thread is busy until the sender goes.
fn busy() -> (Runtime, mpsc::Sender<()>) {
    let runtime = Runtime::builder()
        .io_threads(1)
        .cpu_threads(1)
        .build()
        .unwrap();
    let (release, blocked) = mpsc::channel::<()>();
    let (started, running) = mpsc::channel();
    drop(runtime.spawn(rt::rayon::run(move || {
        started.send(()).unwrap();
        blocked.recv().unwrap_err();
    })));
    running.recv().unwrap();
    (runtime, release)
}

#[test]
fn a_job_that_is_dropped_in_the_queue_never_runs() {
    let _watchdog = Watchdog::new();
    let (runtime, release) = busy();
    let census = Census::new();
    let one = census.one();
    let mut job = Box::pin(rt::rayon::run(move || drop(one)));
    assert!(runtime.block_on(poll_once(&mut job)).is_pending());
    assert_eq!(census.alive(), 1);
    drop(job);
    assert_eq!(
        census.alive(),
        0,
        "dropped at once, though the thread is busy"
    );
    drop(release);
    assert_eq!(runtime.block_on(rt::rayon::run(|| 1)), 1);
}

#[test]
fn a_job_that_is_dropped_while_it_runs_drops_its_value() {
    let _watchdog = Watchdog::new();
    let runtime = Flavour::Workers(1).build();
    let census = Census::new();
    let meeting = Arc::new(Barrier::new(2));
    let (one, there) = (census.one(), Arc::clone(&meeting));
    let mut job = Box::pin(rt::rayon::run(move || {
        there.wait();
        there.wait();
        one
    }));
    assert!(runtime.block_on(poll_once(&mut job)).is_pending());
    meeting.wait();
    drop(job);
    assert_eq!(census.alive(), 1);
    meeting.wait();
    until(|| census.alive() == 0);
}

#[test]
fn the_end_of_the_runtime_waits_for_the_running_job_and_drops_the_queued_ones() {
    let _watchdog = Watchdog::new();
    let (runtime, release) = busy();
    let census = Census::new();
    let queued: Vec<_> = (0..10)
        .map(|_| {
            let one = census.one();
            runtime.spawn(rt::rayon::run(move || drop(one)))
        })
        .collect();
    let handle = runtime.handle().clone();
    let plain = thread::spawn(move || handle.block_on(rt::rayon::run(|| ())));
    let handle = runtime.handle().clone();
    let end = thread::spawn(move || runtime.shutdown_timeout(Duration::MAX));
    until(|| handle.spawn(std::future::pending::<()>()).is_finished());
    assert!(!end.is_finished(), "one job still runs");
    drop(release);
    end.join().unwrap();
    assert_eq!(census.alive(), 0);
    let _ = plain.join();
    let other = Flavour::Workers(1).build();
    for job in queued {
        assert!(other.block_on(job).unwrap_err().is_cancelled());
    }
}

#[test]
fn virtual_time_waits_for_a_job() {
    let _watchdog = Watchdog::new();
    let builder = Flavour::CurrentThread.builder();
    let runtime = builder.start_paused(true).build().unwrap();
    runtime.block_on(async {
        let before = Instant::now();
        let (release, blocked) = mpsc::channel::<()>();
        let job = rt::spawn(rt::rayon::run(move || blocked.recv().unwrap_err()));
        let hour = rt::spawn(rt::time::sleep(Duration::from_hours(1)));
        rt::yield_now().await;
        assert!(before.elapsed() < Duration::from_mins(1));
        drop(release);
        job.await.unwrap();
        hour.await.unwrap();
        assert!(before.elapsed() >= Duration::from_hours(1));
        // A job that waits for time is no reason to wait.
        rt::rayon::run(|| Handle::current().block_on(rt::time::sleep(Duration::from_hours(1))))
            .await;
        assert!(before.elapsed() >= Duration::from_hours(2));
    });
}

#[test]
fn a_job_may_drop_its_own_runtime() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::with_limit(Duration::from_secs(8));
        let runtime = flavour.build();
        let handle = runtime.handle().clone();
        let job = rt::rayon::run(move || drop(runtime));
        let _ = catch_unwind(AssertUnwindSafe(|| handle.block_on(job)));
    }
}

#[test]
fn a_shutdown_with_no_time_does_not_wait_for_a_job() {
    let _watchdog = Watchdog::new();
    let (runtime, release) = busy();
    runtime.shutdown_timeout(Duration::ZERO);
    drop(release);
}

#[test]
fn no_thread_stays_behind() {
    alone(|| {
        let before = threads();
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            assert_eq!(runtime.block_on(rt::rayon::run(|| 1)), 1);
        }
        until(|| threads() == before);
    });
}

/// Rayon's threads count as ones that compute when it comes to whether there are enough CPUs.
#[test]
fn the_kernel_is_made_to_look_while_a_job_runs() {
    let _watchdog = Watchdog::new();
    let builder = Runtime::builder()
        .thread_name("full")
        .cpu_threads(allowed_cpus());
    let runtime = builder.build().unwrap();
    // A worker of the IO pool is awake.
    let busy = runtime.spawn(async {
        loop {
            rt::yield_now().await;
        }
    });
    // On a slow machine they may have begun while the CPU pool's workers were starting.
    let ticks = || threads_named("full-tick-") > 0;
    runtime.block_on(rt::rayon::run(move || until(ticks)));
    busy.abort();
}

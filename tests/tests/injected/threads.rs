//! Threads that cannot be started while a runtime runs: nothing is lost, errors say why, and all goes on once
//! there are threads again.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

use rt::net::lookup_host;
use rt::runtime::FileIo;
use rt::{Dispatcher, Runtime, block_in_place, spawn_blocking};
use rt_tests::{FLAVOURS, Flavour, alone, until};

use super::kernel::{Refusal, THREAD};

/// No thread can be started while this lives.
fn no_threads() -> Refusal {
    THREAD.refuse(libc::EAGAIN)
}

/// The message of the panic that `f` ends with.
fn panic_of<T>(f: impl FnOnce() -> T) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else {
        panic!("it worked");
    };
    *payload.downcast().expect("a message")
}

#[test]
fn a_blocking_call_that_finds_no_thread_says_so_and_the_next_one_works() {
    alone(|| {
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            runtime.block_on(async {
                let refusal = no_threads();
                let message = panic_of(|| spawn_blocking(|| ()));
                assert!(message.contains("refused to start one"), "{message}");
                assert!(refusal.count() > 0);
                drop(refusal);
                assert_eq!(spawn_blocking(|| 1).await.unwrap(), 1);
            });
        }
    });
}

#[test]
fn files_and_lookups_that_find_no_thread_are_errors_and_give_back_what_they_were_given() {
    alone(|| {
        for flavour in FLAVOURS {
            let builder = flavour.builder().file_io(FileIo::Blocking);
            builder.build().unwrap().block_on(async {
                let refusal = no_threads();
                let errors = [
                    rt::fs::read("/proc/self/stat").await.err(),
                    rt::fs::metadata("/").await.err(),
                    rt::fs::File::open("/dev/null").await.err(),
                    lookup_host("localhost:80").await.err(),
                    rt::net::TcpStream::connect("localhost:80").await.err(),
                ];
                for (number, error) in errors.into_iter().enumerate() {
                    let error = error.unwrap_or_else(|| panic!("number {number} worked"));
                    assert_eq!(error.kind(), ErrorKind::WouldBlock, "{number}: {error}");
                    let message = error.to_string();
                    assert!(
                        message.contains("refused to start one"),
                        "{number}: {message}"
                    );
                }
                let null = std::fs::File::options().write(true).open("/dev/null");
                let null = rt::fs::File::from_std(null.unwrap());
                let (written, buffer) = null.write_at(vec![7; 10], 0).await;
                assert_eq!(written.unwrap_err().kind(), ErrorKind::WouldBlock);
                assert_eq!(buffer, [7; 10]);
                drop(refusal);
                assert!(rt::fs::metadata("/").await.unwrap().is_dir());
                drop(lookup_host("localhost:80").await.unwrap());
                let (written, _) = null.write_at(buffer, 0).await;
                assert_eq!(written.unwrap(), 10);
            });
        }
    });
}

#[test]
fn jobs_wait_for_the_threads_that_there_are() {
    alone(|| {
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            let (go, gone) = mpsc::channel::<()>();
            let first = runtime.spawn_blocking(move || gone.recv());
            until(|| runtime.metrics().blocking_threads == 1);
            let refusal = no_threads();
            let jobs: Vec<_> = (0..100)
                .map(|n| runtime.spawn_blocking(move || n))
                .collect();
            assert!(refusal.count() > 0);
            drop(go);
            runtime.block_on(async {
                first.await.unwrap().unwrap_err();
                for (number, job) in jobs.into_iter().enumerate() {
                    assert_eq!(job.await.unwrap(), number);
                }
            });
        }
    });
}

/// Three jobs that wait for one another need three threads, though two of these were refused.
#[test]
fn a_call_that_finds_a_thread_again_finds_one_for_those_before_it() {
    alone(|| {
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            let (to_first, first) = mpsc::channel();
            let (to_second, second) = mpsc::channel();
            let (to_third, third) = mpsc::channel();
            let first = runtime.spawn_blocking(move || first.recv().unwrap());
            until(|| runtime.metrics().blocking_threads == 1);
            let refusal = no_threads();
            let second = runtime.spawn_blocking(move || to_first.send(second.recv().unwrap()));
            let third = runtime.spawn_blocking(move || to_second.send(third.recv().unwrap()));
            drop(refusal);
            let last = runtime.spawn_blocking(move || to_third.send("round"));
            runtime.block_on(async {
                assert_eq!(first.await.unwrap(), "round");
                for job in [second, third, last] {
                    job.await.unwrap().unwrap();
                }
            });
        }
    });
}

#[test]
fn spare_workers_come_as_soon_as_there_are_threads_again() {
    alone(|| {
        for workers in [1, 2, 8] {
            let runtime = Flavour::Workers(workers).build();
            let refusal = no_threads();
            let (tell, told) = mpsc::channel();
            let stuck: Vec<_> = (0..workers)
                .map(|_| {
                    let (go, gone) = mpsc::channel::<()>();
                    let tell = tell.clone();
                    runtime.spawn(async move {
                        tell.send(()).unwrap();
                        gone.recv().unwrap_err();
                    });
                    go
                })
                .collect();
            for _ in 0..workers {
                told.recv().unwrap();
            }
            let task = runtime.spawn(async { 1 });
            // The guard tries again and again.
            until(|| refusal.count() > 3);
            assert!(!task.is_finished());
            assert_eq!(runtime.metrics().spare_workers_started, 0);
            drop(refusal);
            assert_eq!(runtime.block_on(task).unwrap(), 1);
            assert!(runtime.metrics().spare_workers_started > 0);
            drop(stuck);
        }
    });
}

#[test]
fn a_job_in_place_without_a_spare_worker_just_runs() {
    alone(|| {
        for workers in [1, 2] {
            for dispatcher in [Dispatcher::Io, Dispatcher::Cpu] {
                let builder = Runtime::builder().io_threads(workers).cpu_threads(workers);
                let runtime = builder.build().unwrap();
                let refusal = no_threads();
                let job = runtime.spawn_on(dispatcher.clone(), async { block_in_place(|| 1) });
                assert_eq!(runtime.block_on(job).unwrap(), 1);
                drop(refusal);
                let job = runtime.spawn_on(dispatcher, async { block_in_place(|| 2) });
                assert_eq!(runtime.block_on(job).unwrap(), 2);
            }
        }
    });
}

#[test]
fn a_cpu_pool_that_could_not_be_started_is_started_by_the_next_call() {
    alone(|| {
        let runtime = Flavour::CurrentThread.build();
        let refusal = no_threads();
        let message = panic_of(|| runtime.spawn_on(Dispatcher::Cpu, async {}));
        assert!(message.contains("could not be started"), "{message}");
        drop(refusal);
        let task = runtime.spawn_on(Dispatcher::Cpu, async { 1 });
        assert_eq!(runtime.block_on(task).unwrap(), 1);
    });
}

//! Every way to end a runtime, from every kind of thread, while its tasks' destructors misbehave.

use std::future::{pending, poll_fn};
use std::panic::resume_unwind;
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use rt::{Dispatcher, Handle, Runtime};
use rt_tests::{
    Census, Counted, FLAVOURS, Flavour, Watchdog, threads_named, until, until_yielding,
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// How it is ended.
#[derive(Clone, Copy, Debug)]
enum Way {
    Drop,
    Patient,
    Impatient,
    Background,
}

/// Where.
#[derive(Clone, Copy, Debug)]
enum From {
    Thread,
    Worker,
    BlockOn,
    Job,
}

impl Way {
    fn end(self, runtime: Runtime) {
        match self {
            Way::Drop => drop(runtime),
            Way::Patient => runtime.shutdown_timeout(Duration::MAX),
            Way::Impatient => runtime.shutdown_timeout(Duration::ZERO),
            Way::Background => runtime.shutdown_background(),
        }
    }
}

impl From {
    fn end(self, flavour: Flavour, way: Way, runtime: Runtime) {
        let handle = runtime.handle().clone();
        match self {
            From::Thread => thread::spawn(move || way.end(runtime)).join().unwrap(),
            From::Worker => {
                let dispatcher = if flavour.runs_by_itself() {
                    Dispatcher::Io
                } else {
                    Dispatcher::Cpu
                };
                drop(handle.spawn_on(dispatcher, async move { way.end(runtime) }));
            }
            From::BlockOn => handle.block_on(async move { way.end(runtime) }),
            From::Job => drop(handle.spawn_blocking(move || way.end(runtime))),
        }
    }
}

/// Spawns, wakes, sends and panics, when it is dropped.
struct Messy {
    census: Census,
    _one: Counted,
    waker: Option<Waker>,
    send: UnboundedSender<u8>,
    panics: bool,
}

impl Drop for Messy {
    fn drop(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        self.send.send(1).unwrap();
        if let Ok(handle) = Handle::try_current() {
            let (task, job) = (self.census.one(), self.census.one());
            drop(handle.spawn(async move { drop(task) }));
            drop(handle.spawn_blocking(move || drop(job)));
        }
        if self.panics {
            // Without the hook, which would tell of each.
            resume_unwind(Box::new("on purpose"));
        }
    }
}

#[test]
fn every_way_to_end_a_runtime_works_from_everywhere() {
    const TASKS: usize = 12;
    for flavour in FLAVOURS {
        for way in [Way::Drop, Way::Patient, Way::Impatient, Way::Background] {
            for from in [From::Thread, From::Worker, From::BlockOn, From::Job] {
                let _watchdog = Watchdog::new();
                eprintln!("{flavour:?}, {way:?}, from {from:?}");
                let runtime = flavour.builder().thread_name("way").build().unwrap();
                let census = Census::new();
                let (send, mut receive) = unbounded_channel();
                let (begin, mut began) = unbounded_channel();
                let handles: Vec<_> = (0..TASKS)
                    .map(|number| {
                        let mut messy = Messy {
                            census: census.clone(),
                            _one: census.one(),
                            waker: None,
                            send: send.clone(),
                            panics: number % 3 == 0,
                        };
                        let begin = begin.clone();
                        runtime.spawn(async move {
                            let messy = &mut messy;
                            poll_fn(|cx| {
                                messy.waker = Some(cx.waker().clone());
                                begin.send(()).unwrap();
                                Poll::Ready(())
                            })
                            .await;
                            pending::<()>().await;
                        })
                    })
                    .collect();
                runtime.block_on(async {
                    for _ in 0..TASKS {
                        began.recv().await.unwrap();
                    }
                });
                drop(send);
                from.end(flavour, way, runtime);
                until(|| census.alive() == 0);
                until(|| handles.iter().all(rt::task::JoinHandle::is_finished));
                let watcher = Flavour::CurrentThread.build();
                watcher.block_on(async {
                    let mut sent = 0;
                    while receive.recv().await.is_some() {
                        sent += 1;
                    }
                    assert_eq!(sent, TASKS);
                    for handle in handles {
                        let error = handle.await.unwrap_err();
                        assert!(error.is_cancelled() || error.is_panic());
                    }
                });
                until(|| threads_named("way-") == 0);
            }
        }
    }
}

/// The same for a set of local tasks, whose runtime may be gone before it.
#[test]
fn local_tasks_may_outlive_their_runtime() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.build();
        let census = Census::new();
        let set = rt::task::LocalSet::new();
        let one = census.one();
        let task = set.spawn_local(async move {
            let _one = one;
            pending::<()>().await;
        });
        set.block_on(&runtime, rt::yield_now());
        drop(runtime);
        let other = flavour.build();
        task.abort();
        assert!(set.block_on(&other, task).unwrap_err().is_cancelled());
        assert_eq!(census.alive(), 0);
        other.block_on(until_yielding(|| census.alive() == 0));
    }
}

//! Tasks that stay on one thread: `LocalSet` and `spawn_local`.

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread::{self, ThreadId};

use rt::task::{JoinHandle, LocalSet, spawn_local};
use rt_tests::{Census, FLAVOURS, Flavour, Watchdog, everywhere, until, until_yielding, with};
use tokio::sync::{mpsc as channel, oneshot};

/// Not `Send`; tells the thread that drops it.
struct Bound {
    home: ThreadId,
    _not_send: PhantomData<*const ()>,
}

impl Bound {
    fn new() -> Self {
        Bound {
            home: thread::current().id(),
            _not_send: PhantomData,
        }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        assert_eq!(self.home, thread::current().id(), "dropped elsewhere");
    }
}

#[test]
fn futures_that_are_not_send_run_in_block_on() {
    everywhere(|runtime| {
        let here = thread::current().id();
        let sum = runtime.block_on(async move {
            let shared = Rc::new(Cell::new(0));
            let tasks: Vec<_> = (0..100)
                .map(|number| {
                    let shared = Rc::clone(&shared);
                    spawn_local(async move {
                        let _bound = Bound::new();
                        rt::yield_now().await;
                        // What is spawned in there belongs to the same thread.
                        let copy = Rc::clone(&shared);
                        let inner = spawn_local(async move { copy.set(copy.get() + number) });
                        inner.await.unwrap();
                        thread::current().id()
                    })
                })
                .collect();
            for task in tasks {
                assert_eq!(task.await.unwrap(), here);
            }
            shared.get()
        });
        assert_eq!(sum, 4950);
    });
}

#[rt::test]
async fn futures_that_are_not_send_run_in_tests() {
    let shared = Rc::new(1);
    assert_eq!(*spawn_local(async move { shared }).await.unwrap(), 1);
}

/// The local tasks of a `block_on` end with it.
#[test]
fn the_end_of_block_on_cancels_its_local_tasks() {
    everywhere(|runtime| {
        let census = Census::new();
        let (polled, never) = runtime.block_on(async {
            let spawn = || {
                let (one, bound) = (census.one(), Bound::new());
                spawn_local(async move {
                    let _here = (one, bound);
                    pending::<()>().await;
                })
            };
            let polled = spawn();
            rt::yield_now().await;
            (polled, spawn())
        });
        assert_eq!(census.alive(), 0);
        for task in [polled, never] {
            assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        }
        // Also by a panic.
        let panics = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                let one = census.one();
                let _task = spawn_local(async move {
                    let _one = one;
                    pending::<()>().await;
                });
                rt::yield_now().await;
                panic!("on purpose");
            })
        }));
        assert!(panics.is_err());
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn spawn_local_needs_a_thread_that_stays() {
    everywhere(|runtime| {
        let refused = |spawn: fn()| {
            let panic = catch_unwind(spawn).unwrap_err();
            let text = panic.downcast_ref::<&str>().unwrap();
            assert!(text.contains("LocalSet"), "{text}");
        };
        let spawn: fn() = || drop(spawn_local(async {}));
        refused(spawn);
        let task = runtime.spawn(async move { refused(spawn) });
        runtime.block_on(task).unwrap();
        let job = runtime.spawn_blocking(move || refused(spawn));
        runtime.block_on(job).unwrap();
    });
}

#[test]
fn a_set_runs_while_it_is_polled() {
    everywhere(|runtime| {
        let set = LocalSet::new();
        let log = Rc::new(RefCell::new(Vec::new()));
        let note = |text: &'static str| {
            let log = Rc::clone(&log);
            async move { log.borrow_mut().push(text) }
        };
        drop(set.spawn_local(note("before")));
        assert!(log.borrow().is_empty());
        set.block_on(runtime, async {
            spawn_local(note("inside")).await.unwrap();
        });
        assert_eq!(*log.borrow(), ["before", "inside"]);
        {
            let _guard = set.enter();
            drop(spawn_local(note("entered")));
        }
        // Awaiting the set waits for all.
        runtime.block_on(set);
        assert_eq!(*log.borrow(), ["before", "inside", "entered"]);
    });
}

#[test]
fn tasks_that_have_not_ended_wait_for_the_next_run() {
    everywhere(|runtime| {
        let set = LocalSet::new();
        let (end, ended) = oneshot::channel::<u8>();
        let task = set.spawn_local(async move { ended.await.unwrap() });
        set.block_on(runtime, rt::yield_now());
        assert!(!task.is_finished());
        end.send(3).unwrap();
        assert_eq!(set.block_on(runtime, task).unwrap(), 3);
    });
}

/// A set may be a part of a larger future, next to others.
#[test]
fn sets_run_beside_one_another() {
    with(Flavour::Workers(2), |runtime| {
        let (one, two) = (LocalSet::new(), LocalSet::new());
        let (ping, mut pinged) = channel::unbounded_channel::<u32>();
        let (pong, mut ponged) = channel::unbounded_channel::<u32>();
        let last = one.spawn_local(async move {
            let _bound = Bound::new();
            let mut last = 0;
            while last < 1000 {
                ping.send(last).unwrap();
                last = ponged.recv().await.unwrap();
            }
            last
        });
        drop(two.spawn_local(async move {
            let _bound = Bound::new();
            while let Some(number) = pinged.recv().await {
                pong.send(number + 1).unwrap();
            }
        }));
        runtime.block_on(async {
            let mut one = pin!(one);
            let mut two = pin!(two);
            let both = poll_fn(|cx| {
                let _ = two.as_mut().poll(cx);
                one.as_mut().poll(cx)
            });
            both.await;
        });
        assert_eq!(runtime.block_on(last).unwrap(), 1000);
    });
}

/// Several futures may run one set at a time, and whichever is left keeps it running.
#[test]
fn a_set_that_several_run_forgets_none_of_them() {
    with(Flavour::CurrentThread, |runtime| {
        let set = Rc::new(LocalSet::new());
        runtime.block_on(async {
            let (end, ended) = oneshot::channel::<()>();
            let task = set.spawn_local(async move { ended.await.is_ok() });
            let copy = Rc::clone(&set);
            let first = spawn_local(async move { copy.run_until(task).await.unwrap() });
            rt::yield_now().await;
            {
                // The last one that waited for work goes away.
                let mut second = pin!(set.run_until(pending::<()>()));
                let mut cx = Context::from_waker(Waker::noop());
                assert!(second.as_mut().poll(&mut cx).is_pending());
            }
            end.send(()).unwrap();
            assert!(first.await.unwrap());
        });
    });
}

#[test]
fn wakes_from_other_threads_are_not_lost() {
    const ROUNDS: u32 = 2000;
    everywhere(|runtime| {
        let (send, mut receive) = channel::unbounded_channel::<u32>();
        let (back, waits) = mpsc::channel::<u32>();
        let thread = thread::spawn(move || {
            for round in 0..ROUNDS {
                send.send(round).unwrap();
                assert_eq!(waits.recv().unwrap(), round);
            }
        });
        runtime.block_on(async move {
            let task = spawn_local(async move {
                let _bound = Bound::new();
                while let Some(round) = receive.recv().await {
                    back.send(round).unwrap();
                }
            });
            task.await.unwrap();
        });
        thread.join().unwrap();
    });
}

#[test]
fn sockets_timers_and_spawned_tasks_work_in_local_tasks() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let task = spawn_local(async {
                let _bound = Bound::new();
                rt::delay(std::time::Duration::from_millis(1)).await;
                let listener = rt::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                let client = rt::spawn(async move {
                    let stream = rt::net::TcpStream::connect(address).await.unwrap();
                    stream.write_all(b"hello").await.unwrap();
                });
                let (stream, _) = listener.accept().await.unwrap();
                let mut bytes = [0; 5];
                stream.read_exact(&mut bytes).await.unwrap();
                client.await.unwrap();
                bytes
            });
            assert_eq!(&task.await.unwrap(), b"hello");
        });
    });
}

#[test]
fn aborts_reach_local_tasks_from_everywhere() {
    everywhere(|runtime| {
        let census = Census::new();
        let set = LocalSet::new();
        let spawn = || {
            let (one, bound) = (census.one(), Bound::new());
            set.spawn_local(async move {
                let _here = (one, bound);
                pending::<()>().await;
            })
        };
        let (never_polled, polled) = (spawn(), spawn());
        never_polled.abort();
        assert!(
            set.block_on(runtime, never_polled)
                .unwrap_err()
                .is_cancelled()
        );
        let abort = polled.abort_handle();
        let thread = thread::spawn(move || {
            abort.abort();
            abort.abort();
        });
        assert!(set.block_on(runtime, polled).unwrap_err().is_cancelled());
        thread.join().unwrap();
        assert_eq!(census.alive(), 0);
        // Itself, and a neighbour.
        let victim = spawn();
        let abort = victim.abort_handle();
        let murderer: JoinHandle<()> = set.spawn_local(async move { abort.abort() });
        set.block_on(runtime, murderer).unwrap();
        assert!(set.block_on(runtime, victim).unwrap_err().is_cancelled());
    });
}

/// Wakes and aborts that come after the set, or while it goes, find nothing, and drop nothing.
#[test]
fn a_dropped_set_ends_its_tasks_on_its_own_thread() {
    for flavour in FLAVOURS {
        let _watchdog = Watchdog::new();
        let runtime = flavour.build();
        for _ in 0..50 {
            let census = Census::new();
            let set = LocalSet::new();
            let mut wakers = Vec::new();
            let mut tasks = Vec::new();
            for _ in 0..20 {
                let (tell, told) = oneshot::channel::<Waker>();
                let (one, bound) = (census.one(), Bound::new());
                let mut tell = Some(tell);
                tasks.push(set.spawn_local(async move {
                    let _here = (one, bound);
                    poll_fn(|cx| {
                        if let Some(tell) = tell.take() {
                            tell.send(cx.waker().clone()).unwrap();
                        }
                        Poll::<()>::Pending
                    })
                    .await;
                }));
                wakers.push(set.block_on(&runtime, told).unwrap());
            }
            let aborts: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
            let (begin, began) = mpsc::channel();
            let thread = thread::spawn(move || {
                begin.send(()).unwrap();
                for (waker, abort) in wakers.into_iter().zip(aborts).cycle().take(2000) {
                    waker.wake_by_ref();
                    abort.abort();
                }
            });
            began.recv().unwrap();
            drop(set);
            assert_eq!(census.alive(), 0);
            for task in tasks {
                assert!(runtime.block_on(task).unwrap_err().is_cancelled());
            }
            thread.join().unwrap();
        }
    }
}

/// What destructors do while a set goes: spawn, wake, abort, panic.
#[test]
fn destructors_may_do_anything_while_a_set_goes() {
    struct Busy {
        census: Census,
        waker: Option<Waker>,
        neighbour: Option<JoinHandle<()>>,
        panics: bool,
    }
    impl Drop for Busy {
        fn drop(&mut self) {
            if let Some(waker) = self.waker.take() {
                waker.wake();
            }
            if let Some(neighbour) = self.neighbour.take() {
                neighbour.abort();
            }
            let one = self.census.one();
            let late = spawn_local(async move {
                let _one = one;
                pending::<()>().await;
            });
            assert!(late.is_finished(), "spawned into a set that goes");
            assert!(!self.panics, "on purpose");
        }
    }
    everywhere(|runtime| {
        let census = Census::new();
        let set = LocalSet::new();
        let mut neighbour = None;
        for number in 0..20 {
            let mut busy = Busy {
                census: census.clone(),
                waker: None,
                neighbour: neighbour.take(),
                panics: number % 3 == 0,
            };
            let one = census.one();
            neighbour = Some(set.spawn_local(async move {
                let _one = one;
                poll_fn(move |cx| {
                    let busy = &mut busy;
                    busy.waker = Some(cx.waker().clone());
                    Poll::<()>::Pending
                })
                .await;
            }));
        }
        set.block_on(runtime, rt::yield_now());
        drop(set);
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn a_panic_in_a_local_task_is_the_handles_error() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let task = spawn_local(async { panic!("on purpose") });
            assert!(task.await.unwrap_err().is_panic());
            assert_eq!(spawn_local(async { 1 }).await.unwrap(), 1);
        });
    });
}

/// Local tasks that are always ready keep neither each other nor the future beside them waiting.
#[test]
fn busy_local_tasks_starve_nobody() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let stop = Rc::new(Cell::new(false));
            let counts: Rc<[Cell<u32>; 2]> = Rc::default();
            for index in 0..2 {
                let (stop, counts) = (Rc::clone(&stop), Rc::clone(&counts));
                drop(spawn_local(async move {
                    while !stop.get() {
                        counts[index].set(counts[index].get() + 1);
                        rt::yield_now().await;
                    }
                }));
            }
            let copy = Rc::clone(&counts);
            until_yielding(move || copy.iter().all(|count| count.get() > 1000)).await;
            assert!(rt::spawn(async { true }).await.unwrap());
            rt::delay(std::time::Duration::from_millis(1)).await;
            stop.set(true);
        });
    });
}

/// A local task that has left a scope behind becomes complete where the scope's last child ends: the
/// set hears of it, and an output that stays on its thread is not dropped there.
#[test]
fn a_local_task_may_leave_a_scope_behind() {
    everywhere(|runtime| {
        let census = Census::new();
        let (ready, is_ready) = oneshot::channel::<()>();
        let one = census.one();
        let set = LocalSet::new();
        let task = set.spawn_local(async move {
            let mut scope = Box::pin(rt::scope(async |scope| {
                scope.spawn(async move {
                    let _one = one;
                    ready.send(()).unwrap();
                    pending::<()>().await;
                });
                pending::<()>().await;
            }));
            poll_fn(|cx| {
                assert!(scope.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            is_ready.await.unwrap();
            drop(scope);
            Bound::new()
        });
        drop(task);
        runtime.block_on(set);
        assert_eq!(census.alive(), 0);
    });
}

/// A thread that is ending still has a set's tasks dropped in it.
#[test]
fn a_thread_may_keep_a_set_to_its_end() {
    thread_local! {
        static KEPT: RefCell<Option<LocalSet>> = const { RefCell::new(None) };
    }
    let _watchdog = Watchdog::new();
    let census = Census::new();
    let one = census.one();
    thread::spawn(move || {
        let set = LocalSet::new();
        let bound = Bound::new();
        drop(set.spawn_local(async move {
            let _here = (one, bound);
            pending::<()>().await;
        }));
        let runtime = Flavour::CurrentThread.build();
        set.block_on(&runtime, rt::yield_now());
        KEPT.set(Some(set));
    })
    .join()
    .unwrap();
    until(|| census.alive() == 0);
}

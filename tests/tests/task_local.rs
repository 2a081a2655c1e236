//! Values that belong to tasks.

use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};

use rt_tests::{Census, everywhere};

rt::task_local! {
    static NUMBER: u32;
    /// Counted.
    static TEXT: String;
    pub(crate) static STEPS: Cell<u32>
}

#[test]
fn each_task_has_its_own() {
    everywhere(|runtime| {
        let tasks: Vec<_> = (0..50)
            .map(|number| {
                runtime.spawn(NUMBER.scope(number, async {
                    for _ in 0..20 {
                        rt::yield_now().await;
                    }
                    // Not inherited.
                    let inner = rt::spawn(async { NUMBER.try_get().is_err() });
                    assert!(inner.await.unwrap());
                    NUMBER.get()
                }))
            })
            .collect();
        runtime.block_on(async {
            for (expected, task) in (0..).zip(tasks) {
                assert_eq!(task.await.unwrap(), expected);
            }
            assert!(NUMBER.try_with(|_| ()).is_err());
        });
    });
}

#[test]
fn scopes_nest_and_shadow() {
    everywhere(|runtime| {
        let values = runtime.block_on(NUMBER.scope(1, async {
            let inner = NUMBER.scope(2, async {
                rt::yield_now().await;
                let deepest = NUMBER.sync_scope(3, || NUMBER.get());
                (deepest, NUMBER.get())
            });
            let inner = inner.await;
            TEXT.scope("text".to_owned(), async move {
                (inner, NUMBER.get(), TEXT.get())
            })
            .await
        }));
        assert_eq!(values, ((3, 2), 1, "text".to_owned()));
    });
}

#[test]
fn nothing_is_seen_between_polls() {
    let mut future = Box::pin(NUMBER.scope(1, async {
        rt::yield_now().await;
        NUMBER.get()
    }));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut cx).is_pending());
    assert!(NUMBER.try_get().is_err());
    assert_eq!(future.as_mut().poll(&mut cx), Poll::Ready(1));
    assert!(NUMBER.try_get().is_err());
    assert_eq!(future.as_mut().take_value(), Some(1));
    assert_eq!(future.as_mut().take_value(), None);
    assert!(catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut cx))).is_err());
}

/// Tells, when it is dropped, which value it sees.
struct TellsValue(mpsc::Sender<Option<u32>>);

impl Drop for TellsValue {
    fn drop(&mut self) {
        self.0.send(NUMBER.try_get().ok()).unwrap();
    }
}

/// Whether it ends, is aborted, or is dropped half-way or unpolled.
#[test]
fn destructors_of_the_future_see_the_value() {
    everywhere(|runtime| {
        let (tell, told) = mpsc::channel();
        let future = |ends: bool| {
            let tells = TellsValue(tell.clone());
            NUMBER.scope(7, async move {
                let _tells = tells;
                if !ends {
                    pending::<()>().await;
                }
            })
        };
        runtime.block_on(runtime.spawn(future(true))).unwrap();
        assert_eq!(told.recv().unwrap(), Some(7));

        let task = runtime.spawn(future(false));
        task.abort();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        assert_eq!(told.recv().unwrap(), Some(7));

        let mut half_way = Box::pin(future(false));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(half_way.as_mut().poll(&mut cx).is_pending());
        drop(half_way);
        assert_eq!(told.recv().unwrap(), Some(7));

        drop(future(true));
        assert_eq!(told.recv().unwrap(), Some(7));

        NUMBER.sync_scope(8, || drop(future(true)));
        assert_eq!(told.recv().unwrap(), Some(7));
    });
}

#[test]
fn a_panic_takes_the_value_back() {
    everywhere(|runtime| {
        let task = runtime.spawn(NUMBER.scope(1, async { panic!("on purpose") }));
        runtime.block_on(task).unwrap_err();
        for _ in 0..20 {
            let task = runtime.spawn(async { NUMBER.try_get().is_err() });
            assert!(runtime.block_on(task).unwrap());
        }
        let panic = catch_unwind(|| NUMBER.sync_scope(1, || panic!("on purpose")));
        assert!(panic.is_err());
        assert!(NUMBER.try_get().is_err());
    });
}

#[test]
fn the_value_is_dropped_once() {
    rt::task_local! { static COUNTED: rt_tests::Counted; }
    everywhere(|runtime| {
        let census = Census::new();
        let task = runtime.spawn(COUNTED.scope(census.one(), rt::yield_now()));
        runtime.block_on(task).unwrap();
        assert_eq!(census.alive(), 0);
        drop(COUNTED.scope(census.one(), async {}));
        assert_eq!(census.alive(), 0);
        COUNTED.sync_scope(census.one(), || ());
        assert_eq!((census.alive(), census.dropped()), (0, 3));
    });
}

#[test]
fn mistakes_are_told() {
    let text = |call: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        panic.downcast_ref::<String>().unwrap().clone()
    };
    assert!(text(&|| NUMBER.with(|_| ())).contains("scope"));
    let nested = || NUMBER.with(|_| NUMBER.sync_scope(2, || ()));
    assert!(text(&|| NUMBER.sync_scope(1, nested)).contains("inside `with`"));
    assert_eq!(
        NUMBER.try_get().unwrap_err().to_string(),
        "no value of this task-local: its `scope` is not around this code"
    );
}

#[test]
fn values_may_change_through_cells() {
    everywhere(|runtime| {
        let mut future = Box::pin(STEPS.scope(Cell::new(0), async {
            for _ in 0..3 {
                STEPS.with(|steps| steps.set(steps.get() + 1));
                rt::yield_now().await;
            }
        }));
        runtime.block_on(poll_fn(|cx| future.as_mut().poll(cx)));
        assert_eq!(future.as_mut().take_value().unwrap().get(), 3);
    });
}

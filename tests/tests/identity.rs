//! What a task knows of itself: its id and its name, in its polls and in its destructors.

use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::task::Poll;

use rt::Dispatcher;
use rt::task::{self, Builder, Id};
use rt_tests::{everywhere, until_yielding};

/// Tells, when it is dropped, in which task that was.
struct TellsTask(mpsc::Sender<Option<Id>>);

impl Drop for TellsTask {
    fn drop(&mut self) {
        self.0.send(task::try_id()).unwrap();
    }
}

#[test]
fn a_task_knows_its_id() {
    everywhere(|runtime| {
        for dispatcher in [Dispatcher::Io, Dispatcher::Cpu] {
            let task = runtime.spawn_on(dispatcher, async {
                let before = task::id();
                rt::yield_now().await;
                let inner = rt::spawn(async { task::id() });
                let expected = inner.id();
                assert_eq!(inner.await.unwrap(), expected);
                (before, task::id())
            });
            let id = task.id();
            assert_eq!(runtime.block_on(task).unwrap(), (id, id));
        }
        let job = runtime.spawn_blocking(task::id);
        let id = job.id();
        assert_eq!(runtime.block_on(job).unwrap(), id);
    });
}

#[test]
fn outside_a_task_there_is_no_id() {
    everywhere(|runtime| {
        let nobody = || task::try_id().is_none() && task::try_name().is_none();
        assert!(nobody());
        assert!(runtime.block_on(async move { nobody() }));
        let handle = runtime.handle().clone();
        let job = runtime.spawn_blocking(move || {
            let id = task::id();
            // What a job blocks on is no part of the job.
            let inside = handle.block_on(async move { nobody() });
            inside && task::id() == id
        });
        assert!(runtime.block_on(job).unwrap());
        let panic = catch_unwind(AssertUnwindSafe(|| runtime.block_on(async { task::id() })));
        assert!(panic.is_err());
    });
}

/// A future is dropped as its task's, whoever drops it: at the end of its last poll, by an abort,
/// at the end of the runtime.
#[test]
fn a_futures_destructor_knows_its_task() {
    everywhere(|runtime| {
        let (tell, told) = mpsc::channel();
        let tells = TellsTask(tell.clone());
        let task = runtime.spawn(async move {
            let _tells = tells;
        });
        let id = task.id();
        runtime.block_on(task).unwrap();
        assert_eq!(told.recv().unwrap(), Some(id));

        let tells = TellsTask(tell);
        let task = runtime.spawn(async move {
            let _tells = tells;
            pending::<()>().await;
        });
        let id = task.id();
        task.abort();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        assert_eq!(told.recv().unwrap(), Some(id));
    });
}

/// So is an output that nobody takes, whether the handle went before the task's end or after it.
#[test]
fn an_outputs_destructor_knows_its_task() {
    everywhere(|runtime| {
        let (tell, told) = mpsc::channel();
        let tells = TellsTask(tell.clone());
        let task = runtime.spawn(async move {
            rt::yield_now().await;
            tells
        });
        let id = task.id();
        let abort = task.abort_handle();
        drop(task);
        runtime.block_on(until_yielding(|| abort.is_finished()));
        assert_eq!(told.recv().unwrap(), Some(id));

        let task = runtime.spawn(async move { TellsTask(tell) });
        let id = task.id();
        runtime.block_on(until_yielding(|| task.is_finished()));
        drop(task);
        assert_eq!(told.recv().unwrap(), Some(id));
        assert_eq!(task::try_id(), None);
    });
}

#[test]
fn a_panic_leaves_no_id_behind() {
    everywhere(|runtime| {
        runtime
            .block_on(runtime.spawn(async { panic!("on purpose") }))
            .unwrap_err();
        let workers = (0..64).map(|_| runtime.spawn(async { task::id() }));
        for task in workers.collect::<Vec<_>>() {
            let id = task.id();
            assert_eq!(runtime.block_on(task).unwrap(), id);
        }
        assert_eq!(task::try_id(), None);
    });
}

#[test]
fn a_task_knows_its_name() {
    everywhere(|runtime| {
        let _current = runtime.enter();
        let name = || task::try_name().map(|name| name.to_string());
        let unnamed = runtime.spawn(async move { name() });
        assert_eq!(runtime.block_on(unnamed).unwrap(), None);
        for dispatcher in [Dispatcher::Io, Dispatcher::Cpu] {
            let named = Builder::new().name("first").dispatcher(dispatcher);
            let nested = named.spawn(async move {
                let second = Builder::new().name(String::from("second"));
                let inner = second.spawn(async move { name() }).await.unwrap();
                (name(), inner)
            });
            let (outer, inner) = runtime.block_on(nested).unwrap();
            assert_eq!(outer.as_deref(), Some("first"));
            assert_eq!(inner.as_deref(), Some("second"));
        }
        let job = Builder::new().name("job").spawn_blocking(name);
        assert_eq!(runtime.block_on(job).unwrap().as_deref(), Some("job"));
        let job = Builder::new().spawn_blocking_on(name, runtime.handle());
        assert_eq!(runtime.block_on(job).unwrap(), None);
    });
}

/// A name is neither lost nor freed twice, however the task ends.
#[test]
fn a_named_task_ends_as_any_other() {
    everywhere(|runtime| {
        for length in [0, 1, 1000] {
            let name = "n".repeat(length);
            let builder = Builder::new().name(&name);
            let ready = builder.clone().spawn_on(async { 7 }, runtime.handle());
            let panics = builder
                .clone()
                .spawn_on(async { panic!("on purpose") }, runtime.handle());
            let aborted = builder.clone().spawn_on(pending::<()>(), runtime.handle());
            aborted.abort();
            let detached = builder.clone().spawn_on(pending::<()>(), runtime.handle());
            drop(detached);
            let mut polls = 0;
            let expected = name.clone();
            let repolled = poll_fn(move |cx| {
                assert_eq!(task::try_name().unwrap().as_ref(), expected);
                polls += 1;
                cx.waker().wake_by_ref();
                if polls == 3 {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            });
            let repolled = builder.spawn_on(repolled, runtime.handle());
            runtime.block_on(async {
                assert_eq!(ready.await.unwrap(), 7);
                assert!(panics.await.unwrap_err().is_panic());
                assert!(aborted.await.unwrap_err().is_cancelled());
                repolled.await.unwrap();
            });
        }
    });
}

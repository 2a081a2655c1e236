//! Tasks as spans of `tracing`, and their wakers as events: one span for each spawn of any kind, open for as long as the
//! task lives, entered in its polls alone; wakers counted in and out; and a subscriber that misbehaves.

mod spans {
    pub(super) mod recorder;
}

use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use rt::dump::{TaskDump, WaitsFor};
use rt::task::{Builder, JoinSet, LocalSet};
use rt::{Dispatcher, Handle, Runtime};
use rt_tests::{FLAVOURS, Flavour, GOES_ON, alone, everywhere, until, until_yielding, with};

use spans::recorder::{Callback, Recorder, Span};

/// Records from here on, in this process.
fn record() -> Recorder {
    let recorder = Recorder::default();
    tracing::subscriber::set_global_default(recorder.clone()).unwrap();
    recorder
}

/// The one span that was opened in a line of this file.
#[track_caller]
fn in_line(recorder: &Recorder, line: u32) -> Span {
    let mut spans = recorder.spans();
    spans.retain(|span| span.field("loc.line") == line.to_string());
    assert_eq!(spans.len(), 1, "line {line}: {spans:?}");
    let span = spans.remove(0);
    assert_eq!(span.field("loc.file"), file!());
    assert!(span.field("loc.col").parse::<u32>().unwrap() > 1);
    span
}

/// Every way to spawn gives one span, which tells what it is, and is closed once it has ended.
#[test]
fn every_spawn_is_a_span() {
    alone(|| {
        let recorder = record();
        everywhere(|runtime| {
            recorder.forget();
            spawn_in_every_way(runtime, &recorder);
            assert!(recorder.spans().iter().all(|span| span.closed));
        });
    });
}

fn spawn_in_every_way(runtime: &Runtime, recorder: &Recorder) {
    let handle = runtime.handle();
    let joined = |kind: &str, name: Option<&str>, task: rt::task::JoinHandle<u32>| {
        let id = task.id();
        assert_eq!(runtime.block_on(task).unwrap(), 5);
        let spans = recorder.spans();
        let its = |span: &&Span| span.field("task.id") == id.to_string();
        let span = spans.iter().find(its).unwrap();
        assert_eq!(span.field("kind"), kind);
        assert_eq!(span.find("task.name"), name);
        assert_eq!(span.field("loc.file"), file!());
        assert_eq!(span.entered, 1);
    };
    let named = |name| Builder::new().name(name);
    let (cpu, limited) = (Dispatcher::Cpu, Dispatcher::Io.limited(1));
    let large = [5; 1000];
    joined("task", None, handle.spawn(async { 5 }));
    joined("task", None, handle.spawn(async move { large[1] }));
    joined("task", None, handle.spawn_on(cpu, async { 5 }));
    joined("task", None, handle.spawn_on(limited, async { 5 }));
    joined("task", Some("a"), named("a").spawn_on(async { 5 }, handle));
    joined("blocking", None, handle.spawn_blocking(|| 5));
    joined("blocking", None, handle.spawn_blocking(move || large[1]));
    let job = named("b").spawn_blocking_on(|| 5, handle);
    joined("blocking", Some("b"), job);

    // What was spawned in a line: its kind and its name.
    let check = |line: u32, kind: &str, name: Option<&str>| {
        let span = in_line(recorder, line);
        assert_eq!(span.field("kind"), kind);
        assert_eq!(span.find("task.name"), name);
        assert!(span.entered > 0, "{span:?}");
    };
    let line = line!() + 1;
    runtime.block_on(async {
        // This `block_on` is open, and so its span is.
        assert!(!in_line(recorder, line).closed);
    });
    check(line, "block_on", None);

    let line = line!() + 2;
    let value = runtime.block_on(async {
        rt::spawn(async { 1 }).await.unwrap()
            + rt::task::spawn_local(async { *Rc::new(2) }).await.unwrap()
            + named("here").spawn_local(async { 3 }).await.unwrap()
            + rt::scope(|s| async move { s.spawn(async { 4 }).await.unwrap() }).await
            + rt::scope(|s| async move { s.spawn_blocking(|| 5).await.unwrap() }).await
            + rt::shield(async { 6 }).await
            + rt::run_on(Dispatcher::Cpu, async { 7 }).await
    });
    assert_eq!(value, 28);
    check(line, "task", None);
    check(line + 1, "local", None);
    check(line + 2, "local", Some("here"));
    check(line + 3, "task", None);
    check(line + 4, "blocking", None);
    check(line + 5, "task", None);
    check(line + 6, "task", None);

    let line = line!() + 2;
    let value: Result<u32, ()> = runtime.block_on(rt::try_scope(|s| async move {
        let a = s.spawn(async { Ok(1) }).await.unwrap();
        let b = s.spawn_blocking(|| Ok(2)).await.unwrap();
        let c = s.spawn_on(Dispatcher::Cpu, async { Ok(3) }).await.unwrap();
        Ok(a + b + c)
    }));
    assert_eq!(value, Ok(6));
    check(line, "task", None);
    check(line + 1, "blocking", None);
    check(line + 2, "task", None);

    let set = LocalSet::new();
    let line = line!() + 1;
    let here = set.spawn_local(async { *Rc::new(8) });
    assert_eq!(set.block_on(runtime, here).unwrap(), 8);
    check(line, "local", None);

    let line = line!() + 3;
    let value = runtime.block_on(async {
        let mut set = JoinSet::new();
        set.spawn(async { 9 });
        set.build_task().name("ten").spawn(async { 10 });
        set.join_next().await.unwrap().unwrap() + set.join_next().await.unwrap().unwrap()
    });
    assert_eq!(value, 19);
    check(line, "task", None);
    check(line + 1, "task", Some("ten"));
}

/// However a task ends, its span is closed before its handle says so; also if it was never polled.
#[test]
fn a_span_closes_with_its_task() {
    alone(|| {
        let recorder = record();
        everywhere(|runtime| {
            let aborted = runtime.spawn(pending::<()>());
            aborted.abort();
            assert!(runtime.block_on(aborted).unwrap_err().is_cancelled());
            let panicked = runtime.spawn(async { panic!("as it should") });
            assert!(runtime.block_on(panicked).unwrap_err().is_panic());
            runtime.block_on(async {
                let waiting = rt::spawn(pending::<()>());
                rt::yield_now().await;
                waiting.abort();
                assert!(waiting.await.unwrap_err().is_cancelled());
            });
            let open = recorder.spans().into_iter().filter(|span| !span.closed);
            assert_eq!(open.count(), 0);
        });

        recorder.forget();
        let runtime = Flavour::CurrentThread.build();
        let set = LocalSet::new();
        drop(runtime.spawn(pending::<()>()));
        drop(set.spawn_local(pending::<()>()));
        let kinds = |spans: Vec<Span>| spans.iter().map(|s| s.field("kind").to_owned()).collect();
        let kinds: Vec<String> = kinds(recorder.spans());
        assert_eq!(kinds, ["task", "local"]);
        drop(set);
        drop(runtime);
        for span in recorder.spans() {
            assert!(span.closed && span.entered == 0, "{span:?}");
        }

        // A runtime that is over refuses the task.
        recorder.forget();
        let runtime = Flavour::Workers(1).build();
        let handle = runtime.handle().clone();
        drop(runtime);
        drop(handle.spawn(async {}));
        drop(handle.spawn_blocking(|| ()));
        let spans = recorder.spans();
        assert!(spans.len() == 2 && spans.iter().all(|span| span.closed && span.entered == 0));
    });
}

/// A thread is in a task's span while it polls that task, and in none when the poll is over, also by a panic; no
/// other task's poll is part of it.
#[test]
fn a_span_is_entered_in_its_polls_alone() {
    alone(|| {
        let recorder = record();
        everywhere(|runtime| {
            recorder.forget();
            let mine = recorder.clone();
            let look = move |name: &'static str, polls: u32| {
                let mut seen = 0;
                let mine = mine.clone();
                Builder::new().name(name).spawn(poll_fn(move |cx| {
                    assert_eq!(mine.inside(), [name]);
                    seen += 1;
                    if seen == polls {
                        return Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }))
            };
            runtime.block_on(async {
                let tasks: Vec<_> = [("a", 3), ("b", 5), ("c", 1)]
                    .map(|(name, polls)| look(name, polls))
                    .into();
                let panics = Builder::new()
                    .name("d")
                    .spawn(async { panic!("as it should") });
                assert!(panics.await.unwrap_err().is_panic());
                for task in tasks {
                    task.await.unwrap();
                }
            });
            assert!(recorder.inside().is_empty());
            let entered = |name| {
                let spans = recorder.spans();
                let named = spans
                    .iter()
                    .find(|span| span.find("task.name") == Some(name));
                named.unwrap().entered
            };
            assert_eq!(["a", "b", "c", "d"].map(entered), [3, 5, 1, 1]);
            assert!(recorder.deepest() <= 1, "a poll inside another one");
        });
    });
}

/// Each waker that was cloned is dropped or used up; wakes are told with the span that they are for; and a waker is the same from
/// one poll to the next, so that what waits keeps the one that it has.
#[test]
fn wakers_are_counted_in_and_out() {
    alone(|| {
        let recorder = record();
        everywhere(|runtime| {
            recorder.forget();
            let kept = Arc::new(Mutex::new(None));
            let line = line!() + 3;
            let task = {
                let kept = Arc::clone(&kept);
                runtime.spawn(poll_fn(move |cx| {
                    let mut kept = kept.lock().unwrap();
                    match &*kept {
                        None => *kept = Some(cx.waker().clone()),
                        Some(before) => {
                            assert!(before.will_wake(cx.waker()));
                            return Poll::Ready(());
                        }
                    }
                    Poll::Pending
                }))
            };
            until(|| {
                runtime.block_on(rt::yield_now());
                kept.lock().unwrap().is_some()
            });
            let waker = kept.lock().unwrap().clone().unwrap();
            thread::spawn(move || waker.wake()).join().unwrap();
            runtime.block_on(task).unwrap();
            // One that outlives the task still tells whose it was, and wakes nobody.
            let late = kept.lock().unwrap().take().unwrap();
            late.wake_by_ref();
            drop(late);
            let span = in_line(&recorder, line);
            assert_eq!(span.entered, 2);
            let ops = recorder.ops(&span);
            let expected =
                ["clone", "clone", "wake", "wake_by_ref", "drop"].map(|op| format!("waker.{op}"));
            assert_eq!(ops, expected);

            // What really waits: timers, channels, joins, local tasks, scopes.
            runtime.block_on(traffic());
        });
        let (mut wakes, mut clones) = (0, 0);
        for span in recorder.spans() {
            let ops = recorder.ops(&span);
            let count = |op: &str| ops.iter().filter(|known| known.as_str() == op).count();
            let gone = count("waker.drop") + count("waker.wake");
            assert_eq!(count("waker.clone"), gone, "{span:?}: {ops:?}");
            wakes += count("waker.wake") + count("waker.wake_by_ref");
            clones += gone;
        }
        assert!(wakes > 0 && clones > 0);
    });
}

async fn traffic() {
    let (sender, receiver) = rt::channel::bounded(1);
    let consumer = rt::spawn(async move {
        let mut sum = 0;
        while let Some(value) = receiver.recv().await {
            sum += value;
        }
        sum
    });
    let local = rt::task::spawn_local(async { rt::delay(Duration::from_millis(2)).await });
    rt::scope(|s| async move {
        for value in 0..100 {
            let sender = sender.clone();
            s.spawn(async move { sender.send(value).await.unwrap() });
        }
    })
    .await;
    assert_eq!(consumer.await.unwrap(), 4950);
    local.await.unwrap();
    let late = rt::time::timeout(Duration::from_millis(1), pending::<()>());
    assert!(rt::spawn(late).await.unwrap().is_err());
}

/// What the runtime's own futures leave for a dump does not depend on whose waker they are given.
#[test]
fn a_dump_tells_what_a_task_in_a_span_waits_for() {
    alone(|| {
        let recorder = record();
        everywhere(|runtime| {
            let line = line!() + 2;
            runtime.block_on(async {
                let sleeper = rt::spawn(rt::delay(Duration::from_hours(1)));
                let waits = |task: &TaskDump| {
                    task.id == sleeper.id()
                        && matches!(task.waits_for, Some(WaitsFor::Timer { .. }))
                };
                until_yielding(|| Handle::current().dump().tasks.iter().any(waits)).await;
                sleeper.abort();
                assert!(sleeper.await.unwrap_err().is_cancelled());
            });
            assert_eq!(in_line(&recorder, line).entered, 1);
            recorder.forget();
        });
    });
}

/// A subscriber that wants something else has nothing of tasks.
#[test]
fn who_does_not_ask_is_not_told() {
    alone(|| {
        let recorder = Recorder::of("elsewhere");
        tracing::subscriber::set_global_default(recorder.clone()).unwrap();
        with(Flavour::Workers(2), |runtime| {
            runtime.block_on(traffic());
            tracing::trace!(target: "elsewhere", "told");
        });
        assert!(recorder.spans().is_empty());
        assert_eq!(recorder.events(), 1);
    });
}

/// Whatever callback of the subscriber panics, every task runs to its end, and every wake arrives.
#[test]
fn a_subscriber_that_panics_loses_nothing() {
    alone(|| {
        std::panic::set_hook(Box::new(|_| ()));
        let recorder = record();
        for callback in Callback::ALL {
            for flavour in FLAVOURS {
                with(flavour, |runtime| {
                    recorder.panic_in(Some(callback));
                    runtime.block_on(traffic());
                    assert_eq!(runtime.block_on(runtime.spawn_blocking(|| 1)).unwrap(), 1);
                    let panics = runtime.spawn(async { panic!("while it unwinds") });
                    assert!(runtime.block_on(panics).unwrap_err().is_panic());
                    let cut = runtime.spawn(pending::<()>());
                    cut.abort();
                    assert!(runtime.block_on(cut).unwrap_err().is_cancelled());
                    assert!(recorder.panics() > 0, "{callback:?} was not reached");
                    recorder.panic_in(None);
                });
            }
        }
    });
}

/// A subscriber may itself spawn: what it does while it is told of something is not told to it.
#[test]
fn a_subscriber_that_spawns_is_not_told_of_that() {
    alone(|| {
        let recorder = record();
        let runtime = Flavour::Workers(2).build();
        let handle: Handle = runtime.handle().clone();
        let (sender, receiver) = rt::channel::unbounded();
        recorder.on_every_call(move || {
            let sender = sender.clone();
            drop(handle.spawn(async move {
                let _ = sender.send(()).await;
            }));
        });
        let line = line!() + 1;
        assert_eq!(runtime.block_on(async { 5 }), 5);
        in_line(&recorder, line);
        assert_eq!(recorder.spans().len(), 1);
        let first = async { rt::time::timeout(GOES_ON, receiver.recv()).await };
        runtime.block_on(first).unwrap().unwrap();
        recorder.on_every_call(|| ());
    });
}

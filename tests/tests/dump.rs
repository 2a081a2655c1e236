//! What a dump tells: every live task, where it is in the tree, what it waits for, while all goes on.

use std::collections::HashSet;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rt::dump::{Dump, TaskDump, TaskState, WaitsFor};
use rt::net::{TcpListener, TcpStream};
use rt::task::{Builder, JoinSet};
use rt::{Dispatcher, Handle, channel};
use rt_tests::{Flavour, everywhere, until, until_yielding, with};

const HOUR: Duration = Duration::from_hours(1);

/// Dumps again and again, until `seen` finds what it looks for.
async fn dump_until(seen: impl Fn(&Dump) -> bool) -> Dump {
    let mut dump = Handle::current().dump();
    until_yielding(|| {
        dump = Handle::current().dump();
        seen(&dump)
    })
    .await;
    dump
}

fn named<'a>(dump: &'a Dump, name: &str) -> Option<&'a TaskDump> {
    let is_it = |task: &&TaskDump| task.name.as_deref() == Some(name);
    dump.tasks.iter().find(is_it)
}

/// The line of the text about the task with this name, and how far it is indented.
fn line<'a>(text: &'a str, name: &str) -> (usize, &'a str) {
    let quoted = format!("`{name}`");
    let found = text
        .lines()
        .find(|line| line.trim_start().starts_with("task") && line.contains(&quoted));
    let line = found.unwrap_or_else(|| panic!("no line for {name} in\n{text}"));
    (line.len() - line.trim_start().len(), line.trim_start())
}

#[test]
fn tasks_of_all_pools_are_there() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (release, hold) = mpsc::channel::<()>();
            let here = line!();
            drop(Builder::new().name("on io").spawn(pending::<()>()));
            drop(
                Builder::new()
                    .name("on cpu")
                    .dispatcher(Dispatcher::Cpu)
                    .spawn(pending::<()>()),
            );
            drop(
                Builder::new()
                    .name("limited")
                    .dispatcher(Dispatcher::Io.limited(1))
                    .spawn(pending::<()>()),
            );
            drop(
                Builder::new()
                    .name("job")
                    .spawn_blocking(move || hold.recv()),
            );
            drop(Builder::new().name("local").spawn_local(pending::<()>()));
            let ready = |dump: &Dump| {
                let idle = ["on io", "on cpu", "limited", "local"];
                let is_idle =
                    |name| named(dump, name).is_some_and(|task| task.state == TaskState::Idle);
                idle.into_iter().all(is_idle)
                    && named(dump, "job").is_some_and(|job| job.state == TaskState::Running)
            };
            let dump = dump_until(ready).await;
            let pools = [
                ("on io", "io"),
                ("on cpu", "cpu"),
                ("limited", "io"),
                ("job", "blocking"),
                ("local", "local"),
            ];
            let mut above = here;
            for (name, pool) in pools {
                let task = named(&dump, name).unwrap();
                assert_eq!((task.pool, task.polls), (pool, 1), "{name}");
                assert_eq!(task.location.file(), file!());
                assert!(
                    task.location.line() > above,
                    "in the order of the lines above"
                );
                above = task.location.line();
                assert_eq!(task.waits_for, None, "{name}");
                let text = dump.to_string();
                let (indent, line) = self::line(&text, name);
                assert_eq!(indent, 0);
                assert!(line.starts_with(&format!(
                    "task {} `{name}` at {} on {pool}: ",
                    task.id, task.location
                )));
            }
            assert_eq!(dump.unlisted, 0);
            drop(release);
        });
    });
}

#[test]
fn tasks_that_were_never_polled_are_there() {
    everywhere(|runtime| {
        runtime.block_on(async {
            // The one worker, or all of them, run nothing meanwhile: the view has one turn.
            let view = Dispatcher::Cpu.limited(1);
            let (release, hold) = mpsc::channel::<()>();
            let (running, runs) = channel::oneshot();
            let blocker = rt::spawn_on(view.clone(), async move {
                let _ = running.send(());
                let _ = hold.recv();
            });
            runs.await.unwrap();
            let waiting: Vec<_> = (0..10)
                .map(|_| rt::spawn_on(view.clone(), async {}))
                .collect();
            let dump = Handle::current().dump();
            let task = dump
                .tasks
                .iter()
                .find(|task| task.id == blocker.id())
                .unwrap();
            assert_eq!((task.state, task.polls), (TaskState::Running, 1));
            assert!(task.worker.is_some());
            assert_eq!(dump.tasks.len() + dump.unlisted, 11);
            assert!(dump.to_string().starts_with("tasks: 11\n"));
            drop(release);
            for task in waiting {
                task.await.unwrap();
            }
            blocker.await.unwrap();
        });
    });
}

#[test]
fn queued_tasks_are_listed_and_run_nonetheless() {
    with(Flavour::CurrentThread, |runtime| {
        runtime.block_on(async {
            let tasks: Vec<_> = (0..100)
                .map(|number| rt::spawn(async move { number }))
                .collect();
            let dump = Handle::current().dump();
            let ids: HashSet<_> = dump.tasks.iter().map(|task| task.id).collect();
            assert!(tasks.iter().all(|task| ids.contains(&task.id())));
            assert!(
                dump.tasks
                    .iter()
                    .all(|task| task.state == TaskState::Scheduled && task.polls == 0)
            );
            for (number, task) in tasks.into_iter().enumerate() {
                assert_eq!(task.await.unwrap(), number);
            }
            assert_eq!(Handle::current().dump().tasks.len(), 0);
        });
    });
}

/// A task with a name, which ends with the set.
fn add(tasks: &mut JoinSet<()>, name: &str, task: impl Future<Output = ()> + Send + 'static) {
    tasks.build_task().name(name).spawn(task);
}

/// A dump in which so many tasks wait.
async fn dump_of_idle(count: usize) -> Dump {
    let idle = |task: &&TaskDump| task.state == TaskState::Idle;
    dump_until(|dump| dump.tasks.iter().filter(idle).count() == count).await
}

fn waits(dump: &Dump, name: &str) -> WaitsFor {
    named(dump, name).unwrap().waits_for.clone().unwrap()
}

/// The text says so of the task with this name.
fn assert_told(dump: &Dump, name: &str, told: &str) {
    let text = dump.to_string();
    let (_, line) = line(&text, name);
    assert!(
        line.contains(told) && line.contains(": idle for "),
        "{line}"
    );
}

#[test]
fn those_who_wait_for_sockets_and_timers_say_so() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let near = TcpStream::connect(listener.local_addr().unwrap())
                .await
                .unwrap();
            let far = listener.accept().await.unwrap();
            let mut tasks = JoinSet::new();
            add(&mut tasks, "timer", rt::delay(HOUR));
            add(&mut tasks, "never", rt::delay(Duration::MAX));
            add(&mut tasks, "both", async {
                let _ = rt::time::timeout(HOUR, rt::delay(2 * HOUR)).await;
            });
            add(&mut tasks, "read", async move {
                near.read_exact(&mut [0; 1]).await.map(drop).unwrap();
            });
            add(&mut tasks, "accept", async move {
                drop(listener.accept().await);
            });
            let dump = dump_of_idle(5).await;

            let left = |name| match waits(&dump, name) {
                WaitsFor::Timer { left: Some(left) } => left,
                other => panic!("{other:?}"),
            };
            assert!(left("timer") <= HOUR + Duration::from_millis(1));
            assert!(left("both") > HOUR, "the first of the two");
            assert!(named(&dump, "both").unwrap().and_others);
            assert!(!named(&dump, "timer").unwrap().and_others);
            assert_eq!(waits(&dump, "never"), WaitsFor::Timer { left: None });
            for name in ["read", "accept"] {
                assert!(matches!(waits(&dump, name), WaitsFor::Readable { fd } if fd > 2));
                assert_told(&dump, name, "waits to read from descriptor ");
            }
            assert_told(&dump, "timer", "waits for a timer that ends in 3");
            assert_told(&dump, "never", "waits for a timer that never ends, polls 1");
            assert_told(&dump, "both", " and others, polls 1");
            drop(far);
            tasks.abort_all();
        });
    });
}

#[test]
fn those_who_wait_for_others_say_so() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (tx, rx) = channel::bounded::<u8>(1);
            let (full, _kept) = channel::bounded::<u8>(1);
            full.try_send(0).unwrap();
            let token = rt::CancelToken::new();
            let mut tasks = JoinSet::new();
            let joined = rt::spawn(pending::<()>());
            let id = joined.id();
            add(&mut tasks, "recv", async move {
                let _ = rx.recv().await;
            });
            add(&mut tasks, "send", async move {
                let _ = full.send(1).await;
            });
            add(&mut tasks, "join", async move { drop(joined.await) });
            add(&mut tasks, "token", async move { token.cancelled().await });
            add(&mut tasks, "foreign", pending::<()>());
            add(&mut tasks, "scope", async {
                rt::scope(|scope| async move {
                    scope.spawn(pending::<()>());
                })
                .await;
            });
            let dump = dump_of_idle(8).await;

            assert!(matches!(waits(&dump, "recv"), WaitsFor::Receive { .. }));
            assert!(matches!(waits(&dump, "send"), WaitsFor::Send { .. }));
            assert!(matches!(
                waits(&dump, "token"),
                WaitsFor::Cancellation { .. }
            ));
            let task = id.number();
            assert_eq!(waits(&dump, "join"), WaitsFor::Join { task });
            let scope = dump.scopes[0].id;
            assert_eq!(waits(&dump, "scope"), WaitsFor::Scope { scope });
            assert_eq!(named(&dump, "foreign").unwrap().waits_for, None);
            assert_told(&dump, "recv", "waits for a value from channel 0x");
            assert_told(&dump, "send", "waits for room in channel 0x");
            assert_told(&dump, "join", &format!("waits for the end of task {id}, "));
            assert_told(&dump, "scope", "waits for the children of scope 0x");
            let foreign = "waits for something that is not the runtime's";
            assert_told(&dump, "foreign", foreign);
            drop(tx);
            tasks.abort_all();
        });
    });
}

#[test]
fn a_note_is_no_older_than_the_last_poll() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (sender, receiver) = rt::channel::bounded(1);
            let task = rt::spawn(async move {
                receiver.recv().await;
                pending::<()>().await;
            });
            let waits_after = |dump: &Dump, polls| {
                let waits = |task: &TaskDump| task.polls == polls && task.idle.is_some();
                dump.tasks.first().is_some_and(waits)
            };
            let dump = dump_until(|dump| waits_after(dump, 1)).await;
            assert!(matches!(
                dump.tasks[0].waits_for,
                Some(WaitsFor::Receive { .. })
            ));
            sender.send(()).await.unwrap();
            let dump = dump_until(|dump| waits_after(dump, 2)).await;
            assert_eq!(dump.tasks[0].waits_for, None);
            task.abort();
        });
    });
}

#[test]
fn scopes_are_a_tree() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let outer = Builder::new().name("owner").spawn(async {
                rt::scope(|outer| async move {
                    outer.name("outer");
                    outer.deadline(rt::time::Instant::now() + HOUR);
                    outer.spawn(async {
                        rt::supervisor(|inner| async move {
                            inner.name("inner");
                            inner.spawn(rt::delay(HOUR));
                        })
                        .await;
                    });
                    outer.spawn_blocking(|| ()).await.unwrap();
                    pending::<()>().await;
                })
                .await;
            });
            let dump = dump_until(|dump| {
                dump.scopes.len() == 2
                    && dump.tasks.iter().all(|task| task.state == TaskState::Idle)
            })
            .await;
            let [outer_scope, inner_scope] = &dump.scopes[..] else {
                panic!("{dump:?}")
            };
            assert_eq!(
                (outer_scope.name.as_deref(), outer_scope.kind),
                (Some("outer"), "scope")
            );
            assert_eq!(
                (inner_scope.name.as_deref(), inner_scope.kind),
                (Some("inner"), "supervisor")
            );
            assert_eq!(
                (outer_scope.opened_in, outer_scope.parent),
                (Some(outer.id()), None)
            );
            assert_eq!(
                (inner_scope.parent, inner_scope.children),
                (Some(outer_scope.id), 1)
            );
            assert!(outer_scope.deadline.is_some_and(|left| left <= HOUR));
            let text = dump.to_string();
            let lines: Vec<_> = text.lines().skip(1).collect();
            for (depth, (line, begin)) in lines
                .iter()
                .zip([
                    "task ",
                    "scope `outer`: children 1, deadline in 3",
                    "task ",
                    "supervisor `inner`: children 1",
                    "task ",
                ])
                .enumerate()
            {
                let (indent, text) = line.split_at(2 * depth);
                assert!(
                    indent.trim().is_empty() && text.starts_with(begin),
                    "{line}"
                );
            }
            assert_eq!(lines.len(), 5);
            assert!(lines[2].contains("waits for the children of scope `inner`"));
            outer.abort();
            let _ = outer.await;
        });
    });
}

#[test]
fn a_task_that_blocks_is_told_with_the_call_that_it_blocks_in() {
    with(Flavour::Workers(2), |runtime| {
        let (release, hold) = mpsc::channel::<()>();
        let blocker = runtime.spawn(async move {
            let _ = hold.recv();
        });
        runtime.block_on(async {
            let stuck = |task: &TaskDump| task.id == blocker.id() && task.running_for.is_some();
            let dump = dump_until(|dump| dump.tasks.iter().any(stuck)).await;
            let text = dump.to_string();
            let line = text
                .lines()
                .find(|line| line.contains(" in one poll on worker "));
            let line = line.unwrap_or_else(|| panic!("{text}"));
            // Where the kernel tells.
            if std::path::Path::new("/proc/self/syscall").exists() {
                assert!(line.contains("(blocks in futex"), "{line}");
            }
            assert!(line.contains(": running for "), "{line}");
            drop(release);
            blocker.await.unwrap();
        });
    });
}

#[test]
fn dumps_in_a_loop_while_tasks_come_and_go() {
    everywhere(|runtime| {
        let over = Arc::new(AtomicBool::new(false));
        let (handle, done) = (runtime.handle().clone(), Arc::clone(&over));
        let looker = std::thread::spawn(move || {
            let mut most = 0;
            while !done.load(SeqCst) {
                let dump = handle.dump();
                most = most.max(dump.tasks.len());
                assert!(dump.to_string().lines().count() > dump.tasks.len());
            }
            most
        });
        runtime.block_on(async {
            for _ in 0..30 {
                rt::scope(|scope| async move {
                    for number in 0..200_u64 {
                        let dispatcher = if number % 2 == 0 {
                            Dispatcher::Io
                        } else {
                            Dispatcher::Cpu
                        };
                        scope.spawn_on(dispatcher, async move {
                            rt::delay(Duration::from_micros(number)).await;
                            rt::scope(|inner| async move {
                                inner.spawn(rt::yield_now());
                                inner.spawn_blocking(|| ());
                            })
                            .await;
                            rt::spawn(async {}).await.unwrap();
                        });
                    }
                })
                .await;
            }
        });
        over.store(true, SeqCst);
        assert!(looker.join().unwrap() > 0);
        // A worker may still be on its way out of the last poll.
        until(|| {
            let dump = runtime.dump();
            dump.tasks.is_empty() && dump.unlisted == 0
        });
    });
}

#[test]
fn dumps_and_metrics_are_json() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let owner = Builder::new()
                .name("owner")
                .spawn(rt::scope(|scope| async move {
                    scope.name("requests");
                    scope.spawn(rt::delay(HOUR));
                }));
            // Both have ended their first poll: a task that runs it is not known to be in a scope yet.
            let waits = |task: &&TaskDump| task.polls == 1 && task.state == TaskState::Idle;
            let dump = dump_until(|dump| dump.tasks.iter().filter(waits).count() == 2).await;
            let json: serde_json::Value = serde_json::to_value(&dump).unwrap();
            let tasks = json["tasks"].as_array().unwrap();
            let owner_json = tasks.iter().find(|task| task["name"] == "owner").unwrap();
            assert_eq!(owner_json["id"], owner.id().number());
            assert_eq!(
                (&owner_json["pool"], &owner_json["state"]),
                (&"io".into(), &"idle".into())
            );
            assert_eq!(owner_json["polls"], 1);
            let place = owner_json["location"].as_str().unwrap();
            assert!(place.starts_with(&format!("{}:", file!())), "{place}");
            let scope = &json["scopes"][0];
            assert_eq!(
                (&scope["name"], &scope["kind"]),
                (&"requests".into(), &"scope".into())
            );
            assert_eq!(owner_json["waits_for"]["Scope"]["scope"], scope["id"]);
            let child = tasks
                .iter()
                .find(|task| task["scope"] == scope["id"])
                .unwrap();
            let left = child["waits_for"]["Timer"]["left"].as_f64().unwrap();
            assert!(left <= HOUR.as_secs_f64() + 0.001);
            assert_eq!(json["unlisted"], 0);

            let metrics = Handle::current().metrics();
            let json = serde_json::to_value(&metrics).unwrap();
            assert_eq!(json["live_tasks"], 2);
            assert_eq!(
                json["io_workers"].as_array().unwrap().len(),
                metrics.io_workers.len()
            );
            assert!(json["io_workers"][0]["polls"].is_u64());
            owner.abort();
            let _ = owner.await;
        });
    });
}

#[test]
fn a_signal_that_nobody_may_wait_for_is_refused() {
    use rt::signal::unix::SignalKind;

    let builder = rt::Runtime::builder().dump_on_signal(SignalKind::from_raw(9));
    let error = builder.build().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn the_one_that_works_is_told_as_busy() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let busy = rt::spawn(async {
                loop {
                    rt::yield_now().await;
                }
            });
            let told = |task: &TaskDump| {
                task.id == busy.id() && task.busy.is_some_and(|busy| busy > Duration::ZERO)
            };
            dump_until(|dump| dump.tasks.iter().any(told)).await;
            let workers = Handle::current().metrics().io_workers;
            assert!(workers.iter().any(|worker| worker.busy > Duration::ZERO));
            busy.abort();
        });
    });
}

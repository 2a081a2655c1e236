//! What the feature `tracing` tells of stalls, and of what a runtime does not wait for.

use std::fmt;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use rt::Runtime;
use rt::dump::TaskState;
use rt::runtime::Stall;
use rt::task::JoinHandle;
use rt_tests::{Flavour, alone, until};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Keeps the fields of the events of one target.
#[derive(Clone)]
struct Log(&'static str, Arc<Mutex<Vec<Fields>>>);

impl Log {
    /// Listens from now on, in a process of its own.
    fn of(target: &'static str) -> Self {
        let log = Log(target, Arc::default());
        tracing::subscriber::set_global_default(log.clone()).unwrap();
        log
    }

    /// What is told of a task that was spawned in this line.
    fn of_line(&self, line: u32) -> Vec<Fields> {
        let log = self.1.lock().unwrap();
        let place = format!("{}:{line}:", file!());
        let here = |fields: &&Fields| fields.get("task.location").starts_with(&place);
        log.iter().filter(here).cloned().collect()
    }
}

#[derive(Clone, Default)]
struct Fields(Vec<(&'static str, String)>);

impl Fields {
    fn get(&self, name: &str) -> &str {
        let field = self.0.iter().find(|field| field.0 == name);
        &field.unwrap_or_else(|| panic!("no field {name}")).1
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == self.0
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        assert_eq!(*event.metadata().level(), Level::WARN);
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.1.lock().unwrap().push(fields);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Three stalls from one place and one from another: all are counted, and told of to the hook; the
/// log has one line for each place.
#[test]
fn a_stall_is_a_warning_once_a_place() {
    alone(|| {
        let log = Log::of("rt::stall");
        let (hook, hooked) = mpsc::channel();
        let hook = Mutex::new(hook);
        let runtime = Flavour::Workers(2)
            .builder()
            .on_stall(move |stall| hook.lock().unwrap().send(stall.clone()).unwrap())
            .build()
            .unwrap();
        // The stall from a line that comes next: others may stall on a busy machine.
        let from = |line: u32| -> Stall {
            let here =
                |stall: &Stall| stall.location.file() == file!() && stall.location.line() == line;
            hooked.iter().find(here).unwrap()
        };
        for _ in 0..3 {
            let line = line!() + 1;
            let (release, task) = stuck(&runtime);
            let stall = from(line);
            assert_eq!((stall.id, stall.pool), (task.id(), "io"));
            assert_eq!(log.of_line(line).len(), 1);
            drop(release);
            runtime.block_on(task).unwrap();
        }
        let line = line!() + 1;
        let (release, task) = stuck(&runtime);
        let stall = from(line);
        let told = log.of_line(line);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].get("task.id"), stall.id.to_string());
        assert_eq!(told[0].get("task.name"), format!("{:?}", "digger"));
        assert_eq!(told[0].get("elapsed"), format!("{:?}", stall.elapsed));
        assert_eq!(told[0].get("worker"), stall.worker.to_string());
        assert!(told[0].get("pool").contains("io"));
        assert!(told[0].get("message").contains("worker"));
        assert!(runtime.metrics().stalls >= 4);
        drop(release);
        runtime.block_on(task).unwrap();
    });
}

/// A job and a task.
#[test]
fn what_a_runtime_has_waited_for_in_vain_is_a_warning() {
    alone(|| {
        let log = Log::of("rt::shutdown");
        let limit = Duration::from_millis(20);
        let runtime = Flavour::Workers(2).build();
        let (begin, begun) = mpsc::channel();
        let (release_job, hold) = mpsc::channel::<()>();
        let job = rt::task::Builder::new().name("delver");
        let job_line = line!() + 1;
        let job = job.spawn_blocking_on(
            move || {
                begin.send(()).unwrap();
                let _ = hold.recv();
            },
            runtime.handle(),
        );
        begun.recv().unwrap();
        let task_line = line!() + 1;
        let (release_task, task) = stuck(&runtime);
        until(|| runs(&runtime, &task));
        runtime.shutdown_timeout(limit);

        let told = log.of_line(job_line);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].get("task.id"), job.id().to_string());
        assert_eq!(told[0].get("task.name"), format!("{:?}", "delver"));
        assert!(told[0].get("pool").contains("blocking"));
        assert_eq!(told[0].get("waited"), format!("{limit:?}"));
        assert!(told[0].get("message").contains("still runs"));
        let told = log.of_line(task_line);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].get("task.id"), task.id().to_string());
        assert!(told[0].get("pool").contains("io"));
        drop((release_job, release_task));

        // Who does not wait has waited for nothing in vain.
        let runtime = Flavour::Workers(2).build();
        let (release, task) = stuck(&runtime);
        until(|| runs(&runtime, &task));
        runtime.shutdown_background();
        assert_eq!(log.1.lock().unwrap().len(), 2);
        drop(release);
    });
}

fn runs(runtime: &Runtime, task: &JoinHandle<()>) -> bool {
    let tasks = runtime.dump().tasks;
    let task = tasks.iter().find(|one| one.id == task.id());
    task.is_some_and(|task| task.state == TaskState::Running)
}

/// A task that keeps its worker until the sender goes.
#[track_caller]
fn stuck(runtime: &Runtime) -> (mpsc::Sender<()>, JoinHandle<()>) {
    let (release, hold) = mpsc::channel();
    let work = async move {
        let _ = hold.recv();
    };
    let builder = rt::task::Builder::new().name("digger");
    (release, builder.spawn_on(work, runtime.handle()))
}

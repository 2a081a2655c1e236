//! Aborting a task: in every state it can be in, from everywhere, with and without its handle.
//!
//! Always the same must hold: the future is dropped once, by the pool that ran it, before the
//! handle resolves; a task that had finished keeps its value; nobody panics and nobody hangs.

use std::future::pending;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;

use rt::task::{AbortHandle, JoinError, JoinHandle};
use rt::{Handle, Runtime};
use rt_tests::{Census, Counted, Flavour, Watchdog, everywhere, until, with};
use tokio::sync::oneshot;

/// What the task does when it is aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    NotPolled,
    Pending,
    Running,
    Finished,
    Aborted,
}

/// Who aborts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Task,
    Thread,
    /// The runtime is gone by then.
    Afterwards,
}

const STAGES: [Stage; 5] = [
    Stage::NotPolled,
    Stage::Pending,
    Stage::Running,
    Stage::Finished,
    Stage::Aborted,
];

#[test]
fn a_task_can_be_aborted_in_every_state_by_everyone_with_and_without_its_handle() {
    for stage in STAGES {
        for by in [By::Task, By::Thread, By::Afterwards] {
            for kept in [true, false] {
                let _watchdog = Watchdog::new();
                eprintln!("{stage:?}, aborted by {by:?}, handle kept: {kept}");
                check(stage, by, kept);
            }
        }
    }
}

/// The task's output.
type Output = Result<Counted, JoinError>;

fn check(stage: Stage, by: By, kept: bool) {
    let case = Case::new(stage);
    // One worker, so that a task that comes later shows that this one is suspended; two, where one
    // has to be kept busy.
    let busy = matches!(stage, Stage::NotPolled | Stage::Running);
    let builder = Flavour::Workers(if busy { 2 } else { 1 }).builder();
    // Without spare workers, which would poll what is not to be polled.
    let runtime = builder.stall_threshold(None).build().unwrap();
    let occupied = match (stage, by) {
        (Stage::NotPolled, By::Task) => Occupied::new(&runtime, 1),
        (Stage::NotPolled, _) => Occupied::new(&runtime, 2),
        _ => Occupied::new(&runtime, 0),
    };

    if stage == Stage::NotPolled && by == By::Task {
        // It spawns and aborts in one poll of its own, on the only worker that is free.
        let (handle, future) = (runtime.handle().clone(), case.future());
        let (give, given) = mpsc::channel();
        drop(runtime.spawn(async move {
            let task = handle.spawn(future);
            task.abort();
            give.send(task).unwrap();
        }));
        let task = given.recv().unwrap();
        drop(occupied);
        case.expect(kept.then(|| join(task)));
        return;
    }

    let task = runtime.spawn(case.future());
    case.reach(&task, runtime.handle());
    let abort = task.abort_handle();
    let task = kept.then_some(task);
    strike(runtime, by, abort);
    drop(occupied);
    case.resume();
    case.expect(task.map(join));
}

/// Aborts, as `by` says.
fn strike(runtime: Runtime, by: By, abort: AbortHandle) {
    match by {
        By::Task => join(runtime.spawn(async move { abort.abort() })).unwrap(),
        By::Thread => thread::spawn(move || abort.abort()).join().unwrap(),
        By::Afterwards => {
            runtime.shutdown_background();
            abort.abort();
            return;
        }
    }
    // Ended at the end of the test only: what is checked must not need the runtime's end.
    thread::spawn(move || drop(runtime));
}

/// Waits for a task with another runtime than its own.
fn join<T>(task: JoinHandle<T>) -> Result<T, JoinError> {
    Flavour::CurrentThread.build().block_on(task)
}

/// Workers that tasks have blocked, until this is dropped.
struct Occupied {
    _release: mpsc::Sender<()>,
}

impl Occupied {
    fn new(runtime: &Runtime, workers: usize) -> Self {
        let (release, hold) = mpsc::channel::<()>();
        let hold = Arc::new(Mutex::new(hold));
        let (ready, all_ready) = mpsc::channel();
        for _ in 0..workers {
            let (ready, hold) = (ready.clone(), Arc::clone(&hold));
            drop(runtime.spawn(async move {
                ready.send(()).unwrap();
                // The first waits in the channel, the others for the lock: all till it is closed.
                let _ = hold.lock().unwrap().recv();
            }));
        }
        for _ in 0..workers {
            all_ready.recv().unwrap();
        }
        Occupied { _release: release }
    }
}

/// One combination, and what is seen of it.
struct Case {
    stage: Stage,
    futures: Census,
    outputs: Census,
    /// The names of the threads that dropped the future.
    dropped_on: Arc<Mutex<Vec<String>>>,
    started: (mpsc::Sender<()>, mpsc::Receiver<()>),
    hold: Mutex<Option<mpsc::Receiver<()>>>,
    release: mpsc::Sender<()>,
}

impl Case {
    fn new(stage: Stage) -> Self {
        let (release, hold) = mpsc::channel();
        Case {
            stage,
            futures: Census::new(),
            outputs: Census::new(),
            dropped_on: Arc::default(),
            started: mpsc::channel(),
            hold: Mutex::new(Some(hold)),
            release,
        }
    }

    fn future(&self) -> impl Future<Output = Counted> + Send + use<> {
        let stage = self.stage;
        let witness = Witness {
            dropped_on: Arc::clone(&self.dropped_on),
            _one: self.futures.one(),
        };
        let output = self.outputs.one();
        let started = self.started.0.clone();
        let hold = self.hold.lock().unwrap().take().unwrap();
        async move {
            let _witness = witness;
            started.send(()).unwrap();
            if stage == Stage::Finished {
                return output;
            }
            if stage == Stage::Running {
                let _ = hold.recv();
            }
            pending().await
        }
    }

    /// Returns when the task is in its stage.
    fn reach(&self, task: &JoinHandle<Counted>, handle: &Handle) {
        if self.stage == Stage::NotPolled {
            return;
        }
        self.started.1.recv().unwrap();
        match self.stage {
            // The one worker comes to this one when it has left the other.
            Stage::Pending => join(handle.spawn(async {})).unwrap(),
            Stage::Finished => until(|| task.is_finished()),
            Stage::Aborted => task.abort(),
            Stage::NotPolled | Stage::Running => {}
        }
    }

    fn resume(&self) {
        let _ = self.release.send(());
    }

    /// Checks the end; `output` is what the handle gave, if it was kept.
    fn expect(&self, output: Option<Output>) {
        let kept = output.is_some();
        match output {
            Some(Ok(output)) => {
                assert_eq!(self.stage, Stage::Finished);
                assert_eq!(self.outputs.alive(), 1);
                drop(output);
            }
            Some(Err(error)) => {
                assert!(error.is_cancelled() && !error.is_panic(), "{error}");
                assert_ne!(self.stage, Stage::Finished);
            }
            None => until(|| self.futures.alive() == 0 && self.outputs.alive() == 0),
        }
        assert_eq!(
            self.futures.alive(),
            0,
            "the future outlives the task, handle kept: {kept}"
        );
        assert_eq!(self.outputs.alive(), 0);
        assert_eq!(self.futures.dropped(), 1);
        let dropped_on = self.dropped_on.lock().unwrap();
        assert!(
            dropped_on.iter().all(|name| name.starts_with("rt-io-")),
            "{dropped_on:?}"
        );
    }
}

/// Notes where the future is dropped.
struct Witness {
    dropped_on: Arc<Mutex<Vec<String>>>,
    _one: Counted,
}

impl Drop for Witness {
    fn drop(&mut self) {
        let name = thread::current().name().unwrap_or("?").to_owned();
        self.dropped_on.lock().unwrap().push(name);
    }
}

#[test]
fn on_the_current_thread_an_abort_is_seen_by_the_next_block_on() {
    let _watchdog = Watchdog::new();
    let runtime = Flavour::CurrentThread.build();
    let census = Census::new();
    let (one, other) = (census.one(), census.one());
    let not_polled = runtime.spawn(async move {
        let _one = one;
        pending::<()>().await;
    });
    let suspended = runtime.spawn(async move {
        let _other = other;
        pending::<()>().await;
    });
    not_polled.abort();
    runtime.block_on(rt::yield_now());
    assert_eq!(census.alive(), 1);
    thread::scope(|scope| {
        scope.spawn(|| suspended.abort());
    });
    let ends = runtime.block_on(async { (not_polled.await, suspended.await) });
    assert!(ends.0.unwrap_err().is_cancelled() && ends.1.unwrap_err().is_cancelled());
    assert_eq!(census.alive(), 0);
}

#[test]
fn an_abort_during_a_poll_that_ends_the_task_keeps_the_value() {
    with(Flavour::Workers(2), |runtime| {
        let (started, has_started) = mpsc::channel();
        let (release, hold) = mpsc::channel::<()>();
        let task = runtime.spawn(async move {
            started.send(()).unwrap();
            let _ = hold.recv();
            5
        });
        has_started.recv().unwrap();
        task.abort();
        drop(release);
        assert_eq!(join(task).unwrap(), 5);
    });
}

#[test]
fn a_task_may_abort_itself() {
    everywhere(|runtime| {
        let census = Census::new();
        let one = census.one();
        let (tell, told) = oneshot::channel::<AbortHandle>();
        let task = runtime.spawn(async move {
            let _one = one;
            told.await.unwrap().abort();
            rt::yield_now().await;
            unreachable!("it ends at the suspension");
        });
        tell.send(task.abort_handle()).unwrap();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn aborts_and_wakes_from_many_threads_end_every_task_once() {
    everywhere(|runtime| {
        let census = Census::new();
        let tasks: Vec<_> = (0..500)
            .map(|_| {
                let one = census.one();
                runtime.spawn(async move {
                    let _one = one;
                    loop {
                        rt::yield_now().await;
                    }
                })
            })
            .collect();
        let aborts: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| aborts.iter().for_each(AbortHandle::abort));
            }
        });
        runtime.block_on(async {
            for task in tasks {
                assert!(task.await.unwrap_err().is_cancelled());
            }
        });
        assert_eq!(census.alive(), 0);
        assert!(aborts.iter().all(AbortHandle::is_finished));
    });
}

#[test]
fn a_queued_blocking_job_can_be_aborted_and_a_running_one_runs_on() {
    let _watchdog = Watchdog::new();
    let runtime = Runtime::builder()
        .io_threads(1)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let census = Census::new();
    let (started, has_started) = mpsc::channel();
    let (release, hold) = mpsc::channel::<()>();
    let running = runtime.spawn_blocking(move || {
        started.send(()).unwrap();
        let _ = hold.recv();
        5
    });
    has_started.recv().unwrap();
    let one = census.one();
    let queued = runtime.spawn_blocking(move || drop(one));
    queued.abort();
    assert!(runtime.block_on(queued).unwrap_err().is_cancelled());
    assert_eq!(census.alive(), 0);
    running.abort();
    drop(release);
    assert_eq!(runtime.block_on(running).unwrap(), 5);
}

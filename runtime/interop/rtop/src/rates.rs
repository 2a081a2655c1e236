//! How fast a runtime went between two looks.

use std::collections::HashMap;
use std::time::Duration;

use crate::client::Look;
use crate::model::{Task, Worker};

/// One look, and what became of it since the one before.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// The look.
    pub look: Look,
    /// What all did together; `None` at the first look.
    pub total: Option<Total>,
    /// The workers: of the IO pool, then of the CPU pool.
    pub workers: Vec<WorkerRow>,
    /// How each task did, in the order of the dump.
    pub tasks: Vec<Pace>,
}

/// What all did together, in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Tasks that were spawned.
    pub spawned: f64,
    /// Returns of `epoll_wait`.
    pub reactor_polls: f64,
    /// Events that these returned.
    pub reactor_events: f64,
    /// Timers that fired.
    pub timers_fired: f64,
}

/// How a task or worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Polls in a second; `None` if it was not there before.
    pub polls: Option<f64>,
    /// The part of the time that it was polled, or has polled: from 0 to 1.
    pub busy: Option<f64>,
}

/// One worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkerRow {
    /// `io` or `cpu`.
    pub pool: &'static str,
    /// Its number in the pool.
    pub index: usize,
    /// Whether it stands in for stuck ones.
    pub spare: bool,
    /// How it did.
    pub pace: Pace,
    /// Steals in a second.
    pub steals: Option<f64>,
    /// How often in a second it went to sleep.
    pub parks: Option<f64>,
    /// Stalls so far.
    pub stalls: u64,
    /// The task that it polls.
    pub task: Option<String>,
}

impl Moment {
    /// What `look` shows, with rates if there was a look before, at the same runtime.
    pub fn new(look: Look, before: Option<&Look>) -> Moment {
        let before = before.filter(|before| before.at < look.at);
        let seconds = before.map_or(1.0, |before| look.at - before.at);
        let known: HashMap<u64, &Task> = before
            .iter()
            .flat_map(|look| &look.dump.tasks)
            .map(|task| (task.id, task))
            .collect();
        let tasks = look.dump.tasks.iter();
        let tasks: Vec<Pace> = tasks
            .map(|task| task_pace(task, known.get(&task.id).copied(), seconds))
            .collect();
        let mut moment = Moment {
            total: before.map(|before| Total::new(&look, before, seconds)),
            workers: Vec::new(),
            tasks,
            look,
        };
        moment.workers = ["io", "cpu"]
            .into_iter()
            .flat_map(|pool| moment.workers_of(pool, before, seconds))
            .collect();
        moment
    }

    fn workers_of(
        &self,
        pool: &'static str,
        before: Option<&Look>,
        seconds: f64,
    ) -> Vec<WorkerRow> {
        let of = |look: &Look| match pool {
            "io" => (look.metrics.io_threads, look.metrics.io_workers.clone()),
            _ => (look.metrics.cpu_threads, look.metrics.cpu_workers.clone()),
        };
        let (regular, workers) = of(&self.look);
        let old = before.map(|before| of(before).1);
        let rows = workers.iter().enumerate().map(|(index, worker)| {
            let here = |task: &Task| task.pool == pool && task.worker == Some(index);
            let tasks = self.look.dump.tasks.iter().zip(&self.tasks);
            let polled = tasks.clone().find(|(task, _)| here(task));
            let before = old.as_ref().map(|old| old.get(index).cloned());
            // A spare that is new has done nothing before.
            let before = before.map(Option::unwrap_or_default);
            let mut row = WorkerRow::new(worker, before.as_ref(), seconds);
            // What it does now counts when it ends, so a long poll is not in its sum yet.
            if before.is_some() && polled.is_some_and(|(_, pace)| pace.busy == Some(1.0)) {
                row.pace.busy = Some(1.0);
            }
            WorkerRow {
                pool,
                index,
                spare: index >= regular,
                task: polled.map(|(task, _)| task.title().to_owned()),
                ..row
            }
        });
        rows.collect()
    }
}

impl Total {
    fn new(look: &Look, before: &Look, seconds: f64) -> Total {
        let (now, old) = (&look.metrics, &before.metrics);
        Total {
            spawned: rate(now.spawned_tasks, old.spawned_tasks, seconds),
            reactor_polls: rate(now.reactor_polls, old.reactor_polls, seconds),
            reactor_events: rate(now.reactor_events, old.reactor_events, seconds),
            timers_fired: rate(now.timers_fired, old.timers_fired, seconds),
        }
    }
}

impl WorkerRow {
    fn new(worker: &Worker, before: Option<&Worker>, seconds: f64) -> WorkerRow {
        let of = |counter: fn(&Worker) -> u64| {
            before.map(|before| rate(counter(worker), counter(before), seconds))
        };
        let busy = before.map(|before| worker.busy.saturating_sub(before.busy));
        WorkerRow {
            pace: Pace {
                polls: of(|worker| worker.polls),
                busy: busy.map(|busy| share(busy, seconds)),
            },
            steals: of(|worker| worker.steals),
            parks: of(|worker| worker.parks),
            stalls: worker.stalls,
            ..WorkerRow::default()
        }
    }
}

fn task_pace(task: &Task, before: Option<&Task>, seconds: f64) -> Pace {
    let Some(before) = before else {
        return Pace::default();
    };
    // The number of polls has the one that goes on, so this is still the same one.
    let same_poll = task.runs() && before.runs() && task.polls == before.polls;
    let lasts = task.running_for.unwrap_or(0.0);
    let busy = task.busy.unwrap_or(0.0) - before.busy.unwrap_or(0.0);
    let busy = if same_poll || lasts >= seconds {
        1.0
    } else {
        ((busy.max(0.0) + lasts) / seconds).min(1.0)
    };
    Pace {
        polls: Some(rate(task.polls, before.polls, seconds)),
        busy: Some(busy),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nobody reads so many digits of a rate"
)]
fn rate(now: u64, before: u64, seconds: f64) -> f64 {
    now.saturating_sub(before) as f64 / seconds
}

fn share(busy: Duration, seconds: f64) -> f64 {
    (busy.as_secs_f64() / seconds).min(1.0)
}

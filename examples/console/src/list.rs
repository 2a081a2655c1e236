//! What the console would list, as text: a client of the same interface, on the same runtime as the tasks.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use console_api::field::{Name, Value};
use console_api::instrument::InstrumentRequest;
use console_api::instrument::instrument_client::InstrumentClient;
use console_api::tasks::{Stats, Task, TaskUpdate};
use rt_tonic::Channel;

/// How many updates are waited for: the first one tells what there is, each later one what a second has brought.
const UPDATES: usize = 3;

/// Connects, listens for two seconds, and prints a line for each task that has not ended.
pub(crate) fn print(url: &str) -> Result<(), Box<dyn Error>> {
    let tasks = rt::Runtime::builder()
        .current_thread()
        .build()?
        .block_on(listen(url))?;
    println!(
        "{:10} {:8} {:>8} {:>12} {:>7} {:>7}  place",
        "name", "kind", "polls", "busy", "wakes", "wakers"
    );
    for line in tasks
        .values()
        .filter(|line| line.stats.dropped_at.is_none())
    {
        println!("{line}");
    }
    Ok(())
}

/// The tasks by the console's numbers.
async fn listen(url: &str) -> Result<BTreeMap<u64, Line>, Box<dyn Error>> {
    let mut client = InstrumentClient::new(Channel::new(url)?);
    let mut updates = client
        .watch_updates(InstrumentRequest {})
        .await?
        .into_inner();
    let mut tasks = BTreeMap::new();
    for _ in 0..UPDATES {
        let update = updates.message().await?.ok_or("the other side has ended")?;
        merge(&mut tasks, update.task_update.unwrap_or_default());
    }
    Ok(tasks)
}

fn merge(tasks: &mut BTreeMap<u64, Line>, update: TaskUpdate) {
    for task in update.new_tasks {
        let id = task.id.unwrap_or_default().id;
        tasks.entry(id).or_default().task = task;
    }
    for (id, stats) in update.stats_update {
        tasks.entry(id).or_default().stats = stats;
    }
}

/// One task, as a line.
#[derive(Default)]
struct Line {
    task: Task,
    stats: Stats,
}

impl Line {
    fn field(&self, name: &str) -> &str {
        let named = |field: &&console_api::Field| matches!(&field.name, Some(Name::StrName(known)) if known == name);
        match self
            .task
            .fields
            .iter()
            .find(named)
            .map(|field| &field.value)
        {
            Some(Some(Value::StrVal(value) | Value::DebugVal(value))) => value,
            _ => "",
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = &self.stats;
        let polls = stats.poll_stats.unwrap_or_default();
        let busy = polls
            .busy_time
            .and_then(|time| Duration::try_from(time).ok())
            .unwrap_or_default();
        let wakers = stats.waker_clones.saturating_sub(stats.waker_drops);
        let place = self.task.location.clone().unwrap_or_default();
        let (name, kind) = (self.field("task.name"), self.field("kind"));
        write!(
            f,
            "{name:10} {kind:8} {:8} {busy:>12.3?} {:7} {wakers:7}  ",
            polls.polls, stats.wakes
        )?;
        write!(f, "{}:{}", place.file(), place.line())
    }
}

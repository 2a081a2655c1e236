//! The tasks of a pool, for a dump.
//!
//! A task is found in one of three places: in an owner list, once it has waited; on a worker, in its first
//! poll; or in a queue, before that. A queue cannot be looked through, but a task that is taken out can be put
//! into the injector, as if another thread had woken it. So the queues are turned over, one task at a
//! time, only if there are tasks that were found nowhere else, and only so far.

use std::collections::HashMap;

use super::{Pool, Shared, insist};
use crate::task::{Found, Id, Runnable, TaskInfo, TaskState};

/// So many queued tasks are looked at; the others are only counted.
const QUEUED: usize = 4096;

/// The tasks of a pool at one moment.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Those that were found.
    pub tasks: Vec<TaskInfo>,
    /// How many others there are: they wait in queues and were never polled.
    pub unlisted: usize,
}

impl Pool {
    /// Every task of the pool, as far as it can be found without stopping anything.
    ///
    /// Tasks come and go meanwhile: one that ends may be missing, or told as it was.
    pub fn list_tasks(&self) -> Listing {
        let kind = self.crew.config.kind;
        let mut found = Vec::new();
        self.crew.home.list(&mut found);
        self.crew.views.list(&mut found);
        let mut tasks: HashMap<Id, TaskInfo> = HashMap::with_capacity(found.len());
        let add = |tasks: &mut HashMap<Id, TaskInfo>, found: Vec<Found>| {
            let infos = found.into_iter().filter_map(|found| found.info(kind));
            tasks.extend(infos.map(|info| (info.id, info)));
        };
        add(&mut tasks, found);
        self.add_running(kind, &mut tasks);
        if self.live_tasks() > tasks.len() {
            add(&mut tasks, self.shared.turn_over());
        }
        for (id, busy) in self
            .shared
            .remotes
            .iter()
            .flat_map(|remote| remote.hot.read())
        {
            if let Some(task) = tasks.get_mut(&id) {
                *task.busy.get_or_insert_default() += busy;
            }
        }
        Listing {
            unlisted: self.live_tasks().saturating_sub(tasks.len()),
            tasks: tasks.into_values().collect(),
        }
    }

    /// Tells of the tasks that are polled just now where, and of those that nobody has listed yet.
    fn add_running(&self, kind: &'static str, tasks: &mut HashMap<Id, TaskInfo>) {
        for (worker, remote) in self.shared.remotes.iter().enumerate() {
            let Some((id, location)) = remote.running() else {
                continue;
            };
            let info = tasks
                .entry(id)
                .or_insert_with(|| TaskInfo::of_running(id, location, kind));
            if info.state == TaskState::Running {
                info.worker = Some(worker);
                info.in_place = remote.is_in_place();
                info.running_for = remote.stuck_for();
                info.thread = info.running_for.and_then(|_| remote.thread());
            }
        }
    }
}

impl Shared {
    /// Looks at queued tasks that were never polled, and puts all that it takes back into the injector.
    fn turn_over(&self) -> Vec<Found> {
        let mut found = Vec::new();
        let mut left = QUEUED;
        let mut look = |task: Runnable| {
            found.extend(task.peek());
            self.inject(task);
        };
        for _ in 0..self.injector.len().min(left) {
            let Some(task) = self.pop_injected() else {
                break;
            };
            left -= 1;
            look(task);
        }
        for remote in &self.remotes {
            if let Some(task) = remote.slot.rescue() {
                look(task);
            }
            for stealer in &remote.stealers {
                for _ in 0..stealer.len().min(left) {
                    let Some(task) = insist(|| stealer.steal()) else {
                        break;
                    };
                    left -= 1;
                    look(task);
                }
            }
        }
        found
    }
}

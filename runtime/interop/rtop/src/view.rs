//! What the user has chosen to see, and what was seen before.

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::client::Look;
use crate::model::{Hello, Task};
use crate::rates::{Moment, Pace};
use crate::tree::{self, Node};

/// As many stalls are remembered.
const STALLS: usize = 4;

/// The order of the tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Those that keep workers busy come first.
    #[default]
    Busy,
    /// Those that are polled often come first.
    Rate,
    /// Those that were polled often come first.
    Polls,
    /// Those that have waited for long come first.
    Idle,
    /// The oldest come first.
    Age,
}

impl Sort {
    /// All of them, in the order in which `s` goes through them.
    pub const ALL: [Sort; 5] = [Sort::Busy, Sort::Rate, Sort::Polls, Sort::Idle, Sort::Age];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Sort::Busy => "busy",
            Sort::Rate => "polls/s",
            Sort::Polls => "polls",
            Sort::Idle => "idle",
            Sort::Age => "age",
        }
    }

    fn compare(self, one: (&Task, Pace), other: (&Task, Pace)) -> Ordering {
        let descending = |key: fn((&Task, Pace)) -> f64| key(other).total_cmp(&key(one));
        let order = match self {
            Sort::Busy => descending(|(_, pace)| pace.busy.unwrap_or(0.0)),
            Sort::Rate => descending(|(_, pace)| pace.polls.unwrap_or(0.0)),
            Sort::Polls => other.0.polls.cmp(&one.0.polls),
            Sort::Idle => descending(|(task, _)| task.idle.unwrap_or(-1.0)),
            Sort::Age => Ordering::Equal,
        };
        order.then(one.0.id.cmp(&other.0.id))
    }
}

/// A poll that lasted too long.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenStall {
    /// The task's id, and which of its polls.
    poll: (u64, u64),
    /// Its name, or where it was spawned.
    pub title: String,
    /// Where it was spawned.
    pub place: String,
    /// How long it had lasted when it was last seen.
    pub lasted: f64,
    /// What the kernel said of its thread.
    pub blocked_in: Option<String>,
    /// When it was last seen.
    pub at: f64,
}

/// What is shown.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Which runtime.
    pub hello: Hello,
    /// What it does.
    pub moment: Moment,
    /// The last stalls, the newest first.
    pub stalls: VecDeque<SeenStall>,
    /// The order of the tasks.
    pub sort: Sort,
    /// Whether tasks are shown below their scopes.
    pub tree: bool,
    /// Whether what is shown stays.
    pub paused: bool,
    /// How many lines of the tasks lie above the first one that is shown.
    pub above: usize,
    /// Why nothing new comes.
    pub trouble: Option<String>,
    /// The last look, also while it is paused.
    last: Option<Look>,
}

impl View {
    /// Nothing is seen yet.
    pub fn new(hello: Hello) -> View {
        View {
            hello,
            ..View::default()
        }
    }

    /// A new look, at the runtime that says `hello`.
    pub fn update(&mut self, hello: Hello, look: Look) {
        if hello != self.hello {
            // Another one has come in its place.
            self.last = None;
            self.stalls.clear();
            self.hello = hello;
        }
        self.trouble = None;
        if !self.paused {
            self.note_stalls(&look);
            self.moment = Moment::new(look.clone(), self.last.as_ref());
            self.above = self.above.min(self.lines().saturating_sub(1));
        }
        self.last = Some(look);
    }

    fn note_stalls(&mut self, look: &Look) {
        for task in &look.dump.tasks {
            // A blocking job is there to block.
            let Some(lasted) = task.running_for.filter(|_| task.pool != "blocking") else {
                continue;
            };
            let poll = (task.id, task.polls);
            self.stalls.retain(|stall| stall.poll != poll);
            self.stalls.push_front(SeenStall {
                poll,
                title: task.title().to_owned(),
                place: task.place().to_owned(),
                lasted,
                blocked_in: task.blocked_in.clone(),
                at: look.at,
            });
        }
        self.stalls.truncate(STALLS);
    }

    /// How many lines the tasks have, all of them.
    pub fn lines(&self) -> usize {
        let dump = &self.moment.look.dump;
        dump.tasks.len() + if self.tree { dump.scopes.len() } else { 0 }
    }

    /// Goes on by so many lines, or back.
    pub fn scroll(&mut self, by: isize) {
        let last = self.lines().saturating_sub(1);
        self.above = self.above.saturating_add_signed(by).min(last);
    }

    /// The next order.
    pub fn next_sort(&mut self) {
        let at = Sort::ALL.iter().position(|sort| *sort == self.sort);
        self.sort = Sort::ALL[at.map_or(0, |at| (at + 1) % Sort::ALL.len())];
        self.above = 0;
    }

    /// The lines of the tasks, each with its depth.
    pub(crate) fn nodes(&self) -> Vec<(usize, Node)> {
        let dump = &self.moment.look.dump;
        if self.tree {
            return tree::lines(dump);
        }
        let mut order: Vec<usize> = (0..dump.tasks.len()).collect();
        let of = |at: usize| (&dump.tasks[at], self.moment.tasks[at]);
        order.sort_by(|one, other| self.sort.compare(of(*one), of(*other)));
        order.into_iter().map(|at| (0, Node::Task(at))).collect()
    }
}

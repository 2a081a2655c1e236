//! The table of benches: sizes, peers, rows and budgets.
//!
//! A bench is a piece of work; a row is a figure that it gives, with what the figure is judged by. Sizes
//! are chosen so that a run takes about a second in full and all rows together stay under 25 minutes.

use crate::work::files::{hot_sum, scattered_sum, sequential_sum};
use crate::work::sum_below;

mod benches;
#[cfg(test)]
mod tests;

pub(crate) use benches::BENCHES;

/// A piece of work.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    pub(crate) group: &'static str,
    pub(crate) question: &'static str,
    pub(crate) kind: Kind,
    /// The size of the work in full and in a quick run.
    pub(crate) size: Size,
    /// About how long a full run takes, to tell how long there is to go.
    pub(crate) seconds: f64,
    pub(crate) peers: &'static [&'static str],
    pub(crate) rows: &'static [Row],
}

/// A number in full and in a quick run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    full: u64,
    quick: u64,
}

impl Size {
    const fn new(full: u64, quick: u64) -> Size {
        Size { full, quick }
    }

    pub(crate) fn pick(self, quick: bool) -> u64 {
        if quick { self.quick } else { self.full }
    }
}

/// How a bench is run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// In a process of the peer's, which measures itself. The size is what its work is told, and the
    /// sum is what it must find.
    Process { sum: fn(u64) -> u64 },
    /// The same, with a file to read.
    Files { sum: fn(u64) -> u64 },
    /// A server and a load; figures are of the server's CPU time. The size is the measured time in ms.
    Load { http: bool, connections: usize },
    /// The same with a server that computes as well; figures are latencies and pieces a second.
    Mixed { connections: usize },
    /// A server whose connections are silent. The size is the time watched in ms.
    Idle { connections: Size },
}

/// A figure.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) budgets: &'static [Budget],
}

/// What `rt`'s figure is judged by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Budget {
    /// At most so many times the other's figure.
    AtMost(f64, Against),
    /// At least so many times the other's figure; more is better in this row.
    AtLeast(f64, Against),
    /// At most this figure, whatever the peers'.
    Limit(f64),
}

/// Whom `rt` is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Against {
    Best,
    Peer(&'static str),
}

/// Peers that are a measure for the reader and not a runtime to be compared with.
pub(crate) const REFERENCES: [&str; 1] = ["kernel"];

impl Row {
    /// Whether more is better.
    pub(crate) fn more_is_better(&self) -> bool {
        self.budgets
            .iter()
            .any(|budget| matches!(budget, Budget::AtLeast(..)))
    }
}

/// The benches that a list of names asks for; all of them if it is empty. A name may be a bench's, a
/// row's or a group's.
pub(crate) fn select(names: &[String]) -> Result<Vec<&'static Bench>, String> {
    let known = |name: &str, bench: &Bench| {
        bench.name == name || bench.group == name || bench.rows.iter().any(|row| row.name == name)
    };
    if let Some(name) = names
        .iter()
        .find(|name| !BENCHES.iter().any(|bench| known(name, bench)))
    {
        return Err(format!("unknown bench {name}; see --list"));
    }
    Ok(BENCHES
        .iter()
        .filter(|bench| names.is_empty() || names.iter().any(|name| known(name, bench)))
        .collect())
}

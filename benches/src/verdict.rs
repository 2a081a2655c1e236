//! From what was measured to what is printed: medians against budgets.

use crate::stats::{self, Spread};
use crate::table::{Against, Budget, REFERENCES, Row};

#[cfg(test)]
mod tests;

/// What is known of a peer in a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    /// A value for each round.
    Values(Vec<f64>),
    /// `rt` does not have what the row needs yet.
    Todo,
    /// The peer is not on this machine, or was left out of this run.
    Absent,
    /// It gave a wrong result, or none.
    Failed,
}

impl Entry {
    /// The spread of the values, if there are any.
    pub(crate) fn spread(&self) -> Option<Spread> {
        match self {
            Entry::Values(values) => Spread::of(values),
            _ => None,
        }
    }

    /// What is printed in the place of the value.
    pub(crate) fn text(&self) -> String {
        match self {
            Entry::Values(values) => figure(stats::median(values)),
            Entry::Todo => "todo".to_owned(),
            Entry::Absent => "absent".to_owned(),
            Entry::Failed => "failed".to_owned(),
        }
    }
}

/// A row of the table with what was found, a peer each.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) row: &'static Row,
    pub(crate) entries: Vec<(&'static str, Entry)>,
}

/// `rt` against a budget.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// Whom it was compared with, or `-` if there was nobody.
    pub(crate) against: &'static str,
    /// `rt`'s median by the other's, unless one is missing.
    pub(crate) ratio: Option<f64>,
    pub(crate) budget: String,
    /// `ok` or `over`, or why there is no ratio.
    pub(crate) word: &'static str,
}

impl Finding {
    /// A verdict for each budget of the row.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        self.row
            .budgets
            .iter()
            .map(|budget| self.verdict(budget))
            .collect()
    }

    fn verdict(&self, budget: &Budget) -> Verdict {
        let against = match budget {
            Budget::AtMost(_, Against::Peer(peer)) | Budget::AtLeast(_, Against::Peer(peer)) => {
                Some(*peer)
            }
            _ => self.best(),
        };
        let rt = self.entry("rt");
        let other = against.map_or(&Entry::Absent, |peer| self.entry(peer));
        let verdict = Verdict {
            against: against.unwrap_or("-"),
            ratio: None,
            budget: budget_text(budget, self.row.unit),
            word: "absent",
        };
        match (rt.spread(), other.spread(), budget) {
            (Some(rt), Some(other), _) => {
                let ratio = ratio(rt.median, other.median);
                let holds = match budget {
                    Budget::AtMost(most, _) => ratio <= *most,
                    Budget::AtLeast(least, _) => ratio >= *least,
                    Budget::Limit(most) => rt.median <= *most,
                };
                let word = if holds { "ok" } else { "over" };
                Verdict {
                    ratio: Some(ratio),
                    word,
                    ..verdict
                }
            }
            // A limit needs nobody to compare with.
            (Some(rt), None, Budget::Limit(most)) => Verdict {
                word: if rt.median <= *most { "ok" } else { "over" },
                ..verdict
            },
            (Some(_), None, _) => Verdict {
                word: word_of(other),
                ..verdict
            },
            (None, _, _) => Verdict {
                word: word_of(rt),
                ..verdict
            },
        }
    }

    fn entry(&self, peer: &str) -> &Entry {
        let found = self.entries.iter().find(|(name, _)| *name == peer);
        found.map_or(&Entry::Absent, |(_, entry)| entry)
    }

    /// The peer with the best median.
    fn best(&self) -> Option<&'static str> {
        let sign = if self.row.more_is_better() { -1.0 } else { 1.0 };
        self.entries
            .iter()
            .filter(|(peer, _)| *peer != "rt" && !REFERENCES.contains(peer))
            .filter_map(|(peer, entry)| Some((*peer, sign * entry.spread()?.median)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(peer, _)| peer)
    }
}

/// Nothing against nothing is equal.
fn ratio(rt: f64, other: f64) -> f64 {
    if rt == 0.0 && other == 0.0 {
        1.0
    } else {
        rt / other
    }
}

fn word_of(entry: &Entry) -> &'static str {
    match entry {
        Entry::Todo => "todo",
        Entry::Failed => "failed",
        _ => "absent",
    }
}

fn budget_text(budget: &Budget, unit: &str) -> String {
    match budget {
        Budget::AtMost(most, _) => most.to_string(),
        Budget::AtLeast(least, _) => format!(">={least}"),
        Budget::Limit(most) if *most == 0.0 => "0".to_owned(),
        Budget::Limit(most) => format!("{most}{unit}"),
    }
}

/// A number with about four digits that matter.
pub(crate) fn figure(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 1000.0 || size == 0.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

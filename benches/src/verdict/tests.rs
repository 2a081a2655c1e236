//! Which figures hold a budget, and which do not.

use super::{Entry, Finding, figure};
use crate::table::{Against, Budget, Row};

const LESS: Row = Row {
    name: "less",
    unit: "ns",
    budgets: &[
        Budget::AtMost(0.6, Against::Best),
        Budget::AtMost(0.5, Against::Peer("tokio")),
    ],
};
const MORE: Row = Row {
    name: "more",
    unit: "tasks/s",
    budgets: &[Budget::AtLeast(0.9, Against::Best)],
};
const LIMIT: Row = Row {
    name: "limit",
    unit: "ms",
    budgets: &[Budget::Limit(10.0)],
};
const NOTHING: Row = Row {
    name: "nothing",
    unit: "ms",
    budgets: &[Budget::Limit(0.0)],
};

fn values(value: f64) -> Entry {
    Entry::Values(vec![value, value * 0.9, value * 3.0])
}

/// The verdicts as they are printed: whom against, the ratio in hundredths, the budget, the word.
fn verdicts(
    row: &'static Row,
    entries: &[(&'static str, Entry)],
) -> Vec<(&'static str, Option<i64>, String, &'static str)> {
    Finding {
        row,
        entries: entries.to_vec(),
    }
    .verdicts()
    .into_iter()
    .map(|verdict| {
        let hundredths = verdict.ratio.map(|ratio| (ratio * 100.0).round() as i64);
        (verdict.against, hundredths, verdict.budget, verdict.word)
    })
    .collect()
}

#[test]
fn medians_are_compared_with_the_best_and_with_the_named_peer() {
    let entries = [
        ("rt", values(60.0)),
        ("tokio", values(200.0)),
        ("smol", values(100.0)),
    ];
    assert_eq!(
        verdicts(&LESS, &entries),
        [
            ("smol", Some(60), "0.6".to_owned(), "ok"),
            ("tokio", Some(30), "0.5".to_owned(), "ok")
        ]
    );
}

#[test]
fn a_slower_rt_is_over() {
    let entries = [("rt", values(61.0)), ("tokio", values(100.0))];
    assert_eq!(verdicts(&LESS, &entries)[0].3, "over");
}

#[test]
fn where_more_is_better_the_best_is_the_most() {
    let entries = [
        ("rt", values(80.0)),
        ("a", values(50.0)),
        ("b", values(100.0)),
    ];
    assert_eq!(
        verdicts(&MORE, &entries),
        [("b", Some(80), ">=0.9".to_owned(), "over")]
    );
}

#[test]
fn a_limit_is_held_or_not_whatever_the_peers_did() {
    let entries = [("rt", values(11.0)), ("tokio", values(1000.0))];
    assert_eq!(
        verdicts(&LIMIT, &entries),
        [("tokio", Some(1), "10ms".to_owned(), "over")]
    );
    assert_eq!(
        verdicts(&LIMIT, &[("rt", values(9.0))]),
        [("-", None, "10ms".to_owned(), "ok")]
    );
}

#[test]
fn nothing_is_as_good_as_nothing() {
    let entries = [("rt", values(0.0)), ("tokio", values(0.0))];
    assert_eq!(
        verdicts(&NOTHING, &entries),
        [("tokio", Some(100), "0".to_owned(), "ok")]
    );
}

#[test]
fn a_reference_is_not_a_peer_to_beat() {
    let entries = [
        ("rt", values(50.0)),
        ("kernel", values(20.0)),
        ("smol", values(100.0)),
    ];
    assert_eq!(verdicts(&LESS, &entries)[0].0, "smol");
}

#[test]
fn missing_figures_are_named() {
    let words = |rt: Entry, tokio: Entry| verdicts(&LESS, &[("rt", rt), ("tokio", tokio)])[1].3;
    assert_eq!(words(Entry::Todo, values(1.0)), "todo");
    assert_eq!(words(Entry::Failed, values(1.0)), "failed");
    assert_eq!(words(values(1.0), Entry::Absent), "absent");
    assert_eq!(words(values(1.0), Entry::Failed), "failed");
}

#[test]
fn figures_keep_about_four_digits() {
    assert_eq!(figure(1_234.56), "1235");
    assert_eq!(figure(123.456), "123.5");
    assert_eq!(figure(12.3456), "12.35");
    assert_eq!(figure(1.23456), "1.235");
    assert_eq!(figure(0.0), "0");
}

//! The order of the bars, and that a chart is well formed.

use super::{Panel, chart};
use crate::table::{Against, Budget, Row};
use crate::verdict::{Entry, Finding};

const ROW: Row = Row {
    name: "row",
    unit: "ns",
    budgets: &[Budget::AtMost(1.0, Against::Best)],
};

fn panel() -> Panel {
    let entries = vec![
        ("rt", Entry::Todo),
        ("slow", Entry::Values(vec![200.0, 220.0, 180.0])),
        ("fast", Entry::Values(vec![100.0])),
    ];
    Panel::new("a < b", &Finding { row: &ROW, entries })
}

#[test]
fn the_best_bar_is_on_top_and_missing_ones_are_at_the_end() {
    let panel = panel();
    let order: Vec<_> = panel.bars.iter().map(|bar| bar.0).collect();
    assert_eq!(order, ["fast", "slow", "rt"]);
    assert_eq!(panel.bars[2].2, "todo");
}

#[test]
fn a_chart_is_one_svg_element_with_a_bar_for_each_value_and_escaped_words() {
    let svg = chart("group", &[panel()]);
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert_eq!(svg.matches("class=\"peer\"").count(), 2);
    assert!(svg.contains("a &lt; b") && !svg.contains("a < b"));
}

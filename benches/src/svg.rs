//! Charts: one SVG file a group, a panel a row, a bar a peer.
//!
//! Drawn by hand, as bars and words are all that is needed. Every panel has its own scale from zero,
//! which its values tell, and its bars are in order with the best on top.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use crate::proc::HOST;
use crate::report::BenchReport;
use crate::stats::Spread;
use crate::verdict::{Entry, Finding};

#[cfg(test)]
mod tests;

const WIDTH: f64 = 760.0;
const MARGIN: f64 = 20.0;
/// Where bars begin: names are to the left.
const BARS: f64 = 150.0;
/// The longest bar leaves room for its value.
const LONGEST: f64 = 460.0;
const LINE: f64 = 22.0;
const BAR: f64 = 14.0;
const HEAD: f64 = 56.0;
const PANEL_HEAD: f64 = 54.0;

/// Writes `GROUP.svg` for each group into `folder`, which is made if need be.
pub(crate) fn write(folder: &Path, reports: &[BenchReport]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut groups: Vec<&str> = reports.iter().map(|report| report.bench.group).collect();
    groups.dedup();
    for group in groups {
        let panels: Vec<Panel> = reports
            .iter()
            .filter(|report| report.bench.group == group)
            .flat_map(|report| {
                report
                    .findings
                    .iter()
                    .map(|finding| Panel::new(report.bench.question, finding))
            })
            .collect();
        fs::write(folder.join(format!("{group}.svg")), chart(group, &panels))?;
    }
    Ok(())
}

/// A row's bars.
#[derive(Debug)]
struct Panel {
    title: String,
    question: &'static str,
    /// The best first; then those without a value.
    bars: Vec<(&'static str, Option<Spread>, String)>,
}

impl Panel {
    fn new(question: &'static str, finding: &Finding) -> Panel {
        let row = finding.row;
        let mut bars: Vec<_> = finding
            .entries
            .iter()
            .map(|(peer, entry)| (*peer, entry.spread(), label(entry, row.unit)))
            .collect();
        let sign = if row.more_is_better() { -1.0 } else { 1.0 };
        bars.sort_by(|a, b| {
            let key = |bar: &(_, Option<Spread>, _)| {
                bar.1.map_or(f64::INFINITY, |spread| sign * spread.median)
            };
            key(a).total_cmp(&key(b))
        });
        let better = if row.more_is_better() { "more" } else { "less" };
        let title = format!("{}: {}, {better} is better", row.name, row.unit);
        Panel {
            title,
            question,
            bars,
        }
    }

    fn height(&self) -> f64 {
        PANEL_HEAD + self.bars.len() as f64 * LINE
    }

    fn draw(&self, out: &mut String, top: f64) {
        text(out, MARGIN, top + 24.0, "title", &self.title);
        text(out, MARGIN, top + 40.0, "question", self.question);
        let most = self
            .bars
            .iter()
            .filter_map(|bar| bar.1)
            .fold(0.0, |most, bar| bar.high.max(most));
        let scale = if most > 0.0 { LONGEST / most } else { 0.0 };
        for (index, (peer, spread, label)) in self.bars.iter().enumerate() {
            let y = top + PANEL_HEAD + index as f64 * LINE;
            text(out, BARS - 8.0, y + 11.0, "name", peer);
            let mut end = BARS;
            if let Some(spread) = spread {
                let class = if *peer == "rt" { "rt" } else { "peer" };
                rectangle(out, class, BARS, y, spread.median * scale, BAR);
                let (low, high) = (spread.low * scale, spread.high * scale);
                rectangle(
                    out,
                    "range",
                    BARS + low,
                    y + BAR / 2.0 - 1.0,
                    high - low,
                    2.0,
                );
                end += spread.median.max(spread.high) * scale;
            }
            text(out, end + 6.0, y + 11.0, "value", label);
        }
    }
}

fn label(entry: &Entry, unit: &str) -> String {
    match entry {
        Entry::Values(_) => format!("{} {unit}", entry.text()),
        _ => entry.text(),
    }
}

fn chart(group: &str, panels: &[Panel]) -> String {
    let height = HEAD + panels.iter().map(Panel::height).sum::<f64>() + MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\">\n<style>\n{STYLE}</style>\n"
    );
    rectangle(&mut out, "ground", 0.0, 0.0, WIDTH, height);
    text(&mut out, MARGIN, 30.0, "group", group);
    let source = format!("medians, thin lines are ranges; {}", HOST.as_str());
    text(&mut out, MARGIN, 48.0, "source", &source);
    let mut top = HEAD;
    for panel in panels {
        panel.draw(&mut out, top);
        top += panel.height();
    }
    out.push_str("</svg>\n");
    out
}

const STYLE: &str = "\
text { font-family: system-ui, sans-serif; font-size: 12px; fill: #222 }
.group { font-size: 18px; font-weight: 600 }
.source { font-size: 11px; fill: #666 }
.title { font-weight: 600 }
.question { fill: #666 }
.name { text-anchor: end }
.ground { fill: #fff }
.rt { fill: #d9480f }
.peer { fill: #7c98b3 }
.range { fill: #222; opacity: 0.55 }
";

fn rectangle(out: &mut String, class: &str, x: f64, y: f64, width: f64, height: f64) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
    );
}

fn text(out: &mut String, x: f64, y: f64, class: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>"
    );
}

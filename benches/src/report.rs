//! What `versus` leaves behind: lines for programs and people, and a JSON file.

use std::fs;
use std::io;
use std::iter;
use std::path::Path;

use serde_json::{Value, json};

use crate::measure::Outcome;
use crate::peers::{WORKERS, go};
use crate::proc::{HOST, Others};
use crate::stats::{self, Spread};
use crate::table::Bench;
use crate::verdict::{Finding, figure};

/// A row during which others took more of the machine than this is not to be trusted.
const DIRTY: f64 = 0.05;

/// A bench with all that was found.
#[derive(Debug)]
pub(crate) struct BenchReport {
    pub(crate) bench: &'static Bench,
    /// A finding for each row.
    pub(crate) findings: Vec<Finding>,
    /// Every good run, by peer.
    pub(crate) runs: Vec<(&'static str, Vec<Outcome>)>,
}

impl BenchReport {
    /// The share of the machine that something else used during the bench's runs.
    fn others(&self) -> f64 {
        let runs = self.runs.iter().flat_map(|(_, runs)| runs);
        Others::share(runs.map(|run| run.others))
    }

    /// Prints a bench's rows as soon as they are known.
    pub(crate) fn print(&self) {
        for Finding { row, entries } in &self.findings {
            for (peer, entry) in entries {
                println!("versus {} {peer} {} {}", row.name, entry.text(), row.unit);
            }
        }
        for (peer, runs) in self.runs.iter().filter(|(_, runs)| !runs.is_empty()) {
            println!("# {} {peer}: {}", self.bench.name, self.details(runs));
        }
        let others = self.others();
        let dirty = if others > DIRTY {
            ": dirty, measure again"
        } else {
            ""
        };
        let (name, others) = (self.bench.name, others * 100.0);
        println!("# {name}: others used {others:.1} % of the machine{dirty}");
    }

    /// Prints the comparison with the budgets.
    pub(crate) fn print_ratios(&self) {
        for finding in &self.findings {
            for verdict in finding.verdicts() {
                let missing = if matches!(verdict.word, "ok" | "over") {
                    "-"
                } else {
                    verdict.word
                };
                let ratio = verdict.ratio.map_or_else(|| missing.to_owned(), figure);
                let (name, against) = (finding.row.name, verdict.against);
                println!(
                    "ratio {name} {against} {ratio} {} {}",
                    verdict.budget, verdict.word
                );
            }
        }
    }

    fn details(&self, runs: &[Outcome]) -> String {
        let middle =
            |pick: fn(&Outcome) -> f64| stats::median(&runs.iter().map(pick).collect::<Vec<_>>());
        let mut ranges = Vec::new();
        for (finding, index) in self.findings.iter().zip(0..) {
            let values: Vec<f64> = runs.iter().map(|run| run.values[index]).collect();
            if let Some(Spread { low, high, .. }) = Spread::of(&values) {
                ranges.push(format!(
                    "{}..{} {}",
                    figure(low),
                    figure(high),
                    finding.row.unit
                ));
            }
        }
        let note = runs
            .last()
            .map(|run| run.note.as_str())
            .filter(|note| !note.is_empty());
        format!(
            "{}; {} rounds, cpu {:.2} s, {:.0} voluntary switches, peak {:.1} MB, others {:.1} %{}",
            ranges.join(", "),
            runs.len(),
            middle(|run| run.cpu_seconds),
            middle(|run| run.switches as f64),
            middle(|run| run.peak_bytes as f64) / 1e6,
            Others::share(runs.iter().map(|run| run.others)) * 100.0,
            note.map(|note| format!("; {note}")).unwrap_or_default(),
        )
    }
}

/// Lines at the top that say where the numbers are from.
pub(crate) fn print_head(rounds: usize, quick: bool) {
    println!("# versus: {}", HOST.as_str());
    println!(
        "# {WORKERS} workers each, {rounds} rounds in turn, medians{}",
        quick_note(quick)
    );
    println!("# go: {}", go::version().as_deref().unwrap_or("absent"));
}

fn quick_note(quick: bool) -> &'static str {
    if quick {
        "; --quick: too little work to judge by"
    } else {
        ""
    }
}

/// Writes everything, round by round.
pub(crate) fn write_json(path: &Path, reports: &[BenchReport], quick: bool) -> io::Result<()> {
    let benches: Vec<Value> = reports.iter().map(bench_json).collect();
    let whole = json!({
        "host": HOST.as_str(),
        "quick": quick,
        "workers": WORKERS,
        "go": go::version(),
        "benches": benches,
    });
    fs::write(path, format!("{whole:#}\n"))
}

fn bench_json(report: &BenchReport) -> Value {
    let rows: Vec<Value> = report.findings.iter().map(row_json).collect();
    let runs: Vec<Value> = report
        .runs
        .iter()
        .flat_map(|(peer, runs)| runs.iter().map(move |run| run_json(peer, run)))
        .collect();
    json!({
        "name": report.bench.name,
        "group": report.bench.group,
        "question": report.bench.question,
        "others": report.others(),
        "rows": rows,
        "runs": runs,
    })
}

fn row_json(finding: &Finding) -> Value {
    let peers: Vec<Value> = finding
        .entries
        .iter()
        .map(|(peer, entry)| match entry.spread() {
            Some(Spread { median, low, high }) => {
                json!({ "peer": peer, "median": median, "low": low, "high": high })
            }
            None => json!({ "peer": peer, "missing": entry.text() }),
        })
        .collect();
    let verdicts: Vec<Value> = finding
        .verdicts()
        .into_iter()
        .map(|verdict| {
            json!({
                "against": verdict.against,
                "ratio": verdict.ratio,
                "budget": verdict.budget,
                "verdict": verdict.word,
            })
        })
        .collect();
    json!({
        "name": finding.row.name,
        "unit": finding.row.unit,
        "peers": peers,
        "verdicts": verdicts,
    })
}

fn run_json(peer: &str, run: &Outcome) -> Value {
    json!({
        "peer": peer,
        "values": run.values,
        "cpu_seconds": run.cpu_seconds,
        "voluntary_switches": run.switches,
        "peak_bytes": run.peak_bytes,
        "others": Others::share(iter::once(run.others)),
        "note": run.note,
    })
}

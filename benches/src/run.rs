//! The order of things: benches, rounds, peers, and what is said meanwhile.
//!
//! In a round every peer has a turn (rt, tokio, …, rt, tokio, …), so that a machine that drifts drifts
//! for all of them.

use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::args::Options;
use crate::measure::{self, Outcome, Setting};
use crate::peers::{self, go};
use crate::report::{self, BenchReport};
use crate::svg;
use crate::table::{self, BENCHES, Bench, Kind};
use crate::verdict::{Entry, Finding};
use crate::work::{files, mixed};

/// Why a run is not a good one.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The options name something that does not exist.
    Usage(String),
    /// So many runs gave a wrong result, or none.
    Wrong(usize),
    /// A file could not be written, for example.
    System(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::System(error)
    }
}

/// Runs what the options ask for.
pub(crate) fn run(options: &Options) -> Result<(), Trouble> {
    let mut benches = table::select(&options.only).map_err(Trouble::Usage)?;
    if let Some(peer) = options.peers.iter().find(|peer| !known(peer)) {
        return Err(Trouble::Usage(format!("unknown peer {peer}; see --list")));
    }
    benches.retain(|bench| selected(bench, options).next().is_some());
    match all(&benches, options)? {
        0 => Ok(()),
        failures => Err(Trouble::Wrong(failures)),
    }
}

/// Runs benches and returns how many runs failed.
fn all(benches: &[&'static Bench], options: &Options) -> io::Result<usize> {
    let file = DataFile::for_benches(benches, options.quick)?;
    let setting = Setting {
        quick: options.quick,
        pin: options.pin,
        steps: mixed::calibrate(),
        file: file.path.clone(),
    };
    report::print_head(options.rounds(), options.quick);
    let mut progress = Progress::new(benches, options);
    let mut reports = Vec::new();
    for &bench in benches {
        let report = one(bench, options, &setting, &mut progress);
        report.print();
        reports.push(report);
    }
    reports.iter().for_each(BenchReport::print_ratios);
    if let Some(path) = &options.json {
        report::write_json(path, &reports, options.quick)?;
    }
    if let Some(folder) = &options.svg {
        svg::write(folder, &reports)?;
    }
    Ok(progress.failures)
}

/// Prints the table of benches.
pub(crate) fn list() {
    for bench in BENCHES {
        println!("{:20} [{}] {}", bench.name, bench.group, bench.question);
        println!("{:20} peers: {}", "", bench.peers.join(", "));
    }
}

fn known(peer: &str) -> bool {
    BENCHES.iter().any(|bench| bench.peers.contains(&peer))
}

/// A peer's part in a bench.
struct Part {
    peer: &'static str,
    /// Why there are no values, or that there should be.
    state: Entry,
    outcomes: Vec<Outcome>,
}

fn one(
    bench: &'static Bench,
    options: &Options,
    setting: &Setting,
    progress: &mut Progress,
) -> BenchReport {
    let mut parts: Vec<Part> = selected(bench, options)
        .map(|peer| Part {
            peer,
            state: state(bench, peer),
            outcomes: Vec::new(),
        })
        .collect();
    for round in 0..options.rounds() {
        for part in &mut parts {
            if !matches!(part.state, Entry::Values(_)) {
                continue;
            }
            progress.say(bench, part.peer, round);
            match measure::run(bench, part.peer, setting) {
                Ok(outcome) => part.outcomes.push(outcome),
                Err(failure) => {
                    eprintln!("versus: {} {}: {failure}", bench.name, part.peer);
                    progress.failures += 1;
                    part.state = Entry::Failed;
                }
            }
            progress.done(bench);
        }
    }
    gather(bench, parts)
}

/// Turns runs of peers into figures of rows.
fn gather(bench: &'static Bench, parts: Vec<Part>) -> BenchReport {
    let findings = bench.rows.iter().enumerate().map(|(index, row)| {
        let entries = parts.iter().map(|part| {
            let entry = match &part.state {
                Entry::Values(_) => {
                    Entry::Values(part.outcomes.iter().map(|run| run.values[index]).collect())
                }
                missing => missing.clone(),
            };
            (part.peer, entry)
        });
        Finding {
            row,
            entries: entries.collect(),
        }
    });
    BenchReport {
        bench,
        findings: findings.collect(),
        runs: parts
            .into_iter()
            .map(|part| (part.peer, part.outcomes))
            .collect(),
    }
}

/// The peers of a bench that the options leave in.
fn selected(bench: &'static Bench, options: &Options) -> impl Iterator<Item = &'static str> {
    let all = options.peers.is_empty();
    let named = move |peer: &&str| all || options.peers.iter().any(|name| name == peer);
    bench.peers.iter().copied().filter(named)
}

/// Whether a peer takes part, before anything is run.
fn state(bench: &Bench, peer: &str) -> Entry {
    let found = match bench.kind {
        _ if peer == "go" => go::takes_part(bench.name) && go::program().is_some(),
        Kind::Process { .. } | Kind::Files { .. } => peers::work(bench.name, peer).is_some(),
        _ => peers::server(bench.name, peer).is_some(),
    };
    match (found, peer) {
        (true, _) => Entry::Values(Vec::new()),
        (false, "rt") => Entry::Todo,
        (false, _) => Entry::Absent,
    }
}

/// Tells how far the work has come. How long there is to go is reckoned from how the runs so far
/// compared with what the table says of them.
struct Progress {
    started: Instant,
    rounds: usize,
    runs: usize,
    runs_done: usize,
    /// Seconds by the table, of all runs and of those that are done.
    planned: f64,
    planned_done: f64,
    failures: usize,
}

impl Progress {
    fn new(benches: &[&'static Bench], options: &Options) -> Progress {
        let rounds = options.rounds();
        let mut progress = Progress {
            started: Instant::now(),
            rounds,
            runs: 0,
            runs_done: 0,
            planned: 0.0,
            planned_done: 0.0,
            failures: 0,
        };
        for bench in benches {
            let takes_part = |peer: &&str| matches!(state(bench, peer), Entry::Values(_));
            let runs = selected(bench, options).filter(takes_part).count() * rounds;
            progress.runs += runs;
            progress.planned += runs as f64 * bench.seconds;
        }
        progress
    }

    fn say(&self, bench: &Bench, peer: &str, round: usize) {
        let left = self.planned - self.planned_done;
        let pace = if self.planned_done > 0.0 {
            self.started.elapsed().as_secs_f64() / self.planned_done
        } else {
            1.0
        };
        let left = Duration::from_secs_f64(left.max(0.0) * pace).as_secs();
        eprintln!(
            "[{}/{}] {} {peer}, round {} of {}, about {}:{:02} to go",
            self.runs_done + 1,
            self.runs,
            bench.name,
            round + 1,
            self.rounds,
            left / 60,
            left % 60,
        );
    }

    fn done(&mut self, bench: &Bench) {
        self.runs_done += 1;
        self.planned_done += bench.seconds;
    }
}

/// The file that the file benches read; removed when dropped.
struct DataFile {
    path: PathBuf,
    made: bool,
}

impl DataFile {
    fn for_benches(benches: &[&'static Bench], quick: bool) -> io::Result<DataFile> {
        let path = env::temp_dir().join(format!("versus-{}.data", std::process::id()));
        let made = benches
            .iter()
            .any(|bench| matches!(bench.kind, Kind::Files { .. }));
        let file = DataFile { path, made };
        if made {
            let mebibytes = if quick { 64 } else { 1024 };
            eprintln!("making a file of {mebibytes} MiB");
            files::create(&file.path, mebibytes << 20)?;
        }
        Ok(file)
    }
}

impl Drop for DataFile {
    fn drop(&mut self) {
        if self.made {
            // Nothing can be done about a file that cannot be removed.
            let _ = fs::remove_file(&self.path);
        }
    }
}

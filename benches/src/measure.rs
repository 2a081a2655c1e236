//! One run of one bench for one peer.

use std::env;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::args;
use crate::load::{Plan, Protocol, figure};
use crate::peers::go;
use crate::proc::{Machine, Others, Usage};
use crate::process::{Failure, Process};
use crate::sys::trace;
use crate::table::{Bench, Kind};
use crate::work::{files, mixed};

/// Before the measured part of a load.
const WARM: Duration = Duration::from_millis(250);
/// The same in a quick run.
const WARM_QUICK: Duration = Duration::from_millis(100);
/// After thousands of connections were opened, until the server is watched for being idle.
const SETTLE: Duration = Duration::from_millis(500);
/// The core of `--pin`.
const PINNED: usize = 0;

/// What all runs have in common.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) quick: bool,
    pub(crate) pin: bool,
    /// Steps of a piece of computing.
    pub(crate) steps: u64,
    /// The file to read, if there is one.
    pub(crate) file: std::path::PathBuf,
}

/// What one run found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// A figure for each row of the bench.
    pub(crate) values: Vec<f64>,
    /// What the peer's process used in the measured part.
    pub(crate) cpu_seconds: f64,
    pub(crate) switches: u64,
    /// The most memory that was resident.
    pub(crate) peak_bytes: u64,
    /// What neither the peer nor the load used.
    pub(crate) others: Others,
    /// More for a human.
    pub(crate) note: String,
}

/// Runs `bench` for `peer` once.
pub(crate) fn run(bench: &Bench, peer: &str, setting: &Setting) -> Result<Outcome, Failure> {
    let before = Machine::now();
    let own = Usage::own().cpu_seconds;
    let run = Run {
        bench,
        peer,
        setting,
    };
    let (mut outcome, children) = match bench.kind {
        Kind::Process { sum } | Kind::Files { sum } => run.in_process(sum),
        Kind::Load { http, connections } => {
            let protocol = if http { Protocol::Http } else { Protocol::Echo };
            run.load(protocol, connections)
        }
        Kind::Mixed { connections } => run.mixed(connections),
        Kind::Idle { connections } => run.idle(connections.pick(setting.quick) as usize),
    }?;
    let ours = children + Usage::own().cpu_seconds - own;
    outcome.others = Machine::now().others_since(&before, ours);
    Ok(outcome)
}

/// An outcome, and the CPU seconds of all the processes that it took.
type Ran = Result<(Outcome, f64), Failure>;

struct Run<'a> {
    bench: &'a Bench,
    peer: &'a str,
    setting: &'a Setting,
}

impl Run<'_> {
    fn size(&self) -> u64 {
        self.bench.size.pick(self.setting.quick)
    }

    fn in_process(&self, sum: fn(u64) -> u64) -> Ran {
        let size = self.size();
        let mut child = Process::start(self.command("child", &size.to_string())?)?;
        let values = child.result()?.checked(sum(size))?;
        self.expect_figures(&values)?;
        let usage = Usage::of(child.id());
        let outcome = Outcome {
            values,
            cpu_seconds: usage.cpu_seconds,
            switches: usage.voluntary_switches,
            peak_bytes: usage.peak_bytes,
            ..Outcome::default()
        };
        Ok((outcome, usage.cpu_seconds))
    }

    fn load(&self, protocol: Protocol, connections: usize) -> Ran {
        let mut pair = self.pair(protocol, connections, Duration::from_millis(self.size()))?;
        let (begin, end) = pair.measured(|_| Ok(()))?;
        let figures = pair.load.result()?.values;
        let requests = figures[figure::REQUESTS];
        if requests < 1.0 {
            return Err(Failure::WrongSum {
                found: 0,
                wanted: 1,
            });
        }
        let mut outcome = difference(&begin, &end);
        outcome.values = vec![outcome.cpu_seconds * 1e6 / requests];
        outcome.note = self.latencies(&figures);
        Ok((outcome, pair.cpu_seconds()))
    }

    fn mixed(&self, connections: usize) -> Ran {
        let window = Duration::from_millis(self.size());
        let mut pair = self.pair(Protocol::Echo, connections, window)?;
        let mut counts = Vec::new();
        let (begin, end) = pair.measured(|server| {
            counts.push(server.count()?);
            Ok(())
        })?;
        let figures = pair.load.result()?.values;
        let pieces = counts.last().unwrap_or(&0) - counts.first().unwrap_or(&0);
        let mut outcome = difference(&begin, &end);
        outcome.values = vec![
            figures[figure::P99_US] / 1e3,
            figures[figure::MEAN_US] / 1e3,
            pieces as f64 / window.as_secs_f64(),
        ];
        outcome.note = self.latencies(&figures);
        Ok((outcome, pair.cpu_seconds()))
    }

    fn idle(&self, connections: usize) -> Ran {
        let server = self.server()?;
        let empty = Usage::of(server.process.id());
        let mut pair = self.with_load(server, Protocol::Echo, connections, Duration::ZERO)?;
        pair.load.expect("begin")?;
        thread::sleep(SETTLE);
        let window = Duration::from_millis(self.size());
        let begin = Usage::of(pair.server.id());
        let traced = trace::syscalls(pair.server.id(), SETTLE, window);
        if traced.is_err() {
            thread::sleep(window);
        }
        let end = Usage::of(pair.server.id());
        pair.load.nudge()?;
        pair.load.result()?.checked(connections as u64)?;
        let mut outcome = difference(&begin, &end);
        let seconds = window.as_secs_f64();
        let calls = traced.unwrap_or_else(|error| {
            outcome.note = format!("not traced ({error}): voluntary switches, not calls");
            outcome.switches
        });
        outcome.values = vec![
            calls as f64 / seconds,
            outcome.cpu_seconds * 1e3 / seconds,
            end.rss_bytes.saturating_sub(empty.rss_bytes) as f64 / connections as f64,
        ];
        Ok((outcome, pair.cpu_seconds()))
    }

    /// A server that accepts, and a load that is about to use it.
    fn pair(
        &self,
        protocol: Protocol,
        connections: usize,
        measure: Duration,
    ) -> Result<Pair, Failure> {
        let server = self.server()?;
        self.with_load(server, protocol, connections, measure)
    }

    fn server(&self) -> Result<Server, Failure> {
        let mut process = Process::start(self.command("serve", &args::core_word(self.core()))?)?;
        let line = process.expect("ready")?;
        let port = line.parse().map_err(|_| Failure::Unexpected(line))?;
        Ok(Server { process, port })
    }

    fn with_load(
        &self,
        server: Server,
        protocol: Protocol,
        connections: usize,
        measure: Duration,
    ) -> Result<Pair, Failure> {
        let warm = if self.setting.quick { WARM_QUICK } else { WARM };
        let plan = Plan {
            protocol,
            port: server.port,
            connections,
            warm,
            measure,
        };
        let mut command = Command::new(env::current_exe()?);
        command.args(args::load_words(&plan, self.core()));
        Ok(Pair {
            server: server.process,
            load: Process::start(command)?,
        })
    }

    /// This executable again, or Go's.
    fn command(&self, verb: &str, last: &str) -> Result<Command, Failure> {
        let mut command = match go::program() {
            Some(program) if self.peer == "go" => Command::new(program),
            _ => Command::new(env::current_exe()?),
        };
        command
            .args([verb, self.bench.name, self.peer, last])
            .env(files::PATH_VARIABLE, &self.setting.file)
            .env(mixed::STEPS_VARIABLE, self.setting.steps.to_string());
        Ok(command)
    }

    fn core(&self) -> Option<usize> {
        (self.setting.pin && self.bench.name == "echo_1").then_some(PINNED)
    }

    fn expect_figures(&self, values: &[f64]) -> Result<(), Failure> {
        if values.len() == self.bench.rows.len() {
            Ok(())
        } else {
            Err(Failure::Unexpected(format!("{values:?}")))
        }
    }

    fn latencies(&self, figures: &[f64]) -> String {
        let seconds = Duration::from_millis(self.size()).as_secs_f64();
        format!(
            "{:.0} requests/s, p50 {:.0} us, p99 {:.0} us, max {:.0} us",
            figures[figure::REQUESTS] / seconds,
            figures[figure::P50_US],
            figures[figure::P99_US],
            figures[figure::MAX_US],
        )
    }
}

struct Server {
    process: Process,
    port: u16,
}

/// A server and its load.
struct Pair {
    server: Process,
    load: Process,
}

impl Pair {
    /// The server's usage at the beginning and the end of the measured part; `look` is called at both.
    fn measured(
        &mut self,
        mut look: impl FnMut(&mut Process) -> Result<(), Failure>,
    ) -> Result<(Usage, Usage), Failure> {
        let mut usages = [Usage::default(); 2];
        for (word, usage) in ["begin", "end"].into_iter().zip(&mut usages) {
            self.load.expect(word)?;
            *usage = Usage::of(self.server.id());
            look(&mut self.server)?;
        }
        Ok((usages[0], usages[1]))
    }

    /// Of both, since they were started.
    fn cpu_seconds(&self) -> f64 {
        Usage::of(self.server.id()).cpu_seconds + Usage::of(self.load.id()).cpu_seconds
    }
}

/// What was used between two looks.
fn difference(begin: &Usage, end: &Usage) -> Outcome {
    Outcome {
        cpu_seconds: end.cpu_seconds - begin.cpu_seconds,
        switches: end
            .voluntary_switches
            .saturating_sub(begin.voluntary_switches),
        peak_bytes: end.peak_bytes,
        ..Outcome::default()
    }
}

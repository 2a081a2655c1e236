//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::load::{Plan, Protocol};

#[cfg(test)]
mod tests;

/// What `--help` says.
pub(crate) const HELP: &str = "\
versus: the same work on rt and on its peers, in turn, judged by budgets

usage: versus [options]
  --only A,B    only these benches, rows or groups (see --list)
  --peers A,B   only these peers
  --rounds N    rounds of each bench; the default is 5, or 1 with --quick
  --quick       about a twentieth of the work: to see that it runs, not to judge by
  --pin         keep echo_1's server (not Go's) and load on one core
  --json FILE   write every round's values
  --svg DIR     draw one chart for each group
  --list        print the benches with their groups, peers and questions
  --help        print this

Prints `versus BENCH PEER VALUE UNIT` for each row and peer, then `ratio BENCH BEST_PEER RATIO BUDGET
ok|over` for each budget; lines that begin with `#` tell more. The exit status is 0 whatever the
ratios, 1 if a bench gave a wrong result, 2 if the command line makes no sense.";

/// What this process is to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// Run benches.
    Run(Options),
    /// Print the benches.
    List,
    /// Print [`HELP`].
    Help,
    /// Be the process of one in-process bench.
    Child {
        bench: String,
        peer: String,
        size: u64,
    },
    /// Be the server of a bench.
    Serve {
        bench: String,
        peer: String,
        core: Option<usize>,
    },
    /// Be the load.
    Load { plan: Plan, core: Option<usize> },
}

/// How to run benches.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Options {
    pub(crate) quick: bool,
    pub(crate) pin: bool,
    rounds: Option<usize>,
    pub(crate) only: Vec<String>,
    pub(crate) peers: Vec<String>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) svg: Option<PathBuf>,
}

impl Options {
    /// Rounds of each bench.
    pub(crate) fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 1 } else { 5 })
    }
}

/// Reads a command line without its first word. The three hidden forms are what `versus` starts its
/// own children with.
pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let mut args = args.into_iter().peekable();
    match args.peek().map(String::as_str) {
        Some("child") => child(&args.skip(1).collect::<Vec<_>>()),
        Some("serve") => serve(&args.skip(1).collect::<Vec<_>>()),
        Some("load") => load(&args.skip(1).collect::<Vec<_>>()),
        _ => options(args),
    }
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut options = Options::default();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--list" => return Ok(Command::List),
            "--quick" => options.quick = true,
            "--pin" => options.pin = true,
            "--only" => options.only.extend(names(&value()?)),
            "--peers" => options.peers.extend(names(&value()?)),
            "--rounds" => match number(&value()?)? {
                0 => return Err("--rounds needs at least 1".to_owned()),
                rounds => options.rounds = Some(rounds as usize),
            },
            "--json" => options.json = Some(value()?.into()),
            "--svg" => options.svg = Some(value()?.into()),
            _ => return Err(format!("unknown argument {arg}; see --help")),
        }
    }
    Ok(Command::Run(options))
}

fn child(args: &[String]) -> Result<Command, String> {
    let [bench, peer, size] = args else {
        return Err("child BENCH PEER SIZE".to_owned());
    };
    Ok(Command::Child {
        bench: bench.clone(),
        peer: peer.clone(),
        size: number(size)?,
    })
}

fn serve(args: &[String]) -> Result<Command, String> {
    let [bench, peer, core] = args else {
        return Err("serve BENCH PEER CORE".to_owned());
    };
    Ok(Command::Serve {
        bench: bench.clone(),
        peer: peer.clone(),
        core: core.parse().ok(),
    })
}

fn load(args: &[String]) -> Result<Command, String> {
    let [protocol, port, connections, warm, measure, core] = args else {
        return Err("load PROTOCOL PORT CONNECTIONS WARM_MS MEASURE_MS CORE".to_owned());
    };
    let plan = Plan {
        protocol: Protocol::named(protocol).ok_or(format!("unknown protocol {protocol}"))?,
        port: number(port)? as u16,
        connections: number(connections)? as usize,
        warm: Duration::from_millis(number(warm)?),
        measure: Duration::from_millis(number(measure)?),
    };
    Ok(Command::Load {
        plan,
        core: core.parse().ok(),
    })
}

/// The words of a load's command line.
pub(crate) fn load_words(plan: &Plan, core: Option<usize>) -> Vec<String> {
    let Plan {
        protocol,
        port,
        connections,
        warm,
        measure,
    } = plan;
    vec![
        "load".to_owned(),
        protocol.name().to_owned(),
        port.to_string(),
        connections.to_string(),
        warm.as_millis().to_string(),
        measure.as_millis().to_string(),
        core_word(core),
    ]
}

/// A core on a child's command line; any word that is no number means all of them.
pub(crate) fn core_word(core: Option<usize>) -> String {
    core.map_or_else(|| "any".to_owned(), |core| core.to_string())
}

fn names(list: &str) -> Vec<String> {
    list.split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}

//! Benches of `rt`: the same work on `rt` and on its peers, in turn, in one run.
//!
//! Machines drift and differ, so a time by itself says little: what is judged is the ratio to the best
//! peer. The binary `versus` runs every bench of the table and compares it with its budget; the
//! criterion benches in `benches/` look at single parts. Both call the same workloads.
//!
//! Read [`work`] for what is measured, [`peers`] for who runs it, and the README of this folder for how to
//! add to either.

#![expect(
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "figures for people, and numbers for libc: far below any limit, and never negative"
)]

use std::env;
use std::process::ExitCode;

use args::Command;
use run::Trouble;

mod args;
mod child;
mod control;
mod histogram;
mod load;
mod measure;
pub mod peers;
mod proc;
mod process;
mod report;
mod run;
mod stats;
mod svg;
mod sys;
mod table;
mod verdict;
pub mod work;

/// The program `versus`.
pub fn versus() -> ExitCode {
    let command = match args::parse(env::args().skip(1)) {
        Ok(command) => command,
        Err(error) => return complain(&error, 2),
    };
    let done = match command {
        Command::Run(options) => match run::run(&options) {
            Ok(()) => Ok(()),
            Err(Trouble::Usage(error)) => return complain(&error, 2),
            Err(Trouble::Wrong(count)) => Err(format!("{count} runs gave no right result")),
            Err(Trouble::System(error)) => Err(error.to_string()),
        },
        Command::List => {
            run::list();
            Ok(())
        }
        Command::Help => {
            println!("{}", args::HELP);
            Ok(())
        }
        Command::Child { bench, peer, size } => child::work(&bench, &peer, size),
        Command::Serve { bench, peer, core } => child::serve(&bench, &peer, core),
        Command::Load { plan, core } => child::load(&plan, core),
    };
    done.map_or_else(|error| complain(&error, 1), |()| ExitCode::SUCCESS)
}

fn complain(error: &str, code: u8) -> ExitCode {
    eprintln!("versus: {error}");
    ExitCode::from(code)
}

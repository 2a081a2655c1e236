//! What each command line means, and which ones are refused.

use std::path::PathBuf;
use std::time::Duration;

use super::{Command, Options, load_words, parse};
use crate::load::{Plan, Protocol};

fn parsed(line: &str) -> Result<Command, String> {
    parse(line.split_whitespace().map(str::to_owned))
}

fn options(line: &str) -> Options {
    match parsed(line) {
        Ok(Command::Run(options)) => options,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn no_arguments_run_everything_in_five_rounds() {
    let options = options("");
    assert_eq!(options, Options::default());
    assert_eq!(options.rounds(), 5);
}

#[test]
fn quick_is_one_round_unless_told_otherwise() {
    assert_eq!(options("--quick").rounds(), 1);
    assert_eq!(options("--quick --rounds 3").rounds(), 3);
}

#[test]
fn lists_are_split_at_commas_and_may_be_given_twice() {
    let options = options("--only a,b --only c --peers rt,tokio");
    assert_eq!(options.only, ["a", "b", "c"]);
    assert_eq!(options.peers, ["rt", "tokio"]);
}

#[test]
fn files_are_taken_as_they_are() {
    let options = options("--json out.json --svg charts");
    assert_eq!(options.json, Some(PathBuf::from("out.json")));
    assert_eq!(options.svg, Some(PathBuf::from("charts")));
}

#[test]
fn mistakes_are_refused() {
    for line in [
        "--rounds",
        "--rounds 0",
        "--rounds x",
        "--fast",
        "echo_50",
        "child a b",
        "load x",
    ] {
        assert!(parsed(line).is_err(), "{line}");
    }
}

#[test]
fn a_load_reads_back_what_it_was_told() {
    let plan = Plan {
        protocol: Protocol::Http,
        port: 4711,
        connections: 64,
        warm: Duration::from_millis(20),
        measure: Duration::from_millis(300),
    };
    for core in [None, Some(1)] {
        let read = parse(load_words(&plan, core));
        assert_eq!(
            read,
            Ok(Command::Load {
                plan: plan.clone(),
                core
            })
        );
    }
}

#[test]
fn a_child_is_told_its_bench_peer_and_size() {
    assert_eq!(
        parsed("child skynet smol 1000"),
        Ok(Command::Child {
            bench: "skynet".to_owned(),
            peer: "smol".to_owned(),
            size: 1000
        })
    );
}

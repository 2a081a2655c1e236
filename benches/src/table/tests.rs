//! The table of benches agrees with itself and with the peers there are.

use std::collections::HashSet;

use super::{Against, BENCHES, Budget, Kind, select};
use crate::peers;

#[test]
fn every_row_has_a_name_of_its_own_and_a_budget() {
    let mut names = HashSet::new();
    for row in BENCHES.iter().flat_map(|bench| bench.rows) {
        assert!(names.insert(row.name), "{} comes twice", row.name);
        assert!(!row.budgets.is_empty(), "{} has no budget", row.name);
    }
}

#[test]
fn rt_takes_part_in_every_bench_and_comes_first() {
    assert!(
        BENCHES
            .iter()
            .all(|bench| bench.peers.first() == Some(&"rt"))
    );
}

#[test]
fn every_peer_of_a_bench_has_the_work() {
    for bench in BENCHES {
        for peer in bench.peers.iter().filter(|peer| **peer != "rt") {
            let found = match bench.kind {
                _ if *peer == "go" => peers::go::takes_part(bench.name),
                Kind::Process { .. } | Kind::Files { .. } => {
                    peers::work(bench.name, peer).is_some()
                }
                _ => peers::server(bench.name, peer).is_some(),
            };
            assert!(found, "{peer} has nothing for {}", bench.name);
        }
    }
}

#[test]
fn budgets_name_peers_that_are_there() {
    for bench in BENCHES {
        for budget in bench.rows.iter().flat_map(|row| row.budgets) {
            if let Budget::AtMost(_, Against::Peer(peer))
            | Budget::AtLeast(_, Against::Peer(peer)) = budget
            {
                assert!(
                    bench.peers.contains(peer),
                    "{} is judged by {peer}",
                    bench.name
                );
            }
        }
    }
}

#[test]
fn benches_are_selected_by_their_names_their_rows_or_their_groups() {
    let names = |list: &[&str]| -> Vec<&str> {
        let list: Vec<_> = list.iter().map(|name| (*name).to_owned()).collect();
        select(&list)
            .expect("known names")
            .iter()
            .map(|bench| bench.name)
            .collect()
    };
    assert_eq!(names(&["echo_50", "skynet"]), ["skynet", "echo_50"]);
    assert_eq!(names(&["timer_mass_bytes"]), ["timer_mass"]);
    assert_eq!(names(&["yield"]), ["yield_1k", "yield_1"]);
    assert_eq!(names(&[]).len(), BENCHES.len());
    assert!(select(&["nonsense".to_owned()]).is_err());
}

//! Children that answer, answer wrongly, babble or end.

use std::process::Command;

use super::{Failure, Found, Process, found};

fn shell(script: &str) -> Process {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Process::start(command).expect("a shell")
}

#[test]
fn a_result_is_a_sum_and_values() {
    assert_eq!(
        found("42 1.5 2"),
        Some(Found {
            sum: 42,
            values: vec![1.5, 2.0]
        })
    );
    assert_eq!(
        found("42"),
        Some(Found {
            sum: 42,
            values: vec![]
        })
    );
    assert_eq!(found(""), None);
    assert_eq!(found("42 fast"), None);
}

#[test]
fn a_wrong_sum_is_a_failure_whatever_the_values() {
    let found = || Found {
        sum: 41,
        values: vec![0.001],
    };
    assert!(matches!(
        found().checked(42),
        Err(Failure::WrongSum {
            found: 41,
            wanted: 42
        })
    ));
    assert!(found().checked(41).is_ok());
}

#[test]
fn a_child_is_asked_and_answers() {
    let mut child = shell("echo ready 17; read line; echo count 3; read line; echo result 1 2.5");
    assert_eq!(child.expect("ready").expect("a port"), "17");
    assert_eq!(child.count().expect("a count"), 3);
    child.nudge().expect("it reads");
    assert_eq!(
        child.result().expect("a result"),
        Found {
            sum: 1,
            values: vec![2.5]
        }
    );
}

#[test]
fn a_child_that_ends_or_babbles_is_a_failure() {
    assert!(matches!(shell("exit 1").result(), Err(Failure::Ended)));
    assert!(matches!(
        shell("echo oh").result(),
        Err(Failure::Unexpected(_))
    ));
    assert!(matches!(
        shell("echo result 1 x").result(),
        Err(Failure::Unexpected(_))
    ));
}

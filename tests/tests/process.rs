//! Child processes: how they end, what flows through their pipes, and that none stays as a zombie.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, Stdio};
use std::time::Duration;

use rt::Runtime;
use rt::io::AsyncReadExt;
use rt::process::{Child, Command};
use rt_tests::{
    FLAVOURS, Flavour, Watchdog, alone, alone_after, everywhere, fds, poll_once, until,
    until_yielding,
};

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script);
    command
}

/// The children of this process, zombies among them.
fn children() -> usize {
    let this = process::id().to_string();
    let processes = fs::read_dir("/proc").unwrap();
    let stats =
        processes.filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok());
    // After the name, which is in brackets: state and parent.
    let parents = stats.filter_map(|stat| {
        let (_, rest) = stat.rsplit_once(") ")?;
        rest.split(' ').nth(1).map(str::to_owned)
    });
    parents.filter(|parent| *parent == this).count()
}

fn is_alive(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// A child that lives until its input ends.
fn patient() -> Child {
    Command::new("cat").stdin(Stdio::piped()).spawn().unwrap()
}

#[test]
fn the_end_of_a_child_is_told() {
    everywhere(|runtime| {
        runtime.block_on(async {
            assert!(Command::new("true").status().await.unwrap().success());
            assert_eq!(shell("exit 7").status().await.unwrap().code(), Some(7));
            let killed = shell("kill -TERM $$").status().await.unwrap();
            assert_eq!(killed.signal(), Some(15));

            let mut child = patient();
            assert!(child.id().is_some_and(is_alive));
            assert!(child.try_wait().unwrap().is_none());
            drop(poll_once(&mut Box::pin(child.wait())).await);
            // The input was closed by that wait, given up though it was.
            assert!(child.wait().await.unwrap().success());
            assert!(child.wait().await.unwrap().success(), "asked again");
            assert!(child.try_wait().unwrap().unwrap().success());
            assert_eq!(child.id(), None);
            let too_late = child.kill().await.unwrap_err();
            assert_eq!(too_late.kind(), ErrorKind::InvalidInput);
        });
    });
}

#[test]
fn a_child_is_killed_on_demand() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let mut child = patient();
            child.kill().await.unwrap();
            assert_eq!(child.wait().await.unwrap().signal(), Some(9));

            let mut child = patient();
            child.start_kill().unwrap();
            until_yielding(|| child.try_wait().unwrap().is_some()).await;
        });
    });
}

#[test]
fn what_cannot_be_started_is_an_error_and_leaves_nothing() {
    alone(|| {
        everywhere(|runtime| {
            let before = fds();
            runtime.block_on(async {
                let mut command = Command::new("/there/is/no/such/program");
                command.stdin(Stdio::piped()).stdout(Stdio::piped());
                let missing = command.spawn().unwrap_err();
                assert_eq!(missing.kind(), ErrorKind::NotFound);
                let refused = Command::new("/proc").status().await.unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
            });
            // A thread of the runtime that is only starting may have a file open for a moment.
            runtime.block_on(until_yielding(|| fds() <= before && children() == 0));
        });
    });
}

/// More than a pipe holds, in both directions at once, and through two children in a row.
#[test]
fn bytes_flow_through_pipes_both_ways() {
    const LEN: usize = 2 << 20;
    everywhere(|runtime| {
        runtime.block_on(async {
            let mut first = Command::new("cat");
            let mut first = first
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let between: Stdio = first.stdout.take().unwrap().try_into().unwrap();
            let mut second = Command::new("cat");
            let mut second = second
                .stdin(between)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let input = first.stdin.take().unwrap();
            let writer = rt::spawn(async move {
                let bytes: Vec<u8> = (0..LEN).map(|at| at as u8).collect();
                input.write_all(&bytes).await.unwrap();
            });
            let mut read = Vec::new();
            let mut output = second.stdout.take().unwrap();
            output.read_to_end(&mut read).await.unwrap();
            assert_eq!(read.len(), LEN);
            assert!(read.iter().enumerate().all(|(at, byte)| *byte == at as u8));
            writer.await.unwrap();
            assert!(first.wait().await.unwrap().success());
            assert!(second.wait().await.unwrap().success());
        });
    });
}

/// A child that fills one output while the other is waited for would never end.
#[test]
fn both_outputs_are_collected_at_once() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let script = "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; exit 3";
            let output = shell(script).output().await.unwrap();
            assert_eq!(output.status.code(), Some(3));
            assert_eq!(
                (output.stdout.len(), output.stderr.len()),
                (300_000, 300_000)
            );
        });
    });
}

#[test]
fn writing_to_a_child_that_has_ended_is_an_error() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let mut command = Command::new("true");
            let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
            let input = child.stdin.take().unwrap();
            child.wait().await.unwrap();
            // A child of another test has the other end too, from its fork to its exec.
            let error = loop {
                if let Err(error) = input.write_all(b"too late").await {
                    break error;
                }
                rt::yield_now().await;
            };
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        });
    });
}

#[test]
fn surroundings_are_as_they_were_set() {
    Flavour::Workers(2).build().block_on(async {
        let mut command = shell("pwd; echo $ONE$TWO; echo $0");
        command
            .current_dir("/proc")
            .env_clear()
            .env("ONE", "1")
            .env("TWO", "2");
        command.env_remove("ONE").arg("name");
        let output = command.output().await.unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "/proc\n2\nname\n"
        );
        assert_eq!(command.as_std().get_program(), "sh");
        assert!(!command.get_kill_on_drop());
    });
}

/// Nothing but what this process has inherited itself.
#[test]
fn a_child_inherits_no_descriptor() {
    const LIST: [&str; 2] = ["ls", "/proc/self/fd"];
    alone(|| {
        let inherited = process::Command::new(LIST[0]).arg(LIST[1]).output();
        let inherited = inherited.unwrap().stdout;
        everywhere(|runtime| {
            runtime.block_on(async {
                let mut others: Vec<_> = (0..3).map(|_| patient()).collect();
                let listed = Command::new(LIST[0]).arg(LIST[1]).output().await;
                assert_eq!(listed.unwrap().stdout, inherited);
                for other in &mut others {
                    other.wait().await.unwrap();
                }
            });
        });
    });
}

/// Dropped before its end and after it, waited for and not.
#[test]
fn no_zombie_is_left_whatever_is_dropped() {
    alone(|| {
        everywhere(|runtime| {
            let before = fds();
            runtime.block_on(async {
                let mut left = Vec::new();
                for _ in 0..20 {
                    drop(Command::new("true").spawn().unwrap());
                    let mut child = patient();
                    // It closes the child's input, so that it may have ended by now.
                    drop(poll_once(&mut Box::pin(child.wait())).await);
                    drop(child);
                    let mut child = patient();
                    left.push(child.stdin.take());
                    drop(child);
                    drop(shell("exit 1").status());
                    drop(poll_once(&mut Box::pin(shell("exit 1").output())).await);
                }
                assert!(children() >= 20);
                drop(left);
                // The events come although nobody waits for them.
                while children() > 0 || fds() > before {
                    rt::time::sleep(Duration::from_millis(1)).await;
                }
            });
            assert_eq!(runtime.metrics().live_sources, 0);
        });
    });
}

#[test]
fn a_child_is_killed_with_its_handle_if_that_is_asked_for() {
    alone(|| {
        everywhere(|runtime| {
            runtime.block_on(async {
                let mut command = Command::new("cat");
                command.stdin(Stdio::piped());
                let mut goes_on = command.spawn().unwrap();
                let input = goes_on.stdin.take();
                let id = goes_on.id().unwrap();
                drop(goes_on);
                let mut killed = command.kill_on_drop(true).spawn().unwrap();
                let its_input = killed.stdin.take();
                let its_id = killed.id().unwrap();
                drop(killed);
                until_yielding(|| !is_alive(its_id)).await;
                assert!(is_alive(id));
                drop((input, its_input));
                // A future that is given up is a handle, too.
                let mut sleeper = shell("exec sleep 1000");
                let status = Box::pin(sleeper.kill_on_drop(true).status());
                drop(status);
                while children() > 0 {
                    rt::time::sleep(Duration::from_millis(1)).await;
                }
            });
        });
    });
}

/// Orphans of a runtime that has ended, and children that are dropped only then.
#[test]
fn no_zombie_is_left_when_the_runtime_is_gone() {
    alone(|| {
        for flavour in FLAVOURS {
            let runtime = flavour.build();
            let current = runtime.enter();
            let (mut orphan, mut late) = (patient(), patient());
            let inputs = (orphan.stdin.take(), late.stdin.take());
            drop(orphan);
            drop(current);
            drop(runtime);
            drop(late);
            assert_eq!(children(), 2);
            drop(inputs);
            until(|| children() == 0);
        }
    });
}

#[test]
fn waiting_ends_with_the_runtime() {
    let _watchdog = Watchdog::new();
    let runtime = Flavour::Workers(2).build();
    let handle = runtime.handle().clone();
    let mut child = {
        let _current = runtime.enter();
        patient()
    };
    let input = child.stdin.take();
    drop(runtime);
    handle.block_on(child.wait()).unwrap_err();
    // It can still be asked.
    assert!(child.try_wait().unwrap().is_none());
    drop(input);
    until(|| child.try_wait().unwrap().is_some());
}

#[test]
fn hundreds_of_children_run_at_once() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let children: Vec<_> = (0..200_i32)
                .map(|number| rt::spawn(shell(&format!("exit {}", number % 100)).status()))
                .collect();
            for (number, child) in (0..).zip(children) {
                let code = child.await.unwrap().unwrap().code();
                assert_eq!(code, Some(number % 100));
            }
        });
    });
}

/// Out of descriptors at any step of the way: an error, no child left, and it goes on afterwards.
#[test]
fn a_lack_of_descriptors_is_an_error_and_leaves_no_child() {
    alone_after("ulimit -n 40", || {
        let runtime = Runtime::builder().current_thread().build().unwrap();
        runtime.block_on(async {
            let before = fds();
            let mut all: Vec<Child> = Vec::new();
            let mut hoard = Vec::new();
            let error = loop {
                let mut command = Command::new("cat");
                command.stdin(Stdio::piped()).stdout(Stdio::piped());
                match command.spawn() {
                    Ok(child) => all.push(child),
                    Err(error) => break error,
                }
                // So that the limit is met at different steps.
                hoard.push(fs::File::open("/dev/null"));
            };
            assert_eq!(error.raw_os_error(), Some(24), "EMFILE: {error}");
            drop(hoard);
            for child in &mut all {
                child.wait().await.unwrap();
            }
            drop(all);
            while children() > 0 || fds() > before {
                rt::time::sleep(Duration::from_millis(1)).await;
            }
            assert!(Command::new("true").status().await.unwrap().success());
        });
    });
}

//! Signals: everyone who listens is told, and the old behaviour comes back.
//!
//! Each test has a process of its own, since handlers belong to the whole process.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::process::{self, Command, Stdio};
use std::sync::Mutex;
use std::thread;

use rt::signal::ctrl_c;
use rt::signal::unix::{Signal, SignalKind, signal};
use rt_tests::{
    FLAVOURS, Flavour, Watchdog, alone, alone_after, everywhere, fds, poll_once, until,
};

const SIGINT: u32 = 2;

/// Sends this process a signal. It may still be on its way to a thread when this returns.
fn send(kind: SignalKind) {
    send_to(process::id(), kind);
}

fn send_to(process: u32, kind: SignalKind) {
    let kill = format!("kill -{} {process}", kind.as_raw_value());
    let status = Command::new("sh").arg("-c").arg(kill).status().unwrap();
    assert!(status.success());
}

/// Keeps a listener until the process ends.
fn keep(listener: Signal) {
    static KEPT: Mutex<Vec<Signal>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap().push(listener);
}

/// Whether a bit of a signal set in `/proc/self/status` is set.
fn in_set(set: &str, signal: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let bits = status.lines().find_map(|line| line.strip_prefix(set));
    let bits = u64::from_str_radix(bits.unwrap().trim(), 16).unwrap();
    bits >> (signal - 1) & 1 == 1
}

fn is_handled(signal: u32) -> bool {
    in_set("SigCgt:", signal)
}

#[test]
fn every_listener_is_told_of_its_signal_and_of_no_other() {
    alone(|| {
        everywhere(|runtime| {
            runtime.block_on(async {
                let mut first = signal(SignalKind::user_defined1()).unwrap();
                let mut second = signal(SignalKind::user_defined1()).unwrap();
                let mut other = signal(SignalKind::user_defined2()).unwrap();
                for _ in 0..3 {
                    send(SignalKind::user_defined1());
                    first.recv().await.unwrap();
                    second.recv().await.unwrap();
                }
                assert!(poll_once(&mut Box::pin(other.recv())).await.is_pending());
                // One of two may go: the other is still told.
                drop(first);
                send(SignalKind::user_defined1());
                second.recv().await.unwrap();
                send(SignalKind::user_defined2());
                other.recv().await.unwrap();
            });
        });
    });
}

#[test]
fn signals_that_come_before_anybody_looks_are_one() {
    alone(|| {
        Flavour::CurrentThread.build().block_on(async {
            let mut signals = signal(SignalKind::hangup()).unwrap();
            let mut witness = signal(SignalKind::hangup()).unwrap();
            for _ in 0..5 {
                send(SignalKind::hangup());
                witness.recv().await.unwrap();
            }
            signals.recv().await.unwrap();
            assert!(poll_once(&mut Box::pin(signals.recv())).await.is_pending());
            send(SignalKind::hangup());
            signals.recv().await.unwrap();
            // A listener is told of what came after it was made.
            let mut late = signal(SignalKind::hangup()).unwrap();
            assert!(poll_once(&mut Box::pin(late.recv())).await.is_pending());
        });
    });
}

/// All of them come while many tasks wait, give up and wait again: none misses the last one.
#[test]
fn no_listener_misses_the_last_of_many_signals() {
    alone(|| {
        let runtime = Flavour::Workers(2).build();
        runtime.block_on(async {
            let (tell, told) = tokio::sync::watch::channel(false);
            // The last signal may come when all of them have ended. It must not find nobody.
            keep(signal(SignalKind::user_defined1()).unwrap());
            let listeners: Vec<_> = (0..50)
                .map(|_| {
                    let mut signals = signal(SignalKind::user_defined1()).unwrap();
                    let mut told = told.clone();
                    rt::spawn(async move {
                        while !*told.borrow_and_update() {
                            signals.recv().await.unwrap();
                        }
                    })
                })
                .collect();
            for _ in 0..100 {
                send(SignalKind::user_defined1());
            }
            tell.send(true).unwrap();
            send(SignalKind::user_defined1());
            for listener in listeners {
                listener.await.unwrap();
            }
        });
    });
}

#[test]
fn real_time_signals_are_told() {
    alone(|| {
        Flavour::Workers(2).build().block_on(async {
            for number in [35, 50, 64] {
                let mut signals = signal(SignalKind::from_raw(number)).unwrap();
                send(SignalKind::from_raw(number));
                signals.recv().await.unwrap();
            }
        });
    });
}

#[test]
fn several_runtimes_listen_at_once() {
    alone(|| {
        let runtimes = FLAVOURS.map(Flavour::build);
        let mut listeners = Vec::new();
        for runtime in &runtimes {
            let _current = runtime.enter();
            listeners.push(signal(SignalKind::terminate()).unwrap());
        }
        send(SignalKind::terminate());
        // A listener belongs to the runtime that it was made in, whoever awaits it.
        thread::scope(|scope| {
            for (runtime, listener) in runtimes.iter().zip(&mut listeners) {
                scope.spawn(move || runtime.block_on(listener.recv()).unwrap());
            }
        });
        // The end of one runtime ends its own listener.
        let [gone, stays, ..] = runtimes;
        drop(gone);
        assert_eq!(stays.block_on(listeners[0].recv()), None);
        send(SignalKind::terminate());
        stays.block_on(listeners[1].recv()).unwrap();
    });
}

#[test]
fn the_old_disposition_comes_back_with_the_end_of_the_last_listener() {
    alone(|| {
        everywhere(|runtime| {
            runtime.block_on(async {
                assert!(!is_handled(SIGINT));
                let first = signal(SignalKind::interrupt()).unwrap();
                let second = signal(SignalKind::interrupt()).unwrap();
                assert!(is_handled(SIGINT));
                drop(first);
                assert!(is_handled(SIGINT));
                drop(second);
                assert!(!is_handled(SIGINT));

                // A future that is given up listens no more.
                let mut once = Box::pin(ctrl_c());
                assert!(poll_once(&mut once).await.is_pending());
                assert!(is_handled(SIGINT));
                drop(once);
                assert!(!is_handled(SIGINT));
            });
        });
    });
}

/// As under `nohup`: the children of such a process are to ignore the signal too.
#[test]
fn a_signal_that_was_ignored_is_ignored_again() {
    alone_after("trap '' HUP", || {
        Flavour::CurrentThread.build().block_on(async {
            assert!(in_set("SigIgn:", 1));
            let mut hangups = signal(SignalKind::hangup()).unwrap();
            send(SignalKind::hangup());
            hangups.recv().await.unwrap();
            drop(hangups);
            assert!(in_set("SigIgn:", 1));
            send(SignalKind::hangup());
        });
    });
}

#[test]
fn signals_that_nobody_can_wait_for_are_refused() {
    Flavour::CurrentThread.build().block_on(async {
        for number in [9, 19, 11, 7, 8, 4, 0, -1, 65, 32, 33, i32::MAX, i32::MIN] {
            let refused = signal(SignalKind::from_raw(number)).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{number}");
            assert!(refused.to_string().contains(&number.to_string()));
        }
    });
}

#[test]
fn listeners_that_come_and_go_leave_nothing_behind() {
    alone(|| {
        Flavour::Workers(2).build().block_on(async {
            // The signal's own descriptor stays, for a handler that may still run.
            drop(signal(SignalKind::user_defined2()).unwrap());
            let before = fds();
            for _ in 0..1000 {
                let mut signals = signal(SignalKind::user_defined2()).unwrap();
                assert!(poll_once(&mut Box::pin(signals.recv())).await.is_pending());
            }
            assert_eq!(fds(), before);
        });
    });
}

#[test]
fn outside_a_runtime_listening_panics_and_handles_nothing() {
    alone(|| {
        std::panic::catch_unwind(|| signal(SignalKind::interrupt())).unwrap_err();
        assert!(!is_handled(SIGINT));
    });
}

/// Set in the child that is to be killed.
const PATIENT: &str = "RT_TESTS_PATIENT";

/// The first Ctrl-C is handled; the second ends the process as if nobody had ever listened.
#[test]
fn a_second_ctrl_c_kills() {
    const NAME: &str = "a_second_ctrl_c_kills";
    let _watchdog = Watchdog::new();
    if env::var_os(PATIENT).is_some() {
        return Flavour::Workers(2).build().block_on(async {
            let mut interrupt = Box::pin(ctrl_c());
            assert!(poll_once(&mut interrupt).await.is_pending());
            println!("listening");
            interrupt.await.unwrap();
            println!("once");
            std::future::pending::<()>().await;
        });
    }
    // A shell that runs the tests in the background has them ignore it, and a child inherits that.
    let mut child = Command::new("env")
        .arg("--default-signal=INT")
        .arg(env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env(PATIENT, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in ["listening", "once"] {
        until(|| lines.next().unwrap().unwrap().ends_with(line));
        send_to(child.id(), SignalKind::interrupt());
    }
    assert_eq!(child.wait().unwrap().signal(), Some(2));
}

/// Threads begin and end to listen while signals come: no handler sees a half-made state, and the
/// process is killed by none of them while anybody listens.
#[test]
fn listening_begins_and_ends_while_signals_come() {
    alone(|| {
        let runtime = Flavour::Workers(2).build();
        let handle = runtime.handle();
        let _current = runtime.enter();
        let mut always = signal(SignalKind::user_defined1()).unwrap();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || {
                    let _current = handle.enter();
                    for _ in 0..200 {
                        drop(signal(SignalKind::user_defined1()).unwrap());
                    }
                });
            }
            let script = format!(
                "n=0; while [ $n -lt 300 ]; do kill -USR1 {}; n=$((n+1)); done",
                process::id()
            );
            let status = Command::new("sh").arg("-c").arg(script).status();
            assert!(status.unwrap().success());
        });
        runtime.block_on(always.recv()).unwrap();
        // The last signal may still be on its way. It must not find nobody.
        keep(always);
    });
}

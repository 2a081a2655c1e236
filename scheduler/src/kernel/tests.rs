//! Real threads, as `/proc` shows them.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::{CpuTime, cpu_time, is_asleep, state, thread_number, times};

#[test]
fn the_state_stands_behind_a_name_of_any_kind() {
    assert_eq!(state(b"7 (rt-cpu-0) S 1 2 3"), Some(b'S'));
    assert_eq!(state(b"7 (a) R (b) D 1 2 3"), Some(b'D'));
    assert_eq!(state(b"7 (\xff\xfe) R 1"), Some(b'R'));
    for cut in [&b""[..], b"7 (rt", b"7 (rt)", b"7 (rt) "] {
        assert_eq!(state(cut), None);
    }
}

#[test]
fn a_thread_that_waits_is_asleep_and_one_that_runs_is_not() {
    let (tell, told) = mpsc::channel();
    let (release, held) = mpsc::channel::<()>();
    let waits = thread::spawn(move || {
        tell.send(thread_number().unwrap()).unwrap();
        let _ = held.recv();
    });
    let thread = told.recv().unwrap();
    let limit = Instant::now() + Duration::from_mins(1);
    while !is_asleep(thread) {
        assert!(Instant::now() < limit, "it does not fall asleep");
        thread::yield_now();
    }
    assert!(!is_asleep(thread_number().unwrap()));
    drop(release);
    waits.join().unwrap();
    assert!(!is_asleep(u32::MAX));
}

#[test]
fn the_times_are_the_first_two_fields() {
    let (ran, waited) = (Duration::from_nanos(12), Duration::from_secs(3));
    assert_eq!(times("12 3000000000 7\n"), Some(CpuTime { ran, waited }));
    for cut in ["", "12", "12 x 7", "12 -3 7"] {
        assert_eq!(times(cut), None);
    }
}

#[test]
fn a_thread_that_computes_has_run() {
    let limit = Instant::now() + Duration::from_mins(1);
    let before = cpu_time();
    while cpu_time().ran < before.ran + Duration::from_millis(1) {
        assert!(Instant::now() < limit, "it does not run");
    }
    assert!(cpu_time().waited >= before.waited);
}

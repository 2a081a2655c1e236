//! Threads that dispute a CPU, and threads that do not.

use std::hint::spin_loop;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::{preemptions, time_on_cpu};
use crate::sys::affinity::{allowed, pin};

#[test]
fn a_thread_that_disputes_its_cpu_with_another_one_is_preempted() {
    let cpu = allowed().unwrap()[0];
    let stop = AtomicBool::new(false);
    let watchdog = Instant::now() + Duration::from_secs(60);
    thread::scope(|scope| {
        scope.spawn(|| {
            pin(cpu).unwrap();
            while !stop.load(Relaxed) && Instant::now() < watchdog {
                spin_loop();
            }
        });
        let preempted = scope.spawn(|| {
            pin(cpu).unwrap();
            let before = preemptions();
            while preemptions() == before && Instant::now() < watchdog {}
            stop.store(true, Relaxed);
            preemptions() > before
        });
        assert!(preempted.join().unwrap());
    });
}

/// The calling thread's number.
fn own_number() -> u32 {
    // SAFETY: no arguments, and it cannot fail.
    unsafe { libc::gettid() }.cast_unsigned()
}

#[test]
fn the_time_of_a_thread_is_what_it_has_run_for() {
    let (tell, told) = mpsc::channel();
    let (release, held) = mpsc::channel::<()>();
    let sleeps = thread::spawn(move || {
        tell.send(own_number()).unwrap();
        let _ = held.recv();
    });
    let sleeper = told.recv().unwrap();
    let before = time_on_cpu(own_number()).unwrap();
    let slept = time_on_cpu(sleeper).unwrap();
    let watchdog = Instant::now() + Duration::from_secs(60);
    while time_on_cpu(own_number()).unwrap() < before + Duration::from_millis(50) {
        assert!(Instant::now() < watchdog, "it does not run");
    }
    // It may still have been on its way to sleep.
    assert!(time_on_cpu(sleeper).unwrap() < slept + Duration::from_millis(50));
    drop(release);
    sleeps.join().unwrap();
    assert_eq!(time_on_cpu(u32::MAX), None);
}

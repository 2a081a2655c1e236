//! Threads that dispute a CPU.

use std::hint::spin_loop;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use super::preemptions;
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

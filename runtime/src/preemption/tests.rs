//! Who is started, and who ends.

use std::time::{Duration, Instant};

use super::{INTERVAL, Preemption};
use crate::sys::affinity;

fn started(preemption: &Preemption) -> usize {
    preemption.threads.lock().as_ref().map_or(0, Vec::len)
}

fn cpus() -> usize {
    affinity::allowed().unwrap().len()
}

#[test]
fn a_thread_for_each_cpu_begins_when_more_workers_are_awake_than_cpus() {
    let preemption = Preemption::new(Some(INTERVAL), "test");
    preemption.want(cpus());
    assert_eq!(started(&preemption), 0);
    for _ in 0..3 {
        preemption.want(cpus() + 1);
        assert_eq!(started(&preemption), cpus());
    }
    preemption.close();
    assert!(preemption.join(None));
    preemption.want(cpus() + 1);
    assert_eq!(started(&preemption), 0);
}

#[test]
fn none_begins_without_an_interval() {
    let preemption = Preemption::new(None, "test");
    preemption.want(usize::MAX);
    assert_eq!(started(&preemption), 0);
    assert!(preemption.join(None));
}

#[test]
fn a_long_interval_does_not_hold_the_end_up() {
    let preemption = Preemption::new(Some(Duration::MAX), "test");
    preemption.want(usize::MAX);
    preemption.close();
    assert!(preemption.join(None));
}

#[test]
fn without_time_nobody_is_waited_for() {
    let preemption = Preemption::new(Some(INTERVAL), "test");
    assert!(preemption.join(Some(Instant::now())));
    preemption.want(usize::MAX);
    preemption.close();
    assert!(!preemption.join(Some(Instant::now())));
}

//! When the CPUs count as contended, by counts that the tests make up.

use super::*;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static LOOKS: Cell<u32> = const { Cell::new(0) };
    static TIME: Cell<CpuTime> = Cell::default();
}

const ASKS: Asks = Asks {
    preemptions: || {
        LOOKS.set(LOOKS.get() + 1);
        COUNT.get()
    },
    cpu_time: || TIME.get(),
};

/// A worker that looks when it is told to.
struct Worker {
    sharing: Sharing,
    now: Instant,
    may_stand_back: bool,
}

impl Worker {
    fn new(asks: Option<Asks>) -> Self {
        let worker = Worker {
            sharing: Sharing::new(asks),
            now: Instant::now(),
            may_stand_back: false,
        };
        worker.sharing.look(worker.now, false);
        worker
    }

    /// Runs for so many milliseconds, of which it waits a part of 1000 for a CPU, and looks after each. `true`: it is
    /// preempted before each look.
    fn run(&mut self, millis: u32, waiting: u32, preempted: bool) {
        for _ in 0..millis {
            COUNT.set(COUNT.get() + u64::from(preempted));
            let CpuTime { ran, waited } = TIME.get();
            TIME.set(CpuTime {
                ran: ran + Duration::from_micros(u64::from(1000 - waiting)),
                waited: waited + Duration::from_micros(u64::from(waiting)),
            });
            self.sleep(1);
            self.sharing.look(self.now, self.may_stand_back);
        }
    }

    fn sleep(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }

    fn is_contended(&self) -> bool {
        let sharing = &self.sharing;
        assert!(!Sharing::is_worth(WORTH_NS - 1) && Sharing::is_worth(WORTH_NS));
        assert!(!sharing.is_worth_after_events(WORTH_NS - 1));
        assert!(sharing.is_worth_after_events(WORTH_CONTENDED_NS));
        assert_eq!(
            sharing.is_worth_after_events(WORTH_NS),
            !sharing.saw_contention()
        );
        sharing.saw_contention()
    }
}

#[test]
fn who_waits_for_a_cpu_shares_less_for_a_while() {
    let mut worker = Worker::new(Some(ASKS));
    worker.run(10, 0, true);
    assert!(!worker.is_contended());
    worker.run(5, 125, true);
    assert!(worker.is_contended());
    worker.run(45, 0, false);
    assert!(worker.is_contended());
    worker.run(5, 0, false);
    assert!(!worker.is_contended());
}

#[test]
fn a_preemption_that_costs_little_time_says_nothing() {
    let mut worker = Worker::new(Some(ASKS));
    worker.run(500, 100, true);
    assert!(!worker.is_contended());
}

#[test]
fn slow_wake_ups_say_nothing() {
    let mut worker = Worker::new(Some(ASKS));
    worker.run(500, 500, false);
    assert!(!worker.is_contended());
}

#[test]
fn a_worker_that_waits_less_since_others_stand_back_still_counts_as_contended() {
    let mut worker = Worker::new(Some(ASKS));
    worker.run(5, 500, true);
    worker.run(500, 40, true);
    assert!(worker.is_contended());
    worker.run(100, 20, true);
    assert!(!worker.is_contended());
    worker.run(100, 40, true);
    assert!(!worker.is_contended());
}

#[test]
fn a_worker_that_does_not_wait_since_others_stand_back_counts_as_contended_until_none_may() {
    let mut worker = Worker::new(Some(ASKS));
    worker.run(5, 500, true);
    worker.may_stand_back = true;
    worker.run(1000, 0, false);
    assert!(worker.is_contended());
    worker.may_stand_back = false;
    worker.run(5, 0, false);
    assert!(!worker.is_contended());
    worker.may_stand_back = true;
    worker.run(100, 0, false);
    assert!(!worker.is_contended(), "it had no sign of its own");
}

#[test]
fn a_sign_of_long_ago_is_none() {
    let mut worker = Worker::new(Some(ASKS));
    worker.sleep(50);
    worker.run(1, 500, true);
    assert!(!worker.is_contended(), "it did not look in between");
    worker.run(5, 500, true);
    assert!(worker.is_contended());
}

#[test]
fn a_kernel_that_does_not_tell_for_once_says_nothing() {
    let mut worker = Worker::new(Some(ASKS));
    worker.run(500, 500, false);
    worker.run(500, 0, true);
    let told = TIME.take();
    COUNT.set(COUNT.get() + 1);
    worker.sleep(5);
    worker.sharing.look(worker.now, false);
    TIME.set(told);
    worker.run(5, 0, true);
    assert!(!worker.is_contended());
}

#[test]
fn the_kernel_is_asked_once_in_five_milliseconds_at_most() {
    let mut worker = Worker::new(Some(ASKS));
    worker.run(49, 0, false);
    assert_eq!(LOOKS.get(), 10);
}

#[test]
fn without_somebody_to_ask_the_cpus_are_never_contended() {
    let mut worker = Worker::new(None);
    worker.run(100, 500, true);
    assert!(!worker.is_contended());
    assert_eq!(LOOKS.get(), 0);
}

//! When workers may stand back, by looks that the tests make up.

use super::*;

const TICK: Duration = Duration::from_millis(5);

/// A guard that looks at every tick at a pool that ends `rate` polls in each.
struct Guard {
    standing: Standing,
    now: Instant,
    polls: u64,
    stands_back: bool,
}

impl Guard {
    /// Polls have been short for a while.
    fn new() -> Self {
        let now = Instant::now();
        Guard {
            standing: Standing::new(now),
            now: now + LONG,
            polls: 0,
            stands_back: false,
        }
    }

    fn look(&mut self, polls: u64, contended: bool, any_long: bool) -> bool {
        self.now += TICK;
        self.polls += polls;
        self.stands_back = self.standing.look(&Look {
            now: self.now,
            polls: self.polls,
            any_long,
            contended,
        });
        self.stands_back
    }

    /// Contended for `time`, with so many polls a tick while nobody stands back, and so many while some do. Returns for
    /// how long they did.
    fn run(&mut self, time: Duration, polls: u64, standing_back: u64) -> Duration {
        let until = self.now + time;
        let mut stood_back = Duration::ZERO;
        while self.now < until {
            if self.stands_back {
                stood_back += TICK;
            }
            let polls = if self.stands_back {
                standing_back
            } else {
                polls
            };
            self.look(polls, true, false);
        }
        stood_back
    }
}

#[test]
fn it_is_kept_where_one_worker_serves_as_much() {
    let mut guard = Guard::new();
    assert_eq!(guard.run(MEASURE, 800, 701), Duration::ZERO);
    let time = Duration::from_secs(10);
    let stood_back = guard.run(time, 800, 701);
    assert!(stood_back > time * 9 / 10, "{stood_back:?}");
}

#[test]
fn it_is_refused_where_one_worker_serves_less() {
    for (standing_back, each_trial) in [(699, MEASURE), (399, EARLY), (0, EARLY)] {
        let mut guard = Guard::new();
        // Trials after 0, 0.5, 1.5, 3.5, 7.5, 15.5, and then every 16 seconds, and what counting takes.
        let stood_back = guard.run(Duration::from_secs(60), 800, standing_back);
        assert_eq!(stood_back, 8 * each_trial);
    }
}

#[test]
fn it_ends_where_there_is_much_more_to_do_or_much_less() {
    for (polls, other) in [(145, 155), (60, 45)] {
        let mut guard = Guard::new();
        guard.run(2 * MEASURE + TICK, 100, 100);
        assert!(guard.stands_back);
        guard.run(2 * MEASURE, 0, polls);
        assert!(guard.stands_back);
        let looks = (2 * MEASURE).as_millis() / TICK.as_millis();
        assert!((0..looks).any(|_| !guard.look(other, true, false)));
    }
}

#[test]
fn nobody_stands_back_where_nothing_is_contended() {
    let mut guard = Guard::new();
    for _ in 0..100 {
        assert!(!guard.look(800, false, false));
    }
    guard.run(3 * MEASURE, 800, 800);
    assert!(guard.stands_back);
    let mut lasts = Duration::ZERO;
    while guard.look(800, false, false) {
        lasts += TICK;
    }
    assert_eq!(lasts + TICK, LAPSE);
}

#[test]
fn what_workers_take_for_contended_only_because_they_stand_back_ends() {
    let mut guard = Guard::new();
    guard.run(3 * MEASURE, 800, 800);
    let began = guard.now;
    let mut stood_back = Duration::ZERO;
    while guard.now < began + 4 * KEPT {
        if guard.stands_back {
            stood_back += TICK;
        }
        let contended = guard.stands_back;
        guard.look(800, contended, false);
    }
    assert!(stood_back <= KEPT, "{stood_back:?}");
}

#[test]
fn nobody_stands_back_beside_a_long_poll() {
    let mut guard = Guard::new();
    guard.run(3 * MEASURE, 800, 800);
    assert!(guard.stands_back);
    // One may have been a wait for a CPU.
    assert!(!guard.look(0, true, true));
    assert!(!guard.look(800, true, false) && !guard.look(800, true, false));
    assert!(guard.look(800, true, false));
    // After two it is tried anew.
    assert!(!guard.look(0, true, true) && !guard.look(0, true, true));
    assert_eq!(guard.run(LONG + MEASURE, 800, 800), Duration::ZERO);
    guard.run(2 * TICK, 800, 800);
    assert!(guard.stands_back);
}

#[test]
fn a_refusal_outlasts_a_long_poll_and_a_lapse() {
    let mut guard = Guard::new();
    // The second one lasts a second.
    guard.run(Duration::from_secs(1), 800, 0);
    for tick in 0..60 {
        assert!(!guard.look(800, false, tick < 2));
    }
    assert_eq!(guard.run(2 * MEASURE, 800, 0), Duration::ZERO);
}

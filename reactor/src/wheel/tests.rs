//! The wheel against a sorted set that does the same in the plainest way.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Context;
use std::time::Duration;

use super::{LEVELS, SLOT_BITS, TICK_BITS, Wheel, tick_of};
use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::probe::Probe;
use crate::timer::Timer;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number of any magnitude: each bit length is as likely as another.
    fn any_magnitude(&mut self, bits: u64) -> u64 {
        let bits = self.next() % (bits + 1);
        self.next() & (1_u64.checked_shl(bits as u32).unwrap_or(0)).wrapping_sub(1)
    }
}

/// A wheel with its clock, the timers in it, and their twin.
struct Pair {
    clock: Clock,
    alarm: Arc<Alarm>,
    wheel: Arc<Wheel>,
    timers: BTreeMap<usize, (Pin<Box<Timer>>, Probe)>,
    twin: BTreeSet<(Deadline, usize)>,
    woken: Arc<Mutex<Vec<usize>>>,
    made: usize,
}

impl Pair {
    fn new(start: u64) -> Pair {
        let clock = Clock::manual(Deadline::from_nanos(start));
        let alarm = Arc::new(Alarm::new(None, clock.clone()));
        Pair {
            wheel: Arc::new(Wheel::new(Arc::clone(&alarm))),
            clock,
            alarm,
            timers: BTreeMap::new(),
            twin: BTreeSet::new(),
            woken: Arc::default(),
            made: 0,
        }
    }

    fn insert(&mut self, deadline: Deadline) {
        let (number, woken) = (self.made, Arc::clone(&self.woken));
        self.made += 1;
        let probe = Probe::with(move || woken.lock().unwrap().push(number));
        let mut timer = Box::pin(Timer::new(deadline));
        let waker = probe.waker();
        let place = || Arc::clone(&self.wheel);
        let polled = timer.as_mut().poll(&mut Context::from_waker(&waker), place);
        assert_eq!(polled.is_ready(), deadline <= self.clock.now());
        if polled.is_pending() {
            self.twin.insert((deadline, number));
            self.timers.insert(number, (timer, probe));
        }
    }

    fn some_timer(&self, random: &mut Random) -> Option<usize> {
        let at = random.next() as usize % self.timers.len().max(1);
        self.timers.keys().nth(at).copied()
    }

    fn cancel(&mut self, number: usize) {
        let (timer, probe) = self.timers.remove(&number).unwrap();
        self.twin.remove(&(timer.deadline(), number));
        drop(timer);
        assert_eq!((probe.wakes(), probe.wakers()), (0, 0));
    }

    fn reset(&mut self, number: usize, deadline: Deadline) {
        let (timer, _) = self.timers.get_mut(&number).unwrap();
        self.twin.remove(&(timer.deadline(), number));
        timer.as_mut().reset(deadline);
        if deadline > self.clock.now() {
            self.twin.insert((deadline, number));
        } else {
            assert!(timer.is_elapsed());
            assert_eq!(self.woken.lock().unwrap().pop(), Some(number));
            self.timers.remove(&number);
        }
    }

    /// Lets time pass and compares who was woken.
    fn advance(&mut self, now: Deadline) {
        self.clock.advance_to(now);
        self.alarm.went_off();
        let fired = self.wheel.fire(now, &mut Vec::new());
        self.alarm.ensure(fired.next);

        let later = self
            .twin
            .split_off(&(now.saturating_add(Duration::from_nanos(1)), 0));
        let due = std::mem::replace(&mut self.twin, later);
        let mut expected: Vec<_> = due.iter().map(|&(_, number)| number).collect();
        let mut woken = std::mem::take(&mut *self.woken.lock().unwrap());
        assert_eq!(fired.woken, woken.len());
        let ticks = woken
            .iter()
            .map(|number| tick_of(self.timers[number].0.deadline()));
        assert!(ticks.is_sorted(), "the earlier ones are woken first");
        woken.sort_unstable();
        expected.sort_unstable();
        assert_eq!(woken, expected);
        for number in woken {
            let (timer, probe) = self.timers.remove(&number).unwrap();
            assert!(timer.is_elapsed());
            assert_eq!(probe.wakers(), 0);
        }
        self.check(now, fired.next);
    }

    fn check(&self, now: Deadline, next: Deadline) {
        assert_eq!(self.wheel.live(), self.twin.len());
        assert_eq!(
            self.wheel.core.lock().now,
            tick_of(now),
            "the wheel follows the time"
        );
        let Some(&(earliest, _)) = self.twin.first() else {
            assert!(next.is_never() && self.wheel.earliest().is_never());
            return;
        };
        assert_eq!(self.wheel.earliest(), earliest);
        assert!(next <= earliest, "the alarm would be late");
        assert!(next > now, "the alarm would go off for nothing for ever");
        assert!(self.alarm.armed() <= earliest);
    }
}

/// Starts that lie just before a carry of each level, and at the far end of time.
fn starts() -> impl Iterator<Item = u64> {
    let carries = (0..=LEVELS as u32)
        .map(|level| (1_u64 << (TICK_BITS + SLOT_BITS * level).min(63)).saturating_sub(2_500));
    [0, 1]
        .into_iter()
        .chain(carries.map(|start| start.max(1)))
        .chain([u64::MAX - (1 << 40)])
}

fn step(pair: &mut Pair, random: &mut Random) {
    let now = pair.clock.now();
    let ahead = |random: &mut Random, bits| {
        now.saturating_add(Duration::from_nanos(random.any_magnitude(bits)))
    };
    match random.next() % 8 {
        0..=3 => {
            let deadline = ahead(random, 64);
            pair.insert(deadline);
        }
        4 => {
            if let Some(number) = pair.some_timer(random) {
                pair.cancel(number);
            }
        }
        5 => {
            if let Some(number) = pair.some_timer(random) {
                let deadline = match random.next() % 8 {
                    0 => Deadline::NEVER,
                    1 => now,
                    _ => ahead(random, 50),
                };
                pair.reset(number, deadline);
            }
        }
        6 => {
            let to = ahead(random, 40);
            if !to.is_never() {
                pair.advance(to);
            }
        }
        _ => {
            if let Some(&(earliest, _)) = pair.twin.first()
                && !earliest.is_never()
            {
                pair.advance(earliest);
            }
        }
    }
}

#[test]
fn it_does_what_a_sorted_set_does() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for start in starts() {
        let mut pair = Pair::new(start);
        for _ in 0..3_000 {
            step(&mut pair, &mut random);
        }
    }
}

#[test]
fn deadlines_years_apart_are_met_to_the_nanosecond() {
    const YEAR: u64 = 365 * 24 * 3_600 * 1_000_000_000;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for start in starts().filter(|&start| start < 100 * YEAR) {
        let mut pair = Pair::new(start);
        for year in 0..400 {
            let about = start + year * YEAR;
            for distance in [
                1,
                1 + random.any_magnitude(20),
                1 + random.any_magnitude(52),
            ] {
                pair.insert(Deadline::from_nanos(about + distance));
            }
        }
        // From each to the next, as a paused clock goes; and to a moment before it.
        while let Some(&(next, _)) = pair.twin.first() {
            let before = Deadline::from_nanos(next.as_nanos() - 1);
            if before > pair.clock.now() {
                pair.advance(before);
            }
            pair.advance(next);
            assert!(pair.twin.first().is_none_or(|&(left, _)| left > next));
        }
    }
}

#[test]
fn it_passes_every_carry_tick_by_tick() {
    for start in starts() {
        let mut pair = Pair::new(start);
        for distance in 1..400 {
            pair.insert(Deadline::from_nanos(start.saturating_add(distance * 211)));
        }
        for distance in 1..500 {
            pair.advance(Deadline::from_nanos(start.saturating_add(distance * 171)));
        }
    }
}

#[test]
fn a_lonely_timer_of_any_length_is_reached_in_a_few_steps() {
    for bits in 1..64 {
        let mut pair = Pair::new(12_345);
        let deadline = Deadline::from_nanos(12_345 + (1 << bits));
        pair.insert(deadline);
        assert_eq!(pair.alarm.armed(), deadline);
        // A crowd behind it, so that the exact deadline is not looked for.
        for distance in 1..200 {
            pair.insert(deadline.saturating_add(Duration::from_nanos(distance)));
        }
        let mut steps = 0;
        while !pair.twin.is_empty() && !pair.twin.first().unwrap().0.is_never() {
            let next = pair.alarm.armed();
            pair.advance(next);
            steps += 1;
            assert!(steps <= 220);
        }
    }
}

#[test]
fn a_timer_made_behind_the_wheels_time_fires_in_the_next_round() {
    // A wheel can be ahead of a timer that is just being made: the thread that fires has read the
    // clock later than the one that makes it.
    for ahead in [1 << 11, 1 << 17, 1 << 23, 1 << 41] {
        let mut pair = Pair::new(1_000);
        let ahead = Deadline::from_nanos(1_000 + ahead);
        let neighbour = ahead.saturating_add(Duration::from_micros(20));
        pair.insert(neighbour);
        pair.wheel.fire(ahead, &mut Vec::new());
        pair.insert(Deadline::from_nanos(2_000));
        let again = pair.wheel.fire(ahead, &mut Vec::new());
        assert_eq!((again.woken, again.next), (1, neighbour));
        let time = pair.wheel.core.lock().now;
        assert_eq!(time, tick_of(ahead), "the wheel's time does not go back");
    }
}

#[test]
fn the_earliest_of_a_crowd_is_not_missed() {
    let mut pair = Pair::new(0);
    let far = 1 << 30;
    for distance in 0..1_000 {
        pair.insert(Deadline::from_nanos(far + 500_000 - distance * 400));
    }
    pair.advance(Deadline::from_nanos(5_000));
}

#[test]
fn what_is_never_due_stays() {
    let mut pair = Pair::new(0);
    pair.insert(Deadline::NEVER);
    assert!(pair.alarm.armed().is_never());
    pair.advance(Deadline::from_nanos(u64::MAX - 1));
    assert_eq!(pair.wheel.live(), 1);
    pair.cancel(0);
    assert_eq!(pair.wheel.live(), 0);
}

#[test]
fn timers_of_one_deadline_are_woken_in_the_order_they_came() {
    let mut pair = Pair::new(0);
    let deadline = Deadline::from_nanos(1 << 40);
    for _ in 0..1_000 {
        pair.insert(deadline);
    }
    pair.clock.advance_to(deadline);
    assert_eq!(pair.wheel.fire(deadline, &mut Vec::new()).woken, 1_000);
    let woken = std::mem::take(&mut *pair.woken.lock().unwrap());
    assert!(woken.is_sorted());
}

#[test]
fn a_timer_made_between_two_holds_of_a_cascade_is_not_lost() {
    // Each wake-up makes another timer and cancels none: the wheel is entered again and again in
    // the middle of its work.
    let clock = Clock::manual(Deadline::ZERO);
    let alarm = Arc::new(Alarm::new(None, clock.clone()));
    let wheel = Arc::new(Wheel::new(alarm));
    let late: Arc<Mutex<Vec<Pin<Box<Timer>>>>> = Arc::default();
    let late_probe = Arc::new(Probe::new());
    let probe = {
        let (wheel, late, late_probe) = (wheel.clone(), late.clone(), late_probe.clone());
        let clock = clock.clone();
        Probe::with(move || {
            let mut timer = Box::pin(Timer::new(clock.after(Duration::from_micros(30))));
            let waker = late_probe.waker();
            let mut cx = Context::from_waker(&waker);
            assert!(timer.as_mut().poll(&mut cx, || wheel.clone()).is_pending());
            late.lock().unwrap().push(timer);
        })
    };
    let waker = probe.waker();
    let mut cx = Context::from_waker(&waker);
    let base = 1 << 34;
    let mut timers: Vec<_> = (0..5_000)
        .map(|number| Box::pin(Timer::new(Deadline::from_nanos(base + number * 2_048))))
        .collect();
    for timer in &mut timers {
        assert!(timer.as_mut().poll(&mut cx, || wheel.clone()).is_pending());
    }
    let mut now = Deadline::from_nanos(base + 3_000 * 2_048);
    clock.advance_to(now);
    wheel.fire(now, &mut Vec::new());
    assert_eq!(probe.wakes(), 3_001);
    now = Deadline::from_nanos(1 << 35);
    clock.advance_to(now);
    wheel.fire(now, &mut Vec::new());
    assert_eq!((probe.wakes(), late_probe.wakes()), (5_000, 3_001));
}

/// Pages of memory that this process has in use.
fn resident_pages() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_million_cancelled_timers_leave_nothing_behind() {
    let clock = Clock::manual(Deadline::ZERO);
    let wheel = Arc::new(Wheel::new(Arc::new(Alarm::new(None, clock))));
    let probe = Probe::new();
    let waker = probe.waker();
    let mut cx = Context::from_waker(&waker);
    let mut random = Random(7);
    let before = resident_pages();
    for _ in 0..1_000_000 {
        let mut timer = std::pin::pin!(Timer::new(Deadline::from_nanos(
            random.any_magnitude(64) | 1
        )));
        assert!(
            timer
                .as_mut()
                .poll(&mut cx, || Arc::clone(&wheel))
                .is_pending()
        );
    }
    assert!(resident_pages() < before + 4_096, "sixteen megabytes more");
    assert_eq!((wheel.live(), probe.wakers()), (0, 1));
    let core = wheel.core.lock();
    assert!(core.occupied.iter().all(|&slots| slots == 0));
    assert!(core.slots.iter().all(crate::slot::Slot::is_empty));
}

//! The guard's loop, on the reactor thread if the pool polls: one turn of the parking protocol, then a look at
//! the workers.
//!
//! The look costs the workers nothing: it samples the poll counters that they keep anyway. A worker
//! that is neither parked nor in another poll than at the last look is *stuck*; one that has been
//! for the threshold is *stalled*, is counted and told of once a poll, and what only it could run is
//! put where others find it. When tasks wait and too few workers are free of long polls, a spare is
//! called; when every worker is stuck, at the next look already, and looks then come every
//! millisecond.
//!
//! Where the CPUs are contended, the guard says whether workers may stand back from one another (`guard/standing.rs`).
//!
//! On the CPU pool long polls are what it is for. So no stall is told there, and a worker is stood in for only if it is
//! *blocked*: the kernel says at two looks in a row that its thread is asleep, in the same poll, so that a CPU is free for
//! another one. (CPU time would not tell it from one that waits for its turn on a full machine.)

use std::panic::Location;
use std::time::{Duration, Instant};

use crate::crew::Crew;
use crate::kernel;
use crate::parking::{TICK, Watch};
use crate::primitive::sync::Arc;
use crate::primitive::sync::atomic::Ordering::Relaxed;
use crate::record::{self, Kind};
use crate::task::{Id, contain_all};
use seen::{LONG_POLLS, Seen};
use standing::{Look, Standing};

mod seen;
mod standing;

/// How long the guard naps while all workers seem to be stuck.
const SHORT_TICK: Duration = Duration::from_millis(1);

/// How long spares stay after they were last needed.
const LINGER: Duration = Duration::from_millis(200);

/// A worker that is in one poll for longer than the threshold.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stall {
    /// The task.
    pub id: Id,
    /// The name that the task was given, if it was given one.
    pub name: Option<Arc<str>>,
    /// Where the task was spawned.
    pub location: &'static Location<'static>,
    /// How long the poll has lasted when it was noticed; it goes on.
    pub elapsed: Duration,
    /// The index of the worker among the workers of its pool.
    pub worker: usize,
    /// The pool: the middle part of its threads' names.
    pub pool: &'static str,
}

/// What one look adds up to.
#[derive(Default)]
struct Sum {
    awake: usize,
    stuck: usize,
    /// Stuck for the threshold.
    stalled: usize,
    /// Stalled, and asleep.
    blocked: usize,
    long: usize,
    /// Not parked, and has found its CPUs contended.
    contended: usize,
    /// One has few polls, and not because it has waited for a CPU. Only where that matters.
    any_long: bool,
    /// All polls so far.
    polls: u64,
}

/// The guard's memory.
struct Looks {
    seen: Vec<Seen>,
    parked: Vec<u64>,
    needed: usize,
    needed_at: Instant,
    standing: Standing,
}

/// The thread.
pub(crate) fn run(crew: &Arc<Crew>) {
    let parking = &crew.shared.parking;
    parking.bind_guard();
    let (mut looks, mut watch) = (Looks::new(crew), Watch::default());
    let mut beside = None;
    while !parking.is_closed() {
        let ward = crew.ward();
        parking.guard_turn(&mut watch, ward.map(|ward| &ward.shared.parking));
        looks.look(crew, &mut watch);
        if let Some(ward) = ward {
            let (looks, wards) = beside.get_or_insert_with(|| (Looks::new(ward), Watch::default()));
            looks.look(ward, wards);
            watch.busy |= wards.busy;
        }
    }
}

impl Sum {
    /// How many workers are stood in for.
    fn hindered(&self, crew: &Crew) -> usize {
        if crew.shared.polls_io() {
            self.stalled
        } else {
            self.blocked
        }
    }
}

impl Looks {
    fn new(crew: &Crew) -> Self {
        let now = Instant::now();
        Looks {
            seen: vec![Seen::anew(0, now); crew.shared.places()],
            parked: Vec::new(),
            needed: 0,
            needed_at: now,
            standing: Standing::new(now),
        }
    }

    fn look(&mut self, crew: &Arc<Crew>, watch: &mut Watch) {
        let now = Instant::now();
        let sum = self.survey(crew, now);
        let parked = crew.shared.parking.idle.parked();
        // All are in long polls: what waits behind them should not wait for a whole tick.
        let all_long = sum.awake > 0 && sum.stuck + sum.long == sum.awake;
        let tight = crew.shared.polls_io() && parked == 0 && all_long;
        let may_stand_back = self.standing.look(&Look {
            now,
            polls: sum.polls,
            // Between two short ticks nobody runs for long.
            any_long: sum.any_long || tight,
            contended: sum.contended > 0,
        });
        crew.shared.may_stand_back.store(may_stand_back, Relaxed);
        if parked > 0 && crew.shared.any_work() {
            // A worker thought that its queue was not worth a wake-up, and may have a long poll now. If not, and others
            // stand back from it, it stays the judge.
            if !may_stand_back || sum.contended == 0 {
                crew.shared.parking.notify();
            }
        } else if parked == 0 && crew.shared.any_work() {
            if !crew.shared.injector.is_empty() {
                crew.shared.urgent.store(true, Relaxed);
            }
            self.help(crew, &sum);
        }
        self.settle(crew, &sum, now);
        if sum.awake > 0 {
            crew.shared.parking.tick_driver(sum.awake);
        }
        watch.busy = crew.roster.serving() > 0;
        watch.nap = if tight { SHORT_TICK } else { TICK };
    }

    /// Samples every worker, and rescues what is locked up behind those that have stalled.
    fn survey(&mut self, crew: &Crew, now: Instant) -> Sum {
        let mut sum = Sum::default();
        let may_matter = crew.shared.weighs && self.standing.is_contended(now);
        // Whether it is blocked is asked for only where a spare may be wanted for it, or serves: that costs some microseconds.
        let ask = !crew.shared.polls_io() && (crew.roster.serving() > 0 || crew.shared.any_work());
        crew.shared.parking.idle.copy_parked(&mut self.parked);
        for (worker, seen) in self.seen.iter_mut().enumerate() {
            let remote = crew.shared.remote(worker);
            let polls = remote.stats.polls.get();
            sum.polls = sum.polls.wrapping_add(polls);
            let is_parked = self.parked[worker / 64] & (1 << (worker % 64)) != 0;
            if !remote.is_seated() || is_parked {
                remote.stuck(Duration::ZERO);
                seen.renew(polls, now);
                continue;
            }
            sum.awake += 1;
            sum.contended += usize::from(remote.is_contended());
            let ended = polls.wrapping_sub(seen.polls);
            // Looked for where it matters, as that takes a system call.
            if may_matter {
                let thread = remote.thread();
                let ran = thread.and_then(|thread| (crew.config.time_on_cpu?)(thread));
                sum.any_long |= seen.has_long(ended, ran, || thread.is_some_and(kernel::is_asleep));
            }
            if ended > 0 {
                remote.stuck(Duration::ZERO);
                sum.long += usize::from(ended < LONG_POLLS);
                seen.renew(polls, now);
                continue;
            }
            sum.stuck += 1;
            let elapsed = now.saturating_duration_since(seen.since);
            remote.stuck(elapsed);
            if crew
                .config
                .stall_threshold
                .is_some_and(|threshold| elapsed >= threshold)
            {
                sum.stalled += 1;
                let asleep = ask && remote.thread().is_some_and(kernel::is_asleep);
                sum.blocked += usize::from(asleep && seen.asleep);
                seen.asleep = asleep;
                crew.shared.rescue(worker);
                if !seen.told && crew.shared.polls_io() {
                    seen.told = true;
                    tell(crew, worker, elapsed);
                }
            }
        }
        sum
    }

    /// Calls a spare if too few workers are left to run what waits.
    fn help(&mut self, crew: &Arc<Crew>, sum: &Sum) {
        if crew.config.stall_threshold.is_none() {
            return;
        }
        let hindered = if crew.shared.polls_io() && sum.stuck == sum.awake {
            sum.stuck
        } else {
            sum.hindered(crew)
        };
        if hindered > 0 && sum.awake - hindered < crew.config.workers {
            self.need(crew, crew.roster.serving() + 1);
            crew.call_spare();
        }
    }

    /// Keeps as many spares as were needed in the last moments.
    fn settle(&mut self, crew: &Crew, sum: &Sum, now: Instant) {
        let needs = sum
            .hindered(crew)
            .max(crew.in_place())
            .min(crew.roster.serving());
        let lingered = now.saturating_duration_since(self.needed_at) >= LINGER;
        if needs >= self.needed || lingered {
            self.needed = needs;
            self.needed_at = now;
        }
        crew.want(self.needed);
    }

    fn need(&mut self, crew: &Crew, spares: usize) {
        self.needed = spares;
        self.needed_at = Instant::now();
        crew.want(spares);
    }
}

/// Counts a stall and tells the user.
fn tell(crew: &Crew, worker: usize, elapsed: Duration) {
    let remote = crew.shared.remote(worker);
    // A worker that said that it would block is no surprise.
    if remote.is_in_place() {
        return;
    }
    remote.stats.stalls.add(1);
    if let (Some(_), Some((id, place))) = (&crew.config.hooks.recorder, remote.running()) {
        let worker = format!("{}-{worker}", crew.config.kind);
        record::instant(Kind::Stall, Some(id), Some(place), Some(&worker));
    }
    if let (Some(on_stall), Some((id, location))) = (&crew.config.on_stall, remote.running()) {
        let stall = Stall {
            id,
            name: remote.name_of(id),
            location,
            elapsed,
            worker,
            pool: crew.config.kind,
        };
        contain_all(|| on_stall.call(&stall));
    }
}

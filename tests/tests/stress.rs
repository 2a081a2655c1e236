//! Everything at once: a few hundred tasks that mix all that the runtime offers, for ten seconds or
//! for as long as `RT_STRESS_SECONDS` says, on every flavour, with ends in good order and without.
//!
//! What comes out is counted: every future, output, job and message is dropped once, whatever
//! happened to it, and no task, timer, source, thread or descriptor is left behind. Nothing here
//! depends on speed: the watch is for hangs.
//!
//! Choices come from a seed, which is told at the start and set by `RT_STRESS_SEED`. How the
//! threads meet it does not decide, so a failure may take some runs to come again.

use std::any::Any;
use std::collections::hash_map::RandomState;
use std::env;
use std::hash::BuildHasher;
use std::net::TcpListener;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;
use std::time::{Duration, Instant};

use rt::task::JoinHandle;
use rt::time::sleep;
use rt::{Handle, Runtime, RuntimeMetrics};
use rt_tests::{
    Counted, FLAVOURS, Flavour, GOES_ON, fds, threads, threads_named, until, until_yielding,
};

mod stress {
    pub(crate) mod actors;
    pub(crate) mod chance;
    pub(crate) mod transfer;
    pub(crate) mod watch;
    pub(crate) mod world;
}

use stress::actors::{KINDS, actor, counted, spawn};
use stress::chance::Chance;
use stress::transfer::serve;
use stress::watch::{Watch, say};
use stress::world::{Deliberate, Outside, World};

/// Actors that are tasks of the runtime.
const ACTORS: usize = 240;

/// Actors on plain threads, which block on the runtime.
const GUESTS: usize = 2;

/// A round is no longer than this, so that a long run sees many ends.
const ROUND: Duration = Duration::from_secs(5);

/// For what should take no time at all, on a machine that is very busy.
const PATIENCE: Duration = Duration::from_mins(2);

/// How a round ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The actors stop, all is found to be at rest, then the runtime is dropped.
    InGoodOrder,
    /// The runtime is dropped while everything is under way.
    Cut(Cut),
}

/// Who drops the runtime, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Drop,
    Wait,
    Background,
    ByItsTask,
    ByItsJob,
}

const CUTS: [Cut; 5] = [
    Cut::Drop,
    Cut::Wait,
    Cut::Background,
    Cut::ByItsTask,
    Cut::ByItsJob,
];

/// Panics that are no part of the test.
static FAILURES: AtomicUsize = AtomicUsize::new(0);

/// Whether a runtime is being cut off, so that who waits for its timers may be told by a panic.
static CUT: AtomicBool = AtomicBool::new(false);

fn number(variable: &str) -> Option<u64> {
    let value = env::var(variable).ok()?;
    Some(value.parse().expect("a number"))
}

#[test]
fn everything_at_once_leaves_nothing_behind() {
    let seconds = number("RT_STRESS_SECONDS").unwrap_or(10);
    let seed = number("RT_STRESS_SEED").unwrap_or_else(|| RandomState::new().hash_one(seconds));
    say(&format!(
        "stress: RT_STRESS_SEED={seed} RT_STRESS_SECONDS={seconds}"
    ));
    tell_of_failures_only();
    let (start, total) = (Instant::now(), Duration::from_secs(seconds));
    let length = ROUND.min(total / 8);
    let (watch, mut chance) = (Watch::new(seed), Chance::new(seed));
    for round in 0.. {
        if round >= 8 && start.elapsed() >= total {
            break;
        }
        let end = if round / 4 % 2 == 0 {
            End::InGoodOrder
        } else {
            End::Cut(chance.pick(&CUTS))
        };
        let round = Round {
            name: format!("st{round}"),
            flavour: FLAVOURS[round % 4],
            end,
            length,
        };
        round.run(&watch, &mut chance.child());
        assert_eq!(FAILURES.load(SeqCst), 0, "something panicked: see above");
    }
}

/// A panic of ours is silent. All others are told at once, past the harness.
fn tell_of_failures_only() {
    panic::set_hook(Box::new(|info| {
        if is_expected(info.payload()) {
            return;
        }
        FAILURES.fetch_add(1, SeqCst);
        let thread = thread::current();
        say(&format!("{}: {info}", thread.name().unwrap_or("?")));
    }));
}

fn is_expected(payload: &dyn Any) -> bool {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let timer = text.is_some_and(|text| text.contains("runtime has been shut down"));
    payload.is::<Deliberate>() || (timer && CUT.load(SeqCst))
}

/// One runtime's life.
#[derive(Debug)]
struct Round {
    name: String,
    flavour: Flavour,
    end: End,
    length: Duration,
}

/// What runs in a round.
struct Cast {
    world: Arc<World>,
    outside: Outside,
    actors: Vec<JoinHandle<Counted>>,
    /// The echo server and the ticker, which run for ever.
    servants: Vec<JoinHandle<Counted>>,
    guests: Vec<thread::JoinHandle<()>>,
    guests_left: Arc<AtomicUsize>,
}

impl Round {
    fn run(&self, watch: &Watch, chance: &mut Chance) {
        let phase = |what: &str, limit| watch.phase(format!("{what} of {self:?}"), limit);
        let before = (threads(), fds());
        phase("the beginning", PATIENCE);
        let runtime = self.build(chance);
        let handle = runtime.handle().clone();
        let mut cast = self.enter(&runtime, watch, chance);
        let world = Arc::clone(&cast.world);

        phase("the middle", self.length + PATIENCE);
        runtime.block_on(sleep(self.length));
        assert_eq!(FAILURES.load(SeqCst), 0, "something panicked: see above");
        let metrics = runtime.metrics();
        say(&format!(
            "{self:?}: {} tasks, {} spares, {} jobs, {} timers, {} events",
            metrics.spawned_tasks,
            metrics.spare_workers_started,
            world.books.jobs.made(),
            metrics.timers_fired,
            metrics.reactor_events,
        ));
        match self.end {
            End::InGoodOrder => {
                phase("the curtain", PATIENCE);
                rest(&runtime, &mut cast);
                phase("the drop", PATIENCE);
                drop(runtime);
            }
            End::Cut(cut) => {
                phase("the cut", PATIENCE);
                CUT.store(true, SeqCst);
                world.cut();
                self.drop_in_the_middle(runtime, cut);
                world.stop();
            }
        }
        phase("the end", PATIENCE);
        self.leave(cast, &handle);
        phase("the books", PATIENCE);
        world.wake_all();
        let world = Arc::into_inner(world).expect("nobody else has the world");
        until(|| world.books.imbalance().is_empty());
        drop((world, handle));
        phase("threads and descriptors", PATIENCE);
        until(|| (threads(), fds()) == before);
        CUT.store(false, SeqCst);
    }

    /// Settings that vary from round to round, and favour threads that come and go.
    fn build(&self, chance: &mut Chance) -> Runtime {
        let builder = self.flavour.builder().thread_name(&self.name);
        let builder = builder
            .max_blocking_threads(4)
            .thread_keep_alive(Duration::from_millis(chance.pick(&[1, 20, 10_000])))
            .event_interval(chance.pick(&[1, 7, 61]))
            .global_queue_interval(chance.pick(&[1, 7, 61]))
            .stall_threshold(Duration::from_millis(chance.pick(&[2, 10, 10])));
        builder.build().expect("a runtime")
    }

    fn enter(&self, runtime: &Runtime, watch: &Watch, chance: &mut Chance) -> Cast {
        let _current = runtime.enter();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let (world, outside) = World::new(
            runtime.handle(),
            self.flavour.runs_by_itself(),
            address,
            chance,
        );
        let server = serve(Arc::clone(&world), listener, chance.child());
        let ticker = counted(&world, tick(Arc::clone(&world), watch.ticker()));
        let servants = vec![spawn(&world, chance, server), runtime.spawn(ticker)];
        let part = |number: usize, chance: &mut Chance| {
            let first = KINDS[number % KINDS.len()];
            actor(Arc::clone(&world), chance.child(), first)
        };
        let actors = (0..ACTORS).map(|number| {
            let actor = part(number, chance);
            spawn(&world, chance, actor)
        });
        let actors = actors.collect();
        let guests_left = Arc::new(AtomicUsize::new(GUESTS));
        let guests = (0..GUESTS).map(|number| {
            let (handle, actor) = (runtime.handle().clone(), part(number, chance));
            let leave = Leave(Arc::clone(&guests_left));
            thread::spawn(move || {
                let _leave = leave;
                handle.block_on(actor);
            })
        });
        let guests = guests.collect();
        Cast {
            world,
            outside,
            actors,
            servants,
            guests,
            guests_left,
        }
    }

    fn drop_in_the_middle(&self, runtime: Runtime, cut: Cut) {
        let handle = runtime.handle().clone();
        match cut {
            Cut::Drop => drop(runtime),
            Cut::Wait => runtime.shutdown_timeout(Duration::MAX),
            Cut::Background => runtime.shutdown_background(),
            Cut::ByItsTask => {
                let task = handle.spawn(async move { drop(runtime) });
                let _ = handle.block_on(task);
            }
            Cut::ByItsJob => {
                let job = handle.spawn_blocking(move || drop(runtime));
                let _ = handle.block_on(job);
            }
        }
        // Not all of these wait for the threads.
        let own = format!("{}-", self.name);
        until(|| threads_named(&own) == 0);
    }

    /// Everybody leaves: the runtime is gone.
    fn leave(&self, cast: Cast, gone: &Handle) {
        let other = Flavour::CurrentThread.build();
        for actor in cast.actors {
            cast.world.check(other.block_on(actor), false);
        }
        for servant in cast.servants {
            cast.world.check(other.block_on(servant), true);
        }
        for guest in cast.guests {
            if let Err(payload) = guest.join() {
                assert!(is_expected(&*payload), "{self:?}");
            }
        }
        cast.world.leave(cast.outside);
        until(|| is_at_rest(&gone.metrics()));
    }
}

/// The actors end, and then there must be nothing left that lives.
fn rest(runtime: &Runtime, cast: &mut Cast) {
    let world = &cast.world;
    world.stop();
    runtime.block_on(async {
        for actor in cast.actors.drain(..) {
            world.check(actor.await, false);
        }
        // What was let go may still connect.
        let (servants, handle) = (cast.servants.len(), runtime.handle());
        until_yielding(|| cast.guests_left.load(SeqCst) == 0).await;
        until_yielding(|| world.nobody_waits() && handle.metrics().live_tasks == servants).await;
        for servant in cast.servants.drain(..) {
            servant.abort();
            world.check(servant.await, true);
        }
        until_yielding(|| is_at_rest(&handle.metrics())).await;
    });
}

fn is_at_rest(metrics: &RuntimeMetrics) -> bool {
    let jobs = metrics.blocking_queue_depth + metrics.blocking_threads;
    metrics.live_tasks == 0
        && metrics.live_sources == 0
        && metrics.live_timers == 0
        && jobs == metrics.idle_blocking_threads
}

/// Must come round again and again, whatever the others do.
async fn tick(world: Arc<World>, tell: impl Fn()) {
    loop {
        tell();
        let start = Instant::now();
        sleep(Duration::from_millis(5)).await;
        assert!(start.elapsed() < GOES_ON || world.is_cut());
    }
}

/// Counts a guest out, also if it panics.
struct Leave(Arc<AtomicUsize>);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

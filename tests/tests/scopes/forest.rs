//! Random trees of scopes, held against a naive model: every subtree counts what is alive in it, and
//! whoever is told that a subtree has ended finds nothing alive there. `RT_SCOPES_SEED` repeats one tree.

use std::env;
use std::future::pending;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use rt::task::JoinHandle;
use rt::time::{Instant, timeout};
use rt::{Dispatcher, Scope, TryScope};
use rt_tests::{FLAVOURS, Flavour, with};

#[path = "../stress/chance.rs"]
mod chance;

use chance::Chance;

/// Trees a flavour.
const TREES: u64 = 60;

/// Futures a tree, at most: a node that finds none left is a leaf.
const SIZE: usize = 60;

/// One task or scope, and how much of it and of all below is alive.
struct Subtree {
    above: Option<Arc<Subtree>>,
    alive: AtomicUsize,
    /// What the whole tree has: futures to come, shields that began, shields that came to their end.
    all: Arc<All>,
}

#[derive(Default)]
struct All {
    budget: AtomicUsize,
    made: AtomicUsize,
    dropped: AtomicUsize,
    shielded: AtomicUsize,
    shields_ended: AtomicUsize,
    /// Subtrees that had ended while something in them was alive.
    broken: AtomicUsize,
}

/// Something alive. Rust drops it once; the model checks when.
struct Life(Arc<Subtree>);

impl Subtree {
    fn below(self: &Arc<Self>) -> Arc<Subtree> {
        Arc::new(Subtree {
            above: Some(Arc::clone(self)),
            alive: AtomicUsize::new(0),
            all: Arc::clone(&self.all),
        })
    }

    fn path(&self) -> impl Iterator<Item = &Subtree> {
        std::iter::successors(Some(self), |subtree| subtree.above.as_deref())
    }

    fn life(self: &Arc<Self>) -> Life {
        self.all.made.fetch_add(1, SeqCst);
        for subtree in self.path() {
            subtree.alive.fetch_add(1, SeqCst);
        }
        Life(Arc::clone(self))
    }

    /// Whoever calls this was told that the subtree has ended.
    fn has_ended(&self) {
        // Counted, not asserted: a panic here might end in the handle of a supervised task.
        let broken = usize::from(self.alive.load(SeqCst) != 0);
        self.all.broken.fetch_add(broken, SeqCst);
    }

    fn takes_one_more(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        self.all.budget.fetch_update(SeqCst, SeqCst, less).is_ok()
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.0.all.dropped.fetch_add(1, SeqCst);
        for subtree in self.0.path() {
            subtree.alive.fetch_sub(1, SeqCst);
        }
    }
}

/// An error or a panic that belongs to the plan.
#[derive(Debug, PartialEq, Eq)]
struct Planned;

type Work = Pin<Box<dyn Future<Output = Result<(), Planned>> + Send>>;

/// The three scopes, as far as they are alike.
#[derive(Clone)]
enum Nursery {
    Plain(Scope),
    Trying(TryScope<Planned>),
}

impl Nursery {
    fn scope(&self) -> &Scope {
        match self {
            Nursery::Plain(scope) => scope,
            Nursery::Trying(scope) => scope,
        }
    }

    fn spawn(&self, dispatcher: Dispatcher, work: Work) -> JoinHandle<()> {
        match self {
            Nursery::Plain(scope) => scope.spawn_on(dispatcher, async { drop(work.await) }),
            Nursery::Trying(scope) => scope.spawn_on(dispatcher, work),
        }
    }
}

/// What one future does.
fn work(mut chance: Chance, here: Arc<Subtree>) -> Work {
    let life = here.life();
    Box::pin(async move {
        let _life = life;
        for _ in 0..chance.below(3) {
            rt::yield_now().await;
        }
        match chance.below(14) {
            0 => resume_unwind(Box::new(Planned)),
            1 => return Err(Planned),
            2 => pending().await,
            3 => rt::cancelled().await,
            4 => rt::delay(chance.micros(2000)).await,
            5 => shielded(&mut chance, &here).await,
            6 | 7 if here.takes_one_more() => {
                let time = chance.micros(3000);
                let _ = timeout(time, nested(chance, &here)).await;
                // A scope that lost is left behind: this future may go on before it is gone.
            }
            _ if here.takes_one_more() => nested(chance, &here).await?,
            _ => {}
        }
        Ok(())
    })
}

async fn shielded(chance: &mut Chance, here: &Arc<Subtree>) {
    let life = here.below().life();
    let time = chance.micros(2000);
    let all = Arc::clone(&here.all);
    rt::shield(async move {
        let _life = life;
        all.shielded.fetch_add(1, SeqCst);
        rt::delay(time).await;
        assert!(!rt::is_cancelled());
        all.shields_ended.fetch_add(1, SeqCst);
    })
    .await;
}

/// A scope of some kind, which ends one way or another.
async fn nested(mut chance: Chance, here: &Arc<Subtree>) -> Result<(), Planned> {
    let inside = here.below();
    let below = Arc::clone(&inside);
    let ended = match chance.below(3) {
        0 => {
            rt::scope(|s| body(chance, below, Nursery::Plain(s))).await;
            Ok(())
        }
        1 => {
            rt::supervisor(|s| body(chance, below, Nursery::Plain(s))).await;
            Ok(())
        }
        _ => {
            rt::try_scope(|s| async move {
                body(chance, below, Nursery::Trying(s)).await;
                Ok(())
            })
            .await
        }
    };
    inside.has_ended();
    ended
}

/// The closure's part of a scope.
async fn body(mut chance: Chance, inside: Arc<Subtree>, s: Nursery) {
    let mut children = Vec::new();
    for _ in 0..=chance.below(4) {
        if !inside.takes_one_more() {
            break;
        }
        let (below, chance_below) = (inside.below(), chance.child());
        if chance.one_in(8) {
            let (life, time) = (below.life(), chance.micros(1000));
            let job = s.scope().spawn_blocking(move || {
                let _life = life;
                let until = std::time::Instant::now() + time;
                while std::time::Instant::now() < until && !rt::is_cancelled() {
                    std::thread::yield_now();
                }
            });
            children.push((below, job));
        } else {
            let pool = chance.pick(&[true, true, false]);
            let pool = if pool {
                Dispatcher::Io
            } else {
                Dispatcher::Cpu
            };
            let task = s.spawn(pool, work(chance_below, Arc::clone(&below)));
            children.push((below, task));
        }
    }
    match chance.below(10) {
        0 => s.scope().cancel(),
        1 => s.scope().cancel_graceful(chance.micros(1000)),
        2 => s.scope().deadline(Instant::now() + chance.micros(2000)),
        3 => resume_unwind(Box::new(Planned)),
        4 => children.iter().for_each(|(_, child)| child.abort()),
        5 => s.scope().token().cancel(),
        _ => {}
    }
    if chance.one_in(3) {
        return;
    }
    // Some children never end by themselves: their scope is to be ended first.
    s.scope().deadline(Instant::now() + chance.micros(4000));
    for (below, child) in children {
        let _ = child.await;
        below.has_ended();
    }
}

/// Grows one tree and ends it from outside, if it does not end before.
async fn grow(seed: u64) {
    let mut chance = Chance::new(seed);
    let all = Arc::new(All::default());
    all.budget.store(1 + chance.below(SIZE), SeqCst);
    let root = Arc::new(Subtree {
        above: None,
        alive: AtomicUsize::new(0),
        all: Arc::clone(&all),
    });
    let holder = rt::spawn({
        let (life, chance, root) = (root.life(), chance.child(), Arc::clone(&root));
        async move {
            let _life = life;
            drop(nested(chance, &root).await);
        }
    });
    let abort = holder.abort_handle();
    let time = chance.micros(6000);
    let ender = rt::spawn(async move {
        rt::delay(time).await;
        abort.abort();
    });
    let ended = holder.await;
    root.has_ended();
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        assert!(
            panic.is::<Planned>(),
            "something else than planned: {panic:?}"
        );
    }
    ender.await.unwrap();
    assert_eq!(all.broken.load(SeqCst), 0, "alive in what has ended");
    assert_eq!(all.made.load(SeqCst), all.dropped.load(SeqCst));
    assert_eq!(all.shielded.load(SeqCst), all.shields_ended.load(SeqCst));
}

#[test]
fn whoever_is_told_that_a_subtree_has_ended_finds_nothing_alive_in_it() {
    let seed = env::var("RT_SCOPES_SEED").ok();
    let seed = seed.map(|seed| seed.parse::<u64>().expect("a number"));
    for flavour in FLAVOURS {
        let seeds = seed.map_or_else(|| fresh(flavour), |seed| vec![seed]);
        with(flavour, |rt| {
            for seed in seeds {
                let told = Told(seed);
                rt.block_on(grow(seed));
                drop(told);
            }
        });
    }
}

/// Seeds that no run had before.
fn fresh(flavour: Flavour) -> Vec<u64> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let first = now.unwrap_or(Duration::ZERO).as_nanos() as u64;
    let flavour = FLAVOURS.iter().position(|&other| other == flavour).unwrap() as u64;
    (0..TREES)
        .map(|tree| first.wrapping_add(flavour * TREES + tree))
        .collect()
}

/// Names the tree that a test failed on.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("that was RT_SCOPES_SEED={}", self.0);
        }
    }
}

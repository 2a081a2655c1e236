//! Actors: tasks that do one thing after another, each in one of many ways.
//!
//! Whatever an actor starts ends by itself or is aborted for certain, so that an actor that never
//! ends is the runtime's fault.

use std::future::{pending, poll_fn};
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use rt::Dispatcher;
use rt::task::{AbortHandle, JoinHandle};
use rt::time::{sleep, timeout};
use rt_tests::{Counted, poll_once};
use tokio::sync::{Notify, mpsc as channel, oneshot};

use super::chance::Chance;
use super::transfer::transfer;
use super::world::{Deliberate, World};

/// What an actor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Nest,
    Endless,
    Jobs,
    InPlace,
    Rude,
    Yields,
    Sleeps,
    Resets,
    Transfer,
    Panics,
    Channel,
    Notify,
    Lock,
    Wakers,
}

use Kind::{
    Channel, Endless, InPlace, Jobs, Lock, Nest, Panics, Resets, Rude, Sleeps, Transfer, Wakers,
    Yields,
};

/// Each at least once, and the more often the cheaper it is.
pub(crate) const KINDS: [Kind; 28] = [
    Nest,
    Nest,
    Nest,
    Nest,
    Endless,
    Endless,
    Endless,
    Jobs,
    Jobs,
    InPlace,
    Rude,
    Yields,
    Yields,
    Sleeps,
    Sleeps,
    Sleeps,
    Resets,
    Resets,
    Transfer,
    Transfer,
    Transfer,
    Panics,
    Panics,
    Channel,
    Kind::Notify,
    Lock,
    Wakers,
    Wakers,
];

/// Tasks in tasks.
const DEPTH: usize = 3;

type Step = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Acts until the world stops; `first` comes first.
pub(crate) async fn actor(world: Arc<World>, mut chance: Chance, first: Kind) {
    let mut kind = first;
    loop {
        if chance.one_in(8) {
            let waker = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
            world.swap_wakers(waker);
        }
        step(&world, chance.child(), kind, 0).await;
        if world.is_stopped() {
            return;
        }
        kind = chance.pick(&KINDS);
    }
}

fn step(world: &Arc<World>, chance: Chance, kind: Kind, depth: usize) -> Step {
    let world = Arc::clone(world);
    match kind {
        Nest => Box::pin(nest(world, chance, depth)),
        Endless => Box::pin(endless(world, chance)),
        Jobs => Box::pin(jobs(world, chance)),
        InPlace => Box::pin(in_place(world, chance)),
        Rude => Box::pin(rude(world, chance)),
        Yields => Box::pin(yields(chance)),
        Sleeps => Box::pin(sleeps(world, chance)),
        Resets => Box::pin(resets(world, chance)),
        Transfer => Box::pin(transfer(world, chance)),
        Panics => Box::pin(panics(world, chance)),
        Channel => Box::pin(messages(world, chance)),
        Kind::Notify => Box::pin(notify(world, chance)),
        Lock => Box::pin(lock(world, chance)),
        Wakers => Box::pin(wakers(world, chance)),
    }
}

/// Counts a future in, and out with whatever becomes of it.
pub(crate) fn counted<F>(world: &World, future: F) -> impl Future<Output = Counted> + use<F>
where
    F: Future<Output = ()>,
{
    let (life, output) = (world.books.futures.one(), world.books.outputs.one());
    async move {
        let _life = life;
        future.await;
        output
    }
}

/// Spawns in one of the ways there are, onto one of the pools.
pub(crate) fn spawn<F>(world: &World, chance: &mut Chance, future: F) -> JoinHandle<Counted>
where
    F: Future<Output = ()> + Send + 'static,
{
    let body = counted(world, future);
    match chance.below(4) {
        0 => rt::spawn(body),
        1 => rt::spawn_on(Dispatcher::Cpu, body),
        2 => world.handle.spawn_on(Dispatcher::Cpu, body),
        _ => world.handle.spawn(body),
    }
}

/// Waits for a task, or aborts it, or lets it go, and all that in several ways.
async fn settle(world: &Arc<World>, chance: &mut Chance, mut task: JoinHandle<Counted>) {
    let way = if world.is_crowded() {
        0
    } else {
        chance.below(14)
    };
    match way {
        1 => drop(task),
        2 => {
            task.abort();
            world.check(task.await, true);
        }
        3 => {
            pause(chance).await;
            let abort = task.abort_handle();
            abort.abort();
            task.abort();
            drop(task);
            abort.abort();
        }
        4 => {
            pause(chance).await;
            world.abort_outside(task.abort_handle(), chance);
            world.check(task.await, true);
        }
        5 => world.abort_outside(task.abort_handle(), chance),
        6 => world.wait_outside(task, chance),
        7 => {
            // Dropped with a waker inside, unless it has ended.
            if let Poll::Ready(result) = poll_once(&mut task).await {
                world.check(result, false);
            }
        }
        8 => {
            if let Ok(result) = timeout(chance.micros(3000), &mut task).await {
                return world.check(result, false);
            }
            task.abort();
            world.check(task.await, true);
        }
        9 => {
            let judge = Arc::clone(world);
            let join = async move { judge.check(task.await, false) };
            drop(spawn(world, chance, join));
        }
        _ => world.check(task.await, false),
    }
}

async fn launch<F>(world: &Arc<World>, chance: &mut Chance, future: F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let task = spawn(world, chance, future);
    settle(world, chance, task).await;
}

/// Aborts a task that nobody else would end, when the task that started it is aborted itself.
pub(crate) struct AbortOnDrop(pub(crate) AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A moment, from none to two milliseconds.
async fn pause(chance: &mut Chance) {
    match chance.below(3) {
        0 => {}
        1 => {
            for _ in 0..chance.below(20) {
                rt::yield_now().await;
            }
        }
        _ => sleep(chance.micros(2000)).await,
    }
}

async fn nest(world: Arc<World>, mut chance: Chance, depth: usize) {
    for _ in 0..=chance.below(4) {
        let kind = chance.pick(&KINDS);
        let kind = if depth < DEPTH || kind != Nest {
            kind
        } else {
            Yields
        };
        let child = step(&world, chance.child(), kind, depth + 1);
        launch(&world, &mut chance, child).await;
    }
}

/// What ends only because it is aborted.
async fn endless(world: Arc<World>, mut chance: Chance) {
    let mut luck = chance.child();
    let task = match chance.below(4) {
        0 => spawn(&world, &mut chance, pending()),
        1 => spawn(&world, &mut chance, async {
            loop {
                rt::yield_now().await;
            }
        }),
        2 => spawn(&world, &mut chance, sleep(Duration::MAX)),
        _ => spawn(&world, &mut chance, async move {
            loop {
                sleep(luck.micros(1000)).await;
            }
        }),
    };
    let _guard = AbortOnDrop(task.abort_handle());
    pause(&mut chance).await;
    match chance.below(4) {
        0 => task.abort(),
        1 => return world.abort_outside(task.abort_handle(), &mut chance),
        2 => {
            let abort = task.abort_handle();
            drop(spawn(&world, &mut chance, async move { abort.abort() }));
        }
        _ => world.abort_outside(task.abort_handle(), &mut chance),
    }
    let result = task.await;
    assert!(result.is_err(), "it has no end");
    world.check(result, true);
}

async fn jobs(world: Arc<World>, mut chance: Chance) {
    let jobs: Vec<_> = (0..=chance.below(6))
        .map(|_| {
            let (life, output) = (world.books.jobs.one(), world.books.outputs.one());
            let (world, mut luck) = (Arc::clone(&world), chance.child());
            rt::spawn_blocking(move || {
                let _life = life;
                job(&world, &mut luck);
                output
            })
        })
        .collect();
    for job in jobs {
        settle(&world, &mut chance, job).await;
    }
}

fn job(world: &World, chance: &mut Chance) {
    match chance.below(8) {
        0 => throw(world),
        1 => rt::block_in_place(|| hold(chance.micros(1000))),
        2 => block_on(world, chance),
        _ => hold(chance.micros(1000)),
    }
}

/// Holds a thread until a task and a timer have ended.
fn block_on(world: &World, chance: &mut Chance) {
    world.handle.block_on(async {
        sleep(chance.micros(2000)).await;
        let task = spawn(world, chance, rt::yield_now());
        world.check(task.await, false);
    });
}

/// Half of these block until others of the runtime's tasks have run. That is refused where a thread
/// runs futures and is no worker that could leave them to others: on the current-thread pool.
async fn in_place(world: Arc<World>, mut chance: Chance) {
    let (held, mut luck) = (Arc::clone(&world), chance.child());
    if chance.one_in(2) {
        let task = async move { rt::block_in_place(|| hold(luck.micros(12_000))) };
        return launch(&world, &mut chance, task).await;
    }
    let task = async move {
        // They may need one another's threads, of which there are only so many.
        let permit = held.blocked.try_acquire();
        if permit.is_ok() {
            rt::block_in_place(|| block_on(&held, &mut luck));
        }
        rt::yield_now().await;
    };
    let task = if world.has_workers && chance.one_in(2) {
        rt::spawn(counted(&world, task))
    } else {
        rt::spawn_on(Dispatcher::Cpu, counted(&world, task))
    };
    settle(&world, &mut chance, task).await;
}

/// Holds on to its worker, asleep or busy, longer than it should.
async fn rude(world: Arc<World>, mut chance: Chance) {
    let time = Duration::from_millis(5) + chance.micros(15_000);
    let busy = chance.one_in(2);
    let task = async move {
        rt::yield_now().await;
        if busy {
            let start = Instant::now();
            while start.elapsed() < time {
                std::hint::spin_loop();
            }
        } else {
            hold(Duration::from_millis(20));
        }
    };
    launch(&world, &mut chance, task).await;
}

/// Keeps this thread asleep.
fn hold(time: Duration) {
    let (_keep, never) = mpsc::channel::<()>();
    let _ = never.recv_timeout(time);
}

async fn yields(mut chance: Chance) {
    for _ in 0..10 + chance.below(300) {
        rt::yield_now().await;
    }
}

/// A time that is over must be over, unless the runtime is.
#[track_caller]
fn assert_not_early(world: &World, deadline: Instant) {
    assert!(Instant::now() >= deadline || world.is_cut(), "early");
}

async fn sleeps(world: Arc<World>, mut chance: Chance) {
    for _ in 0..=chance.below(3) {
        let time = chance.micros(5000);
        let deadline = Instant::now() + time;
        match chance.below(4) {
            0 => {
                let never = timeout(time, pending::<()>()).await;
                assert!(never.is_err());
                assert_not_early(&world, deadline);
            }
            1 => {
                let luck = chance.child();
                let ended = timeout(Duration::from_hours(1), yields(luck)).await;
                assert!(ended.is_ok() || world.is_cut());
            }
            2 => {
                // The inner one may come first or last; then the outer one must.
                let inner = sleep(chance.micros(5000));
                let _ = timeout(time, inner).await;
            }
            _ => {
                sleep(time).await;
                assert_not_early(&world, deadline);
            }
        }
    }
}

async fn resets(world: Arc<World>, mut chance: Chance) {
    let mut timer = Box::pin(sleep(chance.micros(5000)));
    for _ in 0..chance.below(10) {
        let _ = poll_once(&mut timer).await;
        let now = rt::time::Instant::now();
        let deadline = match chance.below(4) {
            0 => now + Duration::MAX,
            1 => now - Duration::from_millis(1),
            _ => now + chance.micros(5000),
        };
        timer.as_mut().reset(deadline);
        if chance.one_in(3) {
            pause(&mut chance).await;
        }
    }
    let far = Instant::now() + Duration::from_hours(1);
    if timer.deadline().into_std() > far || chance.one_in(4) {
        return;
    }
    let judge = Arc::clone(&world);
    let wait = async move {
        let deadline = timer.deadline().into_std();
        timer.await;
        assert_not_early(&judge, deadline);
    };
    if chance.one_in(2) {
        // Another task, perhaps on the other pool, waits for what was begun here.
        launch(&world, &mut chance, wait).await;
    } else {
        wait.await;
    }
}

/// Panics as a part of the test.
fn throw(world: &World) -> ! {
    panic_any(Deliberate {
        _counted: world.books.panics.one(),
    })
}

/// Panics when it is dropped, unless something panics already.
struct Bomb(Arc<World>);

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            throw(&self.0);
        }
    }
}

async fn panics(world: Arc<World>, mut chance: Chance) {
    let mine = Arc::clone(&world);
    match chance.below(4) {
        0 => launch(&world, &mut chance, async move { throw(&mine) }).await,
        1 => {
            let task = async move {
                rt::yield_now().await;
                throw(&mine);
            };
            launch(&world, &mut chance, task).await;
        }
        // These panic also when they are aborted.
        2 => {
            let bomb = Bomb(mine);
            let task = async move {
                let _bomb = bomb;
                sleep(Duration::from_millis(1)).await;
            };
            launch(&world, &mut chance, task).await;
        }
        _ => {
            let bomb = Bomb(Arc::clone(&mine));
            let task = async move {
                let _bomb = bomb;
                rt::yield_now().await;
                throw(&mine);
            };
            launch(&world, &mut chance, task).await;
        }
    }
}

/// From several tasks to one, over a channel with little room.
async fn messages(world: Arc<World>, mut chance: Chance) {
    let (sender, mut receiver) = channel::channel(1 + chance.below(8));
    let senders = 1 + chance.below(4);
    let each = chance.below(100);
    let mut tasks = Vec::new();
    for number in 0..senders {
        let (source, sender) = (Arc::clone(&world), sender.clone());
        let send = async move {
            for index in 0..each {
                let message = (number, index, source.books.messages.one());
                if sender.send(message).await.is_err() {
                    return;
                }
            }
        };
        tasks.push(spawn(&world, &mut chance, send));
    }
    drop(sender);
    let judge = Arc::clone(&world);
    let impatient = chance.one_in(4);
    let receive = async move {
        let mut next = vec![0; senders];
        while let Some((number, index, _counted)) = receiver.recv().await {
            assert_eq!(index, next[number], "in order");
            next[number] += 1;
            if impatient && index > 10 {
                return;
            }
        }
        let all = next.iter().all(|next| *next == each);
        assert!(all || judge.is_cut(), "{next:?} of {each} each");
    };
    tasks.push(spawn(&world, &mut chance, receive));
    for task in tasks {
        world.check(task.await, false);
    }
    let (give, given) = oneshot::channel();
    let message = world.books.messages.one();
    launch(&world, &mut chance, async move {
        let _ = give.send(message);
    })
    .await;
    // Gone with its sender, if that was aborted.
    drop(given.await);
}

/// Two tasks that wake each other in turn, wherever they are.
async fn notify(world: Arc<World>, mut chance: Chance) {
    let (ping, pong) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let rounds = chance.below(100);
    let (pinged, ponged) = (Arc::clone(&ping), Arc::clone(&pong));
    let one = async move {
        for _ in 0..rounds {
            ping.notify_one();
            pong.notified().await;
        }
    };
    let two = async move {
        for _ in 0..rounds {
            pinged.notified().await;
            ponged.notify_one();
        }
    };
    let one = spawn(&world, &mut chance, one);
    let two = spawn(&world, &mut chance, two);
    world.check(one.await, false);
    world.check(two.await, false);
}

/// Everybody wants the same lock, and some are aborted while they wait for it or have it.
async fn lock(world: Arc<World>, mut chance: Chance) {
    for _ in 0..=chance.below(3) {
        let mine = Arc::clone(&world);
        let task = async move {
            let mut count = mine.contended.lock().await;
            let before = *count;
            rt::yield_now().await;
            *count += 1;
            assert_eq!(*count, before + 1);
        };
        launch(&world, &mut chance, task).await;
    }
}

/// Is woken by a plain thread, which keeps the waker for later.
async fn wakers(world: Arc<World>, mut chance: Chance) {
    let (outside, number) = (Arc::clone(&world), chance.below(8));
    let rounds = chance.below(5);
    let task = async move {
        for _ in 0..rounds {
            let flag = Arc::new(AtomicBool::new(false));
            let mut asked = false;
            poll_fn(|cx| {
                if flag.load(SeqCst) {
                    return Poll::Ready(());
                }
                // Once: the waker stays good for as long as the task is the same.
                if !asked {
                    outside.wake_outside(&flag, cx.waker().clone(), number);
                    asked = true;
                }
                Poll::Pending
            })
            .await;
        }
    };
    launch(&world, &mut chance, task).await;
}

//! `select!`, `join!` and `try_join!` as their users write them.

use std::collections::HashMap;
use std::future::{pending, ready};
use std::time::Duration;

use rt::channel::{self, oneshot};
use rt_tests::{Census, everywhere};

/// A generator for tests: the same numbers each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn items_that_pass_through_select_beside_short_timeouts_arrive_once_and_in_order() {
    const EACH: u32 = 50_000;
    everywhere(|runtime| {
        let (a, b) = runtime.block_on(async {
            let (tx_a, rx_a) = channel::bounded(16);
            let (tx_b, rx_b) = channel::bounded(1);
            for (tx, seed) in [(tx_a, 1), (tx_b, 2)] {
                rt::spawn(async move {
                    let mut random = Random(seed);
                    for number in 0..EACH {
                        // A send that loses was not sent, so it is made again.
                        loop {
                            let limit = Duration::from_micros(random.below(51));
                            rt::select! {
                                sent = tx.send(number) => break sent.unwrap(),
                                () = rt::delay(limit) => {}
                            }
                        }
                    }
                });
            }
            let receiving = rt::spawn(async move {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                let mut random = Random(3);
                loop {
                    let limit = Duration::from_micros(random.below(51));
                    rt::select! {
                        Some(number) = rx_a.recv() => a.push(number),
                        Some(number) = rx_b.recv() => b.push(number),
                        () = rt::delay(limit), if !(rx_a.is_closed() && rx_b.is_closed()) => {}
                        else => break (a, b),
                    }
                }
            });
            receiving.await.unwrap()
        });
        assert!(a.into_iter().eq(0..EACH));
        assert!(b.into_iter().eq(0..EACH));
    });
}

#[rt::test]
async fn patterns_guards_and_else_decide() {
    let refuted = rt::select! {
        Some(_) = ready(None::<u8>) => "matched",
        else => "none",
    };
    assert_eq!(refuted, "none");
    let guarded = rt::select! {
        biased;
        _ = ready(()), if false => 1,
        number = ready(2), if guarded_by(2) => number,
        _ = pending::<()>() => { 3 }
    };
    assert_eq!(guarded, 2);
    let (mut first, ref second) = rt::select! { pair = ready((1, String::new())) => pair };
    first += 1;
    assert_eq!((first, second.len()), (2, 0));
    let bound = rt::select! {
        (mut number, ref text) = ready((1, "one".to_owned())) => {
            number += text.len();
            number
        }
        1..=5 = ready(3) => 4,
    };
    assert_eq!(bound, 4);
}

fn guarded_by(number: u8) -> bool {
    number == 2
}

#[rt::test]
#[should_panic = "all branches are disabled and there is no `else` branch"]
async fn nothing_to_wait_for_is_a_panic() {
    rt::select! { _ = ready(()), if false => {} }
}

#[rt::test]
async fn commas_of_generic_arguments_separate_nothing() {
    let map = rt::select! {
        map = ready(HashMap::<u8, (u8, u8)>::new()) => <HashMap<_, _> as Clone>::clone(&map),
        _ = pending::<Result<u8, u8>>(), if turns(1) < 2 && turns(3) > 2 => HashMap::<u8, (u8, u8)>::new(),
    };
    assert!(map.is_empty());
    let (one, two) = rt::join!(ready(Vec::<Result<u8, u8>>::new()), async { 2 });
    assert_eq!((one.len(), two), (0, 2));
}

fn turns(turns: u32) -> u32 {
    turns
}

#[rt::test]
async fn handlers_may_leave_what_they_stand_in() {
    async fn early(number: Result<u8, String>) -> Result<u8, String> {
        let number = rt::select! { number = ready(number) => number? };
        Ok(number + 1)
    }
    assert_eq!(early(Ok(1)).await, Ok(2));
    assert_eq!(early(Err("no".to_owned())).await, Err("no".to_owned()));
    let mut turns = 0;
    loop {
        turns += 1;
        rt::select! {
            biased;
            () = ready(()), if turns < 3 => continue,
            () = async { rt::yield_now().await } => {}
        }
        break;
    }
    assert_eq!(turns, 3);
}

#[rt::test]
async fn losers_are_gone_before_the_handler_runs() {
    let census = Census::new();
    let loser = census.one();
    let mut text = String::new();
    rt::select! {
        biased;
        () = async { let _loser = loser; pending::<()>().await } => {}
        () = async { text.push('a') } => {
            assert_eq!(census.alive(), 0);
            text.push('b');
        }
    }
    assert_eq!(text, "ab");
}

#[rt::test]
async fn every_branch_has_its_turn_unless_it_is_biased() {
    let mut counts = [0; 3];
    for _ in 0..600 {
        let branch = rt::select! {
            () = ready(()) => 0,
            () = ready(()) => 1,
            () = ready(()) => 2,
        };
        counts[branch] += 1;
    }
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
    for _ in 0..100 {
        assert_eq!(
            rt::select! { biased; () = ready(()) => 0, () = ready(()) => 1 },
            0
        );
    }
}

#[test]
fn the_seed_decides_which_branch_is_first() {
    let choices = || {
        let runtime = rt::Runtime::builder().current_thread().seed(7).build();
        runtime.unwrap().block_on(async {
            let mut choices = Vec::new();
            for _ in 0..64 {
                choices.push(rt::select! { () = ready(()) => 0, () = ready(()) => 1 });
            }
            choices
        })
    };
    assert_eq!(choices(), choices());
}

#[rt::test]
async fn a_select_in_a_loop_that_is_always_ready_respects_the_budget() {
    let (tx, rx) = channel::unbounded();
    let (stop, mut stopped) = oneshot();
    rt::spawn(async move { stop.send(()) });
    let mut turns = 0;
    loop {
        tx.send(()).await.unwrap();
        rt::select! {
            biased;
            Some(()) = rx.recv() => turns += 1,
            _ = ready(()) => panic!("the branch above is ready"),
        }
        if stopped.try_recv().is_ok() {
            break;
        }
    }
    assert!(turns > 0);
}

#[rt::test]
async fn sixty_four_branches_are_not_too_many() {
    macro_rules! many {
        ($($number:literal)*) => {
            rt::select! {
                $(number = ready($number), if $number == 63 => number,)*
            }
        };
    }
    let last = many!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63);
    assert_eq!(last, 63);
}

#[rt::test]
async fn join_waits_for_all_and_try_join_for_the_first_error() {
    let (tx, rx) = oneshot();
    let joined = rt::join!(
        async { rx.await.unwrap() },
        async { tx.send(1).unwrap() },
        ready(2),
    );
    assert_eq!(joined, (1, (), 2));
    assert_eq!(rt::join!(biased; ready(1)), (1,));
    let fine: Result<_, ()> = rt::try_join!(ready(Ok(1)), async { Ok("two") });
    assert_eq!(fine, Ok((1, "two")));
    let census = Census::new();
    let held = census.one();
    let failed: Result<((), ()), u8> = rt::try_join!(
        async {
            let _held = held;
            pending().await
        },
        ready(Err(7))
    );
    assert_eq!((failed, census.alive()), (Err(7), 0));
}

#[rt::test]
async fn a_future_that_spends_the_budget_does_not_starve_the_one_beside_it() {
    let (tx, rx) = channel::unbounded();
    let (stop, mut stopped) = oneshot();
    let greedy = async {
        while stopped.try_recv().is_err() {
            tx.send(1).await.unwrap();
            rx.recv().await;
        }
    };
    let (_tx, other) = channel::bounded::<u8>(1);
    let modest = async {
        let _ = other.recv_timeout(Duration::from_millis(1)).await;
        stop.send(()).unwrap();
    };
    rt::join!(greedy, modest);
}

#[test]
fn the_locks_and_channels_of_sync_work_across_the_pools() {
    use rt::Dispatcher;
    use rt::sync::{Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, broadcast, mpsc, watch};
    use std::sync::Arc;

    everywhere(|runtime| {
        runtime.block_on(async {
            let count = Arc::new(Mutex::new(0));
            let (table, room) = (Arc::new(RwLock::new(0)), Arc::new(Semaphore::new(2)));
            let (once, barrier) = (Arc::new(OnceCell::new()), Arc::new(Barrier::new(4)));
            let (tx, mut rx) = mpsc::channel(1);
            let (shout, _) = broadcast::channel(8);
            let (set, see) = watch::channel(0);
            let tasks: Vec<_> = (0..4)
                .map(|task| {
                    let (count, table, room) = (count.clone(), table.clone(), room.clone());
                    let (once, barrier, tx) = (once.clone(), barrier.clone(), tx.clone());
                    let (mut hear, mut see) = (shout.subscribe(), see.clone());
                    let pool = if task % 2 == 0 {
                        Dispatcher::Io
                    } else {
                        Dispatcher::Cpu
                    };
                    rt::spawn_on(pool, async move {
                        barrier.wait().await;
                        for _ in 0..50 {
                            let _room = room.acquire().await.unwrap();
                            *count.lock().await += 1;
                            *table.write().await += 1;
                        }
                        assert_eq!(*once.get_or_init(|| async { 7 }).await, 7);
                        tx.send(task).await.unwrap();
                        see.wait_for(|seen| *seen == 1).await.unwrap();
                        hear.recv().await.unwrap()
                    })
                })
                .collect();
            let mut sum = 0;
            for _ in 0..4 {
                sum += rx.recv().await.unwrap();
            }
            assert_eq!(
                (sum, *count.lock().await, *table.read().await),
                (6, 200, 200)
            );
            set.send(1).unwrap();
            shout.send("end").unwrap();
            for task in tasks {
                assert_eq!(task.await.unwrap(), "end");
            }
            let notify = Arc::new(Notify::new());
            let told = rt::spawn_on(Dispatcher::Cpu, {
                let notify = Arc::clone(&notify);
                async move { notify.notified().await }
            });
            notify.notify_one();
            told.await.unwrap();
        });
    });
}

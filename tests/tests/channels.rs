//! Channels between tasks, pools and plain threads.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

use futures_core::Stream;
use rt::Dispatcher;
use rt::channel::{self, RecvTimeoutError, SendError, SendTimeoutError};
use rt_tests::{Census, everywhere, poll_once, until_yielding};

/// What one producer sends: who it is, and a number that grows.
type Message = (usize, usize);

/// Fails unless the messages of each producer are in order.
#[track_caller]
fn assert_in_order(messages: &[Message], producers: usize) {
    for producer in 0..producers {
        let of_it = messages.iter().filter(|(from, _)| *from == producer);
        assert!(of_it.is_sorted_by_key(|(_, number)| *number));
    }
}

#[test]
fn each_message_arrives_once_and_in_order_whatever_the_capacity() {
    const EACH: usize = 2_000;
    everywhere(|runtime| {
        for capacity in [0, 1, 3, 64, usize::MAX] {
            let received = runtime.block_on(async move {
                let (tx, rx) = channel::bounded::<Message>(capacity);
                for producer in 0..4 {
                    let tx = tx.clone();
                    rt::spawn(async move {
                        for number in 0..EACH {
                            tx.send((producer, number)).await.unwrap();
                        }
                    });
                }
                drop(tx);
                let consumers: Vec<_> = (0..3)
                    .map(|_| {
                        let rx = rx.clone();
                        rt::spawn(async move {
                            let mut mine = Vec::new();
                            while let Some(message) = rx.recv().await {
                                mine.push(message);
                            }
                            mine
                        })
                    })
                    .collect();
                drop(rx);
                let mut received = Vec::new();
                for consumer in consumers {
                    let mine = consumer.await.unwrap();
                    assert_in_order(&mine, 4);
                    received.extend(mine);
                }
                received
            });
            let mut received = received;
            received.sort_unstable();
            let all = (0..4).flat_map(|producer| (0..EACH).map(move |number| (producer, number)));
            assert!(received.into_iter().eq(all));
        }
    });
}

#[test]
fn plain_threads_and_both_pools_talk_to_one_another() {
    everywhere(|runtime| {
        let (tx, rx) = channel::bounded(1);
        let (back, answers) = channel::bounded(0);
        let thread = thread::spawn(move || {
            for number in 0..500_u64 {
                tx.blocking_send(number).unwrap();
            }
            drop(tx);
            let mut sum = 0;
            while let Some(answer) = answers.blocking_recv() {
                sum += answer;
            }
            sum
        });
        runtime.block_on(async move {
            let computing = rt::spawn_on(Dispatcher::Cpu, async move {
                while let Some(number) = rx.recv().await {
                    let back = back.clone();
                    rt::spawn(async move { back.send(2 * number).await.unwrap() });
                }
            });
            computing.await.unwrap();
            until_yielding(|| thread.is_finished()).await;
            assert_eq!(thread.join().unwrap(), 499 * 500);
        });
    });
}

#[test]
fn many_at_a_time_are_the_same_messages() {
    everywhere(|runtime| {
        for capacity in [0, 5, usize::MAX] {
            runtime.block_on(async move {
                let (tx, rx) = channel::bounded(capacity);
                let sending = rt::spawn(async move {
                    for part in 0..50 {
                        let mut numbers: VecDeque<_> = (part * 100..(part + 1) * 100).collect();
                        tx.send_many(&mut numbers).await.unwrap();
                        assert!(numbers.is_empty());
                    }
                });
                let mut received = Vec::new();
                while rx.recv_many(&mut received, 7).await > 0 {}
                assert!(received.into_iter().eq(0..5_000));
                sending.await.unwrap();
                assert_eq!(rx.recv_many(&mut Vec::new(), 0).await, 0);
            });
        }
    });
}

#[test]
fn what_is_not_sent_comes_back() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (tx, rx) = channel::bounded(1);
            tx.send(1).await.unwrap();
            let short = Duration::from_millis(1);
            assert_eq!(
                tx.send_timeout(2, short).await,
                Err(SendTimeoutError::Timeout(2))
            );
            let waiting = {
                let tx = tx.clone();
                rt::spawn(async move { tx.send(3).await })
            };
            rt::yield_now().await;
            drop(rx);
            assert_eq!(waiting.await.unwrap(), Err(SendError(3)));
            assert_eq!(
                tx.send_timeout(4, short).await,
                Err(SendTimeoutError::Closed(4))
            );
            let mut many = VecDeque::from([5, 6]);
            assert!(tx.send_many(&mut many).await.is_err());
            assert_eq!(many, [5, 6]);

            let (tx, rx) = channel::bounded(0);
            let mut many = VecDeque::from([7, 8]);
            assert!(
                poll_once(&mut Box::pin(tx.send_many(&mut many)))
                    .await
                    .is_pending()
            );
            assert_eq!(many, [7, 8], "a rendezvous that is given up gives back");
            assert_eq!(rx.recv_timeout(short).await, Err(RecvTimeoutError::Timeout));
        });
    });
}

#[test]
fn a_receiver_is_a_stream() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (tx, mut rx) = channel::bounded(2);
            let sending = rt::spawn(async move {
                for number in 0..100 {
                    tx.send(number).await.unwrap();
                }
            });
            let mut received = Vec::new();
            while let Some(number) = poll_fn(|cx| Pin::new(&mut rx).poll_next(cx)).await {
                received.push(number);
            }
            assert!(received.into_iter().eq(0..100));
            sending.await.unwrap();
        });
    });
}

#[test]
fn a_receive_that_is_given_up_loses_nothing_and_passes_its_wake_on() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (tx, rx) = channel::unbounded();
            let mut first = Box::pin(rx.recv());
            assert!(poll_once(&mut first).await.is_pending());
            let second = {
                let rx = rx.clone();
                rt::spawn(async move { rx.recv().await })
            };
            rt::yield_now().await;
            // The first one is told of it, and goes without looking.
            tx.send(7).await.unwrap();
            drop(first);
            assert_eq!(second.await.unwrap(), Some(7));
        });
    });
}

#[test]
fn a_send_that_is_given_up_was_not_sent_and_passes_its_wake_on() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (tx, rx) = channel::bounded(1);
            tx.send(1).await.unwrap();
            let mut first = Box::pin(tx.send(2));
            assert!(poll_once(&mut first).await.is_pending());
            let second = {
                let tx = tx.clone();
                rt::spawn(async move { tx.send(3).await })
            };
            rt::yield_now().await;
            assert_eq!(rx.recv().await, Some(1));
            drop(first);
            second.await.unwrap().unwrap();
            assert_eq!(rx.recv().await, Some(3));
            assert!(rx.try_recv().is_err());
        });
    });
}

#[test]
fn futures_that_nobody_polls_any_more_hold_up_nobody_who_comes() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (tx, rx) = channel::bounded(1);
            // One is forgotten, one only sleeps, and both have been told that something is there.
            for forget in [true, false] {
                let mut receiving = Box::pin(rx.recv());
                assert!(poll_once(&mut receiving).await.is_pending());
                tx.send(1).await.unwrap();
                assert_eq!(rx.recv().await, Some(1));
                let mut sleeping = None;
                if forget {
                    mem::forget(receiving);
                } else {
                    sleeping = Some(receiving);
                }
                tx.send(2).await.unwrap();
                let mut sending = Box::pin(tx.send(3));
                assert!(poll_once(&mut sending).await.is_pending());
                assert_eq!(rx.recv().await, Some(2));
                tx.send(4).await.unwrap();
                assert_eq!(rx.recv().await, Some(4));
                if forget {
                    mem::forget(sending);
                } else {
                    sending.await.unwrap();
                    assert_eq!(sleeping.unwrap().await, Some(3));
                }
            }
        });
    });
}

#[test]
fn permits_that_are_dropped_give_their_room_to_who_waits() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (tx, rx) = channel::bounded(1);
            let permit = tx.reserve().await.unwrap();
            let waiting = {
                let tx = tx.clone();
                rt::spawn(async move { tx.send(1).await })
            };
            rt::yield_now().await;
            drop(permit);
            waiting.await.unwrap().unwrap();
            assert_eq!(rx.recv().await, Some(1));
            let permit = tx.clone().reserve_owned().await.unwrap();
            rx.close();
            let receiving = rt::spawn(async move { (rx.recv().await, rx.recv().await) });
            rt::yield_now().await;
            drop(permit.send(2));
            assert_eq!(receiving.await.unwrap(), (Some(2), None));
        });
    });
}

#[test]
fn a_channel_that_is_always_ready_leaves_others_their_turn() {
    everywhere(|runtime| {
        runtime.block_on(async {
            let (tx, rx) = channel::unbounded();
            let (stop, mut stopped) = channel::oneshot();
            let spinning = rt::spawn(async move {
                while stopped.try_recv().is_err() {
                    tx.send(1).await.unwrap();
                    rx.recv().await;
                }
            });
            rt::spawn(async move { stop.send(()).unwrap() })
                .await
                .unwrap();
            spinning.await.unwrap();
        });
    });
}

#[test]
fn values_are_dropped_once_wherever_they_are() {
    everywhere(|runtime| {
        let census = Census::new();
        runtime.block_on(async {
            let (tx, rx) = channel::bounded(10);
            for _ in 0..10 {
                tx.send(census.one()).await.unwrap();
            }
            let mut waiting = Box::pin(tx.send(census.one()));
            assert!(poll_once(&mut waiting).await.is_pending());
            drop(rx.recv().await);
            drop(waiting);
            drop(rx);
            assert_eq!(census.alive(), 0);
            let (tx, rx) = channel::oneshot();
            tx.send(census.one()).ok().unwrap();
            drop(rx);
            let (tx, rx) = channel::oneshot();
            drop(rx);
            drop(tx.send(census.one()));
            assert_eq!((census.made(), census.alive()), (13, 0));
        });
    });
}

#[test]
fn one_value_crosses_from_anywhere_to_anywhere() {
    everywhere(|runtime| {
        runtime.block_on(async {
            for _ in 0..200 {
                let (tx, rx) = channel::oneshot();
                let (mut back, gone) = channel::oneshot::<u8>();
                rt::spawn_on(Dispatcher::Cpu, async move {
                    drop(gone);
                    tx.send(7)
                });
                assert_eq!(rx.await, Ok(7));
                back.closed().await;
            }
            let (tx, rx) = channel::oneshot::<u8>();
            rt::spawn(async move { drop(tx) });
            assert!(rx.await.is_err());
        });
        let (tx, rx) = channel::oneshot();
        let thread = thread::spawn(move || rx.blocking_recv());
        tx.send("hello").unwrap();
        assert_eq!(thread.join().unwrap(), Ok("hello"));
    });
}

#[test]
fn the_order_of_those_who_wait_is_kept() {
    everywhere(|runtime| {
        for capacity in [0, 1] {
            runtime.block_on(async move {
                let (tx, rx) = channel::bounded(capacity);
                let polls = Arc::new(AtomicUsize::new(0));
                for number in 0..10 {
                    let (tx, polls) = (tx.clone(), Arc::clone(&polls));
                    let mut send = Box::pin(async move { tx.send(number).await.unwrap() });
                    if poll_once(&mut send).await.is_pending() {
                        rt::spawn(poll_fn(move |cx| {
                            let polled = send.as_mut().poll(cx);
                            polls.fetch_add(1, SeqCst);
                            polled
                        }));
                    }
                }
                // A task is polled once for its start, and all wait then.
                until_yielding(|| polls.load(SeqCst) == 10 - capacity).await;
                for number in 0..10 {
                    assert_eq!(rx.recv().await, Some(number));
                }
            });
        }
    });
}

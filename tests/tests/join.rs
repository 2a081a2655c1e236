//! What a task's handle promises.

use std::future::pending;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use rt::task::{AbortHandle, JoinError, JoinHandle};
use rt_tests::{Census, Flavour, counting_waker, everywhere, poll_once, until, with};
use tokio::sync::oneshot;

#[test]
fn handles_may_go_anywhere() {
    fn check_error<T: std::error::Error + Send + Sync + 'static>() {}
    fn check<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe + std::fmt::Debug + 'static>() {}
    check::<JoinHandle<std::cell::Cell<u8>>>();
    check::<AbortHandle>();
    check_error::<JoinError>();
}

#[test]
fn a_handle_tells_whether_its_task_has_finished() {
    everywhere(|runtime| {
        let (go, wait) = oneshot::channel::<()>();
        let task = runtime.spawn(wait);
        assert!(!task.is_finished());
        go.send(()).unwrap();
        runtime.block_on(rt_tests::until_yielding(|| task.is_finished()));
        assert!(task.abort_handle().is_finished());
        runtime.block_on(task).unwrap().unwrap();
    });
}

#[test]
fn the_future_is_dropped_before_the_handle_resolves() {
    everywhere(|runtime| {
        let census = Census::new();
        for _ in 0..200 {
            let one = census.one();
            let task = runtime.spawn(async move {
                rt::yield_now().await;
                drop(one);
            });
            runtime.block_on(task).unwrap();
            assert_eq!(census.alive(), 0);
        }
    });
}

#[test]
fn an_output_that_nobody_takes_is_dropped() {
    everywhere(|runtime| {
        let census = Census::new();
        // The handle goes first.
        let (go, wait) = oneshot::channel::<()>();
        let one = census.one();
        let task = runtime.spawn(async move {
            wait.await.unwrap();
            one
        });
        drop(task);
        go.send(()).unwrap();
        runtime.block_on(rt_tests::until_yielding(|| census.alive() == 0));
        // The task goes first.
        let one = census.one();
        let task = runtime.spawn(async move { one });
        runtime.block_on(rt_tests::until_yielding(|| task.is_finished()));
        assert_eq!(census.alive(), 1);
        drop(task);
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn awaiting_a_handle_by_reference_can_be_given_up_and_taken_up_again() {
    everywhere(|runtime| {
        let (go, wait) = oneshot::channel::<u8>();
        let mut task = runtime.spawn(wait);
        let pending = runtime.block_on(poll_once(&mut task));
        assert!(pending.is_pending());
        go.send(7).unwrap();
        assert_eq!(runtime.block_on(&mut task).unwrap(), Ok(7));
    });
}

#[test]
fn the_last_waker_is_woken_and_the_others_are_let_go() {
    with(Flavour::Workers(1), |runtime| {
        let (go, wait) = oneshot::channel::<u8>();
        let mut task = runtime.spawn(wait);
        let (first, first_woken) = counting_waker();
        let (second, second_woken) = counting_waker();
        for waker in [&first, &second] {
            assert!(
                Pin::new(&mut task)
                    .poll(&mut Context::from_waker(waker))
                    .is_pending()
            );
        }
        drop((first, second));
        // Of the first one nothing is left but our count.
        assert_eq!(std::sync::Arc::strong_count(&first_woken), 1);
        go.send(7).unwrap();
        until(|| second_woken.load(std::sync::atomic::Ordering::SeqCst) == 1);
        assert_eq!(first_woken.load(std::sync::atomic::Ordering::SeqCst), 0);
        let output = Pin::new(&mut task).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(output, Poll::Ready(Ok(Ok(7)))));
    });
}

#[test]
fn a_handle_that_was_awaited_and_dropped_keeps_no_waker() {
    with(Flavour::Workers(1), |runtime| {
        let mut task = runtime.spawn(pending::<()>());
        let abort = task.abort_handle();
        let (waker, woken) = counting_waker();
        assert!(
            Pin::new(&mut task)
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        drop(waker);
        assert_eq!(std::sync::Arc::strong_count(&woken), 2);
        drop(task);
        assert_eq!(std::sync::Arc::strong_count(&woken), 1);
        abort.abort();
        until(|| abort.is_finished());
    });
}

#[test]
fn polling_a_handle_after_its_output_was_taken_is_a_mistake_that_is_told() {
    with(Flavour::Workers(1), |runtime| {
        let mut task = runtime.spawn(async { 1 });
        assert_eq!(runtime.block_on(&mut task).unwrap(), 1);
        let again = catch_unwind(AssertUnwindSafe(|| {
            Pin::new(&mut task).poll(&mut Context::from_waker(Waker::noop()))
        }));
        let message = *again.unwrap_err().downcast::<&str>().unwrap();
        assert!(message.contains("polled after"), "{message}");
        // It knows its name and that it is over.
        assert!(task.is_finished());
        task.abort();
    });
}

#[test]
fn errors_say_which_task_and_why() {
    with(Flavour::Workers(2), |runtime| {
        let cancelled = runtime.spawn(pending::<()>());
        let id = cancelled.id();
        cancelled.abort();
        let error = runtime.block_on(cancelled).unwrap_err();
        assert_eq!(error.id(), id);
        assert!(error.is_cancelled() && !error.is_panic());
        assert_eq!(error.to_string(), format!("task {id} was cancelled"));
        let error = error.try_into_panic().unwrap_err();
        assert!(
            std::io::Error::from(error)
                .to_string()
                .contains("cancelled")
        );

        let panicked = runtime.spawn(async move { panic!("oh no, {id}") });
        let (cancelled_id, id) = (id, panicked.id());
        let error: JoinError = runtime.block_on(panicked).unwrap_err();
        assert!(error.is_panic() && !error.is_cancelled());
        assert_eq!(
            error.to_string(),
            format!("task {id} panicked with message \"oh no, {cancelled_id}\"")
        );
        assert_eq!(format!("{error:?}"), format!("JoinError({error})"));
        let payload = error.into_panic();
        assert_eq!(
            payload.downcast_ref::<String>().unwrap(),
            &format!("oh no, {cancelled_id}")
        );
    });
}

#[test]
fn taking_the_panic_of_a_cancelled_task_panics_itself() {
    with(Flavour::Workers(1), |runtime| {
        let task = runtime.spawn(pending::<()>());
        task.abort();
        let error = runtime.block_on(task).unwrap_err();
        let misuse = catch_unwind(AssertUnwindSafe(|| error.into_panic()));
        assert!(misuse.is_err());
    });
}

#[test]
fn a_handle_shows_its_task() {
    with(Flavour::Workers(1), |runtime| {
        let task = runtime.spawn(async {});
        let text = format!("{task:?}");
        assert!(text.contains(&format!("{:?}", task.id())), "{text}");
        assert!(text.contains("join.rs"), "{text}");
        runtime.block_on(task).unwrap();
    });
}

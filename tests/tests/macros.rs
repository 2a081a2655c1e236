//! `#[rt::main]` and `#[rt::test]` as their users write them.

use std::io;
use std::thread;

use rt::net::TcpListener;

#[rt::test]
async fn a_test_runs_in_a_runtime() {
    assert_eq!(rt::spawn(async { 1 }).await.unwrap(), 1);
}

#[rt::test(flavor = "current_thread")]
async fn a_test_may_ask_for_one_thread() {
    let here = thread::current().id();
    let there = rt::spawn(async { thread::current().id() });
    assert_eq!(there.await.unwrap(), here);
}

#[rt::test(flavor = "multi_thread", io_threads = 3, cpu_threads = 2)]
async fn a_test_may_ask_for_workers() {
    let metrics = rt::Handle::current().metrics();
    assert_eq!((metrics.io_threads, metrics.cpu_threads), (3, 2));
}

#[rt::test]
async fn a_test_may_use_the_question_mark() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    assert_ne!(listener.local_addr()?.port(), 0);
    Ok(())
}

#[rt::test]
#[should_panic = "as expected"]
async fn a_test_may_be_expected_to_panic() {
    rt::yield_now().await;
    panic!("as expected");
}

#[test]
fn a_main_may_have_another_name_and_give_anything() {
    #[rt::main(io_threads = 2)]
    async fn compute() -> u32 {
        rt::spawn(async { 42 }).await.unwrap()
    }
    assert_eq!(compute(), 42);
}

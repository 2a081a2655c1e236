//! `#[rt::main]` and `#[rt::test]` as their users write them.

use std::env;
use std::io;
use std::process::Command;
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

#[rt::test(seed = random)]
async fn a_test_may_run_with_a_random_seed() {
    assert!(rt::macros_support::random_below(10) < 10);
}

/// Runs the test above in a process of its own and gives what it says on standard error.
fn run_with_a_random_seed(from_outside: Option<&str>) -> (bool, String) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([
        "--exact",
        "a_test_may_run_with_a_random_seed",
        "--nocapture",
    ]);
    command.env_remove("RT_SEED");
    if let Some(seed) = from_outside {
        command.env("RT_SEED", seed);
    }
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), stderr)
}

#[test]
fn a_random_seed_is_told_and_can_be_given_again() {
    let drawn = |stderr: &str| {
        let (_, after) = stderr.split_once("#[rt::test] runs with seed ").unwrap();
        after.split_once(';').unwrap().0.parse::<u64>().unwrap()
    };
    let (passed, first) = run_with_a_random_seed(None);
    let seed = drawn(&first);
    assert!(passed && first.contains(&format!("`RT_SEED={seed}` or write `seed = {seed}`")));
    let (_, second) = run_with_a_random_seed(None);
    assert_ne!(drawn(&second), seed, "another one each time");
    let (passed, again) = run_with_a_random_seed(Some(&seed.to_string()));
    assert!(passed);
    assert_eq!(drawn(&again), seed);
    let (passed, wrong) = run_with_a_random_seed(Some("-1"));
    assert!(!passed && wrong.contains("`RT_SEED` must be a whole number"));
}

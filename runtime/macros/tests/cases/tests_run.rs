//! The options of tests, and functions that a `macro_rules!` wrote.

mod elsewhere {
    pub use ::rt as renamed;
}

/// A local module of the same name does not get in the way.
mod rt {}

#[::rt::test]
async fn the_default_flavour_is_current_thread() {
    assert_eq!(::rt::calls(), "current_thread");
}

#[::rt::test(start_paused = true, seed = 7,)]
#[should_panic(expected = "current_thread start_paused(true) seed(7)")]
async fn a_panic_reaches_the_harness() {
    panic!("{}", ::rt::calls());
}

#[::rt::test(flavor = "multi_thread", io_threads = 2_usize)]
async fn a_test_may_be_multi_threaded() -> Result<(), String> {
    assert_eq!(::rt::calls(), "io_threads(2)");
    Ok(())
}

#[::rt::test(crate = "crate::elsewhere::renamed")]
async fn the_crate_may_be_elsewhere() {}

#[::rt::test(seed = random)]
async fn a_random_seed_is_asked_for() {
    let number = "#[rt::test]".len();
    assert_eq!(::rt::calls(), format!("current_thread seed({number})"));
}

#[::rt::test(seed = random, crate = "crate::elsewhere::renamed")]
async fn a_random_seed_is_asked_for_elsewhere() {
    assert!(::rt::calls().starts_with("current_thread seed("));
}

#[::rt::test]
#[ignore]
async fn an_ignored_test_is_not_run() {
    panic!();
}

macro_rules! test {
    ($vis:vis $name:ident, $seed:literal, $body:block) => {
        #[::rt::test(seed = $seed)]
        $vis async fn $name() $body
    };
}

test!(pub(crate) a_macro_may_write_the_function, 9, {
    assert_eq!(::rt::calls(), "current_thread seed(9)");
});

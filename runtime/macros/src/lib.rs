//! The attribute macros of `rt`: `#[rt::main]` and `#[rt::test]`.
//!
//! Both keep the function exactly as it was written, inside a plain function of the same name that
//! builds a runtime and blocks on it:
//!
//! ```text
//! #[rt::main(io_threads = 2)]            fn main() -> io::Result<()> {
//! async fn main() -> io::Result<()> {        async fn main() -> io::Result<()> { body }
//!     body                          ==>      ::rt::Runtime::builder().io_threads(2).build()
//! }                                              .expect("…").block_on(main())
//!                                        }
//! ```
//!
//! Every token of the user's keeps its span, so the compiler's errors point into the user's code
//! and say what they would say without the macro.
//!
//! Only `proc_macro` is used. A parser for the whole language would take ten times as long to build
//! as everything else in this crate, and the little that is read here (attributes, visibility,
//! `async fn name()`, a return type, a body) is easily split by hand.
//!
//! Users reach these through the crate `rt`, which documents them by example.

use proc_macro::TokenStream;

mod error;
mod expand;
mod item;
mod join;
mod options;
mod select;
mod split;
mod template;

/// Runs an `async fn main` on a runtime.
///
/// The body is the future given to `Runtime::block_on`. It may use `?`, return anything that
/// implements `Termination`, and need not be `Send`.
///
/// # Options
///
/// | option | meaning |
/// |---|---|
/// | `flavor = "multi_thread"` | the default: a pool of IO workers and a pool of CPU workers |
/// | `flavor = "current_thread"` | one thread runs the tasks, polls epoll and fires the timers |
/// | `io_threads = 4` | workers of the IO pool (multi-threaded flavour only) |
/// | `cpu_threads = 2` | workers of the CPU pool |
/// | `start_paused = true` | the clock stands still while anything can run, and jumps to the next deadline when nothing can (current-thread flavour only) |
/// | `seed = 7` | the runtime's random choices are drawn from this seed; in the current-thread flavour, the order of tasks too |
/// | `seed = random` | a new seed each run, printed so that the run can be repeated; the environment's `RT_SEED` repeats it |
/// | `crate = "path"` | where the crate `rt` is found; default `"::rt"` |
///
/// # Panics
///
/// The function panics if the runtime cannot be built, for instance because the process has run
/// out of file descriptors. Build the runtime by hand to handle that.
///
/// # Examples
///
/// ```no_run
/// #[rt::main(io_threads = 4, cpu_threads = 2)]
/// async fn main() -> std::io::Result<()> {
///     let listener = rt::net::TcpListener::bind("127.0.0.1:0").await?;
///     println!("listening on {}", listener.local_addr()?);
///     Ok(())
/// }
/// ```
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::entry(expand::Kind::Main, options, item)
}

/// Runs an `async fn` as a test, on a runtime of its own.
///
/// Takes the options of [`macro@main`]. The flavour defaults to `"current_thread"`, which makes a test
/// cheap to start and its order easy to repeat: with `seed = random` a test that fails says which
/// seed it failed with. Other attributes (`#[ignore]`, `#[should_panic]`)
/// work as for a plain test.
///
/// # Examples
///
/// ```no_run
/// #[rt::test(flavor = "multi_thread", io_threads = 2)]
/// async fn two_tasks_meet() {
///     let task = rt::spawn(async { 42 });
///     assert_eq!(task.await.unwrap(), 42);
/// }
/// ```
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::entry(expand::Kind::Test, options, item)
}

/// What `rt::select!` hands its tokens to, behind the path of the crate.
#[doc(hidden)]
#[proc_macro]
pub fn select(tokens: TokenStream) -> TokenStream {
    select::expand(tokens)
}

/// What `rt::join!` hands its tokens to, behind the path of the crate.
#[doc(hidden)]
#[proc_macro]
pub fn join(tokens: TokenStream) -> TokenStream {
    join::expand(join::Kind::Join, tokens)
}

/// What `rt::try_join!` hands its tokens to, behind the path of the crate.
#[doc(hidden)]
#[proc_macro]
pub fn try_join(tokens: TokenStream) -> TokenStream {
    join::expand(join::Kind::TryJoin, tokens)
}

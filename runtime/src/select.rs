//! `select!`, `join!` and `try_join!`: several futures in one task.
//!
//! The macros themselves are in `rt-macros`; these put in front where this crate is found.

/// Waits for the first of several futures, drops the others, and runs that one's handler.
///
/// ```text
/// rt::select! {
///     biased;                                          // optional
///     pattern = future => handler,
///     pattern = future, if condition => { handler }    // up to 64 branches
///     else => handler,                                 // optional
/// }
/// ```
///
/// All futures run in the task that calls it, one at a time. The value is that of the handler, so all handlers have the same type. A
/// handler is a block, or an expression that ends with a comma; it may use `?`, `break`, `return` and `.await`.
///
/// 1. The conditions are evaluated. A branch whose condition is false is disabled.
/// 2. The expressions on the right of the `=` are evaluated, those of disabled branches too, and made futures with
///    [`IntoFuture`].
/// 3. The futures are polled in turn, beginning with another one each time, which is drawn at random (with the runtime's
///    [`seed`](crate::runtime::Builder::seed), the same in each run). With `biased;` it is always from top to bottom: cheaper, and the
///    right thing if the order matters. Then it is for you that a branch above which is always ready does not starve one below.
/// 4. If one is ready and its pattern matches, all futures are dropped, and the handler runs with what the pattern binds. If
///    the pattern does not match, the branch is disabled and the others go on.
/// 5. If all are disabled, the `else` handler runs.
///
/// # Panics
///
/// If all branches are disabled and there is no `else`.
///
/// # Cancel safety
///
/// The futures that lose are dropped, and what they have done by then is lost unless they are *cancel safe*: channels'
/// `recv`, `reserve` and `closed`, [`sleep`](crate::time::sleep), `accept`, a single `read` are; `write_all` and `read_exact` are not. To go on
/// with a future after it has lost, make it before and select by reference: `v = &mut future => …`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = rt::channel::bounded(4);
/// rt::spawn(async move {
///     for number in 0..3 {
///         tx.send(number).await.unwrap();
///     }
/// });
/// let mut sum = 0;
/// let mut patience = std::pin::pin!(rt::delay(Duration::from_secs(60)));
/// loop {
///     rt::select! {
///         received = rx.recv() => match received {
///             Some(number) => sum += number,
///             None => break,
///         },
///         () = &mut patience, if sum < 100 => break,
///     }
/// }
/// assert_eq!(sum, 3);
/// # }
/// ```
///
/// A pattern that does not match leaves it to the others:
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let answer = rt::select! {
///     biased;
///     Err(error) = async { "7".parse::<i32>() } => panic!("{error}"),
///     number = async { 42 } => number,
/// };
/// assert_eq!(answer, 42);
/// # }
/// ```
#[macro_export]
macro_rules! select {
    ($($tokens:tt)*) => {
        $crate::macros_support::select!(($crate) $($tokens)*)
    };
}

/// Runs several futures at the same time in this task, until all are ready, and gives a tuple of their outputs.
///
/// Each poll begins with another of them; with `biased;` in front, always with the first. Spawn them instead if they are to
/// run on several threads.
///
/// # Cancel safety
///
/// Dropping it drops all futures, and outputs that are there already.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = rt::channel::bounded(0);
/// let (sent, received) = rt::join!(tx.send(7), rx.recv());
/// assert_eq!((sent, received), (Ok(()), Some(7)));
/// # }
/// ```
#[macro_export]
macro_rules! join {
    ($($tokens:tt)*) => {
        $crate::macros_support::join!(($crate) $($tokens)*)
    };
}

/// Runs several futures at the same time in this task, until all are `Ok` or one is `Err`.
///
/// It gives a tuple of their outputs, or the first error, with which the other futures are dropped. Otherwise it is as [`join!`](crate::join).
///
/// # Cancel safety
///
/// Dropping it drops all futures, and outputs that are there already.
///
/// # Examples
///
/// ```
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// async fn parse(text: &str) -> Result<i32, std::num::ParseIntError> {
///     text.parse()
/// }
///
/// let both = rt::try_join!(parse("1"), parse("2"));
/// assert_eq!(both, Ok((1, 2)));
/// assert!(rt::try_join!(parse("1"), parse("two")).is_err());
/// # }
/// ```
#[macro_export]
macro_rules! try_join {
    ($($tokens:tt)*) => {
        $crate::macros_support::try_join!(($crate) $($tokens)*)
    };
}

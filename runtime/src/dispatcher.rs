//! Which pool a task runs on.

/// Names the pool that a task belongs to. A wake always returns a task to its pool.
///
/// # Examples
///
/// ```
/// use rt::Dispatcher;
///
/// # #[rt::main]
/// # async fn main() {
/// let digits = rt::spawn_on(Dispatcher::Cpu, async { 2f64.sqrt() });
/// println!("{}", digits.await.unwrap());
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dispatcher {
    /// For coroutines that mostly wait. Its workers also poll for IO.
    Io,
    /// For coroutines and closures that mostly compute.
    Cpu,
}

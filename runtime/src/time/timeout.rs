//! A limit on how long a future may take.

use std::error::Error;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::{Instant, Sleep, sleep, sleep_until};

#[cfg(test)]
mod tests;

/// Gives `future` at most `duration`.
///
/// The future is polled first, so that one that is ready never times out; and the time is looked at
/// each time the future is not ready, also when its task's budget is spent, so that a future that
/// is woken again and again cannot outlive it. A future that never suspends cannot be interrupted.
///
/// # Errors
///
/// [`Elapsed`] if the time is over first. The future is dropped with the `Timeout`.
///
/// # Panics
///
/// Polling it outside a runtime panics, unless the future is ready or the time is over.
///
/// # Cancel safety
///
/// As safe to drop as `future` is.
///
/// # Examples
///
/// ```
/// use std::future;
/// use std::time::Duration;
/// use rt::time::timeout;
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(timeout(Duration::MAX, async { 1 }).await, Ok(1));
/// assert!(timeout(Duration::from_millis(1), future::pending::<()>()).await.is_err());
/// # }
/// ```
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        future: future.into_future(),
        sleep: sleep(duration),
    }
}

/// Gives `future` until `deadline`.
///
/// As [`timeout`] otherwise.
///
/// # Errors
///
/// [`Elapsed`] if the deadline comes first.
///
/// # Panics
///
/// Polling it outside a runtime panics, unless the future is ready or the time is over.
///
/// # Cancel safety
///
/// As safe to drop as `future` is.
///
/// # Examples
///
/// ```
/// use std::future;
/// use rt::time::{Instant, timeout_at};
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() {
/// let past = Instant::now();
/// assert_eq!(timeout_at(past, async { 1 }).await, Ok(1));
/// assert!(timeout_at(past, future::pending::<()>()).await.is_err());
/// # }
/// ```
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        future: future.into_future(),
        sleep: sleep_until(deadline),
    }
}

pin_project! {
    /// Future of [`timeout`] and [`timeout_at`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use rt::time::timeout;
    ///
    /// let limited = timeout(Duration::from_secs(1), std::future::ready(7));
    /// assert_eq!(limited.into_inner().into_inner(), 7);
    /// ```
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Timeout<F> {
        #[pin]
        future: F,
        #[pin]
        sleep: Sleep,
    }
}

impl<F> Timeout<F> {
    /// The future inside.
    pub fn get_ref(&self) -> &F {
        &self.future
    }

    /// The future inside.
    pub fn get_mut(&mut self) -> &mut F {
        &mut self.future
    }

    /// Takes the limit off and gives the future back.
    pub fn into_inner(self) -> F {
        self.future
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(output) = this.future.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        this.sleep.poll(cx).map(|()| Err(Elapsed(())))
    }
}

/// The error of [`timeout`]: the time was over first.
///
/// As an [`io::Error`] its kind is [`TimedOut`](io::ErrorKind::TimedOut).
///
/// # Examples
///
/// ```
/// use std::io;
/// use std::time::Duration;
/// use rt::net::TcpStream;
/// use rt::time::timeout;
///
/// async fn connect(address: &str) -> io::Result<TcpStream> {
///     timeout(Duration::from_secs(5), TcpStream::connect(address)).await?
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time is over")
    }
}

impl Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> Self {
        io::Error::new(io::ErrorKind::TimedOut, elapsed)
    }
}

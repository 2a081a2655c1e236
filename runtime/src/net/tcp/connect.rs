//! Opening connections: one attempt, and several addresses of one name raced (RFC 8305).

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::{self, SocketAddr};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use rt_reactor::Direction;
use socket2::{Domain, Protocol, Socket, Type};

use super::TcpStream;
use crate::net::addr::Addresses;
use crate::time::{Instant, Sleep, sleep, timeout};

#[cfg(test)]
mod tests;

/// How long an attempt may say nothing before the next one begins beside it ("Connection Attempt
/// Delay").
const STAGGER: Duration = Duration::from_millis(250);

/// A socket for connections to or from addresses like `addr`, non-blocking from birth.
pub(super) fn new_socket(addr: SocketAddr) -> io::Result<Socket> {
    let kind = Type::STREAM.nonblocking().cloexec();
    Socket::new_raw(Domain::for_address(addr), kind, Some(Protocol::TCP))
}

/// Connects to the first address that can be.
pub(super) async fn any(mut addresses: Addresses) -> io::Result<TcpStream> {
    match (addresses.next(), addresses.size_hint()) {
        (Some(only), (_, Some(0))) => one(only).await,
        (first, _) => race(first.into_iter().chain(addresses), one).await,
    }
}

async fn one(addr: SocketAddr) -> io::Result<TcpStream> {
    socket(new_socket(addr)?, addr).await
}

/// Connects a socket.
pub(super) async fn socket(socket: Socket, addr: SocketAddr) -> io::Result<TcpStream> {
    // Registered after the call: a socket that is not even connecting reports a hang-up.
    let pending = match socket.connect(&addr.into()) {
        Ok(()) => false,
        // As with an interrupted call, the attempt goes on.
        Err(error) if is_pending(&error) => true,
        Err(error) => return Err(error),
    };
    let stream = TcpStream::from_nonblocking(socket.into())?;
    if pending {
        let io = stream.registration();
        io.expect_event(Direction::Write);
        io.io(Direction::Write, connected).await?;
    }
    Ok(stream)
}

fn is_pending(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EINTR))
}

/// Whether an attempt to connect has succeeded, failed, or (`WouldBlock`) still goes on.
fn connected(stream: &net::TcpStream) -> io::Result<()> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        // A wake-up without a cause: neither an error nor a peer yet.
        Err(error) if error.kind() == io::ErrorKind::NotConnected => {
            Err(io::ErrorKind::WouldBlock.into())
        }
        result => result.map(drop),
    }
}

/// Limits an attempt.
pub(super) async fn within<T>(
    limit: Duration,
    attempt: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    match timeout(limit, attempt).await {
        Ok(result) => result,
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "no connection within the time limit",
        )),
    }
}

/// Makes attempts side by side, each begun when those before it have failed or are slow.
async fn race<F: Future<Output = io::Result<T>>, T>(
    addresses: impl Iterator<Item = SocketAddr>,
    attempt: impl Fn(SocketAddr) -> F,
) -> io::Result<T> {
    let mut race = Race {
        waiting: in_turn(addresses),
        running: Vec::new(),
        attempt,
        last_error: None,
    };
    let mut stagger = pin!(sleep(Duration::ZERO));
    poll_fn(|cx| race.poll(cx, stagger.as_mut())).await
}

struct Race<F, A> {
    waiting: VecDeque<SocketAddr>,
    running: Vec<Pin<Box<F>>>,
    attempt: A,
    last_error: Option<io::Error>,
}

impl<T, F, A> Race<F, A>
where
    F: Future<Output = io::Result<T>>,
    A: Fn(SocketAddr) -> F,
{
    fn poll(&mut self, cx: &mut Context<'_>, mut stagger: Pin<&mut Sleep>) -> Poll<io::Result<T>> {
        loop {
            if let Some(value) = self.poll_running(cx) {
                return Poll::Ready(Ok(value));
            }
            if self.waiting.is_empty() {
                if self.running.is_empty() {
                    return Poll::Ready(Err(self.verdict()));
                }
                return Poll::Pending;
            }
            if !self.running.is_empty() && stagger.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if let Some(addr) = self.waiting.pop_front() {
                self.running.push(Box::pin((self.attempt)(addr)));
                stagger.as_mut().reset(Instant::now() + STAGGER);
            }
        }
    }

    /// The value of an attempt that has succeeded. Those that have failed make room for the next.
    fn poll_running(&mut self, cx: &mut Context<'_>) -> Option<T> {
        let mut at = 0;
        while let Some(attempt) = self.running.get_mut(at) {
            match attempt.as_mut().poll(cx) {
                Poll::Pending => at += 1,
                Poll::Ready(Ok(value)) => return Some(value),
                Poll::Ready(Err(error)) => {
                    self.last_error = Some(error);
                    drop(self.running.remove(at));
                }
            }
        }
        None
    }

    fn verdict(&mut self) -> io::Error {
        self.last_error
            .take()
            .unwrap_or_else(crate::net::addr::no_address)
    }
}

/// The addresses with the families in turn, beginning with that of the first, so that a family
/// without a route costs one attempt and not as many as it has addresses.
fn in_turn(addresses: impl Iterator<Item = SocketAddr>) -> VecDeque<SocketAddr> {
    let mut addresses = addresses.peekable();
    let Some(first_is_v6) = addresses.peek().map(SocketAddr::is_ipv6) else {
        return VecDeque::new();
    };
    let (mut first, mut second): (VecDeque<_>, VecDeque<_>) =
        addresses.partition(|addr| addr.is_ipv6() == first_is_v6);
    let mut all = VecDeque::with_capacity(first.len() + second.len());
    while !first.is_empty() || !second.is_empty() {
        all.extend(first.pop_front());
        all.extend(second.pop_front());
    }
    all
}

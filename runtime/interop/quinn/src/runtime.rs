//! What quinn asks of a runtime: tasks and timers.

use std::future::Future;
use std::io;
use std::net::UdpSocket;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use quinn::{AsyncTimer, AsyncUdpSocket};
use rt::time::{Instant, Sleep, sleep_until};

use crate::Socket;

/// Runs quinn on the current runtime: its tasks on the IO pool, its timers and sockets on the reactor.
///
/// Its clock is the runtime's: the virtual one, where time is paused.
///
/// # Panics
///
/// When quinn spawns, on a thread that belongs to no runtime: as an endpoint is made, and as it connects.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use quinn::{Endpoint, EndpointConfig};
///
/// # #[rt::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
/// let runtime = Arc::new(rt_quinn::Runtime);
/// let endpoint = Endpoint::new(EndpointConfig::default(), None, socket, runtime)?;
/// assert_eq!(endpoint.open_connections(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Runtime;

impl quinn::Runtime for Runtime {
    fn new_timer(&self, deadline: std::time::Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(Timer {
            sleep: Box::pin(sleep_until(Instant::from_std(deadline))),
        })
    }

    #[track_caller]
    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        drop(rt::spawn(future));
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        Ok(Arc::new(Socket::new(socket)?))
    }

    fn now(&self) -> std::time::Instant {
        Instant::now().into_std()
    }
}

/// A timer that quinn moves on and on.
#[derive(Debug)]
struct Timer {
    sleep: Pin<Box<Sleep>>,
}

impl AsyncTimer for Timer {
    fn reset(mut self: Pin<&mut Self>, deadline: std::time::Instant) {
        self.sleep.as_mut().reset(Instant::from_std(deadline));
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.sleep.as_mut().poll(cx)
    }
}

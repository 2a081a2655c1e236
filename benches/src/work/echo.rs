//! What does a request cost a server that does nothing with it?
//!
//! A task for each connection reads what is there and writes it back. The load comes from another
//! process (`load.rs`), and the figure is the server's CPU time.

use std::io;
use std::net::TcpListener;
use std::time::Instant;

use super::Measured;
use crate::control;
use crate::peers::Net;

/// Bytes that a connection can take in at once. It is part of every connection's memory.
pub(crate) const BUFFER: usize = 1024;

/// Bytes of a request of the in-process round trips.
const REQUEST: usize = 64;

/// Serves until the process is killed.
pub(crate) fn serve<N: Net>(listener: TcpListener) -> io::Result<()> {
    // Accepting happens in a task, as the plain thread of `block_on` would have to hand over each connection.
    N::block_on(async move { N::spawn(accept::<N>(listener)).await })
}

/// Announces the port and starts a task for each connection.
pub(crate) async fn accept<N: Net>(listener: TcpListener) -> io::Result<()> {
    let port = listener.local_addr()?.port();
    let mut listener = N::listener(listener)?;
    control::ready(port);
    loop {
        let stream = N::accept(&mut listener).await?;
        N::detach(connection::<N>(stream));
    }
}

/// Echoes until the other side closes.
async fn connection<N: Net>(mut stream: N::Stream) {
    let mut buffer = [0; BUFFER];
    while let Ok(count @ 1..) = N::read(&mut stream, &mut buffer).await {
        if N::write_all(&mut stream, &buffer[..count]).await.is_err() {
            return;
        }
    }
}

/// `count` round trips between two tasks of the same runtime, over loopback. The sum is that of the
/// first bytes that came back.
///
/// # Panics
///
/// If loopback connections cannot be made.
pub fn round_trips<N: Net>(count: u64) -> Measured {
    let listener = crate::sys::listen().expect("a loopback port is free");
    let port = listener
        .local_addr()
        .expect("a bound socket has an address")
        .port();
    N::block_on(async move {
        let mut listener = N::listener(listener).expect("the runtime takes the socket");
        N::detach(async move {
            if let Ok(stream) = N::accept(&mut listener).await {
                connection::<N>(stream).await;
            }
        });
        let stream = N::connect(port).await.expect("somebody accepts");
        N::spawn(ask::<N>(stream, count)).await
    })
}

async fn ask<N: Net>(mut stream: N::Stream, count: u64) -> Measured {
    let mut sum = 0;
    let started = Instant::now();
    for index in 0..count {
        let request = [index as u8; REQUEST];
        N::write_all(&mut stream, &request)
            .await
            .expect("the server reads");
        let mut answer = [0; REQUEST];
        let mut filled = 0;
        while filled < REQUEST {
            let count = N::read(&mut stream, &mut answer[filled..])
                .await
                .expect("it answers");
            assert!(count > 0, "the server closed early");
            filled += count;
        }
        sum += u64::from(answer[0]);
    }
    Measured::each(count, started, sum)
}

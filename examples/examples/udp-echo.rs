//! A UDP echo server that takes and answers many datagrams a system call.
//!
//! ```text
//! cargo run --release -p rt-examples --example udp-echo [ADDRESS]
//! ```
//!
//! Datagrams that are longer than its buffers are not answered: half an answer is worse than none, and
//! it knows, since it is told of each whether it was cut. Try it with `nc -u 127.0.0.1 7002`; Ctrl-C
//! ends it.

use std::env;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;

use rt::net::{RecvMsg, UdpSocket};

const BATCH: usize = 32;
const LONGEST: usize = 2048;

#[rt::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1);
    let address = address.as_deref().unwrap_or("127.0.0.1:7002");
    let socket = UdpSocket::bind(address).await?;
    println!("listening on {}", socket.local_addr()?);
    let serving = rt::spawn(async move {
        if let Err(error) = serve(&socket).await {
            eprintln!("cannot go on: {error}");
        }
    });
    rt::signal::ctrl_c().await?;
    serving.abort();
    Ok(())
}

async fn serve(socket: &UdpSocket) -> io::Result<()> {
    let mut space = vec![[0; LONGEST]; BATCH];
    let mut received = Vec::with_capacity(BATCH);
    loop {
        let mut bufs: Vec<_> = space.iter_mut().map(|buf| IoSliceMut::new(buf)).collect();
        socket.recv_batch(&mut bufs, &mut received).await?;
        let answers = received.iter().zip(&space).filter_map(answer).collect();
        send_all(socket, answers).await;
    }
}

fn answer<'a>((message, buf): (&RecvMsg, &'a [u8; LONGEST])) -> Option<Answer<'a>> {
    if message.truncated {
        eprintln!(
            "{}: {} bytes are too long",
            message.source, message.full_len
        );
        return None;
    }
    Some((&buf[..message.len], Some(message.source)))
}

type Answer<'a> = (&'a [u8], Option<SocketAddr>);

async fn send_all(socket: &UdpSocket, answers: Vec<Answer<'_>>) {
    let mut left = &answers[..];
    while !left.is_empty() {
        let sent = socket.send_batch(left).await.unwrap_or_else(|error| {
            // It is about the first one: that peer cannot be reached. The others can.
            eprintln!("cannot answer: {error}");
            1
        });
        left = &left[sent..];
    }
}

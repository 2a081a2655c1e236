//! A hand-written epoll loop: what the echo rows would cost without any runtime.
//!
//! Level-triggered, one read and one write for each event, on one thread or two. With two, the first
//! accepts and deals the connections out in turn.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::control;
use crate::sys::{Epoll, Events};
use crate::work::echo::BUFFER;

const LISTENER: usize = usize::MAX;
const EVENTS: usize = 256;

/// One thread.
pub(crate) fn serve_on_one(listener: TcpListener) -> io::Result<()> {
    serve(listener, &[Arc::new(Loop::new()?)])
}

/// Two threads.
pub(crate) fn serve_on_two(listener: TcpListener) -> io::Result<()> {
    let loops = [Arc::new(Loop::new()?), Arc::new(Loop::new()?)];
    let second = Arc::clone(&loops[1]);
    thread::spawn(move || second.turn_forever(|| Ok(())));
    serve(listener, &loops)
}

/// Runs the first of the loops, and deals connections out to all of them.
fn serve(listener: TcpListener, loops: &[Arc<Loop>]) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    loops[0].epoll.add(&listener, LISTENER)?;
    control::ready(listener.local_addr()?.port());
    let mut turn = loops.iter().cycle();
    loops[0].turn_forever(move || {
        loop {
            match listener.accept() {
                Ok((stream, _)) => turn.next().map_or(Ok(()), |to| to.take(stream))?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    })
}

/// An epoll set and its connections; the token of a connection is its place in the list.
struct Loop {
    epoll: Epoll,
    /// Touched by the accepting thread when a connection comes, by the loop's own once for each batch of
    /// events: never contended in the measured part.
    connections: Mutex<Vec<Option<TcpStream>>>,
}

impl Loop {
    fn new() -> io::Result<Loop> {
        Ok(Loop {
            epoll: Epoll::new()?,
            connections: Mutex::default(),
        })
    }

    fn take(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let mut connections = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let token = connections.len();
        self.epoll.add(&stream, token)?;
        connections.push(Some(stream));
        Ok(())
    }

    fn turn_forever(&self, mut accept: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        loop {
            self.epoll.wait(&mut events, None)?;
            let mut incoming = false;
            let mut connections = self
                .connections
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            for token in events.tokens() {
                if token == LISTENER {
                    incoming = true;
                } else if let Some(stream) = &connections[token]
                    && !echo(stream)
                {
                    connections[token] = None;
                }
            }
            drop(connections);
            if incoming {
                accept()?;
            }
        }
    }
}

/// Whether the connection is still of use.
fn echo(mut stream: &TcpStream) -> bool {
    let mut buffer = [0; BUFFER];
    match stream.read(&mut buffer) {
        Ok(0) => false,
        // A closed loop has one small request under way, so the socket's buffer has room.
        Ok(count) => stream.write_all(&buffer[..count]).is_ok(),
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    }
}

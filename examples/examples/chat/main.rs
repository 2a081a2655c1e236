//! A chat server: lines over TCP, to everybody in the room.
//!
//! ```text
//! cargo run --release -p rt-examples --example chat [ADDRESS]
//! cargo run --release -p rt-examples --example chat -- --load ADDRESS CLIENTS SECONDS
//! ```
//!
//! The first line that one sends is the own nickname, and then every line is a message. `/who` tells
//! the room how many are there. A listener that is too slow is told so and cut off: it does not hold up the
//! others, and what waits for it is bounded. Ctrl-C ends the server.
//!
//! With `--load` it is many clients instead, of which a few talk, and everybody counts: it fails if a
//! single line is lost. Try the server by hand with `nc 127.0.0.1 7003`.

use std::collections::HashSet;
use std::env;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rt::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use rt::net::{TcpListener, TcpStream};
use rt::time::sleep;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver, Sender};

mod load;

/// How many lines may wait for the slowest listener.
const WAITING: usize = 1024;
const LONGEST_LINE: usize = 4096;
const LONGEST_NAME: usize = 32;

#[rt::main]
async fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--load", address, clients, seconds] => {
            let (Ok(clients), Ok(seconds)) = (clients.parse(), seconds.parse()) else {
                return Err(io::Error::other("CLIENTS and SECONDS are numbers"));
            };
            load::run(address, clients, Duration::from_secs(seconds)).await
        }
        [] => serve("127.0.0.1:7003").await,
        [address] => serve(address).await,
        _ => Err(io::Error::other(
            "see the top of chat/main.rs for how to call it",
        )),
    }
}

/// The one room.
struct Room {
    lines: Sender<Arc<str>>,
    names: Mutex<HashSet<String>>,
}

/// A name that is taken for as long as this lives.
struct Name {
    room: Arc<Room>,
    name: String,
}

impl Room {
    fn take(self: &Arc<Self>, name: &str) -> Option<Name> {
        let proper = (1..=LONGEST_NAME).contains(&name.len()) && !name.contains(char::is_control);
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        (proper && names.insert(name.to_owned())).then(|| Name {
            room: Arc::clone(self),
            name: name.to_owned(),
        })
    }

    fn count(&self) -> usize {
        let names = self.names.lock();
        names.unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let names = self.room.names.lock();
        names
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.name);
    }
}

async fn serve(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let accepting = rt::spawn(accept(listener));
    rt::signal::ctrl_c().await?;
    accepting.abort();
    Ok(())
}

async fn accept(listener: TcpListener) {
    let room = Arc::new(Room {
        lines: broadcast::channel(WAITING).0,
        names: Mutex::default(),
    });
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let room = Arc::clone(&room);
                // A connection that breaks is that peer's affair.
                drop(rt::spawn(async move { drop(talk(stream, room).await) }));
            }
            Err(error) => {
                // Out of descriptors, most likely. They come back when connections end.
                eprintln!("cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn talk(stream: TcpStream, room: Arc<Room>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.into_split();
    let mut lines = Lines::new(reader);
    let name = loop {
        let Some(line) = lines.next().await? else {
            return Ok(());
        };
        match room.take(line.trim()) {
            Some(name) => break name,
            None => writer.write_all(b"* another name, please\n").await?,
        }
    };
    let heard = room.lines.subscribe();
    writer
        .write_all(format!("* welcome, {}\n", name.name).as_bytes())
        .await?;
    let listening = rt::spawn(listen(writer, heard));
    let spoken = speak(&mut lines, &name).await;
    listening.abort();
    spoken
}

/// Passes on what one says.
async fn speak(lines: &mut Lines, name: &Name) -> io::Result<()> {
    while let Some(line) = lines.next().await? {
        let line = match line.trim() {
            "/who" => format!("* {} are here\n", name.room.count()),
            line => format!("{}: {line}\n", name.name),
        };
        // It fails if nobody listens, and then nobody misses it.
        let _ = name.room.lines.send(line.into());
    }
    Ok(())
}

/// Writes what others say, many lines at a time if there are many.
async fn listen(writer: OwnedWriteHalf, mut heard: Receiver<Arc<str>>) -> io::Result<()> {
    let mut text = String::new();
    loop {
        match heard.recv().await {
            Ok(line) => text.push_str(&line),
            Err(RecvError::Lagged(_)) => return writer.write_all(b"* you are too slow\n").await,
            Err(RecvError::Closed) => return Ok(()),
        }
        while text.len() < LONGEST_LINE {
            let Ok(line) = heard.try_recv() else { break };
            text.push_str(&line);
        }
        writer.write_all(text.as_bytes()).await?;
        text.clear();
    }
}

/// The lines of a stream, none longer than [`LONGEST_LINE`].
struct Lines {
    reader: OwnedReadHalf,
    buf: Vec<u8>,
    /// How much of the buffer was given out.
    used: usize,
}

impl Lines {
    fn new(reader: OwnedReadHalf) -> Lines {
        Lines {
            reader,
            buf: Vec::new(),
            used: 0,
        }
    }

    /// The next line, or `None` at the end.
    async fn next(&mut self) -> io::Result<Option<String>> {
        self.buf.drain(..self.used);
        self.used = 0;
        loop {
            if let Some(end) = self.buf.iter().position(|byte| *byte == b'\n') {
                self.used = end + 1;
                return Ok(Some(String::from_utf8_lossy(&self.buf[..end]).into_owned()));
            }
            if self.buf.len() >= LONGEST_LINE {
                return Err(io::Error::other("the line is too long"));
            }
            let mut chunk = [0; 1024];
            match self.reader.read(&mut chunk).await? {
                0 => return Ok(None),
                len => self.buf.extend_from_slice(&chunk[..len]),
            }
        }
    }
}

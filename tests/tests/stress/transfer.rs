//! Connections: what is sent comes back, unless somebody cuts it short.

use std::io::{self, ErrorKind, IoSlice};
use std::net::{Shutdown, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use rt::io::AsyncReadExt;
use rt::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use rt::net::{TcpListener, TcpStream};
use rt::time::timeout;

use super::actors::{AbortOnDrop, spawn};
use super::chance::Chance;
use super::world::World;

/// What the client asks of the server with the first byte.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Service {
    /// Echo all.
    Whole = b'w',
    /// Echo a part, then drop the connection.
    Part = b'p',
    /// Echo a part, then reset the connection.
    Reset = b'r',
}

/// What the client does in the middle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Nothing: it sends all, and then ends its direction.
    Whole,
    /// It aborts its writing task, and reads what was under way.
    Abort,
    /// It drops the connection.
    Drop,
    /// It resets the connection.
    Reset,
}

const SERVICES: [Service; 6] = [
    Service::Whole,
    Service::Whole,
    Service::Whole,
    Service::Whole,
    Service::Part,
    Service::Reset,
];

const FATES: [Fate; 6] = [
    Fate::Whole,
    Fate::Whole,
    Fate::Whole,
    Fate::Abort,
    Fate::Drop,
    Fate::Reset,
];

/// A stream of bytes in which no part is like another.
#[derive(Clone, Copy)]
struct Content(usize);

impl Content {
    fn at(self, position: usize) -> u8 {
        let mixed = (position ^ self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 56) as u8
    }

    fn fill(self, from: usize, buf: &mut [u8]) {
        for (byte, position) in buf.iter_mut().zip(from..) {
            *byte = self.at(position);
        }
    }

    #[track_caller]
    fn check(self, from: usize, buf: &[u8]) {
        for (byte, position) in buf.iter().zip(from..) {
            assert_eq!(*byte, self.at(position), "at {position} of {self:?}");
        }
    }
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "content {:#x}", self.0)
    }
}

/// Accepts until it is aborted. Its connections end with their clients.
pub(crate) async fn serve(world: Arc<World>, listener: StdListener, mut chance: Chance) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return world.excuse("the listener", &error),
    };
    loop {
        match listener.accept().await {
            // Its errors are the clients' doing; they know what they may get.
            Ok((stream, _)) => {
                let luck = chance.child();
                let echo = async move { drop(echo(stream, luck).await) };
                drop(spawn(&world, &mut chance, echo));
            }
            Err(error) => return world.excuse("accept", &error),
        }
    }
}

async fn echo(mut stream: TcpStream, mut chance: Chance) -> io::Result<()> {
    let mut service = [0];
    stream.read_exact(&mut service).await?;
    let whole = service[0] == Service::Whole as u8;
    if whole && chance.one_in(4) {
        let (mut reader, mut writer) = stream.split();
        rt::io::copy(&mut reader, &mut writer).await?;
        return Ok(());
    }
    let mut left = if whole {
        usize::MAX
    } else {
        chance.below(50_000)
    };
    let mut buf = vec![0; 1 + chance.below(16 * 1024)];
    while left > 0 {
        let read = stream.read(&mut buf).await?;
        if read == 0 {
            break;
        }
        stream.write_all(&buf[..read]).await?;
        left = left.saturating_sub(read);
    }
    if service[0] == Service::Reset as u8 {
        stream.set_linger(Some(Duration::ZERO))?;
    }
    Ok(())
}

/// One connection, from the client's side.
pub(crate) async fn transfer(world: Arc<World>, mut chance: Chance) {
    let _permit = world.connections.acquire().await.expect("never closed");
    let service = chance.pick(&SERVICES);
    let stream = match connect(&world, service).await {
        Ok(stream) => stream,
        Err(error) => return world.excuse("connect", &error),
    };
    let small = chance.below(1000);
    let lengths = [0, 1, small, small, small * 20, small * 300];
    let (length, content) = (chance.pick(&lengths), Content(chance.next() as usize));
    let fate = chance.pick(&FATES);
    let (reader, writer) = stream.into_split();
    let sent = Arc::new(AtomicUsize::new(0));
    let writing = Writing {
        writer,
        content,
        length,
        sent: Arc::clone(&sent),
        chance: chance.child(),
    };
    let trusted = service == Service::Whole;
    let (judge, luck) = (Arc::clone(&world), chance.child());
    let writing = async move {
        if let Err(error) = writing.all().await {
            // A connection that the server, or this client, ends early may tell so.
            let early = !trusted || matches!(fate, Fate::Drop | Fate::Reset);
            assert!(early || judge.is_cut(), "writing: {error}");
        }
    };
    let writer = spawn(&world, &mut chance, writing);
    let _guard = AbortOnDrop(writer.abort_handle());

    let turn = if fate == Fate::Whole {
        usize::MAX
    } else {
        chance.below(length + 1)
    };
    let mut reading = Reading {
        reader,
        content,
        read: 0,
        chance: luck,
    };
    let mut end = reading.until(turn).await;
    match fate {
        Fate::Whole => {}
        Fate::Abort => {
            writer.abort();
            // The writer's half goes with it, and so ends the direction.
            if end.as_ref().is_ok_and(|ended| !ended) {
                end = reading.until(usize::MAX).await;
            }
        }
        Fate::Reset => {
            let stream = reading.reader.as_ref();
            // It may have been reset by the server already.
            let _ = stream.set_linger(Some(Duration::ZERO));
            return;
        }
        Fate::Drop => return,
    }
    let aborted = fate == Fate::Abort;
    if !trusted {
        return;
    }
    match end {
        Ok(ended) => assert!(ended),
        Err(error) => return world.excuse("reading", &error),
    }
    world.check(writer.await, aborted);
    let (sent, read) = (sent.load(SeqCst), reading.read);
    let whole = aborted || sent == length;
    assert!(
        (read == sent && whole) || world.is_cut(),
        "{read} of {sent} of {length}"
    );
}

async fn connect(world: &World, service: Service) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(world.server).await?;
    stream.write_all(&[service as u8]).await?;
    Ok(stream)
}

struct Writing {
    writer: OwnedWriteHalf,
    content: Content,
    length: usize,
    /// Counted in the poll that wrote it, so that an abort cannot come in between.
    sent: Arc<AtomicUsize>,
    chance: Chance,
}

impl Writing {
    async fn all(mut self) -> io::Result<()> {
        let mut buf = vec![0; 1 + self.chance.below(20_000)];
        loop {
            let sent = self.sent.load(SeqCst);
            let chunk = buf.len().min(self.length - sent);
            if chunk == 0 {
                break;
            }
            self.content.fill(sent, &mut buf[..chunk]);
            let written = self.some(&buf[..chunk]).await?;
            self.sent.fetch_add(written, SeqCst);
        }
        if self.chance.one_in(2) {
            self.writer.as_ref().shutdown(Shutdown::Write)?;
        }
        // Otherwise the drop of the half does it.
        Ok(())
    }

    /// Writes in one of the ways there are.
    async fn some(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self.chance.below(4) {
            0 => {
                self.writer.writable().await?;
                or_none(self.writer.try_write(buf))
            }
            1 => {
                self.writer.writable().await?;
                let (one, two) = buf.split_at(buf.len() / 2);
                or_none(
                    self.writer
                        .try_write_vectored(&[IoSlice::new(one), IoSlice::new(two)]),
                )
            }
            2 => {
                let limit = self.chance.micros(2000);
                timeout(limit, self.writer.write(buf))
                    .await
                    .unwrap_or(Ok(0))
            }
            _ => self.writer.write(buf).await,
        }
    }
}

struct Reading {
    reader: OwnedReadHalf,
    content: Content,
    read: usize,
    chance: Chance,
}

impl Reading {
    /// Reads and checks up to `end`, or to the connection's end: then it returns `true`.
    async fn until(&mut self, end: usize) -> io::Result<bool> {
        let mut buf = vec![0; 1 + self.chance.below(20_000)];
        while self.read < end {
            let Some(read) = self.some(&mut buf).await? else {
                continue;
            };
            if read == 0 {
                return Ok(true);
            }
            self.content.check(self.read, &buf[..read]);
            self.read += read;
        }
        Ok(false)
    }

    /// Reads in one of the ways there are. `None`: it was given up, and nothing may be lost.
    async fn some(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        match self.chance.below(4) {
            0 => {
                self.reader.readable().await?;
                match self.reader.try_read(buf) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
                    read => read.map(Some),
                }
            }
            1 => {
                let limit = self.chance.micros(2000);
                timeout(limit, self.reader.read(buf)).await.ok().transpose()
            }
            2 => AsyncReadExt::read(&mut self.reader, buf).await.map(Some),
            _ => self.reader.read(buf).await.map(Some),
        }
    }
}

/// Would-block means that nothing was written.
fn or_none(written: io::Result<usize>) -> io::Result<usize> {
    match written {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        written => written,
    }
}

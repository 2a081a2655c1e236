//! The load generator: one thread, one epoll set, a closed loop on each connection.
//!
//! A connection sends a request, waits for the whole answer, checks it, and sends the next. The
//! generator is the same for all servers, runs in a process of its own and uses none of the runtimes it
//! measures.
//!
//! A closed loop asks less often while the server stalls, so stalls are under-counted. Two things are
//! done about it: a request that is still unanswered at the end counts with its age so far, and the mean
//! is reported as `connections × time / answers`, which no pause can hide from.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::control;
use crate::histogram::Histogram;
use crate::sys::{self, Epoll, Events};

mod protocol;

use protocol::Progress;
pub(crate) use protocol::Protocol;

const EVENTS: usize = 512;
/// Asking on every so many connections while opening makes sure that the server keeps up with accepting.
const ASK_EVERY: usize = 64;
/// A blocking answer that takes longer than this will not come.
const PATIENCE: Duration = Duration::from_secs(30);

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) protocol: Protocol,
    pub(crate) port: u16,
    pub(crate) connections: usize,
    /// Before the measured part.
    pub(crate) warm: Duration,
    /// The measured part. Zero: the connections are opened, tried, and then held in silence.
    pub(crate) measure: Duration,
}

/// Places of the figures in a load's result.
pub(crate) mod figure {
    pub(crate) const REQUESTS: usize = 0;
    pub(crate) const MEAN_US: usize = 1;
    pub(crate) const P50_US: usize = 2;
    pub(crate) const P99_US: usize = 3;
    pub(crate) const MAX_US: usize = 4;
}

/// Carries the plan out and reports on standard output.
pub(crate) fn run(plan: &Plan) -> io::Result<()> {
    sys::raise_open_files()?;
    let mut connections = open(plan)?;
    if plan.measure.is_zero() {
        return hold(&mut connections);
    }
    let mut generator = Generator::start(connections)?;
    generator.turn_for(plan.warm)?;
    generator.answered = Histogram::new();
    control::say("begin");
    let started = Instant::now();
    generator.turn_for(plan.measure)?;
    let took = started.elapsed();
    control::say("end");
    let requests = generator.answered.total();
    control::result(requests, &generator.figures(took));
    // Leaving would reset the connections while the server is still being looked at.
    while control::next_line().is_some() {}
    Ok(())
}

fn open(plan: &Plan) -> io::Result<Vec<Connection>> {
    let hold = plan.measure.is_zero();
    let mut connections = Vec::with_capacity(plan.connections);
    for index in 0..plan.connections {
        let mut connection = Connection::open(plan, index as u32)?;
        if hold || (index + 1) % ASK_EVERY == 0 {
            connection.ask()?;
        }
        connections.push(connection);
    }
    Ok(connections)
}

/// Keeps the connections until told to go on, then makes sure that each still works.
fn hold(connections: &mut [Connection]) -> io::Result<()> {
    control::say("begin");
    control::next_line();
    for connection in &mut *connections {
        connection.ask()?;
    }
    control::result(connections.len() as u64, &[]);
    while control::next_line().is_some() {}
    Ok(())
}

/// The connections while they are busy.
struct Generator {
    epoll: Epoll,
    events: Events,
    connections: Vec<Connection>,
    /// Time to the answer, in nanoseconds.
    answered: Histogram,
}

impl Generator {
    /// Sends the first request of every connection.
    fn start(mut connections: Vec<Connection>) -> io::Result<Generator> {
        let epoll = Epoll::new()?;
        for (token, connection) in connections.iter_mut().enumerate() {
            connection.stream.set_nonblocking(true)?;
            epoll.add(&connection.stream, token)?;
            connection.send(Instant::now())?;
        }
        let events = Events::with_capacity(EVENTS);
        Ok(Generator {
            epoll,
            events,
            connections,
            answered: Histogram::new(),
        })
    }

    fn turn_for(&mut self, time: Duration) -> io::Result<()> {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            // Waits are in whole milliseconds; one more, so that the last one is not a spin.
            self.epoll
                .wait(&mut self.events, Some(left + Duration::from_millis(1)))?;
            for token in self.events.tokens() {
                let connection = &mut self.connections[token];
                if connection.receive()? {
                    let now = Instant::now();
                    self.answered
                        .record((now - connection.sent).as_nanos() as u64);
                    connection.send(now)?;
                }
            }
        }
    }

    /// The figures of the time since the histogram was last emptied. See [`figure`].
    fn figures(mut self, took: Duration) -> Vec<f64> {
        let requests = self.answered.total();
        let mean =
            self.connections.len() as f64 * took.as_secs_f64() * 1e6 / requests.max(1) as f64;
        let median = self.answered.quantile(0.5);
        for connection in &self.connections {
            // A young request says nothing yet of when it will be answered; an old one says enough.
            let age = connection.sent.elapsed().as_nanos() as u64;
            if age > median {
                self.answered.record(age);
            }
        }
        let micros = |nanos: u64| nanos as f64 / 1e3;
        vec![
            requests as f64,
            mean,
            micros(median),
            micros(self.answered.quantile(0.99)),
            micros(self.answered.max()),
        ]
    }
}

/// A connection with at most one request under way.
struct Connection {
    stream: TcpStream,
    protocol: Protocol,
    id: u32,
    sequence: u32,
    request: Vec<u8>,
    answer: [u8; 512],
    filled: usize,
    sent: Instant,
}

impl Connection {
    fn open(plan: &Plan, id: u32) -> io::Result<Connection> {
        let stream = TcpStream::connect(("127.0.0.1", plan.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // Closing resets, so that thousands of ports are not kept waiting for a minute.
        socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
        Ok(Connection {
            stream,
            protocol: plan.protocol,
            id,
            sequence: 0,
            request: Vec::new(),
            answer: [0; 512],
            filled: 0,
            sent: Instant::now(),
        })
    }

    /// Sends the next request. It always fits into the socket's buffer, which is empty.
    fn send(&mut self, now: Instant) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        self.protocol
            .request(&mut self.request, self.id, self.sequence);
        self.filled = 0;
        self.sent = now;
        self.stream.write_all(&self.request)
    }

    /// Takes in what is there; whether the answer is whole now.
    fn receive(&mut self) -> io::Result<bool> {
        match self.stream.read(&mut self.answer[self.filled..]) {
            Ok(0) => return Err(io::Error::other("the server closed a connection")),
            Ok(count) => self.filled += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        match self
            .protocol
            .progress(&self.answer[..self.filled], &self.request)
        {
            Progress::Partial if self.filled < self.answer.len() => Ok(false),
            Progress::Whole => Ok(true),
            Progress::Partial | Progress::Wrong => Err(io::Error::other(format!(
                "a wrong answer on connection {}: {:?}",
                self.id,
                String::from_utf8_lossy(&self.answer[..self.filled]),
            ))),
        }
    }

    /// A request and its answer, on a connection that still blocks.
    fn ask(&mut self) -> io::Result<()> {
        self.stream.set_nonblocking(false)?;
        self.send(Instant::now())?;
        while !self.receive()? {
            if self.sent.elapsed() > PATIENCE {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }
}

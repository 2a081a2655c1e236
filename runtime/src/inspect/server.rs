//! The threads: one that accepts, and one for each client.
//!
//! They block, since they have to work when nothing else of the runtime does. So whoever ends them
//! shuts their sockets down, which ends each call that waits.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rt_reactor::Process;

use crate::handle::Inner;

use super::client::{self, Client};
use super::socket::Listening;

/// Each is a thread.
const CLIENTS: usize = 32;

/// Between two attempts to accept while the process has no descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// Ends the threads, and removes the path, when it is dropped.
#[derive(Debug)]
pub(crate) struct Inspect(Arc<Server>);

#[derive(Debug)]
pub(super) struct Server {
    pub(super) home: Arc<OnceLock<Weak<Inner>>>,
    /// The first part of the threads' names.
    pub(super) name: String,
    pub(super) begun: Instant,
    /// Held while a dump is taken: many at once would only be slower, and need more memory.
    pub(super) dumping: Mutex<()>,
    socket: Listening,
    maker: Process,
    state: Mutex<State>,
    closed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    over: bool,
    /// How many there have been.
    came: u64,
    clients: Vec<Place>,
}

/// A client as the others see it.
#[derive(Debug)]
struct Place {
    number: u64,
    stream: Arc<UnixStream>,
    /// Since when it has asked for nothing, unless it is being answered.
    silent: Option<Instant>,
}

impl Inspect {
    /// Begins to listen. `home` leads to the runtime, once that is whole; until then nobody is served.
    pub(crate) fn start(
        path: &Path,
        name: &str,
        home: Arc<OnceLock<Weak<Inner>>>,
    ) -> io::Result<Inspect> {
        let inspect = Inspect(Arc::new(Server {
            home,
            name: name.to_owned(),
            begun: Instant::now(),
            dumping: Mutex::default(),
            socket: Listening::open(path)?,
            maker: Process::current(),
            state: Mutex::default(),
            closed: Condvar::new(),
        }));
        let server = Arc::clone(&inspect.0);
        let builder = thread::Builder::new().name(format!("{name}-inspect"));
        builder.spawn(move || server.run())?;
        Ok(inspect)
    }

    /// Removes the path and leaves the clients. The threads end by themselves; they are not waited for.
    pub(crate) fn close(&self) {
        // The socket and the connections are the parent's as well.
        if self.0.maker.is_left() {
            return;
        }
        let mut state = self.0.state.lock();
        if state.over {
            return;
        }
        state.over = true;
        for client in &state.clients {
            leave(&client.stream, Shutdown::Both);
        }
        drop(state);
        self.0.closed.notify_all();
        self.0.socket.close();
    }
}

impl Drop for Inspect {
    fn drop(&mut self) {
        self.close();
    }
}

impl Server {
    fn run(self: Arc<Self>) {
        loop {
            match self.socket.accept() {
                Ok(stream) => self.admit(stream),
                Err(_) => self.pause(),
            }
            if self.state.lock().over {
                return;
            }
        }
    }

    /// Waits until there may be descriptors again.
    fn pause(&self) {
        let mut state = self.state.lock();
        if !state.over {
            self.closed.wait_for(&mut state, PAUSE);
        }
    }

    /// Gives a client a thread, perhaps in the place of another one.
    fn admit(self: &Arc<Self>, stream: UnixStream) {
        let stream = Arc::new(stream);
        let added = self.state.lock().add(&stream);
        let number = match added {
            Ok(number) => number,
            Err(why) => return client::refuse(&stream, why),
        };
        let client = Client::new(Arc::clone(self), number, Arc::clone(&stream));
        let builder = thread::Builder::new().name(format!("{}-inspect", self.name));
        if builder.spawn(move || client.run()).is_err() {
            client::refuse(&stream, "there is no thread for one more client");
        }
    }

    /// The client waits for its next request. `false` if it has lost its place.
    pub(super) fn begin_silence(&self, number: u64) -> bool {
        let mut state = self.state.lock();
        let place = state.place(number);
        place
            .map(|place| place.silent = Some(Instant::now()))
            .is_some()
    }

    /// The client has asked for something. `false` if it has lost its place.
    pub(super) fn end_silence(&self, number: u64) -> bool {
        let mut state = self.state.lock();
        let place = state.place(number);
        place.map(|place| place.silent = None).is_some()
    }

    /// The client is gone.
    pub(super) fn remove(&self, number: u64) {
        let mut state = self.state.lock();
        state.clients.retain(|client| client.number != number);
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.lock().over
    }
}

impl State {
    /// The number of the new client, or why there is no place for it.
    fn add(&mut self, stream: &Arc<UnixStream>) -> Result<u64, &'static str> {
        if self.over {
            return Err("the runtime has ended");
        }
        if self.clients.len() >= CLIENTS {
            let silent = self.clients.iter().enumerate();
            let silent = silent.filter_map(|(at, client)| Some((client.silent?, at)));
            let longest = silent.min();
            let (_, at) =
                longest.ok_or("there are too many clients, and all are being answered")?;
            // Its thread reads, and finds the end, and that it has no place any more.
            leave(&self.clients.swap_remove(at).stream, Shutdown::Read);
        }
        self.came += 1;
        self.clients.push(Place {
            number: self.came,
            stream: Arc::clone(stream),
            silent: Some(Instant::now()),
        });
        Ok(self.came)
    }

    fn place(&mut self, number: u64) -> Option<&mut Place> {
        let mut clients = self.clients.iter_mut();
        clients.find(|client| client.number == number)
    }
}

fn leave(stream: &UnixStream, how: Shutdown) {
    // It fails if the client has gone by itself.
    let _gone = stream.shutdown(how);
}

//! This program once more, as a process that can be killed, stopped and throttled.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream as StdStream};
use std::process::{self, Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use rt::Runtime;
use rt::net::{TcpListener, TcpStream};

/// What the process is to be.
const ROLE: &str = "RT_FAULTS_ROLE";

/// The test that such a process runs.
const ENTRY: &str = "faults::program::runs_as_what_its_role_says";

/// In front of what a process tells.
const MARK: &str = "tells: ";

/// A process of its own. It is killed when this is dropped, and ends by itself when this process does.
pub(super) struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// A client that opens `count` connections, sends half a request through each and is silent then.
    pub(super) fn silent_client(address: SocketAddr, count: usize) -> Program {
        Program::start(&format!("client {address} {count}"))
    }

    /// An echo server beside a timer, and its address.
    pub(super) fn server() -> (Program, String) {
        let mut program = Program::start("server");
        let address = program.told();
        (program, address)
    }

    fn start(role: &str) -> Program {
        let mut command = Command::new(env::current_exe().expect("the path of the test"));
        command.args(["--exact", ENTRY, "--nocapture", "--test-threads=1"]);
        command.env(ROLE, role);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a process");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Program { child, output }
    }

    /// The next thing that it tells.
    fn told(&mut self) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).expect("a line of it") > 0 {
            // The harness has written the name of the test in front.
            if let Some((_, told)) = line.split_once(MARK) {
                return told.trim().to_owned();
            }
            line.clear();
        }
        panic!("the process has ended and told nothing");
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as nothing else can: it says no goodbye.
    pub(super) fn kill(&mut self) {
        self.child.kill().expect("a process that runs");
        self.child.wait().expect("its end");
    }

    /// Sends a signal by its name.
    pub(super) fn signal(&self, name: &str) {
        let script = format!("kill -{name} {}", self.id());
        let sent = Command::new("sh").args(["-c", &script]).status();
        assert!(sent.expect("a shell").success(), "{script}");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Nothing to do, unless a [`Program`] has started this process.
#[test]
fn runs_as_what_its_role_says() {
    let Ok(role) = env::var(ROLE) else { return };
    thread::spawn(|| {
        // The end of its input is the end of who has started it.
        let _ = io::stdin().read(&mut [0]);
        process::exit(0);
    });
    match role.split(' ').collect::<Vec<_>>()[..] {
        ["client", address, count] => client(address, count.parse().expect("a number")),
        ["server"] => server().expect("a server"),
        _ => panic!("no such role: {role}"),
    }
}

fn client(address: &str, count: usize) {
    let connect = |_| {
        let mut stream = StdStream::connect(address).expect("a connection");
        stream.write_all(b"half ").expect("room for five bytes");
        stream
    };
    let connections: Vec<_> = (0..count).map(connect).collect();
    loop {
        thread::park();
        assert_eq!(connections.len(), count);
    }
}

fn server() -> io::Result<()> {
    let runtime = Runtime::builder().io_threads(2).cpu_threads(1).build()?;
    runtime.block_on(async {
        rt::spawn(async {
            let mut ticks = rt::time::interval(Duration::from_millis(1));
            loop {
                ticks.tick().await;
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{MARK}{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            rt::spawn(echo(stream));
        }
    })
}

async fn echo(stream: TcpStream) -> io::Result<()> {
    let mut word = [0; 8];
    loop {
        stream.read_exact(&mut word).await?;
        // The answer comes by way of a timer, so that both are under test.
        rt::delay(Duration::from_micros(100)).await;
        stream.write_all(&word).await?;
    }
}

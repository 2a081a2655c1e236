//! Real servers for tests: Debian's programs, started on free loopback ports in folders of their own.
//!
//! Nothing has to run beforehand. Where a program is not installed, [`program`] says so past the capture of the test
//! harness, as a line that begins with `skipped: `, and the test is to return.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub mod nginx;
pub mod postgres;
pub mod redis;

/// How often another port is tried when somebody else takes the one that was free.
const ATTEMPTS: usize = 10;

/// Where `name` is installed; `None`, and a line in the output, if it is not.
///
/// # Panics
///
/// If there is no output to write to.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    folders.push("/usr/sbin".into());
    // Debian keeps most of PostgreSQL's programs out of the path, by version.
    let versions = fs::read_dir("/usr/lib/postgresql");
    let versions = versions.into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));

    let found = folders.into_iter().map(|folder| folder.join(name));
    let found = found.into_iter().find(|program| program.is_file());
    if found.is_none() {
        // Unlike `eprintln`, this is not kept from the log when the test passes.
        let test = thread::current().name().unwrap_or("a test").to_owned();
        let line = format!("skipped: {test}: {name} is not installed\n");
        // In one piece, so that nothing of another test comes in between.
        io::stderr().write_all(line.as_bytes()).expect("an output");
    }
    found
}

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new, empty folder.
    ///
    /// # Panics
    ///
    /// If there can be none.
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("rt-ecosystem-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).expect("a folder for a server");
        Folder(folder)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind is a folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A user that a server runs as, since some refuse to run as root.
#[derive(Clone, Copy, Debug)]
struct User {
    uid: u32,
    gid: u32,
}

impl User {
    /// The first of `names` that this machine knows, if this process is root.
    fn in_place_of_root(names: &[&str]) -> Option<Self> {
        let own = fs::metadata("/proc/self").expect("what /proc says of this process");
        if own.uid() != 0 {
            return None;
        }
        let users = fs::read_to_string("/etc/passwd").expect("the users of this machine");
        let user = names.iter().find_map(|name| {
            let mut fields = users
                .lines()
                .map(|line| line.split(':'))
                .find(|fields| fields.clone().next() == Some(name))?
                .skip(2)
                .map_while(|field| field.parse().ok());
            Some(User {
                uid: fields.next()?,
                gid: fields.next()?,
            })
        });
        Some(user.expect("a user for the server"))
    }

    fn own(self, path: &Path) {
        chown(path, Some(self.uid), Some(self.gid)).expect("root may give its files away");
    }
}

/// `program` as a child that is told to end when the calling thread does, so that none stays behind when
/// a test is aborted.
fn command(program: &Path, user: Option<User>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "QUIT"]);
    if let Some(User { uid, gid }) = user {
        command.args(["--reuid", &uid.to_string(), "--regid", &gid.to_string()]);
        command.arg("--clear-groups");
    }
    command.arg("--").arg(program).stdin(Stdio::null());
    command
}

/// A server, which ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    port: u16,
    /// What it is asked to end with.
    signal: &'static str,
}

impl Server {
    /// Starts what `command` makes of a port, and waits until it has said `ready`. It must be dropped by the thread that has
    /// started it.
    ///
    /// # Panics
    ///
    /// With what the server says, if it does not start.
    fn start(signal: &'static str, ready: &str, command: impl Fn(u16) -> Command) -> Self {
        let mut said = String::new();
        for _ in 0..ATTEMPTS {
            let port = free_port();
            let (reader, writer) = io::pipe().expect("a pipe");
            let mut command = command(port);
            command.stdout(writer.try_clone().expect("a second end of the pipe"));
            command.stderr(writer);
            let child = command.spawn().expect("setpriv starts");
            // Its ends of the pipe are the server's alone, so that its end is the end of its words.
            drop(command);
            let server = Server {
                child,
                port,
                signal,
            };
            let mut output = BufReader::new(reader);
            said.clear();
            while output.read_line(&mut said).expect("text") > 0 {
                if said.contains(ready) {
                    // A server must not wait for somebody to listen.
                    thread::spawn(move || io::copy(&mut output, &mut io::sink()));
                    return server;
                }
            }
        }
        panic!("the server does not start:\n{said}");
    }

    /// Where it listens, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        let mut kill = Command::new("kill");
        kill.args(["-s", self.signal])
            .arg(pid)
            .stderr(Stdio::null());
        if !kill.status().is_ok_and(|status| status.success()) {
            // It is gone already, or there is no other way.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// A port that nobody had a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("it has an address").port()
}

/// Runs a command to its end.
fn run(command: &mut Command) {
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
}

/// An argument `name=value`.
fn setting(name: &str, value: impl AsRef<OsStr>) -> std::ffi::OsString {
    let mut setting = std::ffi::OsString::from(name);
    setting.push("=");
    setting.push(value);
    setting
}
